//! Beneficiaries: registered recipients of a merchant.

use axum::Json as Reply;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use bursar_core::payouts;
use bursar_core::registry::{
    BeneficiaryRecord, Change, Content, Kind, Record, RecordKey, Registered, Registration,
};
use bursar_store::Browse as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lists::{Listed, MerchantFilter, Page};
use crate::App;
use crate::access::{AccessRow, EVERY_ROLE, PAYERS};
use crate::auth::Caller;
use crate::extract::{Json, Query};
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[
    ("POST", "/v1/beneficiaries", PAYERS),
    ("GET", "/v1/beneficiaries", EVERY_ROLE),
    ("GET", "/v1/beneficiaries/{id}", EVERY_ROLE),
];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(get))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewBeneficiary {
    merchant_id: String,
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// A bank account number; either this or `msisdn`.
    account: Option<String>,
    /// A telephone number of 6 to 15 digits.
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
    /// Masked but for the last four characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// Masked but for the last four characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    msisdn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl Beneficiary {
    fn new(record: Record) -> Result<Self, Problem> {
        let Content::Beneficiary(BeneficiaryRecord { merchant, details }) = record.content else {
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

/// Masks all but the last four characters.
fn masked(number: &str) -> String {
    let hidden = number.chars().count().saturating_sub(4);
    number
        .chars()
        .enumerate()
        .map(|(place, digit)| if place < hidden { '*' } else { digit })
        .collect()
}

/// Register a beneficiary.
#[utoipa::path(post, path = "/v1/beneficiaries", tag = "beneficiaries", request_body = NewBeneficiary,
    responses((status = 201, body = Beneficiary), (status = 403, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(new): Json<NewBeneficiary>,
) -> Result<(StatusCode, Reply<Beneficiary>), Problem> {
    caller.must_be(&new.merchant_id)?;
    let NewBeneficiary { merchant_id, name, account, msisdn, bank } = new;
    let details = payouts::Beneficiary { name, account, msisdn, bank }.normalised();
    let change = Change::AddBeneficiary { merchant: merchant_id, details };
    let registration = Registration { actor: caller.actor, change };
    let Registered { record, .. } = app.ask(registration).await?;
    Ok((StatusCode::CREATED, Reply(Beneficiary::new(*record)?)))
}

/// List beneficiaries, newest first.
#[utoipa::path(get, path = "/v1/beneficiaries", tag = "beneficiaries", params(MerchantFilter, Page),
    responses((status = 200, body = Listed<Beneficiary>), (status = 400, body = Problem), (status = 403, body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(filter): Query<MerchantFilter>,
    Query(page): Query<Page>,
) -> Result<Reply<Listed<Beneficiary>>, Problem> {
    let merchant = caller.narrowed(filter.merchant_id)?;
    app.list_records(Kind::Beneficiary, merchant, page, Beneficiary::new).await
}

/// Get a beneficiary.
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

/// A beneficiary that the caller may not see is not found.
pub(super) async fn find(
    app: &App,
    caller: &Caller,
    id: String,
) -> Result<(Record, BeneficiaryRecord), Problem> {
    let key = RecordKey { kind: Kind::Beneficiary, id };
    let found = app.0.readers.read(async move |store| store.record(&key).await).await?;
    let found = found.filter(|record| caller.sees(record.merchant()));
    let record = found.ok_or_else(|| Problem::not_found("this id"))?;
    match &record.content {
        Content::Beneficiary(payee) => Ok((record.clone(), payee.clone())),
        Content::Merchant(_)
        | Content::ApiKey(_)
        | Content::Alert(_)
        | Content::Anchor(_)
        | Content::ReportedPayment(_)
        | Content::DispatchSettings(_)
        | Content::DispatchState(_)
        | Content::Endpoint(_) => Err(Problem::not_found("this id")),
    }
}
