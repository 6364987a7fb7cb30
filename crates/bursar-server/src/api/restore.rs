//! Recheck mode after a restore of the books: its status, and the people who begin and end it.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json as Reply;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use bursar_core::flow::{Accepted, FlowAlert, Kind as _};
use bursar_core::freezes::{Report, Restore};
use bursar_core::payouts::{Callback, Payout, ReportedPayment, ReportedStatus};
use bursar_core::registry::hexadecimal;
use bursar_core::rejection::Rejection;
use bursar_core::restores::{ReportRows, RestoreAction, RestoreChange};
use bursar_core::turn::{ALERT_TALLIES, FLOW_TALLIES, FlowTally, Tally};
use bursar_store::Query as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{AccessRow, STAFF};
use crate::auth::Caller;
use crate::extract::Json;
use crate::problem::Problem;
use crate::{App, waiting};

pub(super) const ACCESS: &[AccessRow] = &[
    ("GET", "/v1/restore", STAFF),
    ("POST", "/v1/restore/begin", STAFF),
    ("POST", "/v1/restore/end", STAFF),
    ("POST", "/v1/restore/report", STAFF),
];

/// A report of some hundred thousand payments.
const REPORT_MAX: usize = 64 * 1_024 * 1_024;
/// Rows of a report in one commit.
const ROWS_MAX: usize = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    let report = OpenApiRouter::new().routes(routes!(report));
    OpenApiRouter::new()
        .routes(routes!(status))
        .routes(routes!(begin))
        .routes(routes!(end))
        .merge(report.layer(DefaultBodyLimit::max(REPORT_MAX)))
}

/// The last restore of the books.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RestoreState {
    /// `NONE`, `RECHECKING` or `ENDED`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    restored_at: Option<Timestamp>,
    /// The last commit of the copy; what came after it is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_commit_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The process or the person that began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    /// The first of two people who want all channels ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_proposed_by: Option<String>,
    channels: Vec<RecheckedChannel>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RecheckedChannel {
    channel: String,
    /// `RECHECKING` or `ENDED`.
    status: &'static str,
    /// Payouts that are not final: each is asked about before it goes on.
    live: u64,
    /// Of them, those that wait because the channel has not answered, or cannot prove what became of them.
    waiting: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_proposed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<LoadedReport>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LoadedReport {
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    rows: u64,
    sha256: String,
    loaded_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_by: Option<String>,
    /// It covers the time that was lost, and two people loaded it: what it does not list was not paid.
    proves_absence: bool,
}

/// Show the last restore, and what is still rechecked after it.
#[utoipa::path(get, path = "/v1/restore", tag = "restore", responses((status = 200, body = RestoreState)))]
pub(super) async fn status(State(app): State<App>) -> Result<Reply<RestoreState>, Problem> {
    let prefix = format!("{ALERT_TALLIES}{}/", FlowAlert::Restored.name());
    let tallies = prefix.clone();
    let read = app.0.readers.read(async move |store| {
        let flows = store.tallies(FLOW_TALLIES).await?;
        Ok((store.control().await?.restore, store.tallies(&tallies).await?, flows))
    });
    let (restore, waiting, flows) = read.await?;
    let Some(restore) = restore else {
        return Ok(Reply(RestoreState {
            status: "NONE",
            restored_at: None,
            last_commit_at: None,
            reason: None,
            actor: None,
            ended_at: None,
            end_proposed_by: None,
            channels: Vec::new(),
        }));
    };
    let channel = |name: &String| {
        let tally = waiting.get(&format!("{prefix}{name}"));
        RecheckedChannel {
            channel: name.clone(),
            status: if restore.is_open_for(name) { "RECHECKING" } else { "ENDED" },
            live: live_payouts(&flows, name),
            waiting: tally.map_or(0, |tally| u64::try_from(tally.count).unwrap_or_default()),
            end_proposed_by: restore.proposals.get(name).map(|first| first.actor.clone()),
            report: restore
                .reports
                .get(name)
                .or_else(|| restore.proposed.get(name))
                .map(|it| app.loaded(&restore, name, it)),
        }
    };
    Ok(Reply(RestoreState {
        status: if restore.is_open() { "RECHECKING" } else { "ENDED" },
        restored_at: Some(restore.at),
        last_commit_at: restore.last_commit,
        reason: Some(restore.reason.clone()),
        actor: Some(restore.actor.clone()),
        ended_at: restore.ended_at,
        end_proposed_by: restore.proposals.get("").map(|first| first.actor.clone()),
        channels: app.0.rules.channels.keys().map(channel).collect(),
    }))
}

/// The number of payouts of a channel that are not final.
fn live_payouts(tallies: &BTreeMap<String, Tally>, channel: &str) -> u64 {
    let flows = tallies.iter().filter_map(|(name, tally)| FlowTally::parse(name, *tally));
    let live = flows.filter(|flow| {
        flow.kind == Payout::INFO.name
            && flow.channel == channel
            && Payout::INFO.waiting.contains(&flow.status)
    });
    live.fold(0, |sum, flow| sum.saturating_add(u64::try_from(flow.tally.count).unwrap_or(0)))
}

impl App {
    fn loaded(&self, restore: &Restore, channel: &str, report: &Report) -> LoadedReport {
        let shown = self.0.rules.channels.get(channel).map(|it| it.shown_at(restore.at));
        LoadedReport {
            from: report.from,
            to: report.to,
            rows: report.rows,
            sha256: report.digest.clone(),
            loaded_by: report.loaded_by.actor.clone(),
            confirmed_by: report.confirmed_by.clone(),
            proves_absence: report.confirmed_by.is_some()
                && shown.is_some_and(|it| restore.proof(channel, it).is_some()),
        }
    }

    async fn change_restore(
        &self,
        caller: &Caller,
        action: RestoreAction,
    ) -> Result<RestoreChanged, Problem> {
        let by = caller.signature();
        let Accepted { status, .. } = self.ask(RestoreChange { by, action }).await?;
        Ok(RestoreChanged { status })
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BeginRequest {
    /// Which copy the books were restored from, for the audit log.
    #[schema(max_length = 1000)]
    reason: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RestoreChanged {
    /// `RECHECKING`, `END_PROPOSED` (a second person must agree) or `ENDED`.
    status: &'static str,
}

/// Begin recheck mode: the books were restored from a copy.
///
/// No payout is sent, cancelled, failed or released before its channel was asked about it. What was rechecked after an
/// earlier restore is rechecked again.
#[utoipa::path(post, path = "/v1/restore/begin", tag = "restore", request_body = BeginRequest,
    responses((status = 200, body = RestoreChanged), (status = 400, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn begin(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<BeginRequest>,
) -> Result<Reply<RestoreChanged>, Problem> {
    let action = RestoreAction::Begin { reason: request.reason };
    app.change_restore(&caller, action).await.map(Reply)
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndRequest {
    /// None for all channels.
    channel: Option<String>,
}

/// End recheck mode, for one channel or for all.
///
/// Two people must ask for it, one of them an approver; the first is answered with `END_PROPOSED`. Payouts that waited are
/// sent: make sure that the channel has not paid them.
#[utoipa::path(post, path = "/v1/restore/end", tag = "restore", request_body = EndRequest,
    responses((status = 200, body = RestoreChanged), (status = 400, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn end(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<EndRequest>,
) -> Result<Reply<RestoreChanged>, Problem> {
    let action = RestoreAction::End { channel: request.channel };
    app.change_restore(&caller, action).await.map(Reply)
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportRequest {
    channel: String,
    /// The time that the report covers. To prove absence, it begins before the last commit of the copy and ends when the
    /// channel shows everything that was sent before the restore.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Every payment of the channel in that time.
    rows: Vec<ReportRow>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportRow {
    /// Our reference of the payment.
    reference: String,
    status: RowStatus,
    amount: Option<String>,
    currency: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RowStatus {
    Paid,
    Pending,
    Failed,
    Returned,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReportLoaded {
    /// `REPORT_PROPOSED` (a second person must load the same report) or `REPORTED`.
    status: &'static str,
    rows: usize,
    /// Rows about attempts of the books: now evidence about them.
    known: usize,
    /// Rows about references that the books do not have: requests that came after the copy was made, until they are
    /// repeated.
    unknown: usize,
    /// Rows that could not be applied: load the report again.
    refused: usize,
}

/// Load a provider's report of all payments in the time that was lost.
///
/// What it lists is evidence; what it does not list was not paid, if the report covers the time that was lost. Two people
/// must load the same report, one of them an approver; the first is answered with `REPORT_PROPOSED`.
#[utoipa::path(post, path = "/v1/restore/report", tag = "restore", request_body = ReportRequest,
    responses((status = 200, body = ReportLoaded), (status = 400, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn report(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<ReportRequest>,
) -> Result<Reply<ReportLoaded>, Problem> {
    let ReportRequest { channel, from, to, rows } = request;
    if from >= to || to > app.0.host.now() {
        return Err(Rejection::BadReport { from, to }.into());
    }
    let rows = distinct(rows)?;
    let text = serde_json::to_vec(&rows).map_err(|error| Problem::internal(error.to_string()))?;
    let digest = hexadecimal(&<[u8; 32]>::from(Sha256::digest(&text)));
    let count = rows.len();
    let rows: Vec<(String, ReportedPayment)> = rows.into_iter().map(payment).collect();
    for rows in rows.chunks(ROWS_MAX) {
        let (actor, channel, report) = (caller.actor.clone(), channel.clone(), digest.clone());
        app.ask(ReportRows { actor, channel, report, rows: rows.to_vec() }).await?;
    }
    let action = RestoreAction::Report {
        channel: channel.clone(),
        from,
        to,
        digest,
        rows: u64::try_from(count).unwrap_or(u64::MAX),
    };
    let RestoreChanged { status } = app.change_restore(&caller, action).await?;
    let told = if status == "REPORTED" { app.tell(&channel, rows).await } else { Told::default() };
    let Told { known, unknown, refused } = told;
    Ok(Reply(ReportLoaded { status, rows: count, known, unknown, refused }))
}

/// References are in lower case, as they were sent, and each is listed once: of two rows, one would be ignored.
fn distinct(rows: Vec<ReportRow>) -> Result<Vec<ReportRow>, Problem> {
    let mut seen = BTreeSet::new();
    let lower = |row: ReportRow| ReportRow { reference: row.reference.to_ascii_lowercase(), ..row };
    let rows: Vec<ReportRow> = rows.into_iter().map(lower).collect();
    match rows.iter().find(|row| !seen.insert(row.reference.as_str())) {
        None => Ok(rows),
        Some(row) => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_report",
            format!(
                "the report lists {:?} twice: nothing was changed. List each reference once, with what became of it",
                row.reference
            ),
        )),
    }
}

/// What became of the rows of a report.
#[derive(Debug, Default)]
struct Told {
    known: usize,
    unknown: usize,
    refused: usize,
}

fn payment(row: ReportRow) -> (String, ReportedPayment) {
    let ReportRow { reference, status, amount, currency } = row;
    let status = match status {
        RowStatus::Paid => ReportedStatus::Paid,
        RowStatus::Pending => ReportedStatus::Pending,
        RowStatus::Failed => ReportedStatus::Failed,
        RowStatus::Returned => ReportedStatus::Returned,
    };
    (reference, ReportedPayment { status, amount, currency })
}

impl App {
    /// The rows of a report are evidence about the attempts that the books know.
    async fn tell(&self, channel: &str, rows: Vec<(String, ReportedPayment)>) -> Told {
        let mut told = Told::default();
        for rows in rows.chunks(ROWS_MAX) {
            let mut telling = JoinSet::new();
            for (reference, row) in rows.iter().cloned() {
                let (app, channel, evidence) = (self.clone(), channel.to_owned(), row.evidence());
                let callback = Callback { channel, reference, evidence };
                let limit = app.0.answer_timeout;
                let tell = async move { app.ask(callback).await };
                telling.spawn(waiting::bounded(limit, tell));
            }
            while let Some(answer) = telling.join_next().await {
                let count = match answer {
                    Ok(Ok(_)) => &mut told.known,
                    Ok(Err(problem)) if problem.code() == "unknown_reference" => &mut told.unknown,
                    Ok(Err(_)) | Err(_) => &mut told.refused,
                };
                *count = count.saturating_add(1);
            }
        }
        told
    }
}
