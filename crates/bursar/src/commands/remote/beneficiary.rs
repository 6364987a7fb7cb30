//! `bursar beneficiary`: whom a merchant pays again and again.

use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Page, Server, fields, given, list};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add somebody to pay
    Add(Add),
    /// Beneficiaries, newest first
    List {
        /// Of this merchant only
        #[arg(long, value_name = "ID")]
        merchant: Option<String>,
        #[command(flatten)]
        page: Page,
    },
}

#[derive(Debug, Args)]
struct Add {
    /// Whose beneficiary it is
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// Who is paid
    #[arg(long)]
    name: String,
    /// Their bank account; either this or a telephone number
    #[arg(long, conflicts_with = "msisdn", required_unless_present = "msisdn")]
    account: Option<String>,
    /// Their telephone number
    #[arg(long)]
    msisdn: Option<String>,
    /// The bank of the account
    #[arg(long)]
    bank: Option<String>,
}

const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("merchant_id", "merchant"),
    Column::text("name", "name"),
    Column::text("account", "account"),
    Column::text("msisdn", "telephone"),
    Column::text("bank", "bank"),
    Column::text("created_at", "created"),
];

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Add(Add { merchant, name, account, msisdn, bank }) => {
                let body = given([
                    ("merchant_id", Some(merchant.into())),
                    ("name", Some(name.into())),
                    ("account", account.map(Value::from)),
                    ("msisdn", msisdn.map(Value::from)),
                    ("bank", bank.map(Value::from)),
                ]);
                server.tell(&Ask::post("/v1/beneficiaries", body), fields)
            }
            Command::List { merchant, page } => {
                let ask = Ask::get("/v1/beneficiaries").with("merchant_id", merchant);
                server.tell(&page.of(ask), list(COLUMNS))
            }
        }
    }
}
