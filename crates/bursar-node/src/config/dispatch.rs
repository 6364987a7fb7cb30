//! Settings of dispatch: how fast and when a channel is sent to.

use std::collections::BTreeMap;

use bursar_core::dispatch::{Settings, dispatch_id};
use bursar_core::flow::{KINDS, LaneScope};
use bursar_core::payouts::channel::Channel;

use super::Config;
use crate::failure::Failure;

impl Config {
    /// The settings by kind and channel.
    pub(super) fn dispatch(
        &self,
        channels: &BTreeMap<String, Channel>,
    ) -> Result<BTreeMap<String, Settings>, Failure> {
        let mut settings = BTreeMap::new();
        for (kind, by_channel) in &self.dispatch {
            let is_queued = KINDS.iter().any(|info| {
                info.name == kind && info.lanes.iter().any(|lane| lane.scope == LaneScope::Queue)
            });
            if !is_queued {
                return Err(wrong(&format!("dispatch.{kind}: only payouts are dispatched")));
            }
            for (channel, given) in by_channel {
                let key = format!("dispatch.{kind}.{channel}");
                if !channels.contains_key(channel) {
                    return Err(wrong(&format!("{key}: there is no channel `{channel}`")));
                }
                given.check().map_err(|reason| wrong(&format!("{key}.{reason}")))?;
                settings.insert(dispatch_id(kind, channel), given.clone());
            }
        }
        Ok(settings)
    }
}

/// Too few may be sent at once for the rate: slots would go unused.
pub(super) fn few_at_once(channel: &Channel, settings: &Settings) -> Option<String> {
    let rate = settings.rate_per_s.or(settings.contract_per_s)?;
    let config = settings.config(channel.concurrency);
    let horizon = config.pace?.horizon.as_millis();
    // Those that wait for their slots, and a second for the answers of the others.
    let ahead =
        u128::from(rate.milli()).saturating_mul(horizon.unsigned_abs().saturating_add(1_000));
    let needed = ahead.div_ceil(1_000_000);
    let most = config.max_concurrency;
    (u128::from(most) < needed).then(|| {
        format!(
            "dispatch.payout.{}: {rate} a second need max_concurrency = {needed} if answers take a second, and it is {most}. Slots go unused if the channel is not faster",
            channel.name
        )
    })
}

fn wrong(reason: &str) -> Failure {
    Failure::new(format!("the configuration cannot be used: {reason}. Nothing was started"))
}
