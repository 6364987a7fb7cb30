//! `bursar merchant`: who they are, what they have, and how it came about.

use bursar_connect::escape;
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Page, Server, fields, given, list, rows};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a merchant
    Create {
        /// 1 to 64 letters, digits and `_`
        #[arg(value_name = "ID")]
        id: String,
        #[arg(long)]
        name: String,
    },
    /// All merchants
    List(Page),
    /// One merchant
    Get(Named),
    /// Give a merchant another name, close it or open it again
    Change {
        #[command(flatten)]
        merchant: Named,
        #[arg(long)]
        name: Option<String>,
        /// A closed merchant begins nothing new; what is under way comes to its end
        #[arg(long, required_unless_present = "name")]
        status: Option<Status>,
    },
    /// What a merchant has
    Balances(Named),
    /// Every movement of a merchant's money, with running balances
    Statement {
        #[command(flatten)]
        merchant: Named,
        /// What happened at this time or later
        #[arg(long, value_name = "TIME")]
        from: Option<Timestamp>,
        /// What happened before this time
        #[arg(long, value_name = "TIME")]
        until: Option<Timestamp>,
    },
}

#[derive(Debug, Args)]
struct Named {
    /// The merchant
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Open,
    Closed,
}

const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("name", "name"),
    Column::text("status", "status"),
    Column::text("created_at", "created"),
];

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

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Create { id, name } => {
                server.tell(&Ask::post("/v1/merchants", json!({"id": id, "name": name})), fields)
            }
            Command::List(page) => server.tell(&page.of(Ask::get("/v1/merchants")), list(COLUMNS)),
            Command::Get(merchant) => server.tell(&Ask::get(merchant.path("")), fields),
            Command::Change { merchant, name, status } => {
                let status = status.map(|status| match status {
                    Status::Open => "open",
                    Status::Closed => "closed",
                });
                let body =
                    given([("name", name.map(Value::from)), ("status", status.map(Value::from))]);
                server.tell(&Ask::patch(merchant.path(""), body), fields)
            }
            Command::Balances(merchant) => {
                let show = |answer: &Value| table_of(BALANCES, rows(answer, "balances"));
                server.tell(&Ask::get(merchant.path("/balances")), show)
            }
            Command::Statement { merchant, from, until } => {
                let ask = Ask::get(merchant.path("/statement"));
                server.tell(&ask.with("from", from).with("until", until), statement)
            }
        }
    }
}

impl Named {
    fn path(&self, below: &str) -> String {
        format!("/v1/merchants/{}{below}", escape(&self.id))
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
