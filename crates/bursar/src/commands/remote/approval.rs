//! `bursar approval`: what one person may not do alone.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Filter, GetArgs, ListArgs, RemoteCommand, Resource, Server, fields, given, rows};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List proposals, newest first, and the decisions of other commands that wait for a second person
    List(ListArgs<StatusFilter>),
    /// Show one proposal (apr_…), and the postings that it would make
    Get(GetArgs),
    /// Approve a proposal of another person; with the last approval it is carried out
    Approve(Decision),
    /// Reject a proposal of another person; nothing is done
    Reject(Decision),
    /// Withdraw your own proposal; nothing is done
    Withdraw(Decision),
}

#[derive(Debug, Args)]
pub(crate) struct StatusFilter {
    /// Only proposals with this status, such as PROPOSED
    #[arg(long)]
    status: Option<String>,
}

impl Filter for StatusFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        request.with("status", self.status.as_ref())
    }
}

#[derive(Debug, Args)]
pub(crate) struct Decision {
    #[command(flatten)]
    approval: GetArgs,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// The version that was reviewed; the server rejects the decision if the proposal changed since
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
}

const APPROVALS: Resource = Resource {
    path: "/v1/approvals",
    columns: &[
        Column::text("id", "id"),
        Column::text("status", "status"),
        Column::text("action", "action"),
        Column::text("summary", "what"),
        Column::text("maker", "proposed by"),
        Column::text("created_at", "created"),
        Column::text("expires_at", "expires"),
    ],
};

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => APPROVALS.list(server, &arguments),
            Self::Get(approval) => {
                server.print_response(&ApiRequest::get(APPROVALS.path_of(&approval)), shown)
            }
            Self::Approve(decision) => decision.send(server, "approve"),
            Self::Reject(decision) => decision.send(server, "reject"),
            Self::Withdraw(decision) => decision.send(server, "withdraw"),
        }
    }
}

impl Decision {
    fn send(self, server: &Server, verb: &str) -> Result<(), Failure> {
        let body = given([
            ("note", self.note.map(Value::from)),
            ("expected_version", self.expected_version.map(Value::from)),
        ]);
        let request = ApiRequest::post(APPROVALS.path_below(&self.approval, verb), body);
        server.print_response(&request, shown)
    }
}

const POSTINGS: &[Column] = &[
    Column::text("event", "event"),
    Column::text("source", "from"),
    Column::text("destination", "to"),
    Column::text("currency", ""),
    Column::number("amount", "amount"),
];

const SIGNED: &[Column] =
    &[Column::text("at", "time"), Column::text("actor", "by"), Column::text("note", "note")];

/// One proposal, and below it what it would do and who has decided.
fn shown(approval: &Value) -> String {
    let mut own = approval.clone();
    if let Some(fields) = own.as_object_mut() {
        fields.shift_remove("would");
        fields.shift_remove("signed");
    }
    let mut text = fields(&own);
    for (title, name, columns) in
        [("Postings", "would", POSTINGS), ("Decided by", "signed", SIGNED)]
    {
        let rows = rows(approval, name);
        if !rows.is_empty() {
            text = format!("{text}\n\n{title}:\n{}", table_of(columns, rows));
        }
    }
    text
}
