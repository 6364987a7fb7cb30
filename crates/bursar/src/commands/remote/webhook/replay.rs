//! `bursar webhook replay`: send deliveries again.

use bursar_connect::escape;
use bursar_node::client::{ApiError, ApiRequest, Client};
use bursar_node::failure::Failure;
use bursar_node::report::table_of;
use bursar_node::terminal;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::{Server, given};
use super::deliveries::DELIVERIES;

/// Send deliveries again, with a fresh retry schedule
///
/// Either single deliveries by id, or all dead letters with --dead. Replays queue behind new deliveries and respect the
/// limits of their endpoint. The event id stays the same, so that a receiver can detect duplicates.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The ids of deliveries (dlv_…)
    #[arg(value_name = "ID", required_unless_present = "dead", conflicts_with = "dead")]
    ids: Vec<String>,
    /// Replay all dead letters, newest first
    #[arg(long)]
    dead: bool,
    /// Only deliveries to this endpoint
    #[arg(long, value_name = "ID", requires = "dead")]
    endpoint: Option<String>,
    /// Only deliveries of this merchant
    #[arg(long, value_name = "ID", requires = "dead")]
    merchant: Option<String>,
    /// Only deliveries of events at or after this time
    #[arg(long, value_name = "TIME", requires = "dead")]
    since: Option<Timestamp>,
    /// Also deliveries that were cancelled because their endpoint was disabled
    #[arg(long, requires = "dead")]
    include_cancelled: bool,
}

/// Deliveries per request.
const PAGE: u32 = 500;

/// Totals of all requests.
#[derive(Debug, Default)]
struct Totals {
    replayed: u64,
    passed_over: u64,
    /// Where the next request starts, if there is one.
    cursor: Option<String>,
}

impl Replay {
    pub(super) fn run(self, server: &Server) -> Result<(), Failure> {
        let client = server.client()?;
        let runtime = Server::runtime()?;
        if !self.dead {
            return runtime.block_on(replay_each(server, &client, &self.ids));
        }
        let done = runtime.block_on(self.replay_dead(&client))?;
        done.print(server.json)
    }

    async fn replay_dead(&self, client: &Client) -> Result<Totals, Failure> {
        let mut done = Totals::default();
        let progress = counter();
        loop {
            let body = self.body(done.cursor.take());
            let answer = client.send(&ApiRequest::post("/v1/dead-letters/replay", body)).await;
            let answer = answer.map_err(|error| {
                progress.finish_and_clear();
                let before = format!("{} were sent again before that", done.replayed);
                error.failure().and(&before)
            })?;
            done.add(&answer.json);
            progress.set_position(done.replayed);
            if done.cursor.is_none() {
                break;
            }
        }
        progress.finish_and_clear();
        Ok(done)
    }

    fn body(&self, cursor: Option<String>) -> Value {
        given([
            ("endpoint_id", self.endpoint.clone().map(Value::from)),
            ("merchant_id", self.merchant.clone().map(Value::from)),
            ("since", self.since.map(|since| since.to_string().into())),
            ("include_cancelled", self.include_cancelled.then_some(Value::Bool(true))),
            ("limit", Some(PAGE.into())),
            ("cursor", cursor.map(Value::from)),
        ])
    }
}

/// Replays one delivery after the other; a rejected one does not stop the rest.
async fn replay_each(server: &Server, client: &Client, ids: &[String]) -> Result<(), Failure> {
    let (mut again, mut refused) = (Vec::new(), 0_usize);
    for id in ids {
        let request = ApiRequest::post(format!("/v1/deliveries/{}/replay", escape(id)), json!({}));
        match client.send(&request).await {
            Ok(answer) if server.json => terminal::say(&answer.text)?,
            Ok(answer) => again.push(answer.json),
            Err(error @ ApiError::Problem { .. }) if ids.len() > 1 => {
                terminal::note(&format!("{id}: {}", error.failure()));
                refused = refused.saturating_add(1);
            }
            Err(error) => return Err(error.failure()),
        }
    }
    if !again.is_empty() {
        terminal::say(&table_of(DELIVERIES.columns, &again))?;
    }
    if refused > 0 {
        return Err(Failure::new(format!(
            "{refused} of {} were not sent again, for the reasons above; the others are on their way",
            ids.len()
        )));
    }
    Ok(())
}

impl Totals {
    fn add(&mut self, response: &Value) {
        let count = |name: &str| response.get(name).and_then(Value::as_u64).unwrap_or_default();
        self.replayed = self.replayed.saturating_add(count("replayed"));
        self.passed_over = self.passed_over.saturating_add(count("passed_over"));
        self.cursor = response.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
    }

    fn print(&self, is_json: bool) -> Result<(), Failure> {
        let Self { replayed, passed_over, .. } = self;
        if is_json {
            let done = json!({"replayed": replayed, "passed_over": passed_over});
            return terminal::say(&done.to_string());
        }
        terminal::say(&format!("{replayed} are sent again"))?;
        if *passed_over > 0 {
            terminal::say(&format!(
                "{passed_over} were passed over, because their endpoint is off: enable it, then replay"
            ))?;
        }
        Ok(())
    }
}

/// A counter without a total, which is unknown; hidden unless standard error is a terminal.
fn counter() -> ProgressBar {
    let bar = terminal::progress(0, "sent again");
    match ProgressStyle::with_template("{spinner} {pos} {msg}, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
