//! What is sent to endpoints of merchants once it is saved, as the host does it: brought, answered, given up when the
//! lease ends, or left behind by a process that died.

use bursar_core::delivery::{Event as Came, Outcome, Parcel, Unsendable};
use bursar_engine::{CameBack, Input, not_sent};

use super::fault::Fault;
use super::plant::Plant;
use super::scene::{Event, Life, MILLISECOND, SECOND};
use super::world::World;

/// A parcel that has not come back.
#[derive(Debug)]
pub(crate) struct Underway {
    parcel: Parcel,
    deadline: u64,
}

/// How long a sender waits for an answer.
const PATIENCE: u64 = 30 * SECOND;
/// How long an attempt has, as the schedule says.
const LEASE: u64 = 35 * SECOND;

impl World {
    pub(crate) fn start_parcel(&mut self, process: usize, parcel: Parcel, deadline: u64) {
        let Some(known) = self.processes.get_mut(process) else { return };
        known.started = known.started.saturating_add(1);
        let (number, life) = (known.started, known.life);
        let endpoint = parcel.endpoint;
        let given_up = not_sent(&parcel, "lost", "the sender said nothing in time");
        known.parcels.insert(number, Underway { parcel, deadline });
        let same = known.parcels.values().filter(|other| other.parcel.endpoint == endpoint);
        let count = same.count();
        let delay = known.dice.between(MILLISECOND, 50 * MILLISECOND);
        self.scene.audit.under_way(endpoint, count);
        self.scene.after(delay, Event::SendParcel { life, number });
        self.scene.at(deadline, Event::ParcelBack { life, number, event: Box::new(given_up) });
    }

    /// The sender looks at the deadline, signs, and lets it go.
    pub(crate) fn send_parcel(&mut self, life: Life, number: u64) {
        if !self.is_alive(life) {
            return;
        }
        let now = self.scene.now;
        let Some(known) = self.processes.get_mut(life.process) else { return };
        let Some(Underway { parcel, deadline }) = known.parcels.get(&number) else { return };
        let (parcel, deadline) = (parcel.clone(), *deadline);
        if now >= deadline {
            return;
        }
        let fails = [
            (Fault::ParcelUnsendable, Unsendable::Signing, "the secret cannot be opened"),
            (Fault::ParcelUnsent, Unsendable::NoMeans, "too many open files"),
        ];
        let failed = fails.into_iter().find(|(fault, ..)| self.scene.strikes(*fault));
        if let Some((_, what, detail)) = failed {
            if what == Unsendable::NoMeans {
                self.scene.audit.unsent(&parcel);
            }
            let outcome = Outcome::Unsendable { what, detail: detail.to_owned() };
            self.parcel_back(life, number, returned(&parcel, outcome));
            return;
        }
        // Some senders wait as long as they may.
        if known.dice.chance(500) {
            let event = Box::new(not_sent(&parcel, "timeout", "no answer in time"));
            self.scene.after(PATIENCE, Event::ParcelBack { life, number, event });
        }
        let times = if self.scene.strikes(Fault::ParcelLost) {
            0
        } else if self.scene.strikes(Fault::ParcelTwice) {
            2
        } else {
            1
        };
        for _ in 0..times {
            let delay = self.scene.post.between(MILLISECOND, 200 * MILLISECOND);
            let parcel = Box::new(parcel.clone());
            self.scene.after(delay, Event::ParcelArrives { life, number, parcel });
        }
        if self.scene.strikes(Fault::CrashAfterParcel) {
            self.crash(life.process);
        }
    }

    /// The receiver has it, whatever became of whoever sent it.
    pub(crate) fn parcel_arrives(&mut self, life: Life, number: u64, parcel: &Parcel) {
        let (now, is_calm) = (self.scene.now, self.scene.is_calm);
        let to = (parcel.endpoint, parcel.event);
        let said = self.scene.receivers.get(to, now, is_calm);
        self.scene.audit.received(parcel, said.is_taken);
        let about = self.scene.audit.name(parcel.flow);
        let took = if said.is_taken { "takes" } else { "does not take" };
        self.scene.say(&about, format!("the receiver {took} attempt {}", parcel.attempt));
        let Some(outcome) = said.outcome else { return };
        if self.scene.strikes(Fault::ParcelAnswerLost) {
            return;
        }
        let mut delay = said.delay;
        if self.scene.strikes(Fault::ParcelAnswerLate) {
            // Around the end of the lease, where it matters most.
            delay = self.scene.post.between(LEASE - 3 * SECOND, LEASE + SECOND);
        }
        let event = Box::new(returned(parcel, outcome));
        self.scene.after(delay, Event::ParcelBack { life, number, event });
    }

    /// A parcel has come back. Whatever comes second has been given up already.
    pub(crate) fn parcel_back(&mut self, life: Life, number: u64, event: Came) {
        if !self.is_alive(life) {
            return;
        }
        let Some(known) = self.processes.get_mut(life.process) else { return };
        let Some(Underway { parcel, .. }) = known.parcels.remove(&number) else { return };
        let plant = self.scene.settings.options.plant;
        if plant == Some(Plant::HostForgetsMail) && known.dice.chance(100) {
            return;
        }
        let is_believed = plant == Some(Plant::HostTakesAnyAnswer);
        let event = if is_believed { believed(event) } else { event };
        let about = self.scene.audit.name(parcel.flow);
        self.scene.say(&about, format!("p{} hears {}", life.process, heard(&event)));
        if self.scene.strikes(Fault::CrashBeforeMailReport) {
            self.crash(life.process);
            return;
        }
        let came_back = CameBack { flow: parcel.flow, endpoint: parcel.endpoint, event };
        if self.scene.strikes(Fault::MailReportLate) {
            let delay = self.scene.post.between(SECOND, 2 * LEASE);
            self.scene.after(delay, Event::ParcelReported(life, Box::new(came_back)));
        } else {
            self.parcel_reported(life, came_back);
        }
    }

    pub(crate) fn parcel_reported(&mut self, life: Life, came_back: CameBack) {
        if !self.is_alive(life) {
            return;
        }
        let Some(known) = self.processes.get_mut(life.process) else { return };
        known.engine.enqueue(Input::CameBack(came_back));
        let delay = self.scene.post.below(10 * MILLISECOND);
        self.tick(life.process, delay);
    }
}

fn returned(parcel: &Parcel, outcome: Outcome) -> Came {
    Came::Returned { attempt: parcel.attempt, took_ms: 1, outcome }
}

/// Any answer, taken for a good one.
fn believed(event: Came) -> Came {
    let mut event = event;
    if let Came::Returned { outcome: Outcome::Answered { status, .. }, .. } = &mut event {
        *status = 200;
    }
    event
}

fn heard(event: &Came) -> String {
    match event {
        Came::Returned { attempt, outcome, .. } => match outcome {
            Outcome::Answered { status, .. } => format!("{status} to attempt {attempt}"),
            Outcome::Failed { class, .. } => format!("{class} about attempt {attempt}"),
            Outcome::Unsendable { .. } => format!("that attempt {attempt} cannot be sent"),
        },
        Came::Due | Came::CalledOff | Came::Replayed => String::new(),
    }
}
