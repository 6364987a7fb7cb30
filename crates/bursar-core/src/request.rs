//! Everything that may enter, and the batch that one turn decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::admit::Admitted;
use crate::attempt::Evidence;
use crate::control::Switch;
use crate::delivery;
use crate::drive::{Carried, Drive, Driven};
use crate::idempotency::{FlowReply, Key};
use crate::ids::{CommitId, DeliveryId, EndpointId, FlowId, Seed, TransactionId};
use crate::ledger::{Admission, Event, Posted};
use crate::payin::NewPayIn;
use crate::payout::{self, Cancellation, NewPayout, Resolution};
use crate::registry::{Record, Registration};
use crate::rejection::Rejection;
use crate::reservation::{Decision, NewReservation};
use crate::rules::Rules;

/// Something that Bursar is asked to do, with the time and the seed it was admitted with.
#[derive(Debug, Clone)]
pub struct Request {
    pub admission: Admission,
    pub body: Body,
}

#[derive(Debug, Clone)]
pub enum Body {
    /// Something happened that the ledger must know.
    Post(Event),
    /// Somebody posts an event by hand.
    PostByHand {
        actor: String,
        event: Event,
    },
    /// Put a merchant's money aside.
    Reserve {
        key: Key,
        reservation: NewReservation,
    },
    /// Settle or release what was put aside.
    Decide {
        key: Key,
        decision: Decision,
    },
    /// Pay somebody.
    CreatePayout {
        key: Key,
        payout: NewPayout,
        /// Whoever asks for a merchant, for the record; none for the merchant itself.
        actor: Option<String>,
    },
    /// The same for a workflow, which drives it.
    CreateDrivenPayout {
        key: Key,
        payout: NewPayout,
        workflow: String,
    },
    CancelPayout {
        key: Key,
        cancellation: Cancellation,
    },
    /// Decide about a payout that is stuck.
    ResolvePayout {
        key: Key,
        resolution: Resolution,
    },
    /// An effect has come back.
    Report(Report),
    /// A channel says something about a reference.
    Tell(Told),
    /// A provider says something about a pay-in.
    TakePayIn(NewPayIn),
    /// Freeze or unfreeze.
    Switch(Switch),
    /// Make or change a merchant, a beneficiary or a key.
    Register(Registration),
    /// Time has passed: flows may be due.
    Wake(Wake),
    /// Something about what merchants are told.
    Mail(Mail),
    /// Something from a host outside, whose workflows drive flows.
    Drive(Drive),
    /// Waking the first due flow of this lane makes turns fail: it is not stepped, only put off.
    SetAside {
        lane: String,
        blame: Blame,
    },
}

/// Whether what is set aside is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// It makes turns fail. A delivery that does so again and again is given up.
    Fails,
    /// Others were faster, or it could not even be given up: it is put off, and nothing is held against it.
    None,
}

#[derive(Debug, Clone)]
pub enum Mail {
    /// Send what is due to endpoints of merchants.
    Deliver(Deliver),
    /// Beginning the first of these makes turns fail: it is only put off.
    SetAside(Deliver, Blame),
    /// An endpoint is off: what waits for it is not sent.
    Cancel { endpoint: EndpointId, limit: u32 },
    /// Send these again.
    Replay { actor: String, deliveries: BTreeSet<DeliveryId> },
    /// Tell an endpoint something that means nothing.
    Test { actor: String, endpoint: EndpointId },
}

/// What became of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub flow: FlowId,
    pub event: News,
}

/// What somebody who was sent out has to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    Payout(payout::Event),
    Delivery(delivery::Event),
}

impl From<payout::Event> for News {
    fn from(event: payout::Event) -> Self {
        Self::Payout(event)
    }
}

impl From<delivery::Event> for News {
    fn from(event: delivery::Event) -> Self {
        Self::Delivery(event)
    }
}

/// What a channel says, by the reference that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub channel: String,
    pub reference: String,
    pub evidence: Evidence,
}

/// Which flows to wake, at most how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    pub lane: String,
    pub limit: u32,
}

/// How many deliveries may begin, and for whom. No endpoint keeps another waiting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deliver {
    pub limit: u32,
    /// How many for each endpoint, whatever it takes: nobody gets all hands.
    pub share: u32,
    /// Begin behind this endpoint, so that everybody has a turn.
    pub after: Option<EndpointId>,
    /// Endpoints to whom something is on its way.
    pub busy: BTreeMap<EndpointId, Busy>,
    /// Endpoints that are not looked at now.
    pub skipped: BTreeSet<EndpointId>,
    /// Retries as well, behind all first attempts.
    pub with_retries: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    pub in_flight: u32,
    /// How many more it took when it was last looked at; no more are read.
    pub room: u32,
    /// How many have begun in this second.
    pub begun: u32,
}

/// What a request is answered with.
pub type Answer = Result<Reply, Rejection>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Posted(Posted),
    Flow {
        reply: Arc<FlowReply>,
        /// It had been answered before; nothing was done again.
        is_replay: bool,
    },
    Woken(Woken),
    Delivering(Delivering),
    /// Where a flow stands that a host outside drives.
    Driven(Box<Driven>),
    /// What the cluster is to be told.
    Carried(Vec<Carried>),
    /// What is sent again, as it is now.
    Replayed(Vec<delivery::View>),
    /// It was taken note of; this is where the flow stands now.
    Noted {
        name: String,
        status: &'static str,
    },
    Registered {
        record: Box<Record>,
        /// It was made by this request.
        is_new: bool,
    },
}

/// The flows whose time had come, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Woken {
    pub flows: Vec<String>,
    /// What they must do was refused, and they were set aside for a while. Somebody must look at these.
    pub refused: Vec<(String, Rejection)>,
    /// Deliveries that are dead letters now, because they made turns fail again and again.
    pub given_up: Vec<String>,
}

/// The deliveries that have begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivering {
    pub count: u32,
    /// How many of them are retries.
    pub retries: u32,
    /// Whose was the last.
    pub last: Option<EndpointId>,
    /// More would have begun if more were allowed to.
    pub is_cut: bool,
    /// Endpoints for whom more waits than may begin now.
    pub full: BTreeSet<EndpointId>,
    /// Endpoints that are left alone until then.
    pub blocked: BTreeMap<EndpointId, Timestamp>,
    /// What they must do was refused, and they were set aside for a while. Somebody must look at these.
    pub refused: Vec<(String, Rejection)>,
}

/// Requests that are decided together. Where batches are cut changes no answer.
#[derive(Debug)]
pub struct Batch<'r> {
    rules: &'r Rules,
    requests: Vec<Admitted<'r>>,
}

impl<'r> Batch<'r> {
    pub fn new(rules: &'r Rules, requests: &'r [Request]) -> Self {
        let admit =
            |request: &'r Request| Admitted::new(rules, request).unwrap_or_else(Admitted::Refused);
        Self { rules, requests: requests.iter().map(admit).collect() }
    }

    /// Names one run of the turn that decides exactly these requests, so that a commit of unknown outcome can be looked
    /// up. None if every request is refused without a look at the records.
    pub fn commit_id(&self, run: u64) -> Option<CommitId> {
        let admissions = || self.requests.iter().filter_map(Admitted::admission);
        let first = admissions().next()?;
        let seed = Seed::join(admissions().map(|admission| &admission.seed));
        Some(CommitId::new(first.now, &seed, run))
    }

    pub(crate) fn rules(&self) -> &'r Rules {
        self.rules
    }

    pub(crate) fn requests(&self) -> &[Admitted<'r>] {
        &self.requests
    }

    /// The transactions that the batch asks to take back.
    pub(crate) fn reverted(&self) -> impl Iterator<Item = TransactionId> {
        self.requests.iter().filter_map(|request| match request {
            Admitted::Revert(back, _) => Some(back.revert.id),
            Admitted::Post(..)
            | Admitted::Reserve(..)
            | Admitted::Decide(..)
            | Admitted::CreatePayout(..)
            | Admitted::CancelPayout(..)
            | Admitted::ResolvePayout(..)
            | Admitted::Report(..)
            | Admitted::Tell(..)
            | Admitted::TakePayIn(..)
            | Admitted::Switch(..)
            | Admitted::Register(..)
            | Admitted::Wake(..)
            | Admitted::Mail(..)
            | Admitted::Drive(..)
            | Admitted::SetAside(..)
            | Admitted::Refused(_) => None,
        })
    }

    fn mail(&self) -> impl Iterator<Item = &Mail> {
        self.requests.iter().filter_map(|request| {
            if let Admitted::Mail(mail, _) = request { Some(*mail) } else { None }
        })
    }

    pub(crate) fn delivers(&self) -> bool {
        self.mail().any(|mail| matches!(mail, Mail::Deliver(_)))
    }

    /// Whether nothing is stepped: then whatever makes a step fail is not even looked at.
    pub(crate) fn only_sets_aside(&self) -> bool {
        let lanes =
            self.requests.iter().filter(|request| matches!(request, Admitted::SetAside(..)));
        let mail = self.mail().filter(|mail| matches!(mail, Mail::SetAside(..)));
        lanes.count().saturating_add(mail.count()) == self.requests.len()
    }
}
