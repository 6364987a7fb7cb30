//! Calls to endpoints once their commit is saved, as the host runs them: sent, answered, given up when the lease ends,
//! or lost with a process that crashed.

use bursar_core::flow::{Effect, Outcome as AnyOutcome};
use bursar_core::webhooks::delivery::{self, Event as Came, Outcome, Unsendable};
use bursar_engine::{EffectDone, Input};

use crate::simulate::fault::Fault;
use crate::simulate::injected_bugs::InjectedBug;
use crate::simulate::scene::{Event, Incarnation, MILLISECOND, SECOND};
use crate::simulate::world::World;

/// An effect that calls an endpoint, with its call.
#[derive(Debug, Clone)]
pub(crate) struct WebhookCall {
    pub(crate) effect: Effect,
    pub(crate) call: delivery::WebhookCall,
}

/// A call that has not come back.
#[derive(Debug)]
pub(crate) struct InFlight {
    call: WebhookCall,
    deadline: u64,
}

/// What happens to a call.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Send {
        incarnation: Incarnation,
        number: u64,
    },
    Arrive {
        incarnation: Incarnation,
        number: u64,
        call: Box<WebhookCall>,
    },
    Back {
        incarnation: Incarnation,
        number: u64,
        event: Box<Came>,
    },
    /// The outcome is handed to the engine.
    Report(Incarnation, Box<EffectDone>),
}

impl WebhookCall {
    fn failed(&self, class: &str, detail: &str) -> Came {
        let outcome = Outcome::Failed { class: class.to_owned(), detail: detail.to_owned() };
        Came::Returned { attempt: self.effect.attempt, took_ms: 0, outcome }
    }

    fn returned(&self, outcome: Outcome) -> Came {
        Came::Returned { attempt: self.effect.attempt, took_ms: 1, outcome }
    }
}

impl From<CallEvent> for Event {
    fn from(event: CallEvent) -> Self {
        Self::WebhookCall(event)
    }
}

/// How long a sender waits for an answer.
const PATIENCE: u64 = 30 * SECOND;
/// How long an attempt has, as the schedule says.
const LEASE: u64 = 35 * SECOND;

impl World {
    pub(crate) fn webhook_call(&mut self, event: CallEvent) {
        match event {
            CallEvent::Send { incarnation, number } => self.send_webhook(incarnation, number),
            CallEvent::Arrive { incarnation, number, call } => {
                self.webhook_arrives(incarnation, number, &call);
            }
            CallEvent::Back { incarnation, number, event } => {
                self.webhook_back(incarnation, number, *event);
            }
            CallEvent::Report(incarnation, done) => self.report_webhook(incarnation, *done),
        }
    }

    pub(crate) fn start_webhook_call(&mut self, process: usize, call: WebhookCall, deadline: u64) {
        let Some(known) = self.processes.get_mut(process) else { return };
        known.started = known.started.saturating_add(1);
        let (number, incarnation) = (known.started, known.incarnation);
        let endpoint = call.call.endpoint;
        let given_up = Box::new(call.failed("lost", "the sender said nothing in time"));
        known.webhook_calls.insert(number, InFlight { call, deadline });
        let calls = known.webhook_calls.values();
        let same = calls.filter(|other| other.call.call.endpoint == endpoint);
        let count = same.count();
        let delay = known.dice.between(MILLISECOND, 50 * MILLISECOND);
        self.scene.audit.under_way(endpoint, count);
        self.scene.after(delay, CallEvent::Send { incarnation, number }.into());
        self.scene.at(deadline, CallEvent::Back { incarnation, number, event: given_up }.into());
    }

    /// The sender checks the deadline, signs, and sends.
    fn send_webhook(&mut self, incarnation: Incarnation, number: u64) {
        if !self.is_alive(incarnation) {
            return;
        }
        let now = self.scene.now;
        let Some(known) = self.processes.get_mut(incarnation.process) else { return };
        let Some(InFlight { call, deadline }) = known.webhook_calls.get(&number) else { return };
        let (call, deadline) = (call.clone(), *deadline);
        if now >= deadline {
            return;
        }
        let fails = [
            (Fault::WebhookUnsendable, Unsendable::Signing, "the secret cannot be opened"),
            (Fault::WebhookUnsent, Unsendable::LocalResourceExhausted, "too many open files"),
        ];
        let failed = fails.into_iter().find(|(fault, ..)| self.scene.strikes(*fault));
        if let Some((_, what, detail)) = failed {
            if what == Unsendable::LocalResourceExhausted {
                self.scene.audit.unsent(&call);
            }
            let outcome = Outcome::Unsendable { what, detail: detail.to_owned() };
            self.webhook_back(incarnation, number, call.returned(outcome));
            return;
        }
        // Some senders wait as long as they may.
        if known.dice.chance(500) {
            let event = Box::new(call.failed("timeout", "no answer in time"));
            self.scene.after(PATIENCE, CallEvent::Back { incarnation, number, event }.into());
        }
        let times = if self.scene.strikes(Fault::WebhookLost) {
            0
        } else if self.scene.strikes(Fault::WebhookTwice) {
            2
        } else {
            1
        };
        for _ in 0..times {
            let delay = self.scene.post.between(MILLISECOND, 200 * MILLISECOND);
            let call = Box::new(call.clone());
            self.scene.after(delay, CallEvent::Arrive { incarnation, number, call }.into());
        }
        if self.scene.strikes(Fault::CrashAfterWebhook) {
            self.crash(incarnation.process);
        }
    }

    /// The receiver has it, whether its sender is still alive or not.
    fn webhook_arrives(&mut self, incarnation: Incarnation, number: u64, call: &WebhookCall) {
        let (now, is_calm) = (self.scene.now, self.scene.is_calm);
        let to = (call.call.endpoint, call.call.event);
        let said = self.scene.receivers.get(to, now, is_calm);
        self.scene.audit.received(call, said.is_taken);
        let about = self.scene.audit.name(call.effect.flow);
        let took = if said.is_taken { "takes" } else { "does not take" };
        self.scene.say(&about, format!("the receiver {took} attempt {}", call.effect.attempt));
        let Some(outcome) = said.outcome else { return };
        if self.scene.strikes(Fault::WebhookAnswerLost) {
            return;
        }
        let mut delay = said.delay;
        if self.scene.strikes(Fault::WebhookAnswerLate) {
            // Around the end of the lease, where it matters most.
            delay = self.scene.post.between(LEASE - 3 * SECOND, LEASE + SECOND);
        }
        let event = Box::new(call.returned(outcome));
        self.scene.after(delay, CallEvent::Back { incarnation, number, event }.into());
    }

    /// A call has ended. A second end is ignored.
    fn webhook_back(&mut self, incarnation: Incarnation, number: u64, event: Came) {
        if !self.is_alive(incarnation) {
            return;
        }
        let Some(known) = self.processes.get_mut(incarnation.process) else { return };
        let Some(InFlight { call, .. }) = known.webhook_calls.remove(&number) else { return };
        let bug = self.scene.settings.options.injected_bug;
        if bug == Some(InjectedBug::HostForgetsWebhooks) && known.dice.chance(100) {
            return;
        }
        let is_believed = bug == Some(InjectedBug::HostTakesAnyAnswer);
        let event = if is_believed { believed(event) } else { event };
        let about = self.scene.audit.name(call.effect.flow);
        self.scene.say(&about, format!("p{} gets {}", incarnation.process, describe(&event)));
        if self.scene.strikes(Fault::CrashBeforeWebhookReport) {
            self.crash(incarnation.process);
            return;
        }
        let done = EffectDone { effect: call.effect, outcome: AnyOutcome::Delivery(event) };
        if self.scene.strikes(Fault::WebhookReportLate) {
            let delay = self.scene.post.between(SECOND, 2 * LEASE);
            self.scene.after(delay, CallEvent::Report(incarnation, Box::new(done)).into());
        } else {
            self.report_webhook(incarnation, done);
        }
    }

    fn report_webhook(&mut self, incarnation: Incarnation, done: EffectDone) {
        if !self.is_alive(incarnation) {
            return;
        }
        let Some(known) = self.processes.get_mut(incarnation.process) else { return };
        known.engine.enqueue(Input::EffectDone(done));
        let delay = self.scene.post.below(10 * MILLISECOND);
        self.tick(incarnation.process, delay);
    }
}

/// Any answer, taken for a good one.
fn believed(event: Came) -> Came {
    let mut event = event;
    if let Came::Returned { outcome: Outcome::Answered { status, .. }, .. } = &mut event {
        *status = 200;
    }
    event
}

fn describe(event: &Came) -> String {
    match event {
        Came::Returned { attempt, outcome, .. } => match outcome {
            Outcome::Answered { status, .. } => format!("{status} to attempt {attempt}"),
            Outcome::Failed { class, .. } => format!("{class} about attempt {attempt}"),
            Outcome::Unsendable { .. } => format!("that attempt {attempt} cannot be sent"),
        },
        Came::Due | Came::Cancelled | Came::Replayed => String::new(),
    }
}
