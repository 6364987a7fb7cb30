//! A delivery and its endpoint, reduced to what matters here.

use bursar_core::flow::host::Host;
use bursar_core::flow::{Flow, FlowState};
use bursar_core::ids::{DeliveryId, EndpointId, EventId, FlowId, Seed};
use bursar_core::webhooks::delivery::{
    Context, DeadLetterReason, Delivery, RetryPolicy, State, Terms,
};
use bursar_core::webhooks::{
    self, CONCURRENCY, Endpoint, Health, PAYLOAD_VERSION, Settings, Status,
};
use jiff::{SignedDuration, Timestamp};

use super::{Broken, Rule, Said};

/// Attempts of all rounds.
const SLOTS: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Stage {
    Pending,
    Delivering,
    WaitingRetry,
    Delivered,
    Dlq,
    Cancelled,
}

/// What really became of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Attempt {
    /// Nothing more comes of it, or it was not made yet.
    Over,
    Out,
    /// Its process knows this, and has not reported it.
    Back(Said),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Breaker {
    Closed,
    Open,
    /// The pause is over: the next one is a try.
    Ready,
    Trying,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Power {
    On,
    Off,
    /// The receiver has answered 410, and it has not been enabled since.
    Gone,
    /// The same, and it was not disabled.
    Unheeded,
}

/// What the receiver really answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Taken {
    Never,
    /// It has answered 2xx. That is not reported yet, or the delivery was replayed since.
    Once,
    Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) struct World {
    pub(super) stage: Stage,
    /// Its time has come, or its lease has ended.
    pub(super) is_time: bool,
    pub(super) attempts: u32,
    pub(super) uncounted: u32,
    slots: [Attempt; SLOTS],
    pub(super) power: Power,
    pub(super) breaker: Breaker,
    pub(super) taken: Taken,
    pub(super) replays: u8,
    /// How often it was sent since it was last replayed.
    pub(super) sent: u32,
}

impl Stage {
    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::Delivered | Self::Dlq | Self::Cancelled)
    }

    pub(super) const fn status(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Delivering => "DELIVERING",
            Self::WaitingRetry => "WAITING_RETRY",
            Self::Delivered => "DELIVERED",
            Self::Dlq => "DLQ",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl World {
    pub(super) const fn new() -> Self {
        Self {
            stage: Stage::Pending,
            is_time: true,
            attempts: 0,
            uncounted: 0,
            slots: [Attempt::Over; SLOTS],
            power: Power::On,
            breaker: Breaker::Closed,
            taken: Taken::Never,
            replays: 0,
            sent: 0,
        }
    }

    pub(super) fn attempt(&self, number: u32) -> Attempt {
        let index = usize::try_from(number.saturating_sub(1)).unwrap_or(SLOTS);
        self.slots.get(index).copied().unwrap_or(Attempt::Over)
    }

    pub(super) fn set(&mut self, number: u32, attempt: Attempt) {
        let index = usize::try_from(number.saturating_sub(1)).unwrap_or(SLOTS);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = attempt;
        }
    }

    /// The numbers of those that may still come back.
    pub(super) fn open(&self) -> Vec<u32> {
        let open = self.slots.iter().zip(1..).filter(|(slot, _)| **slot != Attempt::Over);
        open.map(|(_, number)| number).collect()
    }

    /// The receiver has answered 2xx.
    pub(super) fn was_taken(&mut self) {
        if self.taken == Taken::Never {
            self.taken = Taken::Once;
        }
    }

    /// The delivery as the machine has made it. A waiting delivery must be claimed in time.
    pub(super) fn take(&mut self, delivery: &Delivery) -> Result<(), Broken> {
        (self.attempts, self.uncounted) = (delivery.attempts, delivery.uncounted_attempts);
        self.stage = match delivery.state {
            State::Pending { .. } => Stage::Pending,
            State::Delivering { .. } => Stage::Delivering,
            State::WaitingRetry { .. } => Stage::WaitingRetry,
            State::Delivered => Stage::Delivered,
            State::Dlq { .. } => Stage::Dlq,
            State::Cancelled { .. } => Stage::Cancelled,
        };
        let due = flow(delivery).due().map(|due| due.at);
        // Ends are all the same, whenever they came.
        self.is_time = self.stage.is_over() || due.is_some_and(|due| due <= NOW);
        let last = NOW.saturating_add(schedule().retry_after_max).unwrap_or(Timestamp::MAX);
        if !self.stage.is_over() && due.is_none_or(|due| due > last) {
            return Err(Broken::new(Rule::D7, "it is not claimed again in any useful time"));
        }
        if matches!(self.stage, Stage::Dlq | Stage::Cancelled) && due.is_none() {
            return Err(Broken::new(Rule::D7, "it is over, and cannot be listed"));
        }
        Ok(())
    }
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// Three attempts, always to the second.
pub(super) fn schedule() -> RetryPolicy {
    RetryPolicy {
        pauses: [1, 5].into_iter().map(SignedDuration::from_mins).collect(),
        jitter_percent: 0,
        ..RetryPolicy::default()
    }
}

/// How many attempts a round has.
pub(super) const ROUND: u32 = 3;

pub(super) fn delivery(world: &World) -> Delivery {
    let seed = Seed::from(7);
    let terms = Terms {
        event: EventId::new(NOW, &seed, 0),
        kind: "payout.success".to_owned(),
        endpoint: EndpointId::new(NOW, &seed, 0),
        body: "{}".to_owned(),
    };
    let due = if world.is_time { NOW } else { Timestamp::MAX };
    let state = match world.stage {
        Stage::Pending => State::Pending { due },
        Stage::Delivering => State::Delivering { since: NOW, lease_until: due },
        Stage::WaitingRetry => State::WaitingRetry { due },
        Stage::Delivered => State::Delivered,
        Stage::Dlq => State::Dlq { reason: DeadLetterReason::Exhausted, since: NOW },
        Stage::Cancelled => State::Cancelled { since: NOW },
    };
    let (attempts, uncounted_attempts) = (world.attempts, world.uncounted);
    let is_replayed = uncounted_attempts > 0;
    Delivery { terms, state, attempts, uncounted_attempts, is_replayed, history: Vec::new() }
}

fn flow(delivery: &Delivery) -> Flow {
    let id = DeliveryId::of(delivery.terms.event, delivery.terms.endpoint);
    Flow {
        id: FlowId::from(id),
        merchant: "m1".to_owned(),
        version: 1,
        sequence: 0,
        created_at: NOW,
        updated_at: NOW,
        state: FlowState::Delivery(Box::new(delivery.clone())),
        backoff: None,
        host: Host::Engine,
    }
}

pub(super) fn endpoint(world: &World) -> Endpoint {
    let is_on = matches!(world.power, Power::On | Power::Unheeded);
    let off = || Status::Disabled { reason: String::new(), at: NOW };
    let breaker = match world.breaker {
        Breaker::Closed => None,
        Breaker::Open => Some((Timestamp::MAX, false)),
        Breaker::Ready => Some((NOW, false)),
        Breaker::Trying => Some((Timestamp::MAX, true)),
    };
    let breaker =
        breaker.map(|(until, is_probing)| webhooks::Breaker { until, times: 1, is_probing });
    Endpoint {
        merchant: "m1".to_owned(),
        settings: Settings {
            url: "https://merchant.example".to_owned(),
            event_types: ["*".to_owned()].into(),
            version: PAYLOAD_VERSION.to_owned(),
            header_names: Vec::new(),
            headers: None,
            concurrency: CONCURRENCY,
            rate_limit: None,
        },
        status: if is_on { Status::Enabled } else { off() },
        secrets: Vec::new(),
        event_sequence: 0,
        health: Health { breaker, ..Health::default() },
    }
}

pub(super) fn context<'c>(endpoint: &'c Endpoint, schedule: &'c RetryPolicy) -> Context<'c> {
    Context { now: NOW, seed: Seed::from(7), endpoint, schedule }
}
