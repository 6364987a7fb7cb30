//! Approvals: what one person may not do alone is proposed, and done when a second person approves it.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bursar_core::approvals::{self, Approve, Decided, Propose, Turndown, View};
use bursar_core::four_eyes::{Action, person_of};
use bursar_core::ids::ApprovalId;
use bursar_core::registry::{Content, Kind, RecordKey};
use bursar_core::rejection::Rejection;
use bursar_core::turn::{Ask, Body, Given};
use bursar_store::{Browse as _, FlowFilter};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, Page, view};
use super::pending_decisions;
use crate::App;
use crate::access::{APPROVERS, AccessRow, STAFF};
use crate::auth::Caller;
use crate::extract::{Optional, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("GET", "/v1/approvals", STAFF),
    ("GET", "/v1/approvals/{id}", STAFF),
    ("POST", "/v1/approvals/{id}/approve", APPROVERS),
    ("POST", "/v1/approvals/{id}/reject", APPROVERS),
    ("POST", "/v1/approvals/{id}/withdraw", STAFF),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(approve))
        .routes(routes!(reject))
        .routes(routes!(withdraw))
}

/// A proposal, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Approval {
    pub(super) id: String,
    /// `PROPOSED`, `APPROVED`, `REJECTED`, `WITHDRAWN`, `EXPIRED`, `STALE` (it would now do something else, or is
    /// impossible) or `BREAK_GLASS` (done by one admin, and not approved yet).
    pub(super) status: String,
    pub(super) version: u64,
    /// Such as `payout.create`.
    pub(super) action: String,
    /// What is proposed, in words.
    pub(super) summary: String,
    /// The actor who proposed it.
    pub(super) maker: String,
    /// The reason that the maker gave.
    pub(super) note: String,
    /// How many people it needs, with the maker.
    pub(super) quorum: u32,
    pub(super) signed: Vec<Signed>,
    /// The postings that it would make, or has made.
    pub(super) would: Vec<Posting>,
    /// The id of what was done.
    pub(super) result: Option<String>,
    /// Why it is stale.
    pub(super) reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) expires_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub(super) created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub(super) updated_at: Timestamp,
    /// The route by which a second person decides it, if it is not this resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_at: Option<String>,
}

/// A decision of another person.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Signed {
    actor: String,
    note: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProposedPosting)]
pub(super) struct Posting {
    event: String,
    source: String,
    destination: String,
    amount: String,
    currency: String,
}

impl From<View> for Approval {
    fn from(view: View) -> Self {
        let signed = view.signed.into_iter();
        let postings = view.would.postings.into_iter();
        Self {
            id: view.id,
            status: view.status,
            version: view.version,
            action: view.action,
            summary: view.summary,
            maker: view.maker,
            note: view.note,
            quorum: view.quorum,
            signed: signed.map(|it| Signed { actor: it.actor, note: it.note, at: it.at }).collect(),
            would: postings
                .map(|it| Posting {
                    event: it.event,
                    source: it.source,
                    destination: it.destination,
                    amount: it.amount,
                    currency: it.currency,
                })
                .collect(),
            result: view.result,
            reason: view.reason,
            expires_at: Some(view.expires_at),
            created_at: view.created_at,
            updated_at: view.updated_at,
            decided_at: None,
        }
    }
}

/// It was proposed and not done: a second person must approve it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Proposed {
    approval_id: String,
    /// For staff.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Approval>,
}

impl Proposed {
    pub(super) fn new(view: View, caller: &Caller) -> Self {
        let approval_id = view.id.clone();
        Self { approval_id, approval: caller.is_staff().then(|| view.into()) }
    }

    pub(super) fn response(view: View, caller: &Caller) -> Response {
        (StatusCode::ACCEPTED, Reply(Self::new(view, caller))).into_response()
    }
}

/// The result of a request that may need a second person.
pub(super) enum Asked<T> {
    Done(T),
    Proposed(Box<View>),
}

/// How a request is proposed if one person may not do it alone.
#[derive(Debug, Default)]
pub(super) struct Proposal {
    pub(super) reason: String,
    pub(super) break_glass: bool,
}

/// The code of the rejection of a request that one person may not make alone.
const NEEDED: &str = "approval_needed";

/// How often the same request is proposed again after earlier proposals have ended without a decision.
const PROPOSALS_MAX: u32 = 32;

impl App {
    /// Submits a request; proposes it if one person may not do it alone.
    pub(super) async fn ask_or_propose<A: Ask + Clone>(
        &self,
        caller: &Caller,
        ask: A,
        proposal: Proposal,
    ) -> Result<Asked<A::Reply>, Problem> {
        match self.ask(ask.clone()).await {
            Err(problem) if problem.code() == NEEDED => {
                let proposed = self.propose(caller, ask.into(), proposal).await?;
                Ok(Asked::Proposed(Box::new(proposed)))
            }
            done => done.map(Asked::Done),
        }
    }

    async fn propose(
        &self,
        caller: &Caller,
        body: Body,
        Proposal { reason, break_glass }: Proposal,
    ) -> Result<View, Problem> {
        // What is done at once is another proposal than what waits for its approval.
        let mut after = break_glass.then(|| "break-glass".to_owned());
        for _ in 0..PROPOSALS_MAX {
            let key = approvals::proposal_key(&body, &caller.person(), after.as_deref())?;
            let (by, reason) = (caller.signature(), reason.clone());
            let body = Box::new(body.clone());
            let Given { view, is_replay } =
                self.ask(Propose { key, body, by, reason, break_glass }).await?;
            if !is_replay {
                return Ok(View::clone(&view));
            }
            let now = self.approval(&view.id).await?.1;
            // A revocation has neither key nor reference that another request could have.
            let is_repeatable = now.action == Action::RevokeKey.name();
            match now.status.as_str() {
                "EXPIRED" | "WITHDRAWN" | "STALE" => after = Some(now.id),
                "REJECTED" if is_repeatable => after = Some(now.id),
                "REJECTED" => return Err(rejected(&now)),
                _ => return Ok(now),
            }
        }
        Err(Problem::too_many(
            "this was proposed too often: nothing was done. Let a second person decide it first",
        ))
    }

    /// Fails if the key of the maker or of an earlier approver was revoked: it may have been stolen before.
    async fn check_signers(&self, approval: &approvals::Approval) -> Result<(), Problem> {
        let signers = approval.signed.iter().map(|signed| &signed.by).chain([&approval.maker]);
        for id in signers.filter_map(|by| by.key.clone()) {
            let record = RecordKey { kind: Kind::ApiKey, id };
            let found = self.0.readers.read(async move |store| store.record(&record).await).await?;
            if let Some(Content::ApiKey(key)) = found.map(|record| record.content)
                && key.revoked_at.is_some()
            {
                return Err(Rejection::SignerRevoked.into());
            }
        }
        Ok(())
    }

    /// The approval and its view.
    async fn approval(&self, id: &str) -> Result<(approvals::Approval, View), Problem> {
        let flow = self.read_flow::<approvals::Approval>(id).await?;
        let found = flow.state.approval().cloned().zip(view::<approvals::Approval>(&flow));
        found.ok_or_else(|| Problem::not_found("this id"))
    }
}

fn rejected(approval: &View) -> Problem {
    let detail = format!(
        "{} was rejected ({}): nothing was done. Change the request, or use a new key or reference for a new one",
        approval.summary, approval.id
    );
    Problem::new(StatusCode::CONFLICT, "approval_rejected", detail)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Such as PROPOSED.
    status: Option<String>,
}

/// List proposals, newest first.
///
/// The first page of the list without a status, or of `PROPOSED`, begins with decisions about payouts, freezes and restores
/// that wait for a second person; `decided_at` names the route of such a decision.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(Filter, Page),
    responses((status = 200, body = Listed<Approval>), (status = 400, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(filter): Query<Filter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Approval>>, Problem> {
    let is_open = filter.status.as_deref().is_none_or(|status| status == "PROPOSED");
    let mut data = Vec::new();
    if is_open && page.cursor.is_none() {
        data = pending_decisions::read(&app).await?;
    }
    let wanted = FlowFilter { status: filter.status, ..FlowFilter::default() };
    let Reply(mut listed) =
        app.list_flows::<approvals::Approval, _>(wanted, &page, Approval::from).await?;
    data.append(&mut listed.data);
    Ok(Reply(Listed { data, ..listed }))
}

/// Get a proposal.
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals", params(("id" = String, Path)),
    responses((status = 200, body = Approval), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Reply<Approval>, Problem> {
    Ok(Reply(app.approval(&id).await?.1.into()))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionRequest {
    #[serde(default)]
    #[schema(max_length = 1000)]
    note: String,
    /// The version that the caller has seen; a later version is not decided.
    expected_version: Option<u64>,
}

/// Approve a proposal.
///
/// With the last approval the request is carried out, in the same commit. 409 `approval_stale` if it would do something else
/// than was proposed, and 409 `approval_expired` after a day: nothing was done.
#[utoipa::path(post, path = "/v1/approvals/{id}/approve", tag = "approvals", params(("id" = String, Path)),
    request_body = Option<DecisionRequest>,
    responses((status = 200, body = Approval), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn approve(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Optional(request): Optional<DecisionRequest>,
) -> Result<Reply<Approval>, Problem> {
    let (approval, view) = app.approval(&id).await?;
    app.check_signers(&approval).await?;
    let body = approvals::stored_body(&approval.body).map_err(|error| {
        Problem::internal(format!(
            "{error}: nothing was done. Run the version that wrote it, or propose it again"
        ))
    })?;
    let approve = Approve {
        id: parse(&view.id)?,
        expected_version: request.expected_version,
        by: caller.signature(),
        note: request.note,
        body: Box::new(body),
    };
    let Decided { view, .. } = app.ask(approve).await?;
    app.0.keys.forget(view.result.as_deref().unwrap_or_default());
    decided(*view)
}

/// Reject a proposal: nothing is done.
#[utoipa::path(post, path = "/v1/approvals/{id}/reject", tag = "approvals", params(("id" = String, Path)),
    request_body = Option<DecisionRequest>,
    responses((status = 200, body = Approval), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn reject(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Optional(request): Optional<DecisionRequest>,
) -> Result<Reply<Approval>, Problem> {
    let (_, view) = app.approval(&id).await?;
    turn_down(&app, &caller, &view, request).await
}

/// Withdraw one's own proposal: nothing is done.
#[utoipa::path(post, path = "/v1/approvals/{id}/withdraw", tag = "approvals", params(("id" = String, Path)),
    request_body = Option<DecisionRequest>,
    responses((status = 200, body = Approval), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn withdraw(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Optional(request): Optional<DecisionRequest>,
) -> Result<Reply<Approval>, Problem> {
    let (_, view) = app.approval(&id).await?;
    if person_of(&view.maker) != caller.person() {
        return Err(Problem::forbidden(
            "only the person who proposed it withdraws it: nothing was changed. An approver may reject it",
        ));
    }
    turn_down(&app, &caller, &view, request).await
}

async fn turn_down(
    app: &App,
    caller: &Caller,
    view: &View,
    request: DecisionRequest,
) -> Result<Reply<Approval>, Problem> {
    let DecisionRequest { note, expected_version } = request;
    let (id, by) = (parse(&view.id)?, caller.signature());
    let Decided { view, .. } = app.ask(Turndown { id, expected_version, by, note }).await?;
    decided(*view)
}

fn parse(id: &str) -> Result<ApprovalId, Problem> {
    id.parse().map_err(|_| Problem::not_found("this id"))
}

/// A decision that came too late is saved, and answered as a conflict.
fn decided(view: View) -> Result<Reply<Approval>, Problem> {
    let conflict = |code, detail: String| Err(Problem::new(StatusCode::CONFLICT, code, detail));
    match view.status.as_str() {
        "STALE" => {
            let why = view.reason.unwrap_or_default();
            conflict(
                "approval_stale",
                format!("{}: {why}. Nothing was done; propose it again", view.summary),
            )
        }
        "EXPIRED" => conflict(
            "approval_expired",
            format!("{}: a day has passed. Nothing was done; propose it again", view.summary),
        ),
        _ => Ok(Reply(view.into())),
    }
}
