//! `bursar dispatch`: what waits to be sent and why, settings, and freezes, which stop submissions to channels.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{RemoteCommand, Server, fields, given, rows};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List what waits to be sent, by channel and rank, and active freezes
    Status,
    /// List what waits to be sent, by merchant
    Queue {
        /// Only this channel
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        /// Only this merchant
        #[arg(long, value_name = "ID")]
        merchant: Option<String>,
    },
    /// Say why a payout (po_…) waits
    Why {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Show the settings of a channel, and where each comes from
    Config {
        #[arg(value_name = "CHANNEL")]
        channel: String,
    },
    /// List what dispatch did, a few seconds a row, latest first
    Audit {
        /// Only this channel
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        /// How many rows
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Freeze: stop new submissions; submitted payouts run to their end
    Freeze {
        #[command(flatten)]
        scope: Scope,
        /// The reason, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Unfreeze; requires two people, one of them an approver
    Unfreeze {
        #[command(flatten)]
        scope: Scope,
        /// The reason, for the audit log
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// What to freeze: everything, one channel or one merchant
    #[arg(long)]
    scope: Kind,
    /// The name of the channel or the id of the merchant
    #[arg(long, value_name = "ID", required_if_eq_any([("scope", "channel"), ("scope", "merchant")]))]
    id: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Global,
    Channel,
    Merchant,
}

const GROUPS: &[Column] = &[
    Column::text("channel", "channel"),
    Column::text("lane", "rank"),
    Column::number("waiting", "waiting"),
    Column::text("first_due", "first due"),
    Column::number("rate_per_s", "a second"),
];

const MERCHANTS: &[Column] = &[
    Column::text("channel", "channel"),
    Column::text("lane", "rank"),
    Column::text("merchant_id", "merchant"),
    Column::number("waiting", "waiting"),
    Column::number("weight", "weight"),
    Column::text("first_due", "first due"),
    Column::text("is_frozen", "frozen"),
];

const SETTINGS: &[Column] = &[
    Column::text("setting", "setting"),
    Column::text("value", "value"),
    Column::text("from", "from"),
];

const CYCLES: &[Column] = &[
    Column::text("until", "until"),
    Column::text("channel", "channel"),
    Column::number("dispatched", "sent"),
    Column::number("failed", "refused"),
    Column::number("recovered", "recovered"),
    Column::number("expired", "expired"),
    Column::text("reason", "reason"),
];

const COLUMNS: &[Column] = &[
    Column::text("scope", "frozen"),
    Column::text("since", "since"),
    Column::text("actor", "by"),
    Column::text("reason", "reason"),
    Column::text("lifted_by", "wants it lifted"),
];

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Status => {
                // Programs read one document: the queues have a command of their own.
                if !server.json {
                    server.print_response(&ApiRequest::get("/v1/dispatch/queue"), waiting)?;
                }
                server.print_response(&ApiRequest::get("/v1/dispatch/freezes"), frozen)
            }
            Self::Queue { channel, merchant } => {
                let request = ApiRequest::get("/v1/dispatch/queue")
                    .with("channel", channel)
                    .with("merchant_id", merchant);
                server.print_response(&request, by_merchant)
            }
            Self::Why { id } => {
                let request = ApiRequest::get(format!("/v1/dispatch/why/{id}"));
                server.print_response(&request, fields)
            }
            Self::Config { channel } => {
                let request = ApiRequest::get(format!("/v1/dispatch/config/payout/{channel}"));
                server.print_response(&request, settings)
            }
            Self::Audit { channel, limit } => {
                let request = ApiRequest::get("/v1/dispatch/audit")
                    .with("channel", channel)
                    .with("limit", Some(limit));
                server.print_response(&request, |answer| table_of(CYCLES, rows(answer, "data")))
            }
            Self::Freeze { scope, reason } => server.print_response(
                &ApiRequest::post("/v1/dispatch/freeze", scope.body(reason)),
                fields,
            ),
            Self::Unfreeze { scope, reason } => server.print_response(
                &ApiRequest::post("/v1/dispatch/unfreeze", scope.body(reason)),
                fields,
            ),
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

fn waiting(answer: &Value) -> String {
    match rows(answer, "groups") {
        [] => "nothing waits to be sent".to_owned(),
        groups => table_of(GROUPS, groups),
    }
}

fn by_merchant(answer: &Value) -> String {
    let mut merchants = Vec::new();
    for group in rows(answer, "groups") {
        for merchant in rows(group, "merchants") {
            let mut row = merchant.as_object().cloned().unwrap_or_default();
            for key in ["channel", "lane"] {
                row.extend(group.get(key).map(|value| (key.to_owned(), value.clone())));
            }
            merchants.push(Value::Object(row));
        }
    }
    if merchants.is_empty() {
        return "nothing waits to be sent".to_owned();
    }
    table_of(MERCHANTS, &merchants)
}

fn settings(answer: &Value) -> String {
    let settings = answer.get("settings").and_then(Value::as_object);
    let row = |(key, setting): (&String, &Value)| {
        let value = setting.get("value").map(ToString::to_string).unwrap_or_default();
        json!({ "setting": key, "value": value, "from": setting.get("from") })
    };
    let rows: Vec<Value> = settings.into_iter().flatten().map(row).collect();
    table_of(SETTINGS, &rows)
}

fn frozen(answer: &Value) -> String {
    match rows(answer, "data") {
        [] => "nothing is frozen".to_owned(),
        freezes => table_of(COLUMNS, freezes),
    }
}
