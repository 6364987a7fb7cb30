//! `bursar webhook endpoints`: manage endpoints and their signing secrets.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::super::{GetArgs, ListArgs, MerchantFilter, Resource, Server, fields, given, pair};
use super::deliveries::shown;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List endpoints, newest first, including deleted ones
    List(ListArgs<MerchantFilter>),
    /// Add an endpoint; its signing secret is shown only once
    Add(Add),
    /// Show one endpoint (we_…) and its health
    Get(GetArgs),
    /// Change an endpoint; pending deliveries use the new settings
    Change {
        #[command(flatten)]
        endpoint: GetArgs,
        #[command(flatten)]
        changes: Changes,
    },
    /// Delete an endpoint: cancels pending deliveries and deletes its secrets
    Delete(GetArgs),
    /// Enable an endpoint; to send cancelled deliveries use `replay --dead --include-cancelled`
    Enable(GetArgs),
    /// Disable an endpoint; cancels pending deliveries
    Disable {
        #[command(flatten)]
        endpoint: GetArgs,
        /// The reason, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Create a new signing secret, shown only once; the previous one also signs until the overlap ends
    RotateSecret {
        #[command(flatten)]
        endpoint: GetArgs,
        /// How long the previous secret also signs, in seconds [default: a day]
        #[arg(long, value_name = "SECONDS")]
        overlap: Option<u32>,
    },
    /// Send a `webhook.test` event
    Test(GetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The https URL to send to
    #[arg(value_name = "URL")]
    to: String,
    /// The merchant that owns the endpoint
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// Event types: `*` for all, `payout.*`, or single types, separated by commas
    #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "*")]
    events: Vec<String>,
    /// The payload version [default: the latest]
    #[arg(long, value_name = "DATE")]
    payload_version: Option<String>,
    /// An extra header, such as a token; may be repeated, and is never shown again
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,
    /// Concurrent requests, at most 256 [default: 32]
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Requests per second in each process [default: no limit]
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
}

/// Settings that are not given stay unchanged.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Changes {
    /// The https URL to send to
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Event types, separated by commas
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// The payload version
    #[arg(long, value_name = "DATE")]
    payload_version: Option<String>,
    /// Extra headers; replaces all existing ones
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Option<Vec<(String, String)>>,
    /// Remove all extra headers
    #[arg(long, conflicts_with = "header")]
    no_headers: bool,
    /// Concurrent requests, at most 256
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    /// Requests per second in each process; 0 for no limit
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
}

const ENDPOINTS: Resource = Resource {
    path: "/v1/webhook-endpoints",
    columns: &[
        Column::text("id", "id"),
        Column::text("merchant_id", "merchant"),
        Column::text("url", "url"),
        Column::text("event_types", "events"),
        Column::text("status", "status"),
        Column::text("reason", "reason"),
        Column::text("failing_since", "failing since"),
        Column::text("resting_until", "resting until"),
    ],
};

impl Command {
    pub(super) fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => ENDPOINTS.list(server, &arguments),
            Self::Add(add) => {
                server.print_response(&ApiRequest::post(ENDPOINTS.path, add.body()), with_secret)
            }
            Self::Get(endpoint) => ENDPOINTS.get(server, &endpoint),
            Self::Change { endpoint, changes } => server.print_response(
                &ApiRequest::patch(ENDPOINTS.path_of(&endpoint), changes.body()),
                fields,
            ),
            Self::Delete(endpoint) => {
                server.print_response(&ApiRequest::delete(ENDPOINTS.path_of(&endpoint)), fields)
            }
            Self::Enable(endpoint) => server.print_response(
                &ApiRequest::post(ENDPOINTS.path_below(&endpoint, "enable"), json!({})),
                fields,
            ),
            Self::Disable { endpoint, reason } => {
                let body = given([("reason", reason.map(Value::from))]);
                server.print_response(
                    &ApiRequest::post(ENDPOINTS.path_below(&endpoint, "disable"), body),
                    fields,
                )
            }
            Self::RotateSecret { endpoint, overlap } => {
                let body = given([("overlap_s", overlap.map(Value::from))]);
                server.print_response(
                    &ApiRequest::post(ENDPOINTS.path_below(&endpoint, "rotate-secret"), body),
                    with_secret,
                )
            }
            Self::Test(endpoint) => server.print_response(
                &ApiRequest::post(ENDPOINTS.path_below(&endpoint, "test"), json!({})),
                shown,
            ),
        }
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
