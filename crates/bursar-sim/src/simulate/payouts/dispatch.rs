//! What the auditor checks about dispatch: rates, concurrency and windows.

use std::collections::BTreeMap;

use bursar_core::dispatch::{AtCutOff, Config};
use bursar_core::payouts::Order;
use bursar_core::rules::Rules;
use bursar_core::turn::Commit;
use jiff::{SignedDuration, Timestamp};

use super::ChannelCall;
use crate::simulate::audit::Audit;
use crate::simulate::invariant::Invariant;

/// The settings of the limited channels, and the slots that were given out.
#[derive(Debug, Default)]
pub(crate) struct Books {
    limited: BTreeMap<String, Config>,
    slots: BTreeMap<String, Vec<Timestamp>>,
}

impl Books {
    pub(crate) fn new(rules: &Rules) -> Self {
        let config = |(id, settings): (&String, &bursar_core::dispatch::Settings)| {
            let channel = id.strip_prefix("payout.")?;
            let concurrency = rules.channels.get(channel)?.concurrency;
            Some((channel.to_owned(), settings.config(concurrency)))
        };
        Self { limited: rules.dispatch.iter().filter_map(config).collect(), slots: BTreeMap::new() }
    }
}

impl Audit {
    /// The slot of a submission that is planned.
    pub(crate) fn look_at_slot(&mut self, call: &ChannelCall) {
        let channel = &call.call.channel;
        let Some(config) = self.dispatch.limited.get(channel).cloned() else { return };
        let Some(slot) = call.effect.slot.as_ref() else { return };
        if !matches!(call.call.order, Order::Submit { .. }) {
            return;
        }
        let about = self.name(call.effect.flow);
        let is_timed = slot.until.is_some();
        self.check(Invariant::WithinRate, &about, is_timed, || "sent without a slot".to_owned());
        self.look_at_window(&about, &config, slot.at);
        let Some(pace) = config.pace else { return };
        let slots = self.dispatch.slots.entry(channel.clone()).or_default();
        // A clock that was wrong and is right again begins anew.
        if slots.last().is_some_and(|last| slot.at < *last) {
            slots.clear();
        }
        slots.push(slot.at);
        let burst = usize::try_from(pace.burst).unwrap_or(usize::MAX);
        let before = slots.len().checked_sub(burst.saturating_add(1));
        let before = before.and_then(|place| slots.get(place)).copied();
        let is_far = before.is_none_or(|it| slot.at.duration_since(it) >= pace.rate.interval());
        self.check(Invariant::WithinRate, &about, is_far, || {
            format!("{channel} gets more than {} a second and {burst} at once", pace.rate)
        });
    }

    /// Slots are given out a little ahead.
    fn look_at_window(&mut self, about: &str, config: &Config, at: Timestamp) {
        let horizon = config.pace.map_or(SignedDuration::ZERO, |pace| pace.horizon);
        let planned = at.saturating_sub(horizon).unwrap_or(at);
        let is_open = [at, planned].into_iter().any(|time| config.calendar.at(time).is_open);
        let is_allowed = is_open || config.at_cut_off == AtCutOff::SendAnyway;
        self.check(Invariant::WithinWindow, about, is_allowed, || {
            format!("planned to be sent at {at}, and its channel is closed")
        });
    }

    /// How many are being sent after a commit.
    pub(crate) fn count_sending(&mut self, commit: &Commit) {
        let changed = commit.flows.iter().filter_map(|write| write.after.state.channel());
        let changed: Vec<String> = changed.map(str::to_owned).collect();
        for (channel, config) in self.dispatch.limited.clone() {
            if !changed.contains(&channel) {
                continue;
            }
            let flows = self.flows.values();
            let sending = flows.filter(|flow| {
                flow.state.status() == "SUBMITTING" && flow.state.channel() == Some(&channel)
            });
            let sending = sending.count();
            let most = usize::try_from(config.max_concurrency).unwrap_or(usize::MAX);
            self.check(Invariant::WithinConcurrency, "", sending <= most, || {
                format!("{sending} are being sent through {channel}, {most} may be")
            });
        }
    }
}
