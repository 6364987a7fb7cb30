//! Diagnostics of the checker, as text with source excerpts or as JSON.

use bursar_core::numscript::{Severity, check, parse};
use bursar_node::failure::Failure;
use bursar_node::terminal::{self, to_json};
use serde::Serialize;

use super::CheckArguments;
use super::run::read;

/// Diagnostics that the text output shows at most.
const SHOWN_MAX: usize = 100;

#[derive(Debug, Serialize)]
struct FindingAnswer {
    severity: &'static str,
    code: &'static str,
    message: String,
    hint: String,
    start: u32,
    end: u32,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let source = read(&arguments.script)?;
    let path = arguments.script.display().to_string();
    let script = parse(&source, arguments.language.mode())
        .map_err(|error| Failure::Rendered(error.render(&source, &path)))?;
    let findings = check(&script, arguments.language.features(), arguments.language.mode());
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if arguments.json {
        let answers: Vec<FindingAnswer> = findings
            .into_iter()
            .map(|finding| FindingAnswer {
                severity: match finding.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                },
                code: finding.code,
                message: finding.message,
                hint: finding.hint,
                start: finding.span.start,
                end: finding.span.end,
            })
            .collect();
        terminal::say(&to_json(&answers)?)?;
    } else {
        for finding in findings.iter().take(SHOWN_MAX) {
            terminal::say(&format!("{}\n", finding.render(&source, &path)))?;
        }
        if findings.len() > SHOWN_MAX {
            let more = findings.len().saturating_sub(SHOWN_MAX);
            terminal::say(&format!(
                "{more} more are not shown: correct these first, or use --json\n"
            ))?;
        }
        let warnings = findings.len().saturating_sub(errors);
        terminal::say(&format!("{path}: {errors} errors, {warnings} warnings"))?;
    }
    if errors > 0 {
        return Err(Failure::new(format!(
            "{path} would not do what it says: correct the errors above"
        )));
    }
    Ok(())
}
