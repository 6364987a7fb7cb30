//! One payout in a small world. `small` is the payout, `profile` the kinds of worlds, `world` the rest of the world,
//! `happenings` what may happen, `done` how the machine reacts, `check` what follows and what must not, `narrate` the
//! same in sentences; `attempt` is the world of evidence, `mutations` are known mistakes.

mod attempt;
mod check;
mod done;
mod happenings;
mod mutations;
mod narrate;
mod profile;
mod restore;
mod small;
mod world;

use std::sync::Arc;

use bursar_core::flow::check_version;
use bursar_core::ledger::funds::Funds;
use bursar_core::money::Money;
use bursar_core::payouts::attempt::Attempt;
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::channel::Channel;
use bursar_core::payouts::{
    self, Advance, Beneficiary, ClientMetadata, Context, Decision, Event, ManualDecision, Payout,
    State, Terms, advance,
};
use bursar_core::rejection::Rejection;
use jiff::{SignedDuration, Timestamp};

use self::done::Memory;
pub(super) use self::profile::{Operators, PROFILES, Profile};
use self::small::{NOW, actor, late, other_amount};
pub(super) use self::small::{Said, Tried, VERDICTS};
use self::world::{Answer, Happening, Outcome, When, World};
use super::explore::{Correction, Model, Nexts};
use super::rule::Rule;
use super::{Domain, World as SmallWorld};

pub(super) const DOMAIN: Domain =
    Domain { kind: "payout", worlds, mutations: mutations::mutations };

/// The worlds around the shipped machine, and the one around its evidence.
fn worlds() -> Vec<SmallWorld> {
    let payout = |profile: Profile| SmallWorld::new(profile.name, Around::new(profile, SHIPPED));
    PROFILES.into_iter().map(payout).chain([attempt::world(Attempt::merge)]).collect()
}

/// The parts of the shipped machine, so that a mistake can be planted in one of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    pub(super) advance: AdvanceFn,
    pub(super) check_version: VersionFn,
}

pub(super) type AdvanceFn = fn(&Payout, &Event, &Context<'_>) -> Result<Option<Advance>, Rejection>;
/// The version that the operator saw, and the current one.
pub(super) type VersionFn = fn(Option<u64>, u64) -> Result<(), Rejection>;

pub(super) const SHIPPED: Machine =
    Machine { advance, check_version: |expected, found| check_version(&"payout", expected, found) };

/// A payout, the machine that moves it, and the world around it.
#[derive(Debug)]
pub(super) struct Around {
    machine: Machine,
    profile: Profile,
    channel: Channel,
    /// Its terms are those of every payout here.
    template: Payout,
    memory: Memory,
}

impl Around {
    pub(super) fn new(profile: Profile, machine: Machine) -> Self {
        let name = String::new;
        let beneficiary = Beneficiary { name: name(), account: None, msisdn: None, bank: None };
        let terms = Terms {
            funds: funds(),
            channel: name(),
            beneficiary,
            scheduled_at: None,
            beneficiary_id: None,
            remarks: ClientMetadata::default(),
        };
        let template = Payout {
            terms: Arc::new(terms),
            attempts: Vec::new(),
            state: State::Scheduled { until: NOW },
            settled: None,
            case: None,
            is_case_closed: false,
            hold_epoch: 1,
            released_by: None,
            proposal: None,
            is_urgent: false,
            recheck: None,
        };
        Self { machine, profile, channel: profile.channel(), template, memory: Memory::default() }
    }

    fn context(&self, world: &World, now: Timestamp) -> Context<'_> {
        let (channel, is_frozen) = (&self.channel, world.is_frozen);
        Context { now, send_at: now, channel, is_frozen, restored: world.restored() }
    }

    /// What a happening is for the machine, and when.
    fn event(&self, happening: Happening) -> Option<(Event, Timestamp)> {
        let event = match happening {
            Happening::Due => Event::Due,
            Happening::DueLate => return Some((Event::Due, late())),
            Happening::Submitted(r#try, outcome) => Event::Submitted {
                attempt: r#try.attempt,
                r#try: r#try.number,
                outcome: submission(outcome),
            },
            Happening::CalledBack { attempt, verdict } => {
                let evidence = callback(verdict);
                Event::EvidenceReceived { attempt, evidence }
            }
            Happening::Answered { attempt, answer, when } => {
                let answer = said(answer);
                let (now, lease_until) = match when {
                    When::InTime => (NOW, NOW),
                    When::AfterWindow => (late(), NOW),
                    When::GivenUp => {
                        (NOW, NOW.saturating_sub(SignedDuration::from_secs(1)).unwrap_or(NOW))
                    }
                };
                return Some((Event::Queried { attempt, lease_until, answer }, now));
            }
            Happening::CancelAsked => Event::CancelAsked,
            Happening::CutOff => Event::CutOff,
            Happening::RecheckAsked => Event::RecheckAsked,
            Happening::Decided { decision, is_approver } => self.decided(decision, is_approver),
            Happening::Freeze
            | Happening::Thaw
            | Happening::Send
            | Happening::SendUnsaved
            | Happening::GiveUp
            | Happening::Lose(_)
            | Happening::Refuse { .. }
            | Happening::Take(..)
            | Happening::Become { .. }
            | Happening::DecisionPrepared(_)
            | Happening::DecisionSubmitted
            | Happening::Copy
            | Happening::PutBack
            | Happening::EndRecheck => return None,
        };
        Some((event, NOW))
    }

    fn decided(&self, decision: Decision, is_approver: bool) -> Event {
        let evidence = "checked".to_owned();
        let needs_two = self.profile.operators == Operators::Two;
        let actor = actor(is_approver).to_owned();
        let made_by = Vec::new();
        Event::Decided(ManualDecision {
            decision,
            actor,
            is_approver,
            made_by,
            evidence,
            needs_two,
        })
    }
}

/// How a submission ended, in the words of the core.
fn submission(outcome: Outcome) -> payouts::Outcome {
    let (detail, provider_reference) = (String::new(), None);
    match outcome {
        Outcome::NotSent => payouts::Outcome::NotSent { detail, is_ours: false },
        Outcome::NotSentByUs => payouts::Outcome::NotSent { detail, is_ours: true },
        Outcome::Rejected { is_retryable } => payouts::Outcome::Rejected { is_retryable, detail },
        Outcome::Accepted => payouts::Outcome::Accepted { provider_reference, reported: None },
        Outcome::Paid => payouts::Outcome::Paid { provider_reference, reported: None },
        Outcome::PaidOther => {
            payouts::Outcome::Paid { provider_reference, reported: Some(other_amount()) }
        }
        Outcome::Duplicate => payouts::Outcome::Duplicate,
        Outcome::Unknown => payouts::Outcome::Unknown { detail },
    }
}

/// An answer to a query, in the words of the core.
fn said(answer: Answer) -> payouts::Answer {
    let (detail, provider_reference) = (String::new(), None);
    match answer {
        Answer::Paid => payouts::Answer::Paid { provider_reference, reported: None },
        Answer::PaidOther => {
            payouts::Answer::Paid { provider_reference, reported: Some(other_amount()) }
        }
        Answer::NotPaid { is_retryable } => payouts::Answer::NotPaid { is_retryable, detail },
        Answer::Pending => payouts::Answer::Pending { provider_reference, reported: None },
        Answer::Returned => payouts::Answer::Returned { detail, reported: None },
        Answer::NotFound => payouts::Answer::NotFound,
        Answer::Failed => payouts::Answer::Failed { detail },
    }
}

/// A callback. With another amount the channel says that it paid: the machine must see that it differs.
fn callback(verdict: Verdict) -> Evidence {
    let is_other = verdict == Verdict::AmountDiffers;
    let verdict = if is_other { Verdict::Paid } else { verdict };
    let reported = is_other.then(other_amount);
    Evidence { reported, ..Evidence::new(Source::Callback, verdict) }
}

#[expect(clippy::expect_used, reason = "a currency of ISO 4217 always reads back")]
fn funds() -> Funds {
    let currency = "PKR".parse().expect("PKR is a currency");
    let money = |minor| Money::from_minor(minor, currency);
    let (merchant, bank) = (String::new(), String::new());
    Funds { merchant, bank, amount: money(150_000), fee: money(1_500), vat: money(240) }
}

impl Model for Around {
    type World = World;
    type Happening = Happening;

    fn start(&self) -> World {
        World::new(self.profile.first_stage())
    }

    fn next(&self, world: &World) -> Nexts<Happening, World> {
        let happenings = world.happenings(&self.profile).into_iter();
        happenings.map(|happening| (happening, check::after(self, world, happening))).collect()
    }

    fn is_over(&self, world: &World) -> bool {
        world.payout.stage.is_over()
    }

    fn correction(&self, before: &World, after: &World) -> Option<Correction> {
        // Books that are put back forget the end.
        let is_forgotten = !before.is_restored() && after.is_restored();
        let has_changed =
            self.is_over(before) && before.payout.stage != after.payout.stage && !is_forgotten;
        has_changed.then(|| (before.payout.stage.status(), after.payout.stage.status()))
    }

    fn narrate(&self, world: &World, happening: &Happening) -> String {
        narrate::narrate(self, world, *happening)
    }

    fn rules(&self) -> Vec<Rule> {
        use Rule::{
            C1, C2, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I14, I15, I16, I17, I18, I19, L1,
        };
        let always = [I1, I6, I7, I8, I9, I10, I16, I17, C2, C1, L1];
        let mut rules = always.to_vec();
        if self.profile.is_truthful {
            rules.extend([I2, I3, I4, I5, I14]);
        }
        // Without freezes there is nothing to check, and as little if all amounts are right.
        rules.extend(self.profile.freezes.then_some(I15));
        rules.extend(self.profile.pays_other.then_some(I18));
        rules.extend(self.profile.lacks_resources.then_some(I19));
        rules.sort_unstable();
        rules
    }
}
