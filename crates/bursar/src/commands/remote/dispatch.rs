//! `bursar dispatch`: the switches; what is frozen is not sent.

use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::{Server, fields, given, rows};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What is frozen now
    Status,
    /// Freeze: nothing more is sent; what was sent is followed to its end
    Freeze {
        #[command(flatten)]
        scope: Scope,
        /// Why, for whoever looks later
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Unfreeze; two people must want it, one of them an approver
    Unfreeze {
        #[command(flatten)]
        scope: Scope,
        /// Why, for whoever looks later
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
}

#[derive(Debug, Args)]
struct Scope {
    /// Everything, or one channel or merchant
    #[arg(long)]
    scope: Kind,
    /// The channel or the merchant
    #[arg(long, value_name = "ID", required_if_eq_any([("scope", "channel"), ("scope", "merchant")]))]
    id: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Global,
    Channel,
    Merchant,
}

const COLUMNS: &[Column] = &[
    Column::text("scope", "frozen"),
    Column::text("since", "since"),
    Column::text("actor", "by"),
    Column::text("reason", "reason"),
    Column::text("lifted_by", "wants it lifted"),
];

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Status => server.tell(&Ask::get("/v1/dispatch/freezes"), frozen),
            Command::Freeze { scope, reason } => {
                server.tell(&Ask::post("/v1/dispatch/freeze", scope.body(reason)), fields)
            }
            Command::Unfreeze { scope, reason } => {
                server.tell(&Ask::post("/v1/dispatch/unfreeze", scope.body(reason)), fields)
            }
        }
    }
}

impl Scope {
    fn body(self, reason: String) -> Value {
        let scope = match self.scope {
            Kind::Global => "global",
            Kind::Channel => "channel",
            Kind::Merchant => "merchant",
        };
        given([
            ("scope", Some(scope.into())),
            ("id", self.id.map(Value::from)),
            ("reason", Some(reason.into())),
        ])
    }
}

fn frozen(answer: &Value) -> String {
    match rows(answer, "data") {
        [] => "nothing is frozen".to_owned(),
        freezes => table_of(COLUMNS, freezes),
    }
}
