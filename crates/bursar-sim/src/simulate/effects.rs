//! What is done in the world once it is saved: sent before its lease ends or not at all, answered, lost, or left behind
//! by a process that died.

use bursar_core::commit::Commit;
use bursar_core::effect::{Call, Effect};
use bursar_core::payout::{self, Outcome};
use bursar_engine::{Input, Returned, lost};

use super::fault::Fault;
use super::plant::Plant;
use super::process::InFlight;
use super::scene::{Event, Life, MILLISECOND, MINUTE, SECOND, micros};
use super::world::World;

pub(crate) const fn word(call: &Call) -> &'static str {
    match call {
        Call::Submit { .. } => "a submission",
        Call::Query => "a question",
    }
}

impl World {
    /// The host starts it at once; the first byte goes out a little later, or much later.
    pub(crate) fn start_effect(&mut self, process: usize, effect: Effect, deadline: u64) {
        let now = self.scene.now;
        let is_submission = matches!(effect.call, Call::Submit { .. });
        let is_late = is_submission && self.scene.strikes(Fault::StartLate);
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
        let ignores_leases = self.scene.settings.options.plant == Some(Plant::HostIgnoresLeases);
        let deadline = if ignores_leases { u64::MAX } else { deadline };
        self.arm(&effect, true);
        let Some(known) = self.processes.get_mut(process) else { return };
        known.started = known.started.saturating_add(1);
        let (number, life) = (known.started, known.life);
        // The host gives up when the lease ends, whatever the connector does.
        let given_up = lost(&effect, "no answer while the lease lasted");
        known.effects.insert(number, InFlight { effect, deadline, is_sent: false });
        self.scene.after(delay, Event::Send { life, number });
        self.scene.at(deadline, Event::Back { life, number, event: Box::new(given_up) });
    }

    /// From the moment at which it is started until it arrives or is given up, a submission may be paid.
    pub(crate) fn arm(&mut self, effect: &Effect, is_armed: bool) {
        if matches!(effect.call, Call::Submit { .. }) {
            let name = (effect.channel.clone(), effect.reference.clone());
            let count = self.scene.channels.in_transit.entry(name).or_default();
            *count = if is_armed { count.saturating_add(1) } else { count.saturating_sub(1) };
        }
    }

    /// The lease is looked at immediately before the first byte.
    pub(crate) fn send(&mut self, life: Life, number: u64) {
        if !self.is_alive(life) {
            return;
        }
        let now = self.scene.now;
        let Some(known) = self.processes.get_mut(life.process) else { return };
        let Some(InFlight { effect, deadline, .. }) = known.effects.get(&number) else {
            return;
        };
        let (effect, deadline) = (effect.clone(), *deadline);
        let about = self.scene.audit.name(effect.flow);
        let not_sent = |detail: &str| match effect.call {
            Call::Submit { r#try, .. } => {
                let outcome = Outcome::NotSent { detail: detail.to_owned() };
                payout::Event::Submitted { attempt: effect.attempt, r#try, outcome }
            }
            Call::Query => lost(&effect, detail),
        };
        if now >= deadline {
            self.scene.say(&about, "too late to be sent".to_owned());
            self.back(life, number, not_sent("the lease has ended"));
            return;
        }
        if self.scene.strikes(Fault::ConnectFails) {
            let delay = self.scene.post.between(MILLISECOND, 3 * SECOND);
            let event = Box::new(not_sent("connection refused"));
            self.scene.after(delay, Event::Back { life, number, event });
            return;
        }
        let is_submission = matches!(effect.call, Call::Submit { .. });
        if let Some(known) =
            self.processes.get_mut(life.process).and_then(|known| known.effects.get_mut(&number))
        {
            known.is_sent = true;
        }
        self.scene.say(&about, format!("p{} sends {}", life.process, word(&effect.call)));
        self.give_up_in_time(life, number, &effect);
        let mut longest = 200 * MILLISECOND;
        if is_submission && self.scene.strikes(Fault::TransitSlow) {
            // Slow, and still within what the channel promises to see.
            let window = self.scene.rules.channels.get(&effect.channel);
            longest = window.map_or(longest, |channel| micros(channel.visibility_window));
        }
        let delay = self.scene.post.between(MILLISECOND, longest);
        let arrive = Event::Arrive { life, number, effect: Box::new(effect), sent_at: now };
        self.scene.after(delay, arrive);
        if is_submission && self.scene.strikes(Fault::CrashAfterSend) {
            self.crash(life.process);
        }
    }

    /// The connector waits for an answer as long as its channel says.
    fn give_up_in_time(&mut self, life: Life, number: u64, effect: &Effect) {
        let Some(channel) = self.scene.rules.channels.get(&effect.channel) else { return };
        let timeout = match effect.call {
            Call::Submit { .. } => channel.clocks.submit_timeout,
            Call::Query => channel.clocks.query_timeout,
        };
        let event = Box::new(lost(effect, "timed out"));
        self.scene.after(micros(timeout), Event::Back { life, number, event });
    }

    /// The channel has it, whatever became of whoever sent it.
    pub(crate) fn arrive(&mut self, life: Life, number: u64, effect: &Effect, sent_at: u64) {
        if let Some((delay, event)) = self.scene.arrive(effect, sent_at) {
            self.scene.after(delay, Event::Back { life, number, event: Box::new(event) });
        }
    }

    /// An effect has come back. Whatever comes second has been given up already.
    pub(crate) fn back(&mut self, life: Life, number: u64, event: payout::Event) {
        if !self.is_alive(life) {
            return;
        }
        let Some(known) = self.processes.get_mut(life.process) else { return };
        let Some(InFlight { effect, is_sent, .. }) = known.effects.remove(&number) else { return };
        if !is_sent {
            self.arm(&effect, false);
        }
        let calls_failed = self.scene.settings.options.plant == Some(Plant::HostCallsUnknownFailed);
        let event = if calls_failed { called_failed(event) } else { event };
        let about = self.scene.audit.name(effect.flow);
        self.scene.say(&about, format!("p{} hears {}", life.process, heard(&event)));
        if self.scene.strikes(Fault::CrashBeforeReport) {
            self.crash(life.process);
            return;
        }
        let Some(known) = self.processes.get_mut(life.process) else { return };
        known.engine.enqueue(Input::Returned(Returned { effect, event }));
        let delay = self.scene.post.below(10 * MILLISECOND);
        self.tick(life.process, delay);
    }

    /// A host that acts on what is decided and not saved.
    pub(crate) fn anticipate(&mut self, process: usize, commit: &Commit) {
        let plant = self.scene.settings.options.plant;
        let Some(known) = self.processes.get_mut(process) else { return };
        let Some(running) = known.running.as_mut() else { return };
        if running.is_anticipated {
            return;
        }
        let moment = running.moment;
        if plant == Some(Plant::HostSendsBeforeSave) {
            running.is_anticipated = true;
            for effect in commit.effects.clone() {
                let deadline = moment.real_of(effect.lease_until);
                self.start_effect(process, effect, deadline);
            }
        } else if plant == Some(Plant::HostMailsBeforeSave) {
            running.is_anticipated = true;
            for parcel in commit.parcels.clone() {
                let deadline = moment.real_of(parcel.lease_until);
                self.start_parcel(process, parcel, deadline);
            }
        } else if plant == Some(Plant::HostAnswersBeforeSave) {
            running.is_anticipated = true;
            // Requests are answered in the order in which they came; reports and wakes have no one who waits.
            let waiting: Vec<u64> = known.waiting.values().copied().collect();
            let is_callers = |answer: &&bursar_core::request::Answer| {
                !matches!(answer, Ok(bursar_core::request::Reply::Woken(_)))
            };
            let skipped =
                commit.answers.iter().filter(is_callers).count().saturating_sub(waiting.len());
            let answers: Vec<_> =
                commit.answers.iter().filter(is_callers).skip(skipped).cloned().collect();
            for (id, answer) in waiting.into_iter().zip(answers) {
                self.answered(id, Ok(answer));
            }
        }
    }
}

/// Silence, taken for a refusal.
fn called_failed(event: payout::Event) -> payout::Event {
    if let payout::Event::Submitted { attempt, r#try, outcome: Outcome::Unknown { detail } } = event
    {
        let outcome = Outcome::Rejected { is_retryable: false, detail };
        return payout::Event::Submitted { attempt, r#try, outcome };
    }
    event
}

fn heard(event: &payout::Event) -> String {
    match event {
        payout::Event::Submitted { outcome, .. } => format!("{outcome:?}"),
        payout::Event::Queried { answer, .. } => format!("{answer:?}"),
        payout::Event::Due
        | payout::Event::Told { .. }
        | payout::Event::CancelAsked
        | payout::Event::Decided(_) => String::new(),
    }
}
