//! `bursar payin`: payments of customers to merchants.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of, text};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Filter, GetArgs, IdempotencyArgs, ListArgs, RemoteCommand, Resource, Server, fields, rows,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a pay-in; the provider's reference deduplicates it
    Record(Record),
    /// List pay-ins, newest first
    List(ListArgs<PayInFilter>),
    /// Show one pay-in (pi_…), and its case if other values were reported
    Get(GetArgs),
    /// Close the case of a pay-in; no money moves
    CloseCase(CloseCase),
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

#[derive(Debug, Args)]
pub(crate) struct CloseCase {
    #[command(flatten)]
    payin: GetArgs,
    /// What the case was and how it was settled, for the audit log
    #[arg(long, value_name = "TEXT")]
    evidence: String,
    /// The version that was reviewed; the server rejects the request if the pay-in changed since
    #[arg(long, value_name = "N")]
    expected_version: u64,
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
            Self::Get(payin) => {
                let request = ApiRequest::get(PAYINS.path_of(&payin));
                server.print_response(&request, shown)
            }
            Self::CloseCase(CloseCase { payin, evidence, expected_version, once }) => {
                let body = json!({"evidence": evidence, "expected_version": expected_version});
                let request = ApiRequest::post(PAYINS.path_below(&payin, "case/close"), body);
                server.print_response_once(request, once, fields)
            }
        }
    }
}

const REPORTED: &[Column] = &[
    Column::text("time", "time"),
    Column::text("status", "reported"),
    Column::text("merchant_id", "merchant"),
    Column::text("event_id", "event"),
    Column::text("currency", ""),
    Column::number("amount", "amount"),
];

/// One pay-in, and below it what was reported otherwise.
fn shown(payin: &Value) -> String {
    let mut own = payin.clone();
    let case = own.as_object_mut().and_then(|fields| fields.shift_remove("case"));
    let Some(case) = case else { return fields(payin) };
    let status = case.get("status").map(text).unwrap_or_default();
    let reported = table_of(REPORTED, rows(&case, "reported"));
    format!("{}\n\nThe case is {status}. Reported otherwise:\n{reported}", fields(&own))
}
