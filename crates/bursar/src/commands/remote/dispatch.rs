//! `bursar dispatch`: freezes, which stop submissions to channels.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::{RemoteCommand, Server, fields, given, rows};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List active freezes
    Status,
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
            Self::Status => server.print_response(&ApiRequest::get("/v1/dispatch/freezes"), frozen),
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

fn frozen(answer: &Value) -> String {
    match rows(answer, "data") {
        [] => "nothing is frozen".to_owned(),
        freezes => table_of(COLUMNS, freezes),
    }
}
