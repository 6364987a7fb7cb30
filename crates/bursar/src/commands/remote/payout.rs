//! `bursar payout`: asked for, looked at, cancelled, decided.

use bursar_connect::escape;
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of, text};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Once, Page, Server, fields, given, list, pair, rows};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Pay somebody; the money is put aside at once, with fee and VAT
    Create(Create),
    /// One payout
    Get(Named),
    /// Payouts, newest first
    List(List),
    /// Cancel a payout of which nothing was sent yet
    Cancel(Cancel),
    /// Decide about a payout that is stuck
    Resolve(Resolve),
    /// Why a payout is where it is: what is known, by whom, and what it waits for
    Explain(Named),
    /// What was told about a payout, in order
    Timeline(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The payout, such as po_…
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Args)]
struct Create {
    /// Whose money it is
    #[arg(long, value_name = "ID")]
    merchant: String,
    /// A decimal above zero, such as 1500.00
    #[arg(long)]
    amount: String,
    /// Such as PKR
    #[arg(long)]
    currency: String,
    /// How it is paid
    #[arg(long)]
    channel: String,
    /// Somebody who was added before
    #[arg(long, value_name = "ID", conflicts_with_all = ["name", "account", "msisdn", "bank"], required_unless_present = "name")]
    beneficiary: Option<String>,
    #[command(flatten)]
    payee: Payee,
    /// Not before this time, such as 2026-12-01T06:00:00Z
    #[arg(long, value_name = "TIME")]
    scheduled_at: Option<Timestamp>,
    /// Something to find it by; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    metadata: Vec<(String, String)>,
    /// What follows it through other systems
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    #[command(flatten)]
    once: Once,
}

/// Somebody to pay.
#[derive(Debug, Args)]
struct Payee {
    /// Who is paid
    #[arg(long)]
    name: Option<String>,
    /// Their bank account; either this or a telephone number
    #[arg(long, conflicts_with = "msisdn")]
    account: Option<String>,
    /// Their telephone number
    #[arg(long)]
    msisdn: Option<String>,
    /// The bank of the account
    #[arg(long)]
    bank: Option<String>,
}

#[derive(Debug, Args)]
struct List {
    /// Such as STUCK
    #[arg(long)]
    status: Option<String>,
    /// Of this merchant only
    #[arg(long, value_name = "ID")]
    merchant: Option<String>,
    /// Made at this time or later
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Made before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    #[command(flatten)]
    page: Page,
}

#[derive(Debug, Args)]
struct Cancel {
    #[command(flatten)]
    payout: Named,
    /// Only if this is still its version
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
    #[command(flatten)]
    once: Once,
}

#[derive(Debug, Args)]
struct Resolve {
    #[command(flatten)]
    payout: Named,
    /// What is to be done
    #[arg(long)]
    decision: Decision,
    /// What the decision rests on
    #[arg(long, value_name = "TEXT")]
    evidence: String,
    /// The version that was looked at; a later one is not decided
    #[arg(long, value_name = "N")]
    expected_version: u64,
    #[command(flatten)]
    once: Once,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Decision {
    ConfirmPaid,
    ConfirmNotPaid,
    KeepWaiting,
    NewAttempt,
}

impl Decision {
    const fn name(self) -> &'static str {
        match self {
            Self::ConfirmPaid => "confirm_paid",
            Self::ConfirmNotPaid => "confirm_not_paid",
            Self::KeepWaiting => "keep_waiting",
            Self::NewAttempt => "new_attempt",
        }
    }
}

const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("status", "status"),
    Column::text("merchant_id", "merchant"),
    Column::text("channel", "channel"),
    Column::text("created_at", "created"),
    Column::text("reason", "reason"),
    Column::text("currency", ""),
    Column::number("amount", "amount"),
    Column::number("fee", "fee"),
    Column::number("vat", "VAT"),
];

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Create(create) => {
                let ask = Ask::post("/v1/payouts", create.body());
                server.tell_once(ask, create.once, fields)
            }
            Command::Get(payout) => server.tell(&Ask::get(payout.path("")), fields),
            Command::List(wanted) => server.tell(&wanted.ask(), list(COLUMNS)),
            Command::Cancel(cancel) => {
                let version = cancel.expected_version.map(Value::from);
                let body = given([("expected_version", version)]);
                let ask = Ask::post(cancel.payout.path("/cancel"), body);
                server.tell_once(ask, cancel.once, fields)
            }
            Command::Resolve(resolve) => {
                let Resolve { payout, decision, evidence, expected_version, once } = resolve;
                let decision = decision.name();
                let body = json!({"decision": decision, "evidence": evidence, "expected_version": expected_version});
                server.tell_once(Ask::post(payout.path("/resolve"), body), once, resolved)
            }
            Command::Explain(payout) => server.tell(&Ask::get(payout.path("/explain")), explained),
            Command::Timeline(payout) => {
                server.tell(&Ask::get(payout.path("/timeline")), list(MOMENTS))
            }
        }
    }
}

impl Named {
    fn path(&self, below: &str) -> String {
        format!("/v1/payouts/{}{below}", escape(&self.id))
    }
}

impl Create {
    fn body(&self) -> Value {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let Payee { name, account, msisdn, bank } = &self.payee;
        let payee = name.is_some().then(|| {
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
            ("beneficiary", payee),
            ("amount", Some(self.amount.clone().into())),
            ("currency", Some(self.currency.clone().into())),
            ("channel", Some(self.channel.clone().into())),
            ("scheduled_at", self.scheduled_at.map(|time| time.to_string().into())),
            ("metadata", metadata),
            ("trace_id", text(&self.trace_id)),
        ])
    }
}

impl List {
    fn ask(&self) -> Ask {
        let ask = Ask::get("/v1/payouts")
            .with("status", self.status.as_ref())
            .with("merchant_id", self.merchant.as_ref())
            .with("created_from", self.from)
            .with("created_until", self.until);
        self.page.of(ask)
    }
}

fn resolved(payout: &Value) -> String {
    let waits = payout.get("pending_decision").is_some();
    let more = if waits {
        "\nIt is above the four-eyes amount: a second person must decide the same. The money stays aside until then."
    } else {
        ""
    };
    format!("{}{more}", fields(payout))
}

const MOMENTS: &[Column] = &[
    Column::text("time", "time"),
    Column::text("type", "what was told"),
    Column::text("data/reference", "reference"),
    Column::text("data/reason", "reason"),
    Column::number("sequence", "sequence"),
];

const EVIDENCE: &[Column] = &[
    Column::text("at", "time"),
    Column::text("source", "said by"),
    Column::text("verdict", "what"),
    Column::text("detail", "detail"),
];

fn explained(explanation: &Value) -> String {
    let part = |name: &str| explanation.get(name).map(text).unwrap_or_default();
    let mut lines = vec![
        format!("{} {} (version {})", part("id"), part("status"), part("version")),
        part("summary"),
        format!("Money: {}.", part("money")),
    ];
    if explanation.get("next_at").is_some() {
        lines.push(format!("Looked at again at {}, if nothing happens before.", part("next_at")));
    }
    for attempt in rows(explanation, "attempts") {
        let part = |name: &str| attempt.get(name).map(text).unwrap_or_default();
        lines.push(format!(
            "\nAttempt {} as {}: sent {} times, {}",
            part("number"),
            part("reference"),
            part("tries"),
            part("knowledge")
        ));
        lines.push(table_of(EVIDENCE, rows(attempt, "evidence")));
    }
    lines.join("\n")
}
