//! `bursar payin`: what customers have paid to merchants.

use bursar_connect::escape;
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Once, Page, Server, fields, list};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Record what a customer has paid; the provider's reference makes sure that it counts once
    Record(Record),
    /// Pay-ins, newest first
    List {
        /// Such as COLLECTED
        #[arg(long)]
        status: Option<String>,
        /// Of this merchant only
        #[arg(long, value_name = "ID")]
        merchant: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    /// One pay-in
    Get {
        /// The pay-in, such as pi_…
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
struct Record {
    /// Who was paid
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// Whom the customer paid through
    #[arg(long)]
    provider: String,
    /// What the provider knows the payment by
    #[arg(long)]
    reference: String,
    /// What the customer paid, as a decimal
    #[arg(long)]
    amount: String,
    /// Such as PKR
    #[arg(long)]
    currency: String,
    #[command(flatten)]
    once: Once,
}

const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("status", "status"),
    Column::text("merchant_id", "merchant"),
    Column::text("provider", "provider"),
    Column::text("reference", "reference"),
    Column::text("created_at", "created"),
    Column::text("currency", ""),
    Column::number("amount", "amount"),
    Column::number("fee", "fee"),
    Column::number("vat", "VAT"),
    Column::number("net", "net"),
];

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Record(Record { merchant, provider, reference, amount, currency, once }) => {
                let body = json!({
                    "merchant_id": merchant,
                    "provider": provider,
                    "reference": reference,
                    "amount": amount,
                    "currency": currency,
                });
                server.tell_once(Ask::post("/v1/payins", body), once, fields)
            }
            Command::List { status, merchant, page } => {
                let ask = Ask::get("/v1/payins").with("status", status);
                server.tell(&page.of(ask.with("merchant_id", merchant)), list(COLUMNS))
            }
            Command::Get { id } => {
                server.tell(&Ask::get(format!("/v1/payins/{}", escape(&id))), fields)
            }
        }
    }
}
