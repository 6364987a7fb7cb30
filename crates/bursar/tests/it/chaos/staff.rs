//! Staff under load: an operator proposes what one person may not do alone, and an approver decides. Both repeat themselves
//! until they are answered.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use serde_json::{Value, json};

use super::load::{KEY, Load, MERCHANTS, MSISDN};
use crate::caller::{Answer, Caller};

/// The keys of two people, older than every copy of the books.
pub(super) struct Staff {
    pub(super) operator: String,
    pub(super) approver: String,
}

/// A proposal that was answered as decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    id: String,
    status: String,
    /// The id of what was done.
    result: Option<String>,
}

impl Staff {
    /// The first set-up: the admin key of the environment makes the keys of two people.
    pub(super) fn new(address: &str) -> Self {
        let admin = Caller::new(address, Some(KEY));
        let key = |name, role| admin.key(name, role, None).key_text();
        Self { operator: key("otto", "operator"), approver: key("anna", "approver") }
    }
}

/// A request above the limit of 1,000,000 PKR.
struct Guarded {
    number: usize,
    path: &'static str,
    /// Its reference or idempotency key.
    name: String,
    body: Value,
}

impl Guarded {
    fn payin(number: usize, name: String, amount: &str) -> Self {
        let merchant = format!("m{}", number % MERCHANTS);
        let body = json!({
            "merchant_id": merchant, "provider": "easy", "reference": name, "amount": amount, "currency": "PKR",
        });
        Self { number, path: "/v1/payins", name, body }
    }

    fn payout(number: usize) -> Self {
        let (merchant, name) = (format!("m{}", number % MERCHANTS), format!("s{number}"));
        let body = json!({
            "merchant_id": merchant, "amount": "1000000.01", "currency": "PKR", "channel": "mobile_wallet",
            "beneficiary": {"name": "A", "msisdn": MSISDN},
        });
        Self { number, path: "/v1/payouts", name, body }
    }
}

impl Load {
    /// A pay-in and a payout that are approved, and a pay-in that is rejected.
    pub(super) fn propose(&self, number: usize) {
        let payin = self.approved(&Guarded::payin(number, format!("s{number}"), "2000000.00"));
        self.collected(&format!("s{number}"), &payin);
        let payout = self.approved(&Guarded::payout(number));
        self.paid_out(&format!("m{}", number % MERCHANTS), &format!("s{number}"), &payout);
        self.rejected(&Guarded::payin(number, format!("n{number}"), "1500000.00"));
    }

    fn ask(&self, guarded: &Guarded) -> Answer {
        let headers = [("idempotency-key", guarded.name.as_str())];
        let body = guarded.body.to_string();
        let by = &self.staff.operator;
        self.ask_until_answered(by, guarded.number, ("POST", guarded.path), &headers, &body)
    }

    /// What was done when two people had agreed to it. Books that are put back meanwhile may have forgotten the proposal or
    /// its approval, so both people begin again.
    fn approved(&self, guarded: &Guarded) -> Value {
        let mut decisions = Vec::new();
        loop {
            let answer = self.ask(guarded);
            let Some(id) = proposal(&answer) else {
                assert!([200, 201].contains(&answer.status), "{guarded:?}: {answer:?}");
                let done = answer.json();
                let is_it = |it: &Decision| it.result.as_deref() == done["id"].as_str();
                let decision = decisions.iter().find(|it| is_it(it)).cloned();
                assert!(decision.is_some() || decisions.is_empty(), "{done}: {decisions:?}");
                self.decided(guarded, decision);
                return done;
            };
            // Two requests at once: the approver is impatient.
            let decided = thread::scope(|scope| {
                let id = &id;
                let decide = |first| scope.spawn(move || self.decide(first, id, "approve"));
                [decide(guarded.number), decide(guarded.number + 1)].map(|it| it.join().unwrap())
            });
            for decision in decided.into_iter().flatten() {
                assert_eq!(decision.status, "APPROVED", "{guarded:?}: {decision:?}");
                decisions.push(decision);
            }
        }
    }

    fn rejected(&self, guarded: &Guarded) {
        let mut last = None;
        loop {
            let answer = self.ask(guarded);
            let Some(id) = proposal(&answer) else {
                answer.refused(409, "approval_rejected");
                self.decided(guarded, last);
                return;
            };
            last = self.decide(guarded.number, &id, "reject");
            let is_rejected = |it: &Decision| it.status == "REJECTED" && it.result.is_none();
            assert!(last.as_ref().is_none_or(is_rejected), "{guarded:?}: {last:?}");
        }
    }

    /// Decides a proposal. If the answer was lost, the repetition is refused, and the proposal tells. None if the books have
    /// no such proposal any more.
    fn decide(&self, first: usize, id: &str, decision: &str) -> Option<Decision> {
        let (by, path) = (&self.staff.approver, format!("/v1/approvals/{id}/{decision}"));
        let mut answer = self.ask_until_answered(by, first, ("POST", &path), &[], "{}");
        if answer.status == 409 {
            assert_eq!(answer.json()["code"], "not_proposed", "{answer:?}");
            let path = format!("/v1/approvals/{id}");
            answer = self.ask_until_answered(by, first, ("GET", &path), &[], "");
        }
        (answer.status != 404).then(|| of_json(&answer.is(200)))
    }

    /// Records a decision; none if it was made and recorded before.
    fn decided(&self, guarded: &Guarded, decision: Option<Decision>) {
        let name = format!("{} {}", guarded.path, guarded.name);
        let named = decision.map(|decision| (name, decision));
        self.acknowledged.lock().unwrap().decisions.extend(named);
    }

    /// Every decision is in the books as it was answered, and no other proposal is.
    pub(super) fn assert_decisions_hold(&self) {
        let mut found = BTreeMap::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("/v1/approvals?limit=500{cursor}"));
            for approval in page["data"].as_array().unwrap() {
                assert!(approval["decided_at"].is_null(), "a decision waits: {approval}");
                let decision = of_json(approval);
                found.insert(decision.id.clone(), decision);
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let acknowledged = self.acknowledged.lock().unwrap();
        let decisions = acknowledged.decisions.values();
        let answered: BTreeMap<String, Decision> =
            decisions.map(|it| (it.id.clone(), it.clone())).collect();
        assert_eq!(found, answered, "every decision holds");
        let done = found.values().filter_map(|it| it.result.as_ref());
        let (count, results) = (done.clone().count(), done.collect::<BTreeSet<_>>());
        assert_eq!(results.len(), count, "what is approved is done once");
        assert!(count > 0 && count < found.len(), "{count} of {} are approved", found.len());
        println!("{} proposals, {count} approved", found.len());
    }
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.path, self.name)
    }
}

fn proposal(answer: &Answer) -> Option<String> {
    let id = || answer.json()["approval_id"].as_str().unwrap().to_owned();
    (answer.status == 202).then(id)
}

fn of_json(approval: &Value) -> Decision {
    let text = |name: &str| approval[name].as_str().map(str::to_owned);
    let (id, status) = (text("id").unwrap(), text("status").unwrap());
    Decision { id, status, result: text("result") }
}
