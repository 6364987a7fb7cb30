//! `bursar webhook endpoints`: added, looked at, changed, switched, and their secrets rotated.

use bursar_connect::escape;
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::super::{Page, Server, fields, given, list, pair};
use super::deliveries::shown;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Endpoints, newest first, also those that were deleted
    List {
        /// Of this merchant only
        #[arg(long, value_name = "ID")]
        merchant: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    /// Add an endpoint; its secret is shown this once and never again
    Add(Add),
    /// One endpoint, and how it is doing
    Get(Named),
    /// Change an endpoint; what waits to be sent goes where it points now
    Change {
        #[command(flatten)]
        endpoint: Named,
        #[command(flatten)]
        changes: Changes,
    },
    /// Delete an endpoint: what waits is cancelled, its secrets are gone
    Delete(Named),
    /// Send to it again; what was cancelled meanwhile is sent only by `replay --dead --include-cancelled`
    Enable(Named),
    /// Send nothing to it; what waits is cancelled
    Disable {
        #[command(flatten)]
        endpoint: Named,
        /// Why, for whoever looks later
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Make a new secret, shown this once; the one before signs as well until the overlap has passed
    RotateSecret {
        #[command(flatten)]
        endpoint: Named,
        /// For how long the secret before still signs as well, in seconds [default: a day]
        #[arg(long, value_name = "SECONDS")]
        overlap: Option<u32>,
    },
    /// Send an event that says only that somebody wanted to see one
    Test(Named),
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// The endpoint, such as we_…
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Where to send, over https
    #[arg(value_name = "URL")]
    to: String,
    /// Who wants to be told
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// What of: `*` for all, `payout.*`, or single ones; several with commas between them
    #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "*")]
    events: Vec<String>,
    /// The form of what is sent [default: the latest]
    #[arg(long, value_name = "DATE")]
    payload_version: Option<String>,
    /// A header to send as well, such as a token; may be given several times, and is never shown again
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,
    /// How many are sent at the same time, at most 256 [default: 32]
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// How many may begin in a second, in each process [default: no limit]
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
}

/// What is not named stays as it is.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(super) struct Changes {
    /// Where to send
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// What of; several with commas between them
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// The form of what is sent
    #[arg(long, value_name = "DATE")]
    payload_version: Option<String>,
    /// All headers to send as well: those that are not named are gone
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Option<Vec<(String, String)>>,
    /// Send no headers as well
    #[arg(long, conflicts_with = "header")]
    no_headers: bool,
    /// How many are sent at the same time, at most 256
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// How many may begin in a second, in each process; 0 for no limit
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
}

const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("merchant_id", "merchant"),
    Column::text("url", "url"),
    Column::text("event_types", "events"),
    Column::text("status", "status"),
    Column::text("reason", "reason"),
    Column::text("failing_since", "failing since"),
    Column::text("resting_until", "resting until"),
];

impl Command {
    pub(super) fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::List { merchant, page } => {
                let ask = Ask::get("/v1/webhook-endpoints").with("merchant_id", merchant.as_ref());
                server.tell(&page.of(ask), list(COLUMNS))
            }
            Self::Add(add) => {
                server.tell(&Ask::post("/v1/webhook-endpoints", add.body()), with_secret)
            }
            Self::Get(endpoint) => server.tell(&Ask::get(endpoint.path("")), fields),
            Self::Change { endpoint, changes } => {
                server.tell(&Ask::patch(endpoint.path(""), changes.body()), fields)
            }
            Self::Delete(endpoint) => server.tell(&Ask::delete(endpoint.path("")), fields),
            Self::Enable(endpoint) => {
                server.tell(&Ask::post(endpoint.path("/enable"), json!({})), fields)
            }
            Self::Disable { endpoint, reason } => {
                let body = given([("reason", reason.map(Value::from))]);
                server.tell(&Ask::post(endpoint.path("/disable"), body), fields)
            }
            Self::RotateSecret { endpoint, overlap } => {
                let body = given([("overlap_s", overlap.map(Value::from))]);
                server.tell(&Ask::post(endpoint.path("/rotate-secret"), body), with_secret)
            }
            Self::Test(endpoint) => {
                server.tell(&Ask::post(endpoint.path("/test"), json!({})), shown)
            }
        }
    }
}

impl Named {
    fn path(&self, below: &str) -> String {
        format!("/v1/webhook-endpoints/{}{below}", escape(&self.id))
    }
}

impl Add {
    fn body(self) -> Value {
        given([
            ("merchant_id", Some(self.merchant.into())),
            ("url", Some(self.to.into())),
            ("event_types", Some(self.events.into())),
            ("version", self.payload_version.map(Value::from)),
            ("headers", (!self.header.is_empty()).then(|| object(self.header))),
            ("concurrency", self.concurrency.map(Value::from)),
            ("rate_limit_per_s", self.rate_limit.map(Value::from)),
        ])
    }
}

impl Changes {
    fn body(self) -> Value {
        let headers = self.header.or_else(|| self.no_headers.then(Vec::new));
        given([
            ("url", self.to.map(Value::from)),
            ("event_types", self.events.map(Value::from)),
            ("version", self.payload_version.map(Value::from)),
            ("headers", headers.map(object)),
            ("concurrency", self.concurrency.map(Value::from)),
            ("rate_limit_per_s", self.rate_limit.map(Value::from)),
        ])
    }
}

fn object(pairs: Vec<(String, String)>) -> Value {
    Value::Object(pairs.into_iter().map(|(name, value)| (name, value.into())).collect())
}

fn with_secret(endpoint: &Value) -> String {
    format!("{}\nKeep the secret: it is not shown again.", fields(endpoint))
}
