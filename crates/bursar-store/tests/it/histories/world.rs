//! The state of a history, and its rules.

use std::collections::BTreeMap;

use bursar_core::flow::host::{Hosting, Naming, OutboxEntry};
use bursar_core::four_eyes::{Action, ApprovalRule};
use bursar_core::ids::{FlowId, Seed};
use bursar_core::ledger::Admission;
use bursar_core::ledger::pricing::Tariff;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::rules::Rules;
use bursar_core::turn::{Commit, Request};
use bursar_core::webhooks::delivery::RetryPolicy;
use jiff::{SignedDuration, Timestamp};

use super::outcomes::Call;
use super::requests;
use crate::adapter::text;
use crate::desk::START;

/// Two channels with different guarantees, short pauses between deliveries, and four eyes above 50 units.
pub(super) fn rules(is_temporal: bool) -> Rules {
    let pkr = "PKR".parse().unwrap();
    let wallet = Channel {
        name: "wallet".to_owned(),
        currencies: [pkr].into(),
        bank: "b1".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: true,
        visibility_window: SignedDuration::from_secs(30),
        failed_is_final: true,
        reports_amount: ReportsAmount::default(),
        concurrency: 64,
        clocks: Clocks::of("mobile_wallet"),
    };
    let bank = Channel {
        name: "bank".to_owned(),
        bank: "b2".to_owned(),
        submit_is_idempotent: true,
        not_found_is_final: false,
        failed_is_final: false,
        reports_amount: ReportsAmount::default(),
        ..wallet.clone()
    };
    let seconds = SignedDuration::from_secs;
    Rules {
        channels: [wallet, bank].map(|channel| (channel.name.clone(), channel)).into(),
        payout_tariffs: [(pkr, Tariff::new("0.50", 0, 1_000, pkr).unwrap())].into(),
        payin_tariffs: [(pkr, Tariff::new("0.25", 100, 500, pkr).unwrap())].into(),
        four_eyes_above: 50,
        approvals: Action::ALL.map(|action| (action, ApprovalRule::ALONE)).into(),
        deliveries: RetryPolicy {
            pauses: vec![seconds(10), seconds(30), seconds(90)],
            breaker_after: 6,
            disable_after: seconds(4_000),
            ..RetryPolicy::default()
        },
        hosting: if is_temporal { Hosting::Temporal(Naming::ByMerchant) } else { Hosting::Engine },
        ..Rules::from(Rulebook::bundled().unwrap())
    }
}

/// Deterministic random numbers from a seed (xorshift).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        let count = u64::try_from(all.len()).unwrap();
        all[usize::try_from(self.below(count)).unwrap()].clone()
    }
}

/// A payout as it was last written.
#[derive(Clone)]
pub(super) struct Payout {
    pub(super) flow: FlowId,
    pub(super) version: u64,
    pub(super) reference: String,
}

pub(super) struct World {
    seed: u64,
    pub(super) is_temporal: bool,
    pub(super) dice: Dice,
    pub(super) now: Timestamp,
    pub(super) admitted: u64,
    pub(super) payouts: Vec<Payout>,
    /// Pay-ins that have changed, and their versions.
    pub(super) payins: BTreeMap<FlowId, u64>,
    pub(super) deliveries: Vec<FlowId>,
    pub(super) posted: Vec<String>,
    /// Calls without an outcome, oldest first.
    pub(super) calls: Vec<Call>,
    pub(super) claimed: Vec<(FlowId, OutboxEntry)>,
    /// The number of occurrences of each outcome.
    pub(super) outcomes: BTreeMap<&'static str, u64>,
}

impl World {
    pub(super) fn new(seed: u64, is_temporal: bool) -> Self {
        Self {
            seed,
            is_temporal,
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            now: START,
            admitted: 0,
            payouts: Vec::new(),
            payins: BTreeMap::new(),
            deliveries: Vec::new(),
            posted: Vec::new(),
            calls: Vec::new(),
            claimed: Vec::new(),
            outcomes: BTreeMap::new(),
        }
    }

    /// The requests of the next turn.
    pub(super) fn requests(&mut self, rules: &Rules, round: u64) -> Vec<Request> {
        let pause = 1 + self.dice.below(40);
        self.now += SignedDuration::from_secs(i64::try_from(pause).unwrap());
        let count = 1 + self.dice.below(6);
        (0..count).map(|_| self.request(rules, round)).collect()
    }

    fn request(&mut self, rules: &Rules, round: u64) -> Request {
        self.admitted += 1;
        let seed = Seed::from(self.seed * 1_000_000 + self.admitted);
        let body = match round {
            0..12 => requests::first(self, rules, round),
            _ => requests::any(self, rules),
        };
        Request { admission: Admission::new(self.now, seed), body }
    }

    /// Records the ids that later requests use. Returns the number of planned calls.
    pub(super) fn learn(&mut self, commit: &Commit) -> u64 {
        for (flow, kind, version, reference) in text::written(commit) {
            match kind {
                "payout" => {
                    let payout = Payout { flow, version, reference: reference.unwrap_or_default() };
                    match self.payouts.iter_mut().find(|known| known.flow == flow) {
                        Some(known) => *known = payout,
                        None => self.payouts.push(payout),
                    }
                }
                "payin" if version > 1 => {
                    self.payins.insert(flow, version);
                }
                "delivery" if !self.deliveries.contains(&flow) => self.deliveries.push(flow),
                _ => {}
            }
        }
        self.posted.extend(commit.transactions.iter().map(|posted| posted.id.to_string()));
        self.claimed.extend(text::claimed(commit));
        let (engine, workflows) = text::planned(commit);
        let count = engine.len() + workflows.len();
        self.calls
            .extend(engine.into_iter().map(|planned| Call { planned, is_of_workflow: false }));
        self.calls
            .extend(workflows.into_iter().map(|planned| Call { planned, is_of_workflow: true }));
        u64::try_from(count).unwrap()
    }

    /// One of the latest payouts, so that many requests concern few payouts; an unknown one if there is none.
    pub(super) fn some_payout(&mut self) -> Payout {
        let unknown = Payout { flow: self.unknown(), version: 1, reference: "unknown".to_owned() };
        recent(&mut self.dice, &self.payouts).unwrap_or(unknown)
    }

    pub(super) fn some_payin(&mut self) -> (FlowId, u64) {
        let known: Vec<_> = self.payins.iter().map(|(flow, version)| (*flow, *version)).collect();
        recent(&mut self.dice, &known).unwrap_or_else(|| (self.unknown(), 1))
    }

    pub(super) fn some_delivery(&mut self) -> FlowId {
        recent(&mut self.dice, &self.deliveries).unwrap_or_else(|| self.unknown())
    }

    pub(super) fn unknown(&self) -> FlowId {
        FlowId::new(self.now, &Seed::from(1), 0)
    }
}

/// Mostly one of the last twenty.
fn recent<T: Clone>(dice: &mut Dice, all: &[T]) -> Option<T> {
    let from = if dice.chance(80) { all.len().saturating_sub(20) } else { 0 };
    let last = &all[from..];
    if last.is_empty() { None } else { Some(dice.pick(last)) }
}
