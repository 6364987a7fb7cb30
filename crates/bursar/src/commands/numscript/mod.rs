//! `bursar numscript run` and `bursar numscript check`.

mod case;
mod cases;
mod check;
mod run;

use std::path::PathBuf;

use bursar_core::numscript::{Feature, Features, Mode};
use bursar_node::failure::Failure;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program against given balances and print its postings
    Run(RunArguments),
    /// Check a program without running it
    Check(CheckArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The program; `-` reads it from standard input
    #[arg(value_name = "SCRIPT")]
    script: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    language: Language,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The program; `-` reads it from standard input
    #[arg(value_name = "SCRIPT", required_unless_present = "cases")]
    script: Option<PathBuf>,
    /// Variables: a JSON object such as {"amount":"USD/2 1050"}
    #[arg(long, value_name = "FILE")]
    vars: Option<PathBuf>,
    /// Balances: a JSON array of {"account","asset","amount","color"?}, or an object {"account":{"asset":amount}}
    #[arg(long, value_name = "FILE")]
    balances: Option<PathBuf>,
    /// Account metadata: a JSON object of objects of texts
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// Run every case of a JSON Lines file and print one JSON line for each
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["script", "vars", "balances", "metadata", "json"])]
    cases: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    language: Language,
}

/// Language options.
#[derive(Debug, Args)]
struct Language {
    /// Behave exactly like upstream, including its known bugs
    #[arg(long)]
    compat: bool,
    /// Turn an experimental feature on (may be repeated; `all` turns all of them on)
    #[arg(long = "feature", value_name = "NAME", value_parser = parse_features)]
    features: Vec<Features>,
}

impl Language {
    fn mode(&self) -> Mode {
        if self.compat { Mode::Compat } else { Mode::Safe }
    }

    fn features(&self) -> Features {
        self.features.iter().fold(Features::NONE, |all, more| all.union(*more))
    }
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Run(arguments) => match (&arguments.cases, &arguments.script) {
                (Some(path), _) => cases::run(path, &arguments.language),
                (None, Some(script)) => run::run(script, &arguments),
                (None, None) => Err(Failure::new("name a program, or a file with --cases")),
            },
            Self::Check(arguments) => check::run(&arguments),
        }
    }
}

fn parse_features(name: &str) -> Result<Features, String> {
    if name == "all" {
        return Ok(Features::ALL);
    }
    Feature::from_name(name).map(|feature| Features::NONE.with(feature)).ok_or_else(|| {
        let names: Vec<_> = Feature::ALL.into_iter().map(Feature::name).collect();
        format!("the features are all, {}", names.join(", "))
    })
}
