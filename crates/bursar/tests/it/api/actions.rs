//! Common actions of the API tests: create merchants, fund them, create payouts, read the books.

use serde_json::{Value, json};

use super::server::{CHANNEL_SECRET, PROVIDER_SECRET};
use crate::caller::{Answer, Caller, until};

impl Caller {
    /// Creates a merchant with this balance.
    pub(crate) fn merchant(&self, id: &str, funds: &str) {
        self.post("/v1/merchants", &json!({"id": id, "name": id})).is(201);
        if funds != "0.00" {
            self.fund(id, funds);
        }
    }

    pub(crate) fn fund(&self, merchant: &str, amount: &str) {
        let reference = format!("fund-{merchant}-{amount}");
        let body = json!({"merchant_id": merchant, "provider": "easypay", "reference": reference, "amount": amount, "currency": "PKR"});
        let payin = self.post("/v1/payins", &body).is(201);
        assert_eq!(payin["net"], amount);
    }

    /// Issues a key with this role, limited to a merchant if given.
    pub(crate) fn key(&self, name: &str, role: &str, merchant: Option<&str>) -> Self {
        let body = json!({"name": name, "role": role, "merchant_id": merchant});
        let issued = self.post("/v1/keys", &body).is(201);
        self.with(issued["key"].as_str().unwrap())
    }

    pub(crate) fn pay(&self, key: &str, body: &Value) -> Answer {
        self.move_money(key, "/v1/payouts", body)
    }

    pub(crate) fn payout(&self, id: &str) -> Value {
        self.get(&format!("/v1/payouts/{id}")).is(200)
    }

    /// Waits until a payout has this status.
    pub(crate) fn payout_at(&self, id: &str, status: &str) -> Value {
        until(&format!("{id} is {status}"), || {
            Some(self.payout(id)).filter(|payout| payout["status"] == status)
        })
    }

    pub(crate) fn explain(&self, id: &str) -> Value {
        self.get(&format!("/v1/payouts/{id}/explain")).is(200)
    }

    /// Available and held, in rupees.
    pub(crate) fn balance(&self, merchant: &str) -> (String, String) {
        let found = self.get(&format!("/v1/merchants/{merchant}/balances")).is(200);
        let rupees =
            found["balances"].as_array().unwrap().iter().find(|row| row["currency"] == "PKR");
        let text = |name: &str| {
            rupees.map_or("0.00".to_owned(), |row| row[name].as_str().unwrap().to_owned())
        };
        (text("available"), text("held"))
    }

    /// The trial balance is zero and the books verify.
    pub(crate) fn books_hold(&self) {
        let trial = self.get("/v1/ledger/trial-balance").is(200);
        assert_eq!(trial["is_balanced"], true, "{trial}");
        let verified = self.get("/v1/ledger/verify").is(200);
        assert_eq!(verified["ok"], true, "{verified}");
    }

    /// The content of the books that a rejection must not change.
    pub(crate) fn books(&self) -> [Value; 3] {
        [
            self.get("/v1/ledger/trial-balance").is(200),
            self.get("/v1/ledger/accounts?limit=500").is(200),
            self.get("/v1/payouts?limit=500").is(200),
        ]
    }

    /// Sends a callback signed by the channel or provider with this name.
    pub(crate) fn tell(&self, name: &str, body: &Value) -> Answer {
        let secret = if name == "easypay" { PROVIDER_SECRET } else { CHANNEL_SECRET };
        let body = body.to_string();
        let signature = signed(secret, body.as_bytes());
        let path = format!("/v1/providers/{name}/callbacks");
        self.without_key().ask("POST", &path, &[("X-Signature", &signature)], body.as_bytes())
    }

    pub(crate) fn resolve(&self, key: &str, payout: &Value, decision: &str) -> Answer {
        let path = format!("/v1/payouts/{}/resolve", payout["id"].as_str().unwrap());
        let body = json!({"decision": decision, "evidence": "asked by telephone", "expected_version": payout["version"]});
        self.move_money(key, &path, &body)
    }
}

pub(crate) fn signed(secret: &str, body: &[u8]) -> String {
    bursar_connect::callback::sign(&bursar_connect::Secret::new(secret), body)
}

/// The body of a payout of this amount over this channel.
pub(crate) fn order(merchant: &str, channel: &str, amount: &str) -> Value {
    json!({
        "merchant_id": merchant,
        "beneficiary": {"name": "Amina", "msisdn": "923001234567"},
        "amount": amount,
        "currency": "PKR",
        "channel": channel,
    })
}

/// The callback of a channel about a payout.
pub(crate) fn said(payout: &Value, status: &str) -> Value {
    json!({"status": status, "clientCorrelationId": payout["reference"], "transactionReference": "tx-1"})
}

pub(crate) fn id(body: &Value) -> &str {
    body["id"].as_str().unwrap()
}
