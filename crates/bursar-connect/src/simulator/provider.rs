//! The provider as a value: submissions, queries and time in; answers and callbacks out.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::behaviour::{self, CallbackPlan, Fate, Manner};
use super::dice::Dice;
use super::payment::{Books, Entry, Payment, error, to_json};
use super::{Options, Profile};
use crate::gsma::Status;

/// A calm provider finishes pending payments within five seconds, with a margin.
const CALM_FINISH: Duration = Duration::from_secs(2);
/// Callbacks that wait to be sent; if there are more, the oldest are lost.
const OUTBOX_MAX: usize = 10_000;

/// A submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub reference: String,
    pub amount: String,
    pub currency: String,
}

/// The answer to a request, and its delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub after: Duration,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Answer {
        status: u16,
        body: Vec<u8>,
    },
    HangUp,
    /// No answer, until the client gives up.
    Hold,
}

/// The body of a callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackPayload {
    pub body: Vec<u8>,
}

/// A reference that the provider has received, processed or not.
#[derive(Debug, Default)]
struct Case {
    arrivals: u32,
    questions: u32,
    payment: Option<Payment>,
}

#[derive(Debug)]
enum Timer {
    Finish { reference: String, pays: bool },
    SendCallback(CallbackPayload),
}

#[derive(Debug)]
pub struct Provider {
    options: Options,
    /// Whether callbacks have a receiver.
    sends_callbacks: bool,
    cases: BTreeMap<String, Case>,
    /// Timers, by time and then in the order in which they were planned.
    agenda: BTreeMap<(Duration, u64), Timer>,
    planned: u64,
    outbox: VecDeque<CallbackPayload>,
}

impl Provider {
    pub fn new(options: Options, sends_callbacks: bool) -> Self {
        let (cases, agenda) = (BTreeMap::new(), BTreeMap::new());
        Self { options, sends_callbacks, cases, agenda, planned: 0, outbox: VecDeque::new() }
    }

    pub const fn profile(&self) -> Profile {
        self.options.profile
    }

    /// Changes the profile. A provider that turns calm finishes its pending payments soon.
    pub fn set_profile(&mut self, now: Duration, profile: Profile) {
        self.advance(now);
        self.options.profile = profile;
        if profile != Profile::Calm {
            return;
        }
        let latest = now.saturating_add(CALM_FINISH);
        for ((at, number), timer) in std::mem::take(&mut self.agenda) {
            let at = match timer {
                Timer::Finish { .. } => at.min(latest),
                Timer::SendCallback(_) => at,
            };
            self.agenda.insert((at, number), timer);
        }
    }

    /// Takes a submission.
    pub fn submit(&mut self, now: Duration, order: &Order) -> Reply {
        self.advance(now);
        let Options { seed, profile, is_idempotent } = self.options;
        let case = self.cases.entry(order.reference.clone()).or_default();
        case.arrivals = case.arrivals.saturating_add(1);
        let dice = Dice::new(seed, "submit", &order.reference, case.arrivals);
        let (fate, manner) = behaviour::submission(profile, dice);
        if fate != Fate::Lost {
            let is_new = case.payment.is_none();
            let is_wrong = profile == Profile::WrongAmount;
            let payment = case.payment.get_or_insert_with(|| Payment::new(order, dice, is_wrong));
            payment.submissions = payment.submissions.saturating_add(1);
            if is_new || !is_idempotent {
                self.process(now, &order.reference, (fate, manner), dice);
            }
        }
        let action = match manner {
            Manner::Truth => self
                .payment(&order.reference)
                .map_or(Action::HangUp, |payment| payment.submitted(&order.reference)),
            Manner::Duplicate => error(409, "DuplicateRequest"),
            Manner::Hold | Manner::ServerError | Manner::HangUp | Manner::Garbage => {
                misbehave(manner, dice)
            }
        };
        Reply { after: dice.latency(behaviour::pace(profile).answer), action }
    }

    /// Decides about a submission that has arrived.
    fn process(&mut self, now: Duration, reference: &str, what: (Fate, Manner), dice: Dice) {
        let pace = behaviour::pace(self.options.profile);
        let (fate, manner) = what;
        let hidden = if dice.chance(pace.hidden_chance) {
            dice.latency(pace.hidden)
        } else {
            Duration::ZERO
        };
        let Some(payment) = self.payment_mut(reference) else { return };
        payment.visible_at = now.saturating_add(hidden);
        match fate {
            Fate::Lost => {}
            Fate::Paid => payment.pay(),
            Fate::PaidLater | Fate::FailedLater => {
                payment.pending = payment.pending.saturating_add(1);
                let pays = fate == Fate::PaidLater;
                let at = now.saturating_add(dice.delay(pace.finish));
                self.plan(at, Timer::Finish { reference: reference.to_owned(), pays });
            }
            Fate::Refused => payment.refuse(false, dice),
            Fate::RefusedForNow => payment.refuse(true, dice),
        }
        match (fate, manner) {
            // The answer was the refusal: no callback follows.
            (Fate::Lost, _) | (Fate::Refused | Fate::RefusedForNow, Manner::Truth) => {}
            (Fate::Paid | Fate::Refused | Fate::RefusedForNow, _) => {
                self.plan_callbacks(now, reference);
            }
            (Fate::PaidLater | Fate::FailedLater, _) => {
                if dice.chance(200) {
                    self.plan_callback(now, reference, Status::Pending, dice);
                }
            }
        }
    }

    /// Answers a query about a reference.
    pub fn query(&mut self, now: Duration, reference: &str) -> Reply {
        self.advance(now);
        let Options { seed, profile, .. } = self.options;
        let case = self.cases.entry(reference.to_owned()).or_default();
        case.questions = case.questions.saturating_add(1);
        let dice = Dice::new(seed, "query", reference, case.questions);
        let is_calm = matches!(profile, Profile::Calm | Profile::WrongAmount);
        let visible = case.payment.as_ref().filter(|payment| is_calm || payment.visible_at <= now);
        let manner = behaviour::answer(profile, dice);
        let action = match manner {
            Manner::Truth | Manner::Duplicate => match visible {
                Some(payment) => payment.answered(reference),
                None => error(404, "TransactionNotFound"),
            },
            Manner::Hold | Manner::ServerError | Manner::HangUp | Manner::Garbage => {
                misbehave(manner, dice)
            }
        };
        Reply { after: dice.latency(behaviour::pace(profile).answer), action }
    }

    /// Runs all timers that are due: finishes payments, and puts callbacks into the outbox.
    pub fn advance(&mut self, now: Duration) {
        // A silent provider does nothing; overdue timers run afterwards.
        while self.next_at().is_some_and(|at| at <= now) {
            let Some((_, timer)) = self.agenda.pop_first() else { break };
            match timer {
                Timer::SendCallback(callback) => self.outbox.push_back(callback),
                Timer::Finish { reference, pays } => {
                    if let Some(payment) = self.payment_mut(&reference) {
                        payment.finish(pays);
                    }
                    self.plan_callbacks(now, &reference);
                }
            }
        }
        while self.outbox.len() > OUTBOX_MAX {
            self.outbox.pop_front();
        }
    }

    /// Takes the callbacks out of the outbox.
    pub fn take_callbacks(&mut self) -> Vec<CallbackPayload> {
        self.outbox.drain(..).collect()
    }

    /// When the next timer is due.
    pub fn next_at(&self) -> Option<Duration> {
        let is_silent = self.options.profile == Profile::Silent;
        self.agenda.keys().next().map(|(at, _)| *at).filter(|_| !is_silent)
    }

    pub fn books(&self) -> Books {
        Books {
            payments: self.cases.keys().filter_map(|reference| self.entry(reference)).collect(),
        }
    }

    /// The entry in the books for a reference, if it was ever processed.
    pub fn entry(&self, reference: &str) -> Option<Entry> {
        self.payment(reference).map(|payment| payment.entry(reference))
    }

    /// Plans the callbacks about the state of a payment: late, twice, none, or in the wrong order.
    fn plan_callbacks(&mut self, now: Duration, reference: &str) {
        let Some(payment) = self.payment(reference) else { return };
        let status = payment.status();
        let Options { seed, profile, .. } = self.options;
        let dice = |count| Dice::new(seed, "tell", reference, count);
        let (first, second) = (dice(payment.submissions), dice(u32::MAX));
        match behaviour::callback_plan(profile, first) {
            CallbackPlan::None => {}
            CallbackPlan::Once => self.plan_callback(now, reference, status, first),
            CallbackPlan::Twice => {
                self.plan_callback(now, reference, status, first);
                self.plan_callback(now, reference, status, second);
            }
            CallbackPlan::OutOfOrder => {
                self.plan_callback(now, reference, status, first);
                let later = now.saturating_add(first.delay(behaviour::pace(profile).callback));
                self.plan_callback(later, reference, Status::Pending, second);
            }
        }
    }

    fn plan_callback(&mut self, now: Duration, reference: &str, status: Status, dice: Dice) {
        let Some(payment) = self.payment(reference).filter(|_| self.sends_callbacks) else {
            return;
        };
        let body = to_json(&payment.describe(reference, status));
        let delay = dice.delay(behaviour::pace(self.options.profile).callback);
        self.plan(now.saturating_add(delay), Timer::SendCallback(CallbackPayload { body }));
    }

    fn plan(&mut self, at: Duration, timer: Timer) {
        self.planned = self.planned.saturating_add(1);
        self.agenda.insert((at, self.planned), timer);
    }

    fn payment(&self, reference: &str) -> Option<&Payment> {
        self.cases.get(reference)?.payment.as_ref()
    }

    fn payment_mut(&mut self, reference: &str) -> Option<&mut Payment> {
        self.cases.get_mut(reference)?.payment.as_mut()
    }
}

fn misbehave(manner: Manner, dice: Dice) -> Action {
    match manner {
        Manner::ServerError => {
            let status = if dice.chance(500) { 500 } else { 503 };
            Action::Answer { status, body: b"try again".to_vec() }
        }
        Manner::Garbage => {
            Action::Answer { status: 200, body: behaviour::garbage(dice).as_bytes().to_vec() }
        }
        Manner::HangUp => Action::HangUp,
        Manner::Hold | Manner::Truth | Manner::Duplicate => Action::Hold,
    }
}
