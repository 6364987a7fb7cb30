//! What is done in the world once a commit is saved. Each outcome comes back as a request.

use jiff::Timestamp;

use crate::flow::Flow;
use crate::ids::FlowId;
use crate::money::Money;
use crate::payout::{self, Beneficiary, Payout};

/// Something to do for a flow, before its lease ends or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub flow: FlowId,
    pub channel: String,
    pub attempt: u32,
    /// What the channel knows the attempt by.
    pub reference: String,
    pub lease_until: Timestamp,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Send money, once. Not a byte of it after the lease has ended.
    Submit { r#try: u32, amount: Money, beneficiary: Beneficiary },
    /// Ask what became of it.
    Query,
}

impl Effect {
    pub(crate) fn new(flow: &Flow, payout: &Payout, effect: payout::Effect) -> Self {
        let (attempt, lease_until, call) = match effect {
            payout::Effect::Submit { attempt, r#try, lease_until } => {
                let amount = payout.terms.funds.amount;
                let beneficiary = payout.terms.beneficiary.clone();
                (attempt, lease_until, Call::Submit { r#try, amount, beneficiary })
            }
            payout::Effect::Query { attempt, lease_until } => (attempt, lease_until, Call::Query),
        };
        let (flow, channel) = (flow.id, payout.terms.channel.clone());
        let reference = payout.reference().to_owned();
        Self { flow, channel, attempt, reference, lease_until, call }
    }
}
