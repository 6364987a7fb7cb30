//! Checks of every answer: it is in the books, it is the answer that was given before, and it has the right price.

use bursar_core::flow::{Flow, FlowView};
use bursar_core::idempotency::Key;
use bursar_core::ids::FlowId;
use bursar_core::ledger::{self, Posted};
use bursar_core::money::Currency;
use bursar_core::payins::{self, ProviderStatus};
use bursar_core::turn::{Answer, Body, Reply};

use super::super::invariant::Invariant;
use super::super::kinds::{KINDS, key, shown};
use super::{Audit, minor};

/// The first reply under a key, and what had been asked for.
#[derive(Debug)]
pub(super) struct Given {
    asked: String,
    reply: FlowView,
}

/// A flow, as an answer shows it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) id: Option<FlowId>,
    pub(crate) version: u64,
    pub(crate) fee: String,
    pub(crate) vat: String,
    pub(crate) view: FlowView,
    /// The answer was given before.
    pub(crate) is_replay: bool,
}

impl Audit {
    pub(crate) fn answered(&mut self, body: &Body, answer: &Answer) {
        self.look_at_report(body, answer);
        let Ok(reply) = answer else { return };
        self.look_at_decision(body, reply);
        if let Some(shown) = shown(reply) {
            self.look_at_flow_reply(&shown);
            if let Some(key) = key(body) {
                self.look_at_key(key, body, &shown);
            }
            self.remember(body, &shown);
        }
        if let Reply::Ledger(ledger::Reply::Posted(posted)) = reply {
            let (Posted::New(id) | Posted::Replayed(id)) = posted;
            let is_there = self.transactions.contains(id);
            self.check(Invariant::AnswerIsSaved, "", is_there, || {
                format!("{id} was answered and is not in the books")
            });
            self.remember_by_hand(body);
        }
    }

    fn look_at_flow_reply(&mut self, shown: &Shown) {
        let (id, version) = (shown.id, shown.version);
        let about = id.map(|id| self.name(id)).unwrap_or_default();
        let flow: Option<&Flow> = id.and_then(|id| self.flows.get(&id));
        let is_there = flow.is_some_and(|flow| flow.version >= version);
        self.check(Invariant::AnswerIsSaved, &about, is_there, || {
            format!("version {version} was answered and is not in the books")
        });
    }

    /// The same request gets the same reply; another one under the same key gets none.
    fn look_at_key(&mut self, key: &Key, body: &Body, shown: &Shown) {
        let name = (key.scope().to_owned(), key.value().to_owned());
        let asked = format!("{body:?}");
        let about = shown.id.map(|id| self.name(id)).unwrap_or_default();
        let is_same = self
            .replies
            .get(&name)
            .is_none_or(|given| given.asked == asked && given.reply == shown.view);
        self.check(Invariant::SameKeySameReply, &about, is_same, || {
            format!("key {} was answered in two ways", key.value())
        });
        self.replies.entry(name).or_insert(Given { asked, reply: shown.view.clone() });
    }

    /// What was asked for, at the price that we know.
    fn remember(&mut self, body: &Body, shown: &Shown) {
        let order = KINDS.iter().find_map(|kind| (kind.order)(body));
        let (Some(order), Some(id)) = (order, shown.id) else { return };
        let decimals = u32::from(order.purse.1.decimals());
        let said = [&shown.fee, &shown.vat].map(|text| minor(text, decimals));
        let about = self.name(id);
        let is_right = said == [Some(order.fee), Some(order.vat)];
        self.check(Invariant::RightPrice, &about, is_right, || {
            format!("fee and VAT are {said:?}, should be {} and {}", order.fee, order.vat)
        });
        self.orders.insert(id, order);
        if let Body::PayIns(payins::Request::NewPayIn(payin)) = body
            && payin.said == ProviderStatus::Completed
        {
            self.completed.insert(id);
        }
    }

    /// What a posting by hand does to its merchant, once for each reference.
    pub(crate) fn remember_by_hand(&mut self, body: &Body) {
        let Body::Ledger(ledger::Request::Post(ledger::Post { event, .. })) = body else { return };
        let text = |name: &str| event.variables.get(name).map(String::as_str);
        let sign = match event.name.as_str() {
            "ADJUSTMENT_CREDIT" => 1,
            "ADJUSTMENT_DEBIT" | "REFUND" => -1,
            _ => return,
        };
        let currency: Option<Currency> = text("currency").and_then(|code| code.parse().ok());
        let (Some(merchant), Some(currency)) = (text("merchantId"), currency) else { return };
        let part =
            |name: &str| text(name).and_then(|value| minor(value, u32::from(currency.decimals())));
        let sum =
            part("amount").unwrap_or_default().saturating_add(part("vat").unwrap_or_default());
        let key = (event.name.clone(), event.reference.clone());
        self.by_hand.insert(key, ((merchant.to_owned(), currency), sum.saturating_mul(sign)));
    }

    /// A posting by hand was reverted.
    pub(crate) fn reverted(&mut self, event: &str, reference: &str) {
        self.by_hand.remove(&(event.to_owned(), reference.to_owned()));
    }
}
