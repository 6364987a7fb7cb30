//! Beneficiaries: whom a merchant pays again and again.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::payout;
use bursar_core::registry::{Change, Content, Kind, Payee, Record, RecordKey, Registration};
use bursar_core::request::Body;
use bursar_store::Browse as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::pages::{Listed, Page};
use crate::App;
use crate::auth::Caller;
use crate::extract::{Json, Query};
use crate::problem::Problem;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewBeneficiary {
    merchant_id: String,
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// A bank account; either this or a telephone number.
    account: Option<String>,
    /// 6 to 15 digits.
    #[schema(pattern = "^[0-9]{6,15}$")]
    msisdn: Option<String>,
    /// The bank of the account.
    bank: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Beneficiary {
    id: String,
    merchant_id: String,
    name: String,
    /// Only its end is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// Only its end is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    msisdn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl Beneficiary {
    fn new(record: Record) -> Result<Self, Problem> {
        let Content::Beneficiary(Payee { merchant, details }) = record.content else {
            return Err(Problem::not_found("this id"));
        };
        Ok(Self {
            id: record.id,
            merchant_id: merchant,
            name: details.name,
            account: details.account.as_deref().map(masked),
            msisdn: details.msisdn.as_deref().map(masked),
            bank: details.bank,
            created_at: record.created_at,
        })
    }
}

/// Enough to recognise it, not enough to use it.
fn masked(number: &str) -> String {
    let hidden = number.chars().count().saturating_sub(4);
    number
        .chars()
        .enumerate()
        .map(|(place, digit)| if place < hidden { '*' } else { digit })
        .collect()
}

/// Add somebody to pay.
#[utoipa::path(post, path = "/v1/beneficiaries", tag = "beneficiaries", request_body = NewBeneficiary,
    responses((status = 201, body = Beneficiary), (status = 403, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewBeneficiary>,
) -> Result<(StatusCode, Reply<Beneficiary>), Problem> {
    caller.must_be(&new.merchant_id)?;
    let NewBeneficiary { merchant_id, name, account, msisdn, bank } = new;
    let details = payout::Beneficiary { name, account, msisdn, bank };
    let change = Change::AddBeneficiary { merchant: merchant_id, details };
    let registration = Registration { actor: caller.actor, change };
    let (record, _) = app.ask_record(Body::Register(registration)).await?;
    Ok((StatusCode::CREATED, Reply(Beneficiary::new(record)?)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Of this merchant only.
    merchant_id: Option<String>,
    /// Where to go on: `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// Beneficiaries, newest first.
#[utoipa::path(get, path = "/v1/beneficiaries", tag = "beneficiaries", params(Filter),
    responses((status = 200, body = Listed<Beneficiary>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Reply<Listed<Beneficiary>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    let page = Page { cursor: filter.cursor, limit: filter.limit };
    let limit = page.limit()?;
    let found = app.0.readers.read(async move |store| {
        Ok(store
            .records(Kind::Beneficiary, merchant.as_deref(), page.cursor.as_deref(), limit)
            .await?
            .records)
    });
    let found = found.await?.into_iter().map(Beneficiary::new).collect::<Result<_, _>>()?;
    Ok(Reply(Listed::full(found, limit, |beneficiary| beneficiary.id.clone())))
}

/// One beneficiary.
#[utoipa::path(get, path = "/v1/beneficiaries/{id}", tag = "beneficiaries", params(("id" = String, Path)),
    responses((status = 200, body = Beneficiary), (status = 404, body = Problem)))]
pub(super) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply<Beneficiary>, Problem> {
    let (record, _) = find(&app, &caller, id).await?;
    Ok(Reply(Beneficiary::new(record)?))
}

/// Whoever may not see a beneficiary is told that there is none.
pub(super) async fn find(
    app: &App,
    caller: &Caller,
    id: String,
) -> Result<(Record, Payee), Problem> {
    let key = RecordKey { kind: Kind::Beneficiary, id };
    let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
    let found = found.filter(|record| caller.sees(record.merchant()));
    let record = found.ok_or_else(|| Problem::not_found("this id"))?;
    match &record.content {
        Content::Beneficiary(payee) => Ok((record.clone(), payee.clone())),
        Content::Merchant(_) | Content::ApiKey(_) | Content::Alert(_) | Content::Endpoint(_) => {
            Err(Problem::not_found("this id"))
        }
    }
}
