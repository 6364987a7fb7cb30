//! `bursar events`: everything that was told, in the order it was saved.

use std::time::Duration;

use bursar_node::client::{Ask, Client, Trouble};
use bursar_node::failure::Failure;
use bursar_node::report::{Column, text};
use bursar_node::terminal;
use clap::Args;
use serde_json::Value;

use super::{Server, list, rows};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    /// Go on behind this cursor; from the beginning without one
    #[arg(long, alias = "cursor", value_name = "CURSOR")]
    after: Option<String>,
    /// How many at once, at most 500
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Go on for ever, one event a line; nothing is missed, whatever happens to the server meanwhile
    #[arg(long)]
    follow: bool,
}

const COLUMNS: &[Column] = &[
    Column::text("time", "time"),
    Column::text("type", "type"),
    Column::text("subject", "subject"),
    Column::text("merchant_id", "merchant"),
    Column::text("data/amount", "amount"),
    Column::text("data/currency", ""),
    Column::number("sequence", "sequence"),
];

/// Between two looks when there is nothing new.
const REST: Duration = Duration::from_secs(1);

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if !self.follow {
            return self.server.tell(&self.ask(self.after.as_deref()), list(COLUMNS));
        }
        let client = self.server.client()?;
        Server::runtime()?.block_on(self.follow(&client))
    }

    fn ask(&self, after: Option<&str>) -> Ask {
        Ask::get("/v1/events").with("limit", Some(self.limit)).with("after", after)
    }

    async fn follow(&self, client: &Client) -> Result<(), Failure> {
        let mut after = self.after.clone();
        let mut is_away = false;
        loop {
            let page = match client.ask(&self.ask(after.as_deref())).await {
                Ok(page) => page.json,
                Err(Trouble::Problem { status: 429 | 503, .. } | Trouble::Lost(_)) => Value::Null,
                // Whoever is not there at the start may never have been.
                Err(Trouble::NotSent(_)) if after != self.after => Value::Null,
                Err(trouble) => return Err(trouble.failure()),
            };
            if page.is_null() && !is_away {
                terminal::note("the server does not answer; asking again from the same place");
            }
            is_away = page.is_null();
            let events = rows(&page, "data");
            for event in events {
                self.print(event)?;
            }
            let place = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
            // A page may be empty although there are more.
            let is_at_the_end = place.is_none() || place == after;
            after = place.or(after);
            if is_at_the_end {
                tokio::time::sleep(REST).await;
            }
        }
    }

    fn print(&self, event: &Value) -> Result<(), Failure> {
        if self.server.json {
            return terminal::say(&event.to_string());
        }
        let parts = ["time", "type", "subject", "merchant_id"];
        let parts = parts.map(|name| event.get(name).map(text).unwrap_or_default());
        terminal::say(&parts.join(" "))
    }
}
