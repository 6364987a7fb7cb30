//! `bursar merchant`: merchants, their balances and statements.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use clap::{Subcommand, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{GetArgs, ListArgs, RemoteCommand, Resource, Server, fields, given, rows};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a merchant
    Create {
        /// 1 to 64 letters, digits and `_`
        #[arg(value_name = "ID")]
        id: String,
        #[arg(long)]
        name: String,
    },
    /// List merchants
    List(ListArgs),
    /// Show one merchant
    Get(GetArgs),
    /// Rename, close or reopen a merchant
    Change {
        #[command(flatten)]
        merchant: GetArgs,
        #[arg(long)]
        name: Option<String>,
        /// A closed merchant can start nothing new; flows in progress run to their end
        #[arg(long, required_unless_present = "name")]
        status: Option<Status>,
    },
    /// Show the balances of a merchant
    Balances(GetArgs),
    /// Show a merchant's statement: every posting, with running balances
    Statement {
        #[command(flatten)]
        merchant: GetArgs,
        /// Only postings at or after this time
        #[arg(long, value_name = "TIME")]
        from: Option<Timestamp>,
        /// Only postings before this time
        #[arg(long, value_name = "TIME")]
        until: Option<Timestamp>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Status {
    Open,
    Closed,
}

const MERCHANTS: Resource = Resource {
    path: "/v1/merchants",
    columns: &[
        Column::text("id", "id"),
        Column::text("name", "name"),
        Column::text("status", "status"),
        Column::text("created_at", "created"),
    ],
};

const BALANCES: &[Column] = &[
    Column::text("currency", ""),
    Column::number("available", "available"),
    Column::number("held", "held"),
    Column::number("pending", "pending"),
];

const LINES: &[Column] = &[
    Column::text("effective_at", "time"),
    Column::text("event", "event"),
    Column::text("reference", "reference"),
    Column::text("account", "account"),
    Column::text("currency", ""),
    Column::number("debit", "debit"),
    Column::number("credit", "credit"),
    Column::number("balance", "balance"),
];

const ENDS: &[Column] = &[
    Column::text("account", "account"),
    Column::text("currency", ""),
    Column::number("balance", "balance"),
];

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Create { id, name } => server.print_response(
                &ApiRequest::post(MERCHANTS.path, json!({"id": id, "name": name})),
                fields,
            ),
            Self::List(arguments) => MERCHANTS.list(server, &arguments),
            Self::Get(merchant) => MERCHANTS.get(server, &merchant),
            Self::Change { merchant, name, status } => {
                let status = status.map(|status| match status {
                    Status::Open => "open",
                    Status::Closed => "closed",
                });
                let body =
                    given([("name", name.map(Value::from)), ("status", status.map(Value::from))]);
                server
                    .print_response(&ApiRequest::patch(MERCHANTS.path_of(&merchant), body), fields)
            }
            Self::Balances(merchant) => {
                let show = |answer: &Value| table_of(BALANCES, rows(answer, "balances"));
                server.print_response(
                    &ApiRequest::get(MERCHANTS.path_below(&merchant, "balances")),
                    show,
                )
            }
            Self::Statement { merchant, from, until } => {
                let path = MERCHANTS.path_below(&merchant, "statement");
                server.print_pages(statement, |cursor| {
                    let request = ApiRequest::get(&path).with("from", from).with("until", until);
                    request.with("limit", Some(500)).with("cursor", cursor)
                })
            }
        }
    }
}

fn statement(answer: &Value) -> String {
    let opening = rows(answer, "opening");
    let lines = table_of(LINES, rows(answer, "rows"));
    let closing = format!("Closing balances\n{}", table_of(ENDS, rows(answer, "closing")));
    if opening.is_empty() {
        return format!("{lines}\n{closing}");
    }
    format!("Opening balances\n{}\n{lines}\n{closing}", table_of(ENDS, opening))
}
