//! Routing of effects to connectors: payout calls to channels, webhook calls to endpoints.

use std::sync::Arc;

use bursar_connect::Connections;
use bursar_connect::webhook::WebhookClient;
use bursar_core::flow::{Call, Effect, Outcome};
use bursar_engine::{Outside, Running};
use tokio::time::Instant;

/// Routes an effect to the connector of its kind.
pub(crate) struct Connectors {
    /// Runs every effect except webhook calls.
    pub(crate) channels: Arc<dyn Outside>,
    pub(crate) webhooks: WebhookClient,
}

impl Outside for Connectors {
    fn run(&self, effect: Effect, deadline: Instant) -> Running {
        let Effect { attempt, call, .. } = effect;
        match call {
            Call::Delivery(call) => {
                let webhooks = self.webhooks.clone();
                Box::pin(
                    async move { Outcome::Delivery(webhooks.send(*call, attempt, deadline).await) },
                )
            }
            Call::Payout(_) => self.channels.run(Effect { call, ..effect }, deadline),
            Call::PayIn(never) | Call::Approval(never) => match *never {},
        }
    }
}

/// The channels of the configuration.
pub(crate) struct Channels(pub(crate) Connections);

impl Outside for Channels {
    fn run(&self, effect: Effect, deadline: Instant) -> Running {
        let Effect { attempt, lease_until, .. } = effect;
        let Call::Payout(call) = effect.call else {
            let outcome = effect.lost("no channel takes such a call");
            return Box::pin(std::future::ready(outcome));
        };
        let channels = self.0.clone();
        Box::pin(async move {
            Outcome::Payout(channels.run(*call, (attempt, lease_until), deadline).await)
        })
    }
}
