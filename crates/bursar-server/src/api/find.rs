//! Search by any id, and by what channels, providers and callers call a flow.

use axum::Json as Reply;
use axum::extract::State;
use bursar_core::flow::{Flow, KINDS, Kind as _};
use bursar_core::ids::TransactionId;
use bursar_core::payouts::Payout;
use bursar_core::registry::{Kind, RecordKey};
use bursar_store::{AnyStore, Browse as _, FlowFilter, Lookup as _, Query as _, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, bad_cursor, parse_id, write_id};
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE};
use crate::auth::Caller;
use crate::extract::Query;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[("GET", "/v1/find", EVERY_ROLE)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(find))
}

/// Results of one search.
const LIMIT: u32 = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Search {
    /// An id, the reference of an attempt or a pay-in, the channel's own reference, a trace id, or the caller's own id.
    q: String,
    /// `next_cursor` of the previous response, to search further back.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Found {
    /// Such as `payout`, `transaction` or `merchant`.
    kind: String,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
}

impl Found {
    fn flow(flow: &Flow) -> Self {
        Self {
            kind: flow.state.kind().to_owned(),
            id: flow.name(),
            status: Some(flow.state.status()),
            merchant_id: Some(flow.merchant.clone()),
        }
    }
}

/// Find anything by its id, or a payout or pay-in by a reference, trace id or external id.
///
/// The channel's own references have no index: payouts are scanned, newest first. If none is found among as many as one
/// request may scan, `next_cursor` continues.
#[utoipa::path(get, path = "/v1/find", tag = "overview", params(Search),
    responses((status = 200, body = Listed<Found>), (status = 400, body = Problem)))]
pub(super) async fn find(
    State(app): State<App>,
    caller: Caller,
    Query(Search { q, cursor }): Query<Search>,
) -> Result<Reply<Listed<Found>>, Problem> {
    if q.is_empty() || q.len() > 255 || q.contains('\0') {
        return Err(Problem::bad_request(
            "q is 1 to 255 characters: nothing was searched. Name an id or a reference",
        ));
    }
    let cursor = cursor.as_deref().map(|text| parse_id::<Payout>(text).ok_or_else(bad_cursor));
    let before = cursor.transpose()?;
    let read = app.0.readers.read(async move |store| {
        if before.is_none() {
            let found = exact(store, &caller, &q).await?;
            if !found.is_empty() {
                return Ok(Listed::page(found, None));
            }
        }
        let filter = FlowFilter {
            kind: Payout::INFO.name,
            merchant: caller.merchant.clone(),
            provider_reference: Some(q),
            ..FlowFilter::default()
        };
        let page = store.list_flows_desc(&filter, before, LIMIT).await?;
        Ok(Listed {
            data: page.flows.iter().map(Found::flow).collect(),
            next_cursor: page.next.map(write_id::<Payout>),
            scanned_to: page.scanned_to.map(write_id::<Payout>),
        })
    });
    Ok(Reply(read.await?))
}

/// What an index finds.
async fn exact(store: &mut AnyStore, caller: &Caller, q: &str) -> Result<Vec<Found>, StoreError> {
    let mut flows = Vec::new();
    if let Some(id) = Flow::id_in(q) {
        // The digits of an id with the prefix of another kind name nothing.
        let named = store.flows_by_id(&[id]).await?.into_iter().flatten();
        flows.extend(named.filter(|flow| flow.name() == q && caller.sees(&flow.merchant)));
    }
    for kind in KINDS {
        let filter = FlowFilter {
            kind: kind.name,
            merchant: caller.merchant.clone(),
            known_as: Some(q.to_owned()),
            ..FlowFilter::default()
        };
        flows.extend(store.list_flows_desc(&filter, None, LIMIT).await?.flows);
    }
    let mut found: Vec<Found> = flows.iter().map(Found::flow).collect();
    if caller.is_staff()
        && let Ok(id) = q.parse::<TransactionId>()
        && store.transaction(id).await?.is_some()
    {
        let (kind, id) = ("transaction".to_owned(), q.to_owned());
        found.push(Found { kind, id, status: None, merchant_id: None });
    }
    for kind in [Kind::Merchant, Kind::Beneficiary, Kind::Endpoint] {
        let key = RecordKey { kind, id: q.to_owned() };
        let Some(record) = store.record(&key).await? else { continue };
        let merchant = record.merchant();
        if caller.sees(merchant) {
            let merchant_id = Some(merchant.to_owned());
            found.push(Found {
                kind: kind.to_string(),
                id: record.id.clone(),
                status: None,
                merchant_id,
            });
        }
    }
    Ok(found)
}
