//! `bursar payin`: payments of customers to merchants.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand};
use serde_json::json;

use super::{Filter, GetArgs, IdempotencyArgs, ListArgs, RemoteCommand, Resource, Server, fields};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a pay-in; the provider's reference deduplicates it
    Record(Record),
    /// List pay-ins, newest first
    List(ListArgs<PayInFilter>),
    /// Show one pay-in (pi_…)
    Get(GetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PayInFilter {
    /// Only pay-ins with this status, such as COLLECTED
    #[arg(long)]
    status: Option<String>,
    /// Only pay-ins of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<String>,
    /// Only pay-ins of this provider
    #[arg(long)]
    provider: Option<String>,
    /// Only the pay-in with this reference of the provider
    #[arg(long)]
    reference: Option<String>,
}

impl Filter for PayInFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        request
            .with("status", self.status.as_ref())
            .with("merchant_id", self.merchant.as_ref())
            .with("provider", self.provider.as_ref())
            .with("reference", self.reference.as_ref())
    }
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The merchant that received the payment
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// The provider that collected the payment
    #[arg(long)]
    provider: String,
    /// The provider's reference of the payment
    #[arg(long)]
    reference: String,
    /// The amount that the customer paid, as a decimal
    #[arg(long)]
    amount: String,
    /// The currency, such as PKR
    #[arg(long)]
    currency: String,
    #[command(flatten)]
    once: IdempotencyArgs,
}

const PAYINS: Resource = Resource {
    path: "/v1/payins",
    columns: &[
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
    ],
};

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Record(Record { merchant, provider, reference, amount, currency, once }) => {
                let body = json!({
                    "merchant_id": merchant,
                    "provider": provider,
                    "reference": reference,
                    "amount": amount,
                    "currency": currency,
                });
                server.print_response_once(ApiRequest::post(PAYINS.path, body), once, fields)
            }
            Self::List(arguments) => PAYINS.list(server, &arguments),
            Self::Get(payin) => PAYINS.get(server, &payin),
        }
    }
}
