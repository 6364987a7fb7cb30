//! `bursar events`: the event feed, in commit order.

use std::time::Duration;

use bursar_node::client::{ApiError, ApiRequest, Client};
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
    /// Start after this cursor [default: the first event]
    #[arg(long, alias = "cursor", value_name = "CURSOR")]
    after: Option<String>,
    /// Events per page, at most 500
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Keep reading, one event per line; continues without gaps after a server restart
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

/// Pause between two polls at the end of the feed.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if !self.follow {
            return self.server.print_response(&self.request(self.after.as_deref()), list(COLUMNS));
        }
        let client = self.server.client()?;
        Server::runtime()?.block_on(self.follow(&client))
    }

    fn request(&self, after: Option<&str>) -> ApiRequest {
        ApiRequest::get("/v1/events").with("limit", Some(self.limit)).with("after", after)
    }

    async fn follow(&self, client: &Client) -> Result<(), Failure> {
        let mut after = self.after.clone();
        let mut is_unreachable = false;
        loop {
            let page = match client.send(&self.request(after.as_deref())).await {
                Ok(page) => page.json,
                Err(ApiError::Problem { status: 429 | 503, .. } | ApiError::Lost(_)) => Value::Null,
                // A server that was never reached is an error; one that was reached may come back.
                Err(ApiError::NotSent(_)) if after != self.after => Value::Null,
                Err(error) => return Err(error.failure()),
            };
            if page.is_null() && !is_unreachable {
                terminal::note("the server does not answer; retrying from the same cursor");
            }
            is_unreachable = page.is_null();
            let events = rows(&page, "data");
            for event in events {
                self.print(event)?;
            }
            let cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
            // A page may be empty although there are more.
            let is_at_the_end = cursor.is_none() || cursor == after;
            after = cursor.or(after);
            if is_at_the_end {
                tokio::time::sleep(POLL_INTERVAL).await;
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
