//! Those who use the API: the house that opens merchants and records pay-ins, and merchants that pay people out, many at
//! once, some of them twice.

use std::collections::BTreeMap;

use bursar_core::money::Money;
use bursar_node::client::{Answer, Ask, Client, Trouble};
use bursar_node::failure::Failure;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::plan::{Merchant, Order, PayIn, Repeat};
use super::stage::Stage;
use super::word;

/// Requests that are under way at once.
const HANDS: usize = 64;

pub(super) struct Crowd {
    pub(super) house: Client,
    merchants: BTreeMap<String, Client>,
}

/// A pay-in that was recorded.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) merchant: String,
    pub(super) amount: Money,
    pub(super) net: Money,
    pub(super) repeated: Vec<Repeated>,
}

/// A payout that was answered with 201.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) merchant: String,
    pub(super) channel: &'static str,
    pub(super) amount: Money,
    /// With fee and VAT, as it was answered.
    pub(super) cost: Money,
    pub(super) repeated: Vec<Repeated>,
}

/// The same request, asked for once more.
#[derive(Debug)]
pub(super) struct Repeated {
    /// What is wrong with the answer, if anything is.
    pub(super) wrong: Option<String>,
}

impl Crowd {
    pub(super) async fn open(stage: &Stage, merchants: &[Merchant]) -> Result<Self, Failure> {
        let house = stage.client(&stage.admin_key)?;
        let mut clients = BTreeMap::new();
        for Merchant { id, name, .. } in merchants {
            tell(&house, &Ask::post("/v1/merchants", json!({"id": id, "name": name}))).await?;
            let about = json!({"name": name, "role": "merchant", "merchant_id": id});
            let key = issue(&house, about).await?;
            clients.insert(id.clone(), stage.client(&key)?);
        }
        Ok(Self { house, merchants: clients })
    }

    /// What customers have paid.
    pub(super) async fn collect(&self, payins: Vec<PayIn>) -> Result<Vec<Collected>, Failure> {
        let collecting = stream::iter(payins).map(|payin| self.collect_one(payin));
        collecting.buffer_unordered(HANDS).try_collect().await
    }

    async fn collect_one(&self, payin: PayIn) -> Result<Collected, Failure> {
        let PayIn { merchant, reference, amount, is_repeated } = payin;
        let body = json!({
            "merchant_id": merchant,
            "provider": "collections",
            "reference": reference,
            "amount": amount.to_string(),
            "currency": amount.currency().to_string(),
        });
        let ask = Ask::post("/v1/payins", body).keyed(&reference);
        let answer = tell(&self.house, &ask).await?;
        let mut repeated = Vec::new();
        if is_repeated {
            repeated.push(compare(&answer, &tell(&self.house, &ask).await?, true));
        }
        let net = money(&answer.json, "net", amount)?;
        Ok(Collected { merchant, amount, net, repeated })
    }

    /// Everybody who is to be paid.
    pub(super) async fn pay(&self, orders: Vec<Order>) -> Result<Vec<Made>, Failure> {
        let paying = stream::iter(orders).map(|order| self.pay_one(order));
        paying.buffer_unordered(HANDS).try_collect().await
    }

    async fn pay_one(&self, order: Order) -> Result<Made, Failure> {
        let (client, ask) = self.request(&order)?;
        let (answer, repeated) = match order.repeat {
            Repeat::Never => (tell(client, &ask).await?, Vec::new()),
            Repeat::Afterwards => {
                let first = tell(client, &ask).await?;
                let again = compare(&first, &tell(client, &ask).await?, true);
                (first, vec![again])
            }
            Repeat::AtOnce => {
                let (first, second) = tokio::try_join!(tell(client, &ask), tell(client, &ask))?;
                let again = compare(&first, &second, first.is_replay != second.is_replay);
                (first, vec![again])
            }
        };
        let mut cost = order.amount;
        for part in ["fee", "vat"] {
            let part = money(&answer.json, part, order.amount)?;
            cost = cost.checked_add(part).map_err(|error| Failure::new(error.to_string()))?;
        }
        Ok(Made {
            id: word(&answer.json, "id")?.to_owned(),
            merchant: order.merchant,
            channel: order.channel,
            amount: order.amount,
            cost,
            repeated,
        })
    }

    /// Those who want more than they have; what is wrong with the answers.
    pub(super) async fn overdraw(&self, orders: &[Order]) -> Result<Vec<String>, Failure> {
        let mut wrong = Vec::new();
        for order in orders {
            let (client, ask) = self.request(order)?;
            match client.ask(&ask).await {
                Err(Trouble::Problem { code, .. }) if code == "missing_funds" => {}
                Err(trouble) => return Err(trouble.failure()),
                Ok(answer) => wrong.push(format!(
                    "{} asked for {} and got {}",
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

    fn request(&self, order: &Order) -> Result<(&Client, Ask), Failure> {
        let client = self.client(&order.merchant)?;
        let body = json!({
            "merchant_id": order.merchant,
            "amount": order.amount.to_string(),
            "currency": order.amount.currency().to_string(),
            "channel": order.channel,
            "beneficiary": {"name": "Somebody", "msisdn": order.msisdn},
        });
        Ok((client, Ask::post("/v1/payouts", body).keyed(&order.key)))
    }
}

/// Asks for what must not be refused.
pub(super) async fn tell(client: &Client, ask: &Ask) -> Result<Answer, Failure> {
    client.ask(ask).await.map_err(Trouble::failure)
}

/// A new key.
pub(super) async fn issue(house: &Client, about: Value) -> Result<String, Failure> {
    let answer = tell(house, &Ask::post("/v1/keys", about)).await?;
    Ok(word(&answer.json, "key")?.to_owned())
}

/// The second answer must be the first one again, and say so.
fn compare(first: &Answer, second: &Answer, is_marked: bool) -> Repeated {
    let is_same = first.text == second.text && is_marked && (first.is_replay || second.is_replay);
    let wrong = (!is_same).then(|| format!("{} and then {}", first.text, second.text));
    Repeated { wrong }
}

fn money(answer: &Value, name: &str, like: Money) -> Result<Money, Failure> {
    let text = word(answer, name)?;
    Money::parse(text, like.currency()).map_err(|error| Failure::new(format!("{name}: {error}")))
}
