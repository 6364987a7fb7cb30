//! `bursar payout`: create, inspect, cancel and resolve payouts.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::Column;
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::payout_explained::explained;
use super::{
    Filter, GetArgs, IdempotencyArgs, ListArgs, RemoteCommand, Resource, Server, fields, given,
    list, pair,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a payout; amount, fee and VAT are held at once
    Create(Create),
    /// Show one payout (po_…)
    Get(GetArgs),
    /// List payouts, newest first; with --status STUCK all of them, the longest stuck first
    List(ListArgs<PayoutFilter>),
    /// Cancel a payout that was not submitted yet
    Cancel(Cancel),
    /// Send a payout that waits at another time
    Reschedule(Reschedule),
    /// Send a payout that waits before all others, and at once
    Expedite(Expedite),
    /// Resolve a stuck payout
    Resolve(Resolve),
    /// Close the case of a finished payout; no money moves
    CloseCase(CloseCase),
    /// Explain the state of a payout: its evidence, and what it waits for
    Explain(GetArgs),
    /// List the events of a payout, oldest first
    Timeline(GetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The merchant that pays
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// The amount: a decimal above zero, such as 1500.00
    #[arg(long)]
    amount: String,
    /// The currency, such as PKR
    #[arg(long)]
    currency: String,
    /// The channel that pays it
    #[arg(long)]
    channel: String,
    /// A saved beneficiary, instead of --name
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "account", "msisdn", "bank"], required_unless_present = "name")]
    beneficiary: Option<String>,
    #[command(flatten)]
    beneficiary_details: BeneficiaryDetails,
    /// Do not submit before this time, such as 2026-12-01T06:00:00Z
    #[arg(long, value_name = "TIME")]
    scheduled_at: Option<Timestamp>,
    /// Metadata to store with the payout; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    metadata: Vec<(String, String)>,
    /// The trace id of the caller
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// The caller's own id of the payout, to find it by
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// A text to store with the payout, at most 500 bytes
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

/// A beneficiary that is not saved.
#[derive(Debug, Args)]
struct BeneficiaryDetails {
    /// The name of the account holder
    #[arg(long)]
    name: Option<String>,
    /// The bank account; either this or a telephone number
    #[arg(long, conflicts_with = "msisdn")]
    account: Option<String>,
    /// The telephone number of a mobile wallet
    #[arg(long)]
    msisdn: Option<String>,
    /// The bank of the account
    #[arg(long)]
    bank: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PayoutFilter {
    /// Only payouts with this status, such as STUCK
    #[arg(long)]
    status: Option<String>,
    /// Only payouts of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<String>,
    /// Only payouts created at or after this time
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Only payouts created before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Only payouts of this channel
    #[arg(long)]
    channel: Option<String>,
    /// Only payouts in this currency
    #[arg(long)]
    currency: Option<String>,
    /// Only payouts of exactly this amount
    #[arg(long)]
    amount: Option<String>,
    /// Only the payout with this reference of an attempt
    #[arg(long)]
    reference: Option<String>,
    /// Only payouts with this reference of the channel's own
    #[arg(long, value_name = "REFERENCE")]
    provider_reference: Option<String>,
    /// Only payouts with this trace id
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// Only payouts with this id of the caller's own
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CloseCase {
    #[command(flatten)]
    payout: GetArgs,
    /// What the case was and how it was settled, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The version that was reviewed; the server rejects the request if the payout changed since
    #[arg(long, value_name = "N")]
    expected_version: u64,
    #[command(flatten)]
    once: IdempotencyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Reschedule {
    #[command(flatten)]
    payout: GetArgs,
    /// The new time, such as 2026-12-01T06:00:00Z; a time that has passed means now
    #[arg(long, value_name = "TIME")]
    at: Timestamp,
}

#[derive(Debug, Args)]
pub(crate) struct Expedite {
    #[command(flatten)]
    payout: GetArgs,
    /// The reason, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    payout: GetArgs,
    /// Reject unless this is the current version
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
    #[command(flatten)]
    once: IdempotencyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    #[command(flatten)]
    payout: GetArgs,
    /// The decision
    #[arg(long)]
    decision: ManualDecision,
    /// The evidence for the decision, for the audit log
    #[arg(long, value_name = "TEXT")]
    evidence: String,
    /// The version that was reviewed; the server rejects the decision if the payout changed since
    #[arg(long, value_name = "N")]
    expected_version: u64,
    #[command(flatten)]
    once: IdempotencyArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum ManualDecision {
    ConfirmPaid,
    ConfirmNotPaid,
    KeepWaiting,
    NewAttempt,
}

impl ManualDecision {
    const fn name(self) -> &'static str {
        match self {
            Self::ConfirmPaid => "confirm_paid",
            Self::ConfirmNotPaid => "confirm_not_paid",
            Self::KeepWaiting => "keep_waiting",
            Self::NewAttempt => "new_attempt",
        }
    }
}

const PAYOUTS: Resource = Resource {
    path: "/v1/payouts",
    columns: &[
        Column::text("id", "id"),
        Column::text("status", "status"),
        Column::text("merchant_id", "merchant"),
        Column::text("channel", "channel"),
        Column::text("beneficiary/name", "beneficiary"),
        Column::text("beneficiary/account|beneficiary/msisdn", "account"),
        Column::text("external_id", "external id"),
        Column::text("provider_reference", "provider reference"),
        Column::text("created_at", "created"),
        Column::text("reason", "reason"),
        Column::text("currency", ""),
        Column::number("amount", "amount"),
        Column::number("fee", "fee"),
        Column::number("vat", "VAT"),
    ],
};

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Create(create) => {
                let request = ApiRequest::post(PAYOUTS.path, create.body());
                server.print_response_once(request, create.once, fields)
            }
            Self::Get(payout) => PAYOUTS.get(server, &payout),
            Self::List(arguments) => PAYOUTS.list(server, &arguments),
            Self::Cancel(cancel) => {
                let version = cancel.expected_version.map(Value::from);
                let body = given([("expected_version", version)]);
                let path = PAYOUTS.path_below(&cancel.payout, "cancel");
                let request = ApiRequest::post(path, body);
                server.print_response_once(request, cancel.once, fields)
            }
            Self::Reschedule(Reschedule { payout, at }) => {
                let request =
                    ApiRequest::patch(PAYOUTS.path_of(&payout), json!({"scheduled_at": at}));
                server.print_response(&request, fields)
            }
            Self::Expedite(Expedite { payout, reason }) => {
                let path = PAYOUTS.path_below(&payout, "expedite");
                server.print_response(&ApiRequest::post(path, json!({"reason": reason})), fields)
            }
            Self::Resolve(resolve) => {
                let Resolve { payout, decision, evidence, expected_version, once } = resolve;
                let decision = decision.name();
                let body = json!({"decision": decision, "evidence": evidence, "expected_version": expected_version});
                let request = ApiRequest::post(PAYOUTS.path_below(&payout, "resolve"), body);
                server.print_response_once(request, once, resolved)
            }
            Self::CloseCase(CloseCase { payout, reason, expected_version, once }) => {
                let body = json!({"reason": reason, "expected_version": expected_version});
                let request = ApiRequest::post(PAYOUTS.path_below(&payout, "case/close"), body);
                server.print_response_once(request, once, resolved)
            }
            Self::Explain(payout) => {
                let path = PAYOUTS.path_below(&payout, "explain");
                server.print_response(&ApiRequest::get(path), explained)
            }
            Self::Timeline(payout) => {
                let path = PAYOUTS.path_below(&payout, "timeline");
                server.print_response(&ApiRequest::get(path), list(EVENTS))
            }
        }
    }
}

impl Create {
    fn body(&self) -> Value {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let BeneficiaryDetails { name, account, msisdn, bank } = &self.beneficiary_details;
        let details = name.is_some().then(|| {
            given([
                ("name", text(name)),
                ("account", text(account)),
                ("msisdn", text(msisdn)),
                ("bank", text(bank)),
            ])
        });
        let metadata =
            self.metadata.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        let metadata = (!self.metadata.is_empty()).then(|| Value::Object(metadata.collect()));
        given([
            ("merchant_id", Some(self.merchant.clone().into())),
            ("beneficiary_id", text(&self.beneficiary)),
            ("beneficiary", details),
            ("amount", Some(self.amount.clone().into())),
            ("currency", Some(self.currency.clone().into())),
            ("channel", Some(self.channel.clone().into())),
            ("scheduled_at", self.scheduled_at.map(|time| time.to_string().into())),
            ("metadata", metadata),
            ("trace_id", text(&self.trace_id)),
            ("external_id", text(&self.external_id)),
            ("description", text(&self.description)),
        ])
    }
}

impl Filter for PayoutFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        request
            .with("status", self.status.as_ref())
            .with("merchant_id", self.merchant.as_ref())
            .with("created_from", self.from)
            .with("created_until", self.until)
            .with("channel", self.channel.as_ref())
            .with("currency", self.currency.as_ref())
            .with("amount", self.amount.as_ref())
            .with("reference", self.reference.as_ref())
            .with("provider_reference", self.provider_reference.as_ref())
            .with("trace_id", self.trace_id.as_ref())
            .with("external_id", self.external_id.as_ref())
    }

    fn is_worklist(&self) -> bool {
        self.status.as_deref() == Some("STUCK")
    }
}

fn resolved(payout: &Value) -> String {
    let waits = payout.get("pending_decision").is_some();
    let more = if waits {
        "\nIt is above the four-eyes amount: a second person must decide the same. The money stays on hold until then."
    } else {
        ""
    };
    format!("{}{more}", fields(payout))
}

const EVENTS: &[Column] = &[
    Column::text("time", "time"),
    Column::text("type", "event"),
    Column::text("data/reference", "reference"),
    Column::text("data/provider_reference", "provider reference"),
    Column::text("data/reason", "reason"),
    Column::number("sequence", "sequence"),
];
