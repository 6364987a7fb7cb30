//! `bursar restore`: recheck mode after the books were restored from a copy.

use std::path::{Path, PathBuf};

use bursar_core::four_eyes::Signature;
use bursar_core::restores::{RestoreAction, RestoreChange};
use bursar_core::rules::Rules;
use bursar_node::books::begin_recheck;
use bursar_node::client::ApiRequest;
use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use bursar_node::rulebook::load_rulebook;
use bursar_node::terminal;
use bursar_store::Location;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{Server, fields, given, rows};

/// Recheck payouts after the books were restored from a copy
///
/// A copy has forgotten what was sent after it was made. In recheck mode no payout is sent, cancelled, failed or released
/// before its channel was asked about it. Two people end it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Begin recheck mode: in restored books before their first start, or on a running server
    Begin(Begin),
    /// Show the last restore, and what is still rechecked after it
    Status,
    /// Load a provider's report of all payments in the time that was lost; requires two people with the same file
    Report(Report),
    /// End recheck mode; requires two people, one of them an approver
    End {
        /// Only this channel
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Begin {
    /// The data directory of the restored books, while no server uses it
    #[arg(long, value_name = "DIR", conflicts_with = "database_url")]
    data: Option<PathBuf>,
    /// The database of the restored books
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Which copy it is, for the audit log
    #[arg(long, value_name = "TEXT", default_value = "the books were restored from a copy")]
    reason: String,
}

#[derive(Debug, Args)]
struct Report {
    channel: String,
    /// CSV with the columns reference, status (paid, pending, failed, returned), amount and currency
    file: PathBuf,
    /// The time that the report covers: from before the last commit of the copy …
    #[arg(long, value_name = "TIME")]
    from: String,
    /// … until the channel shows everything that was sent before the restore
    #[arg(long, value_name = "TIME")]
    to: String,
}

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let Self { server, command } = self;
        match command {
            Command::Begin(begin) => begin.run(&server, config),
            Command::Status => server.print_response(&ApiRequest::get("/v1/restore"), shown),
            Command::Report(report) => {
                let request = ApiRequest::post("/v1/restore/report", report.body()?);
                server.print_response(&request, fields)
            }
            Command::End { channel } => {
                let body = given([("channel", channel.map(Value::from))]);
                server.print_response(&ApiRequest::post("/v1/restore/end", body), fields)
            }
        }
    }
}

impl Begin {
    fn run(self, server: &Server, config: Option<&Path>) -> Result<(), Failure> {
        let Self { data, database_url, reason } = self;
        let location =
            data.map(Location::Directory).or_else(|| database_url.map(Location::Database));
        let Some(location) = location else {
            let request = ApiRequest::post("/v1/restore/begin", json!({ "reason": reason }));
            return server.print_response(&request, fields);
        };
        let config = Config::load(config)?;
        let rules = Rules::from(load_rulebook(config.chart_path().as_deref())?);
        let action = RestoreAction::Begin { reason };
        let change = RestoreChange { by: Signature::new("command line", false), action };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut store = location.open().await?;
            begin_recheck(&mut store, &rules, change).await?;
            // Otherwise the server would find another timeline, and begin again.
            store.name_server().await.map_err(Failure::from)
        })?;
        terminal::say(&format!(
            "recheck mode has begun in {location}: start the server, and see `bursar restore status`"
        ))
    }
}

impl Report {
    fn body(self) -> Result<Value, Failure> {
        let Self { channel, file, from, to } = self;
        let text =
            std::fs::read_to_string(&file).map_err(|error| Failure::reading(&file, &error))?;
        let rows = read_rows(&text).map_err(|why| {
            Failure::new(format!("{}: {why}. Nothing was loaded", file.display()))
        })?;
        Ok(json!({ "channel": channel, "from": from, "to": to, "rows": rows }))
    }
}

/// The rows of a report, with the names of the columns in its first line.
fn read_rows(text: &str) -> Result<Vec<Value>, String> {
    const COLUMNS: [&str; 4] = ["reference", "status", "amount", "currency"];
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let index = |name: &str| head.iter().position(|column| column == name);
    let places = COLUMNS.map(index);
    let [Some(_), Some(_), ..] = places else {
        return Err(format!("its first line must name the columns {}", COLUMNS.join(",")));
    };
    let mut rows = Vec::new();
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        let value = |place: Option<usize>| {
            place.and_then(|place| record.get(place)).filter(|text| !text.is_empty())
        };
        let [reference, status, amount, currency] = places.map(value);
        let (Some(reference), Some(status)) = (reference, status) else {
            return Err(format!("row {} has no reference or no status", number.saturating_add(1)));
        };
        let status = status.to_ascii_lowercase();
        if !["paid", "pending", "failed", "returned"].contains(&status.as_str()) {
            return Err(format!(
                "row {} has the status `{status}`: use paid, pending, failed or returned",
                number.saturating_add(1)
            ));
        }
        rows.push(json!({
            "reference": reference, "status": status, "amount": amount, "currency": currency,
        }));
    }
    Ok(rows)
}

const CHANNELS: &[Column] = &[
    Column::text("channel", "channel"),
    Column::text("status", "status"),
    Column::text("live", "not final"),
    Column::text("waiting", "waiting"),
    Column::text("end_proposed_by", "wants it ended"),
    Column::text("proves", "report"),
];

fn shown(answer: &Value) -> String {
    if answer.get("status").is_some_and(|status| status == "NONE") {
        return "the books were never restored".to_owned();
    }
    let mut head = answer.clone();
    let channels: Vec<Value> = rows(answer, "channels").iter().map(with_report).collect();
    if let Some(head) = head.as_object_mut() {
        head.remove("channels");
    }
    format!("{}\n{}", fields(&head), table_of(CHANNELS, &channels))
}

/// A channel, with what its report is worth in words.
fn with_report(channel: &Value) -> Value {
    let mut fields = channel.as_object().cloned().unwrap_or_default();
    let report = fields.get("report").and_then(Value::as_object);
    let words =
        match report.map(|report| (report.get("confirmed_by"), report.get("proves_absence"))) {
            None => "none",
            Some((None, _)) => "waits for a second person",
            Some((Some(_), Some(Value::Bool(true)))) => "proves absence",
            Some((Some(_), _)) => "does not cover the time that was lost",
        };
    fields.insert("proves".to_owned(), words.into());
    fields.into()
}

#[cfg(test)]
mod tests {
    use super::read_rows;

    #[test]
    fn a_report_is_read_by_the_names_of_its_columns() {
        let rows =
            read_rows("status,reference,amount,currency\nPaid, r1 ,10.00,PKR\nfailed,r2,,\n");
        let rows = rows.unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["reference"], &rows[0]["status"]), (&"r1".into(), &"paid".into()));
        assert!(rows[1]["amount"].is_null());
        for (text, words) in [
            ("reference\nr1\n", "must name the columns"),
            ("reference,status\nr1,settled\n", "row 1 has the status `settled`"),
            ("reference,status\n,paid\n", "row 1 has no reference"),
            ("reference,status\nr1,paid,more\n", "line: 2"),
        ] {
            let why = read_rows(text).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
