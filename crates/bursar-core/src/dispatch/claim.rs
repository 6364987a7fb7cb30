//! Claims in queues: which flows are sent, and when, under the settings of their channel.

use jiff::{SignedDuration, Timestamp};

use super::fair::Limit;
use super::pace::{CLOCK_SLACK, after};
use super::queue::{Position, QueueKey, group_parts};
use super::settings::{Config, Settings};
use super::standing::{Cycle, CycleRow, Standing};
use super::window::{AtCutOff, Opening};
use crate::flow::{ClaimDue, ClaimReply, Flow, KINDS};
use crate::ids::FlowId;
use crate::ledger::Admission;
use crate::registry::{Content, Kind, RecordKey};
use crate::rules::Rules;
use crate::turn::{Draft, ReadSet, Reads, TallyName};

/// When a flow is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendTime {
    pub at: Timestamp,
    /// It is not sent after this time.
    pub until: Timestamp,
}

/// Why a claim takes no more, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub why: Blocked,
    /// None if only a change of settings or freezes ends it.
    pub until: Option<Timestamp>,
}

/// What keeps flows that are due from being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// The channel or everything is frozen.
    Frozen,
    /// The settings have disabled the channel.
    Disabled,
    /// Its window is closed.
    Closed,
    /// The slots up to the horizon are given out.
    Rate,
    /// As many as may be are being sent.
    Concurrency,
}

impl Blocked {
    /// The name in replies and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Disabled => "disabled",
            Self::Closed => "closed",
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
        }
    }
}

/// The id of the records about the dispatch of a kind and a channel.
pub fn dispatch_id(kind: &str, channel: &str) -> String {
    format!("{kind}.{channel}")
}

/// The id of the record about a merchant that has a limit.
fn limit_id(kind: &str, channel: &str, merchant: &str) -> String {
    format!("{kind}.{channel}:{merchant}")
}

/// The first round of a claim: settings and state.
pub(crate) fn plan_claim(group: &str, reads: &mut Reads<'_>) {
    let Some((kind, channel)) = group_parts(group) else { return };
    let id = dispatch_id(kind, channel);
    let key = |kind| RecordKey { kind, id: id.clone() };
    reads.plan.registry.extend([key(Kind::DispatchSettings), key(Kind::DispatchState)]);
}

/// The second round: the flows that are being sent, and the merchants with limits.
pub(crate) fn plan_claim_second(group: &str, first: &ReadSet, reads: &mut Reads<'_>) {
    let Some((kind, channel)) = group_parts(group) else { return };
    let id = dispatch_id(kind, channel);
    let mut records = first.registry.iter().filter(|record| record.id == id);
    let record = records.find_map(|record| record.content.dispatch_settings());
    if settings(reads.rules, &id, record).is_none() {
        return;
    }
    reads.plan.tallies.extend(sending(reads.rules, kind, channel));
    for head in first.queues.iter().filter(|head| head.key.group == group) {
        if head.queue.limit.is_some() {
            let id = limit_id(kind, channel, &head.key.merchant);
            reads.plan.registry.insert(RecordKey { kind: Kind::DispatchState, id });
        }
    }
}

/// What file and record say, if that limits anything.
pub fn settings(rules: &Rules, id: &str, record: Option<&Settings>) -> Option<Settings> {
    let file = rules.dispatch.get(id);
    let settings = match (record, file) {
        (Some(record), Some(file)) => record.over(file),
        (Some(record), None) => record.clone(),
        (None, Some(file)) => file.clone(),
        (None, None) => return None,
    };
    settings.is_limited().then_some(settings)
}

/// The tallies of flows that are being sent through a channel.
fn sending(rules: &Rules, kind: &str, channel: &str) -> Vec<String> {
    let info = KINDS.iter().find(|info| info.name == kind);
    let Some((info, found)) = info.zip(rules.channels.get(channel)) else { return Vec::new() };
    let names = found.currencies.iter().flat_map(|currency| {
        let currency = Some(*currency);
        let name = move |status| TallyName::Flow { kind: info.name, status, currency, channel };
        info.sending.iter().map(move |status| name(status).to_string())
    });
    names.collect()
}

impl Draft<'_> {
    /// Makes the due step of flows of a group of queues, in turn.
    pub(crate) fn claim_group(&mut self, claim: &ClaimDue, at: &Admission) -> ClaimReply {
        let Some((kind, channel)) = group_parts(&claim.lane) else { return ClaimReply::default() };
        if self.control().is_channel_at_rest(channel) {
            let rest = Some(Rest { why: Blocked::Frozen, until: None });
            return ClaimReply { rest, ..ClaimReply::default() };
        }
        let id = dispatch_id(kind, channel);
        let records = [Kind::DispatchSettings, Kind::DispatchState];
        if records.into_iter().any(|kind| self.check_readable(kind, &id).is_err()) {
            // Without them no limit is known: nothing is sent.
            let rest = Some(Rest { why: Blocked::Disabled, until: None });
            return ClaimReply { rest, ..ClaimReply::default() };
        }
        // A change of the settings meanwhile repeats the turn.
        let record = self.rely_on(Kind::DispatchSettings, &id);
        let record = record.and_then(|record| record.content.dispatch_settings()).cloned();
        let settings = settings(self.rules(), &id, record.as_ref());
        let concurrency = self.rules().channels.get(channel).map_or(1, |it| it.concurrency);
        let reply = match settings.map(|settings| settings.config(concurrency)) {
            Some(config) => self.claim_limited(claim, (kind, channel), &config, at),
            None => self.claim_unlimited(claim, at),
        };
        if self.turns(&claim.lane).has_sleepers() {
            self.mark_written(at);
        }
        reply
    }

    fn claim_unlimited(&mut self, claim: &ClaimDue, at: &Admission) -> ClaimReply {
        let mut reply = ClaimReply::default();
        for id in self.due(claim, at.now) {
            self.step_due(id, &mut reply, at);
        }
        reply
    }

    /// The flows of a group that are due, of merchants that are not frozen.
    pub(crate) fn queued(&self, group: &str, now: Timestamp) -> Vec<Queued> {
        let channel = group_parts(group).map_or("", |(_, channel)| channel);
        let frozen = self.control().merchants_at_rest(channel);
        let waiting = self.flows().filter(|flow| flow.waits_in(group));
        let open = waiting.filter(|flow| !frozen.contains(&flow.merchant.as_str()));
        let due = open.filter(|flow| flow.due_at().is_some_and(|due| due <= now));
        due.filter_map(|flow| Some((flow.queue()?, (flow.due_at()?, flow.id)))).collect()
    }

    fn claim_limited(
        &mut self,
        claim: &ClaimDue,
        (kind, channel): (&str, &str),
        config: &Config,
        at: &Admission,
    ) -> ClaimReply {
        let (id, now) = (dispatch_id(kind, channel), at.now);
        let mut standing = self.standing(&id);
        let opening = config.calendar.at(now);
        let queued = self.queued(&claim.lane, now);
        let has_queued = !queued.is_empty();
        let (late, mut open) = sort(queued, config, opening);
        let mut reply = ClaimReply { is_limited: true, ..ClaimReply::default() };
        for (key, position) in late.into_iter().take(size(claim.limit)) {
            self.step_expired(position.1, &mut reply, at);
            // What may have been sent does not end, and is sent in the next window.
            let flow = self.flow(position.1).and_then(Flow::queue);
            open.extend(flow.filter(|_| opening.is_open).map(|_| (key, position)));
        }
        let ended = reply.flows.len();
        let room = self.room((kind, channel), config);
        let wanted = claim.limit.min(config.batch_size).min(room);
        let mut slots = match config.pace {
            Some(pace) => pace.slots(standing.next_slot, now, wanted).0,
            None => vec![now; size(wanted)],
        };
        // What the window closes before is not sent in it.
        let closes_at = opening.changes_at.filter(|_| opening.is_open);
        if let Some(closes_at) = closes_at.filter(|_| config.at_cut_off != AtCutOff::SendAnyway) {
            let jitter = SignedDuration::from_millis(config.jitter_ms.into());
            slots.retain(|slot| *slot == now || after(*slot, jitter) < closes_at);
        }
        let has_open = !open.is_empty();
        let open = self.without_new_limited(open, channel);
        self.set_limits(claim, (kind, channel), config, now);
        let taken = self.turns(&claim.lane).take(open, claim.served, slots.iter().copied());
        for (id, slot) in &taken {
            let slot = after(*slot, jitter(config, *id, at));
            self.set_send_time(Some(SendTime { at: slot, until: after(slot, config.late) }));
            self.step_due(*id, &mut reply, at);
            self.set_send_time(None);
        }
        self.save_limits(claim, (kind, channel), at);
        let used = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        if let Some(pace) = config.pace.filter(|_| used > 0) {
            standing.next_slot = Some(pace.slots(standing.next_slot, now, used).1);
        }
        let is_spent = taken.len() == slots.len();
        let next = config.pace.zip(standing.next_slot).map(|(pace, next)| pace.again_at(next));
        reply.rest = if !config.is_enabled {
            Some(Rest { why: Blocked::Disabled, until: None })
        } else if !opening.is_open && !has_open && ended == 0 {
            Some(Rest { why: Blocked::Closed, until: opening.changes_at })
        } else if room <= used {
            Some(Rest { why: Blocked::Concurrency, until: None })
        } else if is_spent && used < claim.limit.min(config.batch_size) {
            next.map(|until| Rest { why: Blocked::Rate, until: Some(until) })
        } else {
            None
        };
        let done = Done { claimed: has_queued, used, ended, failed: reply.refused.len() };
        self.count_cycle((kind, channel), standing, (done, reply.rest), config, at);
        reply
    }

    /// The state of the dispatch, as it was read.
    fn standing(&mut self, id: &str) -> Standing {
        let record = self.record(Kind::DispatchState, id);
        let standing = record.and_then(|record| record.content.dispatch_state());
        standing.cloned().unwrap_or_default()
    }

    /// How many more may be sent at once, over all processes.
    fn room(&self, (kind, channel): (&str, &str), config: &Config) -> u32 {
        let stored = sending(self.rules(), kind, channel);
        let stored: i64 = stored.iter().map(|name| self.tally(name)).sum();
        let info = KINDS.iter().find(|info| info.name == kind);
        let statuses = info.map_or(&[][..], |info| info.sending);
        let sending = stored.saturating_add(self.change_of(kind, channel, statuses));
        config.max_concurrency.saturating_sub(u32::try_from(sending.max(0)).unwrap_or(u32::MAX))
    }

    /// Without flows of this turn whose merchant has a limit: they wait until their queue is read.
    fn without_new_limited(&self, mut open: Vec<Queued>, channel: &str) -> Vec<Queued> {
        open.retain(|(key, (_, id))| {
            let merchant = self.record(Kind::Merchant, &key.merchant);
            let merchant = merchant.and_then(|record| record.content.merchant());
            let is_limited =
                merchant.is_some_and(|it| it.dispatch.rate_per_s.contains_key(channel));
            !is_limited || self.was_read(*id)
        });
        open
    }

    fn set_limits(
        &mut self,
        claim: &ClaimDue,
        (kind, channel): (&str, &str),
        config: &Config,
        now: Timestamp,
    ) {
        let horizon = config.pace.map(|pace| pace.horizon).unwrap_or_default();
        for (merchant, rate) in self.turns(&claim.lane).limited() {
            let next = self.standing(&limit_id(kind, channel, &merchant)).next_slot;
            let until = after(now, horizon);
            // The clock was fast when it was written, or the limit was lower.
            let latest = after(after(until, rate.interval()), CLOCK_SLACK);
            let next = next.filter(|next| *next <= latest).map_or(now, |next| next.max(now));
            let limit = Limit { rate, next, until };
            self.turns(&claim.lane).limit(merchant, limit);
        }
    }

    fn save_limits(&mut self, claim: &ClaimDue, (kind, channel): (&str, &str), at: &Admission) {
        let used: Vec<(String, Timestamp)> = self
            .turns(&claim.lane)
            .used_limits()
            .map(|(merchant, limit)| (merchant.clone(), limit.next))
            .collect();
        for (merchant, next) in used {
            let standing = Standing { next_slot: Some(next), cycle: None };
            let id = limit_id(kind, channel, &merchant);
            let key = RecordKey { kind: Kind::DispatchState, id };
            self.put_record(key, Content::DispatchState(Box::new(standing)), at);
        }
    }

    /// Saves the state, if anything was sent or the reason has changed.
    fn count_cycle(
        &mut self,
        (kind, channel): (&str, &str),
        mut standing: Standing,
        (done, rest): (Done, Option<Rest>),
        config: &Config,
        at: &Admission,
    ) {
        let reason = match rest {
            Some(rest) => rest.why.name(),
            None if done.claimed => "sending",
            None => "idle",
        };
        let first = || Cycle::new(at.now, reason.to_owned());
        let mut cycle = standing.cycle.take().unwrap_or_else(first);
        let is_over = cycle.is_over(at.now, reason);
        if is_over {
            let rate = config.pace.map(|pace| pace.rate);
            let (kind, channel) = (kind.to_owned(), channel.to_owned());
            let next = Cycle::new(at.now, reason.to_owned());
            let cycle = std::mem::replace(&mut cycle, next);
            self.add_cycle(CycleRow { kind, channel, cycle, until: at.now, rate });
        }
        let recovered = self.recovered(channel);
        if !is_over && done.used == 0 && done.ended == 0 && recovered == 0 {
            return;
        }
        let taken =
            u64::from(done.used).saturating_add(u64::try_from(done.ended).unwrap_or(u64::MAX));
        cycle.claimed = cycle.claimed.saturating_add(taken);
        cycle.dispatched = cycle.dispatched.saturating_add(u64::from(done.used));
        cycle.expired = cycle.expired.saturating_add(u64::try_from(done.ended).unwrap_or(u64::MAX));
        cycle.failed = cycle.failed.saturating_add(u64::try_from(done.failed).unwrap_or(u64::MAX));
        cycle.recovered = cycle.recovered.saturating_add(recovered);
        reason.clone_into(&mut cycle.reason);
        standing.cycle = Some(cycle);
        let key = RecordKey { kind: Kind::DispatchState, id: dispatch_id(kind, channel) };
        self.put_record(key, Content::DispatchState(Box::new(standing)), at);
    }
}

/// What a claim has done.
struct Done {
    claimed: bool,
    used: u32,
    ended: usize,
    failed: usize,
}

/// The flows that missed the cut-off and end, and those that may be sent.
fn sort(queued: Vec<Queued>, config: &Config, opening: Opening) -> (Vec<Queued>, Vec<Queued>) {
    let has_missed = |due: Timestamp| opening.closed_at.is_some_and(|closed| due < closed);
    let (mut late, mut open) = (Vec::new(), Vec::new());
    for (key, (due, id)) in queued {
        match config.at_cut_off {
            AtCutOff::Expire if has_missed(due) => late.push((key, (due, id))),
            AtCutOff::SendAnyway if has_missed(due) => open.push((key, (due, id))),
            AtCutOff::Hold | AtCutOff::Expire | AtCutOff::SendAnyway if opening.is_open => {
                open.push((key, (due, id)));
            }
            AtCutOff::Hold | AtCutOff::Expire | AtCutOff::SendAnyway => {}
        }
    }
    if !config.is_enabled {
        return (Vec::new(), Vec::new());
    }
    (late, open)
}

/// A flow in its queue.
type Queued = (QueueKey, Position);

/// A random part of the jitter, which follows from the turn and the flow.
fn jitter(config: &Config, id: FlowId, at: &Admission) -> SignedDuration {
    if config.jitter_ms == 0 {
        return SignedDuration::ZERO;
    }
    let bytes = at.seed.derive(&id.to_string(), 0);
    let random = u64::from_be_bytes(bytes.first_chunk().copied().unwrap_or_default());
    let random = random.checked_rem(u64::from(config.jitter_ms)).unwrap_or_default();
    SignedDuration::from_millis(i64::try_from(random).unwrap_or_default())
}

fn size(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
