//! `bursar webhook replay`: told once more.

use bursar_connect::escape;
use bursar_node::client::{Ask, Client, Trouble};
use bursar_node::failure::Failure;
use bursar_node::report::table_of;
use bursar_node::terminal;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::{Server, given};
use super::deliveries::COLUMNS;

/// Send deliveries again, from the beginning of the schedule
///
/// Either single ones by their ids, or with --dead everything that nobody took. They wait behind everything that is new,
/// and no endpoint gets more at once than it takes. The event id stays, so a receiver knows what it has had.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The deliveries, such as dlv_…
    #[arg(value_name = "ID", required_unless_present = "dead", conflicts_with = "dead")]
    ids: Vec<String>,
    /// All dead letters, the latest first
    #[arg(long)]
    dead: bool,
    /// To this endpoint only
    #[arg(long, value_name = "ID", requires = "dead")]
    endpoint: Option<String>,
    /// Of this merchant only
    #[arg(long, value_name = "ID", requires = "dead")]
    merchant: Option<String>,
    /// Of events at this time or later
    #[arg(long, value_name = "TIME", requires = "dead")]
    since: Option<Timestamp>,
    /// Also what was cancelled because its endpoint was off
    #[arg(long, requires = "dead")]
    include_cancelled: bool,
}

/// How many are asked for at once.
const ROUND: u32 = 500;

/// What came of all rounds.
#[derive(Debug, Default)]
struct Done {
    replayed: u64,
    passed_over: u64,
    /// Where the next round begins, if there is one.
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

    async fn replay_dead(&self, client: &Client) -> Result<Done, Failure> {
        let mut done = Done::default();
        let progress = counter();
        loop {
            let body = self.body(done.cursor.take());
            let answer = client.ask(&Ask::post("/v1/dead-letters/replay", body)).await;
            let answer = answer.map_err(|trouble| {
                progress.finish_and_clear();
                let said = format!("{} were sent again before that", done.replayed);
                trouble.failure().and(&said)
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
            ("limit", Some(ROUND.into())),
            ("cursor", cursor.map(Value::from)),
        ])
    }
}

/// One after the other; what is refused keeps nothing else back.
async fn replay_each(server: &Server, client: &Client, ids: &[String]) -> Result<(), Failure> {
    let (mut again, mut refused) = (Vec::new(), 0_usize);
    for id in ids {
        let ask = Ask::post(format!("/v1/deliveries/{}/replay", escape(id)), json!({}));
        match client.ask(&ask).await {
            Ok(answer) if server.json => terminal::say(&answer.text)?,
            Ok(answer) => again.push(answer.json),
            Err(trouble @ Trouble::Problem { .. }) if ids.len() > 1 => {
                terminal::note(&format!("{id}: {}", trouble.failure()));
                refused = refused.saturating_add(1);
            }
            Err(trouble) => return Err(trouble.failure()),
        }
    }
    if !again.is_empty() {
        terminal::say(&table_of(COLUMNS, &again))?;
    }
    if refused > 0 {
        return Err(Failure::new(format!(
            "{refused} of {} were not sent again, for the reasons above; the others are on their way",
            ids.len()
        )));
    }
    Ok(())
}

impl Done {
    fn add(&mut self, round: &Value) {
        let count = |name: &str| round.get(name).and_then(Value::as_u64).unwrap_or_default();
        self.replayed = self.replayed.saturating_add(count("replayed"));
        self.passed_over = self.passed_over.saturating_add(count("passed_over"));
        self.cursor = round.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
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

/// Counts up, as nobody knows how many there are; hidden unless somebody is watching.
fn counter() -> ProgressBar {
    let bar = terminal::progress(0, "sent again");
    match ProgressStyle::with_template("{spinner} {pos} {msg}, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
