//! Hostile channels with books of their own. They lose, delay, repeat and hide, and they never lie: every report was
//! true when it was made, and they keep the promises of their profile.

use std::collections::BTreeMap;

use bursar_core::money::Money;
use bursar_core::payouts::attempt::{Evidence, Reported, Source, Verdict};
use bursar_core::payouts::channel::Channel;
use bursar_core::payouts::{self, Callback, Order, Outcome};
use bursar_core::rules::Rules;

use super::ChannelCall;
use crate::simulate::dice::Dice;
use crate::simulate::fault::Fault;
use crate::simulate::scene::{Ask, Event, HOUR, MILLISECOND, MINUTE, SECOND, Scene, Who, micros};
use crate::truth::Truth;

/// One reference in a channel's books.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) truth: Truth,
    pub(crate) amount: Money,
    pub(crate) times_paid: u32,
    visible_at: u64,
    /// The last callback about it that was accepted.
    acknowledged: Option<Verdict>,
    /// It was accepted before it was paid or failed.
    was_pending: bool,
    /// It failed and was paid after all.
    has_flipped: bool,
}

/// Channel and reference.
pub(crate) type Name = (String, String);

#[derive(Debug)]
pub(crate) struct Channels {
    profiles: BTreeMap<String, Channel>,
    pub(crate) cases: BTreeMap<Name, Case>,
    /// Submissions that were sent and have not arrived.
    pub(crate) in_transit: BTreeMap<Name, u32>,
    dice: Dice,
    /// Callbacks by the tag of their request.
    callbacks: BTreeMap<u64, (Name, Verdict)>,
}

/// An event inside a channel.
#[derive(Debug)]
pub(crate) enum ChannelEvent {
    Become { name: Name, truth: Truth },
    Callback { name: Name, verdict: Verdict, is_kept: bool },
}

/// The fate of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pay,
    PayLater,
    FailLater,
    Refuse {
        is_retryable: bool,
        is_kept: bool,
    },
    /// Lost inside the channel, without a trace.
    Swallow,
}

const FATES: [(u64, Fate); 8] = [
    (40, Fate::Pay),
    (20, Fate::PayLater),
    (12, Fate::FailLater),
    (5, Fate::Refuse { is_retryable: false, is_kept: true }),
    (5, Fate::Refuse { is_retryable: false, is_kept: false }),
    (5, Fate::Refuse { is_retryable: true, is_kept: true }),
    (5, Fate::Refuse { is_retryable: true, is_kept: false }),
    (8, Fate::Swallow),
];

impl Channels {
    pub(crate) fn new(rules: &Rules, seed: u64) -> Self {
        Self {
            profiles: rules.channels.clone(),
            cases: BTreeMap::new(),
            in_transit: BTreeMap::new(),
            dice: Dice::new(seed, "channels"),
            callbacks: BTreeMap::new(),
        }
    }

    pub(crate) fn truth(&self, name: &Name) -> Truth {
        self.cases.get(name).map_or(Truth::Nothing, |case| case.truth)
    }

    /// Whether it may be paid although nothing more is sent.
    pub(crate) fn may_be_paid(&self, name: &Name) -> bool {
        let is_idempotent =
            self.profiles.get(&name.0).is_some_and(|profile| profile.submit_is_idempotent);
        let truth = self.truth(name);
        // A channel that pays a reference once does not take a second copy of what has failed.
        let is_harmless = is_idempotent && matches!(truth, Truth::Failed { .. });
        let is_coming = self.in_transit.get(name).is_some_and(|count| *count > 0);
        truth == Truth::Pending || (is_coming && !is_harmless)
    }

    /// The amount that the channel names: the one it was asked for, or the one it paid instead.
    fn reported(&self, name: &Name) -> Option<Reported> {
        let case = self.cases.get(name)?;
        let currency = Some(case.amount.code().to_owned());
        let other = case.truth == Truth::PaidOther;
        let amount = if other { "0.01".to_owned() } else { case.amount.to_string() };
        Some(Reported { amount: Some(amount), currency })
    }

    pub(crate) fn fails_for_good(&self, channel: &str) -> bool {
        self.profiles.get(channel).is_some_and(|profile| profile.failed_is_final)
    }
}

impl Scene {
    /// A submission or a query has arrived: the answer, if any, and its delay.
    pub(crate) fn arrive(
        &mut self,
        call: &ChannelCall,
        sent_at: u64,
    ) -> Option<(u64, payouts::Event)> {
        let ChannelCall { effect, call } = call;
        let name = (call.channel.clone(), call.reference.clone());
        let (attempt, lease_until) = (effect.attempt, effect.lease_until);
        match &call.order {
            Order::Submit { r#try, amount, .. } => {
                let outcome = self.submitted(&name, *amount, *r#try, sent_at)?;
                let clocks = self.channels.profiles.get(&name.0)?.clocks.submit_timeout;
                if self.strikes(Fault::AnswerLost) {
                    return None;
                }
                let is_late = self.strikes(Fault::AnswerLate);
                let longest = if is_late { micros(clocks).saturating_mul(2) } else { 3 * SECOND };
                let delay = self.channels.dice.between(10 * MILLISECOND, longest);
                Some((delay, payouts::Event::Submitted { attempt, r#try: *r#try, outcome }))
            }
            Order::Query => {
                let answer = self.query(&name);
                let longest = if self.strikes(Fault::QueryLate) { MINUTE } else { SECOND };
                let delay = self.channels.dice.between(5 * MILLISECOND, longest);
                Some((delay, payouts::Event::Queried { attempt, lease_until, answer }))
            }
        }
    }

    fn submitted(
        &mut self,
        name: &Name,
        amount: Money,
        r#try: u32,
        sent_at: u64,
    ) -> Option<Outcome> {
        if let Some(count) = self.channels.in_transit.get_mut(name) {
            *count = count.saturating_sub(1);
        }
        let profile = self.channels.profiles.get(&name.0)?.clone();
        let case = self.channels.cases.entry(name.clone()).or_insert(Case {
            truth: Truth::Nothing,
            amount,
            times_paid: 0,
            visible_at: 0,
            acknowledged: None,
            was_pending: false,
            has_flipped: false,
        });
        let known = case.truth;
        let is_allowed = known == Truth::Nothing || profile.submit_is_idempotent;
        self.audit.arrived(name, r#try, is_allowed);
        if profile.submit_is_idempotent && known != Truth::Nothing {
            let about = self.audit.about(name);
            self.say(&about, format!("{} gets it again", name.0));
            return Some(if self.strikes(Fault::SaysDuplicate) {
                Outcome::Duplicate
            } else {
                self.outcome(name)
            });
        }
        let fate = if self.is_calm { Fate::Pay } else { self.channels.dice.weigh(&FATES)? };
        // Its visibility window counts from the moment of sending.
        let window = sent_at.saturating_add(micros(profile.visibility_window));
        let latest = if profile.not_found_is_final { window } else { window + 3 * HOUR };
        let visible_at = if self.strikes(Fault::Hidden) {
            // As late as promised, more often than not.
            let is_last = self.channels.dice.chance(600);
            let first = if is_last { latest.saturating_sub(SECOND) } else { self.now };
            self.channels.dice.between(first.max(self.now).min(latest), latest)
        } else {
            self.now
        };
        self.carry(name, fate, visible_at)
    }

    /// The channel decides, and answers.
    fn carry(&mut self, name: &Name, fate: Fate, visible_at: u64) -> Option<Outcome> {
        if let Some(case) = self.channels.cases.get_mut(name) {
            case.visible_at = visible_at;
        }
        let about = self.audit.about(name);
        self.say(&about, format!("{} takes it: {fate:?}", name.0));
        match fate {
            Fate::Pay => {
                let truth = self.payment();
                self.become_true(name, truth);
            }
            Fate::PayLater | Fate::FailLater => {
                self.become_true(name, Truth::Pending);
                let is_retryable = self.channels.dice.chance(400);
                let truth = if fate == Fate::PayLater {
                    self.payment()
                } else {
                    Truth::Failed { is_retryable }
                };
                let longest = if self.channels.dice.chance(300) { 2 * HOUR } else { 4 * MINUTE };
                let delay = self.channels.dice.between(SECOND, longest);
                let event = ChannelEvent::Become { name: name.clone(), truth };
                self.after(delay, Event::Channel(Box::new(event)));
            }
            Fate::Refuse { is_retryable, is_kept: true } => {
                self.become_true(name, Truth::Failed { is_retryable });
            }
            Fate::Refuse { is_retryable, is_kept: false } => {
                return Some(refused(is_retryable));
            }
            Fate::Swallow => return None,
        }
        if self.strikes(Fault::SaysDuplicate) {
            return Some(Outcome::Duplicate);
        }
        Some(self.outcome(name))
    }

    /// What becomes of a submission that the channel pays.
    fn payment(&mut self) -> Truth {
        if self.strikes(Fault::PaysOther) { Truth::PaidOther } else { Truth::Paid }
    }

    /// The channel's answer to a submission, by the truth.
    fn outcome(&self, name: &Name) -> Outcome {
        let (provider_reference, reported) = (None, self.channels.reported(name));
        match self.channels.truth(name) {
            Truth::Nothing => Outcome::Unknown { detail: "no answer".to_owned() },
            Truth::Pending => Outcome::Accepted { provider_reference, reported },
            Truth::Paid | Truth::PaidOther | Truth::Returned => {
                Outcome::Paid { provider_reference, reported }
            }
            Truth::Failed { is_retryable } => refused(is_retryable),
        }
    }

    /// A new truth, and perhaps a callback.
    pub(crate) fn become_true(&mut self, name: &Name, truth: Truth) {
        let Some(case) = self.channels.cases.get_mut(name) else { return };
        let is_flip = matches!(case.truth, Truth::Failed { .. }) && truth == Truth::Paid;
        case.truth = truth;
        case.has_flipped |= is_flip;
        case.was_pending |= truth == Truth::Pending;
        if matches!(truth, Truth::Paid | Truth::PaidOther) {
            case.times_paid = case.times_paid.saturating_add(1);
            let times = case.times_paid;
            self.audit.paid(name, times);
        }
        let about = self.audit.about(name);
        self.say(&about, format!("{}: {truth:?}", name.0));
        self.plan_callbacks(name, truth);
        if truth == Truth::Paid && self.strikes(Fault::Returns) {
            // Some are returned before the payment is known.
            let longest = if self.channels.dice.chance(400) { MINUTE } else { 12 * HOUR };
            let delay = self.channels.dice.between(SECOND, longest);
            let event = ChannelEvent::Become { name: name.clone(), truth: Truth::Returned };
            self.after(delay, Event::Channel(Box::new(event)));
        }
        let may_flip = matches!(truth, Truth::Failed { .. })
            && !self.channels.fails_for_good(&name.0)
            && self.strikes(Fault::Flips);
        if may_flip {
            let delay = self.channels.dice.between(SECOND, 12 * HOUR);
            let event = ChannelEvent::Become { name: name.clone(), truth: Truth::Paid };
            self.after(delay, Event::Channel(Box::new(event)));
        }
    }

    fn plan_callbacks(&mut self, name: &Name, truth: Truth) {
        let Some(verdict) = truth.verdict() else { return };
        if self.strikes(Fault::CallbackLost) {
            return;
        }
        let fastest = if self.strikes(Fault::CallbackEarly) { MILLISECOND } else { 5 * SECOND };
        let longest = if self.strikes(Fault::CallbackLate) { 6 * HOUR } else { 20 * SECOND };
        let mut times = 1_u64.saturating_add(u64::from(self.strikes(Fault::CallbackTwice)));
        let was_pending = self.channels.cases.get(name).is_some_and(|case| case.was_pending);
        let is_stale = was_pending && self.strikes(Fault::CallbackStale);
        times = times.saturating_add(u64::from(is_stale));
        for number in 0..times {
            let delay = self.channels.dice.between(fastest, longest.max(fastest));
            // Sent before the end, and received after it.
            let is_old = is_stale && number > 0;
            let said = if is_old { Verdict::Accepted } else { verdict };
            let event =
                ChannelEvent::Callback { name: name.clone(), verdict: said, is_kept: false };
            self.after(delay, Event::Channel(Box::new(event)));
        }
    }

    pub(crate) fn channel_event(&mut self, event: ChannelEvent) {
        match event {
            ChannelEvent::Become { name, truth } => self.become_true(&name, truth),
            ChannelEvent::Callback { name, verdict, is_kept } => {
                self.send_callback(&name, verdict, is_kept);
            }
        }
    }

    fn send_callback(&mut self, name: &Name, verdict: Verdict, is_kept: bool) {
        let digest = self.channels.dice.below(1 << 40);
        // The channel says what it did; that it differs is for the books to see.
        let said = if verdict == Verdict::AmountDiffers { Verdict::Paid } else { verdict };
        let evidence = Evidence {
            reported: self.channels.reported(name).filter(|_| said != Verdict::Accepted),
            digest: Some(format!("{digest:064x}")),
            ..Evidence::new(Source::Callback, said)
        };
        let callback = Callback { channel: name.0.clone(), reference: name.1.clone(), evidence };
        let about = self.audit.about(name);
        self.say(&about, format!("{} says {verdict:?}", name.0));
        self.channels.callbacks.insert(digest, (name.clone(), verdict));
        let times_max = if is_kept { u32::MAX } else { 6 };
        self.post(Ask {
            who: Who::Channels,
            tag: digest,
            body: callback.into(),
            times: 0,
            times_max,
        });
    }

    /// A callback was accepted.
    pub(crate) fn callback_answered(&mut self, tag: u64) {
        let Some((name, verdict)) = self.channels.callbacks.remove(&tag) else { return };
        if let Some(case) = self.channels.cases.get_mut(&name) {
            case.acknowledged = Some(verdict);
        }
    }

    fn query(&mut self, name: &Name) -> payouts::Answer {
        if self.strikes(Fault::QueryFails) {
            return payouts::Answer::Failed { detail: "garbage".to_owned() };
        }
        let provider_reference = Some(format!("at {}", name.0));
        let reported = self.channels.reported(name);
        let case = self.channels.cases.get(name);
        let visible = case.filter(|case| self.is_calm || case.visible_at <= self.now);
        match visible.map_or(Truth::Nothing, |case| case.truth) {
            Truth::Nothing => payouts::Answer::NotFound,
            Truth::Pending => payouts::Answer::Pending { provider_reference, reported },
            Truth::Paid | Truth::PaidOther => {
                payouts::Answer::Paid { provider_reference, reported }
            }
            Truth::Failed { is_retryable } => {
                payouts::Answer::NotPaid { is_retryable, detail: "declined".to_owned() }
            }
            Truth::Returned => {
                payouts::Answer::Returned { detail: "account closed".to_owned(), reported }
            }
        }
    }

    /// Returns and late payments without an accepted callback, which no query would find any more: a statement reports
    /// them in the end.
    pub(crate) fn send_statements(&mut self) {
        let unreported = |(name, case): (&Name, &Case)| {
            let verdict = case.truth.verdict()?;
            let is_last =
                matches!(case.truth, Truth::Returned | Truth::PaidOther) || case.has_flipped;
            (is_last && case.acknowledged != Some(verdict)).then(|| (name.clone(), verdict))
        };
        let unreported: Vec<(Name, Verdict)> =
            self.channels.cases.iter().filter_map(unreported).collect();
        for (name, verdict) in unreported {
            self.send_callback(&name, verdict, true);
        }
    }
}

fn refused(is_retryable: bool) -> Outcome {
    Outcome::Rejected { is_retryable, detail: "declined".to_owned() }
}
