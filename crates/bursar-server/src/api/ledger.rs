//! The ledger: accounts, reports, and manual postings.

use std::collections::BTreeMap;

use axum::Json as Reply;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bursar_core::ledger::chart::GlAccount;
use bursar_core::ledger::views::{self, Balance};
use bursar_core::ledger::{LedgerEvent, Post, Posted};
use bursar_core::money::{Currency, decimal};
use bursar_store::{Query as _, Walk as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answered;
use super::approvals::{Asked, Proposal, Proposed};
use super::lists::{Listed, Page};
use crate::App;
use crate::access::{ADMIN, AccessRow, STAFF};
use crate::auth::Caller;
use crate::extract::{Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("GET", "/v1/ledger/accounts", STAFF),
    ("POST", "/v1/ledger/transactions", ADMIN),
    ("GET", "/v1/ledger/trial-balance", STAFF),
    ("GET", "/v1/ledger/alm", STAFF),
    ("GET", "/v1/ledger/chart", STAFF),
    ("GET", "/v1/ledger/drift", STAFF),
    ("GET", "/v1/ledger/verify", STAFF),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(accounts))
        .routes(routes!(post))
        .routes(routes!(trial_balance))
        .routes(routes!(alm))
        .routes(routes!(chart))
        .routes(routes!(drift))
        .routes(routes!(verify))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LedgerAccount {
    address: String,
    currency: String,
    gl: String,
    name: String,
    balance: String,
}

/// List all accounts with their balances, ordered by address.
#[utoipa::path(get, path = "/v1/ledger/accounts", tag = "ledger", params(Page),
    responses((status = 200, body = Listed<LedgerAccount>), (status = 400, body = Problem)))]
pub(super) async fn accounts(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<LedgerAccount>>, Problem> {
    let limit = page.limit()?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = app.0.readers.read(async |store| store.accounts().await).await?;
    let place = |account: &LedgerAccount| format!("{} {}", account.address, account.currency);
    let accounts = found.into_iter().map(|(address, account)| LedgerAccount {
        address: address.to_string(),
        currency: account.balance.currency().to_string(),
        gl: account.metadata.code.to_string(),
        name: account.metadata.name.clone(),
        balance: account.balance.to_string(),
    });
    let is_behind = |account: &LedgerAccount| {
        page.cursor.as_ref().is_none_or(|cursor| place(account) > *cursor)
    };
    let data: Vec<LedgerAccount> = accounts.filter(is_behind).take(most).collect();
    Ok(Reply(Listed::full(data, limit, place)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewEvent {
    /// An event of the rulebook, such as `ADJUSTMENT_CREDIT`.
    event: String,
    /// The sender's reference; a repeated reference is not posted again.
    reference: String,
    /// The variables of the event's template.
    variables: BTreeMap<String, String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    effective_at: Option<Timestamp>,
    /// Why it is posted, for the person who approves it.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PostedEvent {
    id: String,
}

/// Post an event manually.
///
/// It is only proposed: 202, and it is posted when a second person approves it. A repeated reference that was posted is answered
/// with 201. The audit log records both people.
#[utoipa::path(post, path = "/v1/ledger/transactions", tag = "ledger", request_body = NewEvent,
    responses((status = 201, body = PostedEvent), (status = 202, body = Proposed), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn post(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewEvent>,
) -> Result<Response, Problem> {
    let NewEvent { event, reference, variables, effective_at, reason } = new;
    let event = LedgerEvent { name: event, reference, variables, effective_at };
    let post = Post { event, actor: Some(caller.actor.clone()) };
    let proposal = Proposal { reason, break_glass: false };
    let (id, is_replay) = match app.ask_or_propose(&caller, post, proposal).await? {
        Asked::Done(Posted::New(id)) => (id, false),
        Asked::Done(Posted::Replayed(id)) => (id, true),
        Asked::Proposed(view) => return Ok(Proposed::response(*view, &caller)),
    };
    let body = Reply(PostedEvent { id: id.to_string() });
    Ok(answered(StatusCode::CREATED, body, is_replay))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AsOf {
    /// Include transactions with an effective time up to this time.
    #[param(value_type = Option<String>, format = DateTime)]
    as_of: Option<Timestamp>,
}

impl AsOf {
    fn moment(&self) -> Option<views::AsOf> {
        self.as_of.map(|time| views::AsOf { time, clock: views::Clock::Effective })
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrialBalance {
    rows: Vec<TrialRow>,
    totals: Vec<TrialTotal>,
    is_balanced: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrialRow {
    gl: String,
    name: String,
    currency: String,
    debit: String,
    credit: String,
    balance: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TrialTotal {
    currency: String,
    debit: String,
    credit: String,
}

/// Trial balance: turnover and balance of every GL code. With `as_of`, computed from the last closing before it and the postings behind that.
#[utoipa::path(get, path = "/v1/ledger/trial-balance", tag = "ledger", params(AsOf),
    responses((status = 200, body = TrialBalance)))]
pub(super) async fn trial_balance(
    State(app): State<App>,
    Query(query): Query<AsOf>,
) -> Result<Reply<TrialBalance>, Problem> {
    let as_of = query.moment();
    let read = app.0.readers.report(async move |store| store.trial_balance(as_of).await);
    let trial = read.await?;
    let row = |row: views::Row| TrialRow {
        gl: row.code.to_string(),
        name: row.name,
        currency: row.currency.to_string(),
        debit: decimal(row.debit, row.currency),
        credit: decimal(row.credit, row.currency),
        balance: decimal(row.balance, row.currency),
    };
    let total = |total: views::Total| TrialTotal {
        currency: total.currency.to_string(),
        debit: decimal(total.debit, total.currency),
        credit: decimal(total.credit, total.currency),
    };
    Ok(Reply(TrialBalance {
        rows: trial.rows.into_iter().map(row).collect(),
        totals: trial.totals.into_iter().map(total).collect(),
        is_balanced: trial.is_balanced,
    }))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Alm {
    rows: Vec<AlmRow>,
    summaries: Vec<AlmSummary>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlmRow {
    currency: String,
    /// The maturity bucket.
    bucket: String,
    assets: String,
    liabilities: String,
    gap: String,
    cumulative_gap: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlmSummary {
    currency: String,
    /// Cash and receivables from providers.
    safeguarded: String,
    /// Liabilities to merchants, including holds.
    claims: String,
    merchant_receivable: String,
    open_position: String,
}

/// Assets and liabilities by maturity.
#[utoipa::path(get, path = "/v1/ledger/alm", tag = "ledger", responses((status = 200, body = Alm)))]
pub(super) async fn alm(State(app): State<App>) -> Result<Reply<Alm>, Problem> {
    let accounts = app.0.readers.read(async |store| store.accounts().await).await?;
    let bucket = app.0.rules.rulebook.chart().receivable_bucket().to_owned();
    let alm = views::alm(accounts.iter().map(|(_, account)| Balance::of(account)), &bucket);
    let text = |minor: i128, currency: Currency| decimal(minor, currency);
    let row = |row: views::AlmRow| AlmRow {
        currency: row.currency.to_string(),
        bucket: row.bucket.to_owned(),
        assets: text(row.assets, row.currency),
        liabilities: text(row.liabilities, row.currency),
        gap: text(row.gap, row.currency),
        cumulative_gap: text(row.cumulative_gap, row.currency),
    };
    let summary = |summary: views::AlmSummary| AlmSummary {
        currency: summary.currency.to_string(),
        safeguarded: text(summary.safeguarded, summary.currency),
        claims: text(summary.claims, summary.currency),
        merchant_receivable: text(summary.merchant_receivable, summary.currency),
        open_position: text(summary.open_position, summary.currency),
    };
    Ok(Reply(Alm {
        rows: alm.rows.into_iter().map(row).collect(),
        summaries: alm.summaries.into_iter().map(summary).collect(),
    }))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Chart {
    data: Vec<ChartLine>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChartLine {
    gl: String,
    name: String,
    class: String,
    /// The address pattern; null for codes that exist in reports only.
    address: Option<String>,
    liquidity: String,
    view: String,
}

/// Get the chart of accounts.
#[utoipa::path(get, path = "/v1/ledger/chart", tag = "ledger", responses((status = 200, body = Chart)))]
pub(super) async fn chart(State(app): State<App>) -> Reply<Chart> {
    let line = |gl: &std::sync::Arc<GlAccount>| ChartLine {
        gl: gl.code.to_string(),
        name: gl.name.clone(),
        class: gl.class.name().to_owned(),
        address: gl.pattern.as_ref().map(ToString::to_string),
        liquidity: gl.liquidity.clone(),
        view: gl.view.clone(),
    };
    Reply(Chart { data: app.0.rules.rulebook.chart().accounts().map(line).collect() })
}

/// A rulebook with drift is not loaded, so a running server always reports zero.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Drift {
    #[serde(rename = "drift")]
    count: u32,
    events: usize,
    rulebook_version: String,
}

/// Compare every template with its mapping.
#[utoipa::path(get, path = "/v1/ledger/drift", tag = "ledger", responses((status = 200, body = Drift)))]
pub(super) async fn drift(State(app): State<App>) -> Reply<Drift> {
    let rulebook = &app.0.rules.rulebook;
    let rulebook_version = rulebook.version().to_string();
    Reply(Drift { count: 0, events: rulebook.rules().count(), rulebook_version })
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Verification {
    ok: bool,
    commits: u64,
    transactions: u64,
    postings: u64,
    accounts: u64,
    holds: u64,
    flows: u64,
    events: u64,
    audit: u64,
    /// The first differences.
    differences: Vec<String>,
}

/// Verify the ledger: recompute balances, holds and flows from the postings, and check the hash chain.
///
/// Slow on a large ledger.
#[utoipa::path(get, path = "/v1/ledger/verify", tag = "ledger", responses((status = 200, body = Verification)))]
pub(super) async fn verify(State(app): State<App>) -> Result<Reply<Verification>, Problem> {
    let rules = std::sync::Arc::clone(&app.0.rules);
    let read = app.0.readers.report(async move |store| store.verify(&rules.rulebook).await);
    let report = read.await?;
    Ok(Reply(Verification {
        ok: report.difference_count == 0,
        commits: report.commits,
        transactions: report.transactions,
        postings: report.postings,
        accounts: report.accounts,
        holds: report.holds,
        flows: report.flows,
        events: report.events,
        audit: report.audit,
        differences: report.differences,
    }))
}
