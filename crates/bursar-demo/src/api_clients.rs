//! Clients of the API: the admin creates merchants and records pay-ins; merchants create payouts concurrently, some of them
//! twice.

use std::collections::BTreeMap;

use bursar_core::money::Money;
use bursar_node::client::{ApiError, ApiRequest, ApiResponse, Client};
use bursar_node::failure::Failure;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::plan::{Merchant, Order, PayIn, Repeat};
use super::setup::Setup;
use super::text_field;

/// Concurrent requests.
const CONCURRENCY: usize = 64;

pub(super) struct ApiClients {
    pub(super) admin: Client,
    merchants: BTreeMap<String, Client>,
}

/// A pay-in that was recorded.
#[derive(Debug)]
pub(super) struct RecordedPayIn {
    pub(super) merchant: String,
    pub(super) amount: Money,
    pub(super) net: Money,
    pub(super) repeated: Vec<Repeated>,
}

/// A payout that the API created.
#[derive(Debug)]
pub(super) struct CreatedPayout {
    pub(super) id: String,
    pub(super) merchant: String,
    pub(super) channel: &'static str,
    pub(super) amount: Money,
    /// Amount, fee and VAT, from the response.
    pub(super) cost: Money,
    pub(super) repeated: Vec<Repeated>,
}

/// A repeated request.
#[derive(Debug)]
pub(super) struct Repeated {
    /// How the second response differs from what is expected.
    pub(super) wrong: Option<String>,
}

impl ApiClients {
    pub(super) async fn open(setup: &Setup, merchants: &[Merchant]) -> Result<Self, Failure> {
        let admin = setup.client(&setup.admin_key)?;
        let mut clients = BTreeMap::new();
        for Merchant { id, name, .. } in merchants {
            send(&admin, &ApiRequest::post("/v1/merchants", json!({"id": id, "name": name})))
                .await?;
            let about = json!({"name": name, "role": "merchant", "merchant_id": id});
            let key = issue(&admin, about).await?;
            clients.insert(id.clone(), setup.client(&key)?);
        }
        Ok(Self { admin, merchants: clients })
    }

    /// Records all pay-ins.
    pub(super) async fn record_payins(
        &self,
        payins: Vec<PayIn>,
    ) -> Result<Vec<RecordedPayIn>, Failure> {
        let collecting = stream::iter(payins).map(|payin| self.record_one(payin));
        collecting.buffer_unordered(CONCURRENCY).try_collect().await
    }

    async fn record_one(&self, payin: PayIn) -> Result<RecordedPayIn, Failure> {
        let PayIn { merchant, reference, amount, is_repeated } = payin;
        let body = json!({
            "merchant_id": merchant,
            "provider": "collections",
            "reference": reference,
            "amount": amount.to_string(),
            "currency": amount.currency().to_string(),
        });
        let request = ApiRequest::post("/v1/payins", body).keyed(&reference);
        let answer = send(&self.admin, &request).await?;
        let mut repeated = Vec::new();
        if is_repeated {
            repeated.push(compare(&answer, &send(&self.admin, &request).await?, true));
        }
        let net = money(&answer.json, "net", amount)?;
        Ok(RecordedPayIn { merchant, amount, net, repeated })
    }

    /// Creates all payouts.
    pub(super) async fn pay(&self, orders: Vec<Order>) -> Result<Vec<CreatedPayout>, Failure> {
        let paying = stream::iter(orders).map(|order| self.pay_one(order));
        paying.buffer_unordered(CONCURRENCY).try_collect().await
    }

    async fn pay_one(&self, order: Order) -> Result<CreatedPayout, Failure> {
        let (client, request) = self.request(&order)?;
        let (answer, repeated) = match order.repeat {
            Repeat::Never => (send(client, &request).await?, Vec::new()),
            Repeat::Afterwards => {
                let first = send(client, &request).await?;
                let again = compare(&first, &send(client, &request).await?, true);
                (first, vec![again])
            }
            Repeat::AtOnce => {
                let (first, second) =
                    tokio::try_join!(send(client, &request), send(client, &request))?;
                let again = compare(&first, &second, first.is_replay != second.is_replay);
                (first, vec![again])
            }
        };
        let mut cost = order.amount;
        for part in ["fee", "vat"] {
            let part = money(&answer.json, part, order.amount)?;
            cost = cost.checked_add(part).map_err(|error| Failure::new(error.to_string()))?;
        }
        Ok(CreatedPayout {
            id: text_field(&answer.json, "id")?.to_owned(),
            merchant: order.merchant,
            channel: order.channel,
            amount: order.amount,
            cost,
            repeated,
        })
    }

    /// Requests payouts above the balance; returns the responses that are not a rejection.
    pub(super) async fn overdraw(&self, orders: &[Order]) -> Result<Vec<String>, Failure> {
        let mut wrong = Vec::new();
        for order in orders {
            let (client, request) = self.request(order)?;
            match client.send(&request).await {
                Err(ApiError::Problem { code, .. }) if code == "missing_funds" => {}
                Err(error) => return Err(error.failure()),
                Ok(answer) => wrong.push(format!(
                    "{} requested {} and got {}",
                    order.merchant, order.amount, answer.text
                )),
            }
        }
        Ok(wrong)
    }

    pub(super) fn client(&self, merchant: &str) -> Result<&Client, Failure> {
        let unknown = || Failure::new(format!("there is no merchant {merchant}"));
        self.merchants.get(merchant).ok_or_else(unknown)
    }

    fn request(&self, order: &Order) -> Result<(&Client, ApiRequest), Failure> {
        let client = self.client(&order.merchant)?;
        let body = json!({
            "merchant_id": order.merchant,
            "amount": order.amount.to_string(),
            "currency": order.amount.currency().to_string(),
            "channel": order.channel,
            "beneficiary": {"name": "Amina", "msisdn": order.msisdn},
        });
        Ok((client, ApiRequest::post("/v1/payouts", body).keyed(&order.key)))
    }
}

/// Sends a request that must succeed.
pub(super) async fn send(client: &Client, request: &ApiRequest) -> Result<ApiResponse, Failure> {
    client.send(request).await.map_err(ApiError::failure)
}

/// Issues an API key.
pub(super) async fn issue(admin: &Client, about: Value) -> Result<String, Failure> {
    let answer = send(admin, &ApiRequest::post("/v1/keys", about)).await?;
    Ok(text_field(&answer.json, "key")?.to_owned())
}

/// The second response must equal the first and be marked as a replay.
fn compare(first: &ApiResponse, second: &ApiResponse, is_marked: bool) -> Repeated {
    let is_same = first.text == second.text && is_marked && (first.is_replay || second.is_replay);
    let wrong = (!is_same).then(|| format!("{} and then {}", first.text, second.text));
    Repeated { wrong }
}

fn money(answer: &Value, name: &str, like: Money) -> Result<Money, Failure> {
    let text = text_field(answer, name)?;
    Money::parse(text, like.currency()).map_err(|error| Failure::new(format!("{name}: {error}")))
}
