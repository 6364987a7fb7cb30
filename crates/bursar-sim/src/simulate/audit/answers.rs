//! What is looked at when somebody is answered: the answer is in the books, it is the answer that was given before, and
//! it has the right price.

use bursar_core::flow::Flow;
use bursar_core::idempotency::{FlowReply, Key};
use bursar_core::ids::{FlowId, PayInId, PayoutId};
use bursar_core::ledger::Posted;
use bursar_core::money::Currency;
use bursar_core::payin::Said;
use bursar_core::request::{Answer, Body, Reply};

use super::super::invariant::Invariant;
use super::super::swarm::{PAYIN_PRICE, PAYOUT_PRICE};
use super::money::Order;
use super::{Audit, minor, price};

/// The first reply under a key, and what had been asked for.
#[derive(Debug)]
pub(super) struct Given {
    asked: String,
    reply: FlowReply,
}

impl Audit {
    pub(crate) fn answered(&mut self, body: &Body, answer: &Answer) {
        let Ok(reply) = answer else { return };
        match reply {
            Reply::Flow { reply, .. } => {
                self.look_at_flow_reply(reply);
                if let Some(key) = key(body) {
                    self.look_at_key(key, body, reply);
                }
                self.remember(body, reply);
            }
            Reply::Posted(Posted::New(id) | Posted::Replayed(id)) => {
                let is_there = self.transactions.contains(id);
                self.check(Invariant::AnswerIsSaved, "", is_there, || {
                    format!("{id} was answered and is not in the books")
                });
                self.remember_by_hand(body);
            }
            Reply::Woken(_)
            | Reply::Delivering(_)
            | Reply::Driven(_)
            | Reply::Carried(_)
            | Reply::Replayed(_)
            | Reply::Noted { .. }
            | Reply::Registered { .. } => {}
        }
    }

    fn look_at_flow_reply(&mut self, reply: &FlowReply) {
        let (id, version) = match reply {
            FlowReply::Payout(view) => (flow_id(&view.id), view.version),
            FlowReply::PayIn(view) => (flow_id(&view.id), view.version),
            FlowReply::Reservation(view) => (None, view.version),
            FlowReply::Delivery(_) => return,
        };
        let about = id.map(|id| self.name(id)).unwrap_or_default();
        let flow: Option<&Flow> = id.and_then(|id| self.flows.get(&id));
        let is_there = flow.is_some_and(|flow| flow.version >= version);
        self.check(Invariant::AnswerIsSaved, &about, is_there, || {
            format!("version {version} was answered and is not in the books")
        });
    }

    /// The same request gets the same reply; another one under the same key gets none.
    fn look_at_key(&mut self, key: &Key, body: &Body, reply: &FlowReply) {
        let name = (key.scope().to_owned(), key.words().to_owned());
        let asked = format!("{body:?}");
        let about = match reply {
            FlowReply::Payout(view) => flow_id(&view.id).map(|id| self.name(id)),
            FlowReply::PayIn(view) => flow_id(&view.id).map(|id| self.name(id)),
            FlowReply::Reservation(_) | FlowReply::Delivery(_) => None,
        };
        let is_same = self
            .replies
            .get(&name)
            .is_none_or(|given| given.asked == asked && given.reply == *reply);
        self.check(Invariant::SameKeySameReply, &about.unwrap_or_default(), is_same, || {
            format!("key {} was answered in two ways", key.words())
        });
        self.replies.entry(name).or_insert(Given { asked, reply: reply.clone() });
    }

    /// What was asked for, at the price that we know.
    fn remember(&mut self, body: &Body, reply: &FlowReply) {
        let (order, said, id) = match (body, reply) {
            (Body::CreatePayout { payout, .. }, FlowReply::Payout(view)) => {
                let order = order(&payout.merchant, &payout.currency, &payout.amount, true);
                (order, [view.fee.clone(), view.vat.clone()], flow_id(&view.id))
            }
            (Body::TakePayIn(payin), FlowReply::PayIn(view)) => {
                let order = order(&payin.merchant, &payin.currency, &payin.amount, false);
                (order, [view.fee.clone(), view.vat.clone()], flow_id(&view.id))
            }
            _ => return,
        };
        let (Some(order), Some(id)) = (order, id) else { return };
        let decimals = u32::from(order.purse.1.decimals());
        let said = said.map(|text| minor(&text, decimals));
        let about = self.name(id);
        let is_right = said == [Some(order.fee), Some(order.vat)];
        self.check(Invariant::RightPrice, &about, is_right, || {
            format!("fee and VAT are {said:?}, should be {} and {}", order.fee, order.vat)
        });
        self.orders.insert(id, order);
        if matches!(body, Body::TakePayIn(payin) if payin.said == Said::Completed) {
            self.completed.insert(id);
        }
    }

    /// What a posting by hand does to its merchant, once for each reference.
    fn remember_by_hand(&mut self, body: &Body) {
        let (Body::Post(event) | Body::PostByHand { event, .. }) = body else { return };
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

    /// Something that was posted by hand was taken back.
    pub(crate) fn taken_back(&mut self, event: &str, reference: &str) {
        self.by_hand.remove(&(event.to_owned(), reference.to_owned()));
    }
}

fn key(body: &Body) -> Option<&Key> {
    match body {
        Body::CreatePayout { key, .. }
        | Body::CreateDrivenPayout { key, .. }
        | Body::CancelPayout { key, .. }
        | Body::ResolvePayout { key, .. }
        | Body::Reserve { key, .. }
        | Body::Decide { key, .. } => Some(key),
        // Whoever speaks about a pay-in again gets it as it stands; its key is looked at where it is used.
        Body::TakePayIn(_)
        | Body::Post(_)
        | Body::PostByHand { .. }
        | Body::Report(_)
        | Body::Tell(_)
        | Body::Switch(_)
        | Body::Register(_)
        | Body::Wake(_)
        | Body::Mail(_)
        | Body::Drive(_)
        | Body::SetAside { .. } => None,
    }
}

fn flow_id(text: &str) -> Option<FlowId> {
    let payout = text.parse::<PayoutId>().map(FlowId::from);
    payout.or_else(|_| text.parse::<PayInId>().map(FlowId::from)).ok()
}

fn order(merchant: &str, currency: &str, amount: &str, is_payout: bool) -> Option<Order> {
    let currency: Currency = currency.parse().ok()?;
    let amount = minor(amount, u32::from(currency.decimals()))?;
    let (fee, vat) = price(amount, if is_payout { PAYOUT_PRICE } else { PAYIN_PRICE });
    // A fee that would take more than all of a pay-in is not charged.
    let is_too_much = !is_payout && fee.saturating_add(vat) > amount;
    let (fee, vat) = if is_too_much { (0, 0) } else { (fee, vat) };
    Some(Order { purse: (merchant.to_owned(), currency), amount, fee, vat })
}
