//! The effects of a turn, by domain. A new domain with effects is a list and an arm here.

use bursar_core::flow::{Call, Effect};

use super::payouts::ChannelCall;
use super::webhooks::WebhookCall;

/// Calls to channels start before calls to endpoints, in whichever order the turn decided them: so a seed draws the
/// same, however the engine orders its outputs.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) channels: Vec<ChannelCall>,
    pub(crate) webhooks: Vec<WebhookCall>,
}

impl Calls {
    pub(crate) fn new(effects: impl IntoIterator<Item = Effect>) -> Self {
        let mut calls = Self::default();
        for effect in effects {
            match effect.call.clone() {
                Call::Payout(call) => calls.channels.push(ChannelCall { effect, call: *call }),
                Call::Delivery(call) => calls.webhooks.push(WebhookCall { effect, call: *call }),
                Call::PayIn(never) | Call::Approval(never) => match *never {},
            }
        }
        calls
    }
}
