//! Calls to channels once their commit is saved: sent before the lease ends or not at all, answered, lost, or left
//! behind by a process that crashed.

use bursar_core::flow::{Effect, Kind as _, Outcome as AnyOutcome};
use bursar_core::payouts::{Answer, Call, Event as Came, Order, Outcome, Payout};
use bursar_engine::{EffectDone, Input};

use crate::simulate::fault::Fault;
use crate::simulate::injected_bugs::InjectedBug;
use crate::simulate::scene::{Event, Incarnation, MILLISECOND, MINUTE, SECOND, micros};
use crate::simulate::world::World;

/// An effect that calls a channel, with its call.
#[derive(Debug, Clone)]
pub(crate) struct ChannelCall {
    pub(crate) effect: Effect,
    pub(crate) call: Call,
}

/// A call that has not come back.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) call: ChannelCall,
    /// The end of its lease on the monotonic clock.
    deadline: u64,
    /// Its first byte has gone out: it cannot be stopped.
    pub(crate) is_sent: bool,
}

/// What happens to a call.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Send { incarnation: Incarnation, number: u64 },
    Arrive { incarnation: Incarnation, number: u64, call: Box<ChannelCall>, sent_at: u64 },
    Back { incarnation: Incarnation, number: u64, event: Box<Came> },
}

impl ChannelCall {
    const fn is_submission(&self) -> bool {
        matches!(self.call.order, Order::Submit { .. })
    }

    pub(crate) const fn word(&self) -> &'static str {
        match self.call.order {
            Order::Submit { .. } => "a submission",
            Order::Query => "a query",
        }
    }

    fn lost(&self, detail: &str) -> Came {
        Payout::lost(&self.effect, &self.call, detail)
    }

    fn not_sent(&self, detail: &str, is_ours: bool) -> Came {
        match self.call.order {
            Order::Submit { r#try, .. } => {
                let outcome = Outcome::NotSent { detail: detail.to_owned(), is_ours };
                Came::Submitted { attempt: self.effect.attempt, r#try, outcome }
            }
            Order::Query => self.lost(detail),
        }
    }
}

impl From<CallEvent> for Event {
    fn from(event: CallEvent) -> Self {
        Self::ChannelCall(event)
    }
}

impl World {
    pub(crate) fn channel_call(&mut self, event: CallEvent) {
        match event {
            CallEvent::Send { incarnation, number } => self.send(incarnation, number),
            CallEvent::Arrive { incarnation, number, call, sent_at } => {
                self.arrive(incarnation, number, &call, sent_at);
            }
            CallEvent::Back { incarnation, number, event } => {
                self.back(incarnation, number, *event);
            }
        }
    }

    /// The host starts it at once; the first byte goes out a little later, or much later.
    pub(crate) fn start_channel_call(&mut self, process: usize, call: ChannelCall, deadline: u64) {
        let now = self.scene.now;
        let slot = self.slot_of(process, &call);
        let is_late = call.is_submission() && self.scene.strikes(Fault::StartLate);
        let Some(dice) = self.dice_of(process) else { return };
        let delay = if is_late {
            // Around the end of the lease, where it matters most, or long behind it.
            let lease = deadline.saturating_sub(now);
            match dice.below(4) {
                0 => dice.below(lease),
                1 => dice.between(lease, lease.saturating_add(30 * MINUTE)),
                _ => {
                    dice.between(lease.saturating_sub(3 * SECOND), lease.saturating_add(3 * SECOND))
                }
            }
        } else {
            dice.between(MILLISECOND, 300 * MILLISECOND)
        };
        let ignores_leases =
            self.scene.settings.options.injected_bug == Some(InjectedBug::HostIgnoresLeases);
        let deadline = if ignores_leases { u64::MAX } else { deadline };
        self.arm(&call, true);
        let Some(known) = self.processes.get_mut(process) else { return };
        known.started = known.started.saturating_add(1);
        let (number, incarnation) = (known.started, known.incarnation);
        // The host gives up when the lease ends, even if the connector does not.
        let missed = call.not_sent("its slot was missed", true);
        let given_up = Box::new(call.lost("no answer while the lease lasted"));
        known.channel_calls.insert(number, InFlight { call, deadline, is_sent: false });
        let delay = slot.map_or(0, |(at, _)| at.saturating_sub(now)).saturating_add(delay);
        let is_missed = slot.is_some_and(|(_, until)| now.saturating_add(delay) > until);
        if is_missed && !ignores_leases {
            // The host does not start it any more.
            let missed = Box::new(missed);
            self.scene.after(delay, CallEvent::Back { incarnation, number, event: missed }.into());
            return;
        }
        self.scene.after(delay, CallEvent::Send { incarnation, number }.into());
        self.scene.at(deadline, CallEvent::Back { incarnation, number, event: given_up }.into());
    }

    /// When the host starts a call that has a slot of its own, and until when it may, on the monotonic clock.
    fn slot_of(&mut self, process: usize, call: &ChannelCall) -> Option<(u64, u64)> {
        let slot = call.effect.slot.as_ref()?;
        let until = slot.until?;
        let now = self.scene.now;
        let moment = self.processes.get_mut(process)?.clock.now(now);
        Some((moment.real_of(slot.at), moment.real_of(until)))
    }

    /// From the moment at which it is started until it arrives or is given up, a submission may be paid.
    pub(crate) fn arm(&mut self, call: &ChannelCall, is_armed: bool) {
        if call.is_submission() {
            let name = (call.call.channel.clone(), call.call.reference.clone());
            let count = self.scene.channels.in_transit.entry(name).or_default();
            *count = if is_armed { count.saturating_add(1) } else { count.saturating_sub(1) };
        }
    }

    /// The lease is checked immediately before the first byte.
    fn send(&mut self, incarnation: Incarnation, number: u64) {
        if !self.is_alive(incarnation) {
            return;
        }
        let now = self.scene.now;
        let Some(known) = self.processes.get_mut(incarnation.process) else { return };
        let Some(InFlight { call, deadline, .. }) = known.channel_calls.get(&number) else {
            return;
        };
        let (call, deadline) = (call.clone(), *deadline);
        let about = self.scene.audit.name(call.effect.flow);
        if now >= deadline {
            self.scene.say(&about, "too late to be sent".to_owned());
            self.back(incarnation, number, call.not_sent("the lease has ended", true));
            return;
        }
        let is_ours = self.scene.strikes(Fault::NoFiles);
        if is_ours || self.scene.strikes(Fault::ConnectFails) {
            let delay = self.scene.post.between(MILLISECOND, 3 * SECOND);
            let detail = if is_ours { "too many open files" } else { "connection refused" };
            let event = Box::new(call.not_sent(detail, is_ours));
            self.scene.after(delay, CallEvent::Back { incarnation, number, event }.into());
            return;
        }
        let is_submission = call.is_submission();
        if let Some(known) = self
            .processes
            .get_mut(incarnation.process)
            .and_then(|known| known.channel_calls.get_mut(&number))
        {
            known.is_sent = true;
        }
        self.scene.say(&about, format!("p{} sends {}", incarnation.process, call.word()));
        self.give_up_in_time(incarnation, number, &call);
        let mut longest = 200 * MILLISECOND;
        if is_submission && self.scene.strikes(Fault::TransitSlow) {
            // Slow, and still within what the channel promises to see.
            let window = self.scene.rules.channels.get(&call.call.channel);
            longest = window.map_or(longest, |channel| micros(channel.visibility_window));
        }
        let delay = self.scene.post.between(MILLISECOND, longest);
        let call = Box::new(call);
        let arrive = CallEvent::Arrive { incarnation, number, call, sent_at: now };
        self.scene.after(delay, arrive.into());
        if is_submission && self.scene.strikes(Fault::CrashAfterSend) {
            self.crash(incarnation.process);
        }
    }

    /// The connector waits for an answer as long as its channel says.
    fn give_up_in_time(&mut self, incarnation: Incarnation, number: u64, call: &ChannelCall) {
        let Some(channel) = self.scene.rules.channels.get(&call.call.channel) else { return };
        let timeout = match call.call.order {
            Order::Submit { .. } => channel.clocks.submit_timeout,
            Order::Query => channel.clocks.query_timeout,
        };
        let event = Box::new(call.lost("timed out"));
        self.scene.after(micros(timeout), CallEvent::Back { incarnation, number, event }.into());
    }

    /// The channel has it, whether its sender is still alive or not.
    fn arrive(&mut self, incarnation: Incarnation, number: u64, call: &ChannelCall, sent_at: u64) {
        if let Some((delay, event)) = self.scene.arrive(call, sent_at) {
            let event = Box::new(event);
            self.scene.after(delay, CallEvent::Back { incarnation, number, event }.into());
        }
    }

    /// A call has ended. A second end is ignored.
    fn back(&mut self, incarnation: Incarnation, number: u64, event: Came) {
        if !self.is_alive(incarnation) {
            return;
        }
        let Some(known) = self.processes.get_mut(incarnation.process) else { return };
        let Some(InFlight { call, is_sent, .. }) = known.channel_calls.remove(&number) else {
            return;
        };
        if !is_sent {
            self.arm(&call, false);
        }
        let event = match self.scene.settings.options.injected_bug {
            Some(InjectedBug::HostCallsUnknownFailed) => as_rejected(event),
            Some(InjectedBug::HostIgnoresAmounts) => without_amount(event),
            Some(_) | None => event,
        };
        let about = self.scene.audit.name(call.effect.flow);
        self.scene.say(&about, format!("p{} gets {}", incarnation.process, describe(&event)));
        if self.scene.strikes(Fault::CrashBeforeReport) {
            self.crash(incarnation.process);
            return;
        }
        let Some(known) = self.processes.get_mut(incarnation.process) else { return };
        let outcome = AnyOutcome::Payout(event);
        known.engine.enqueue(Input::EffectDone(EffectDone { effect: call.effect, outcome }));
        let delay = self.scene.post.below(10 * MILLISECOND);
        self.tick(incarnation.process, delay);
    }
}

/// A timeout, taken for a rejection.
fn as_rejected(event: Came) -> Came {
    if let Came::Submitted { attempt, r#try, outcome: Outcome::Unknown { detail } } = event {
        let outcome = Outcome::Rejected { is_retryable: false, detail };
        return Came::Submitted { attempt, r#try, outcome };
    }
    event
}

/// What the channel says that it paid is not read.
fn without_amount(mut event: Came) -> Came {
    if let Came::Submitted { outcome: Outcome::Paid { reported, .. }, .. }
    | Came::Queried { answer: Answer::Paid { reported, .. }, .. } = &mut event
    {
        *reported = None;
    }
    event
}

fn describe(event: &Came) -> String {
    match event {
        Came::Submitted { outcome, .. } => format!("{outcome:?}"),
        Came::Queried { answer, .. } => format!("{answer:?}"),
        Came::Due
        | Came::EvidenceReceived { .. }
        | Came::CancelAsked
        | Came::CutOff
        | Came::Rescheduled(_)
        | Came::RecheckAsked
        | Came::Decided(_) => String::new(),
    }
}
