//! The engine as a value: bisection of failed turns, paused lanes, clocks that are set back, rounds of the scheduler.

use bursar_core::dispatch::{Blocked, Rest};
use bursar_core::flow::{self, ClaimReply, Round, RoundReply};
use bursar_core::ids::{EndpointId, Seed};
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::{self, LedgerEvent, Post};
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::rules::Rules;
use bursar_core::turn::{Body, Commit, ReadSet, Reply, Request, TurnInput, apply};
use bursar_core::webhooks::{self, DeliveriesStarted};
use bursar_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use super::fair::FairScheduler;
use super::{Cause, Engine, Failed, Input, Limits, Output, Ticket, Unanswered};

fn engine() -> Engine {
    let channel = Channel {
        name: "wallet".to_owned(),
        currencies: ["PKR".parse().unwrap()].into(),
        bank: "main".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: false,
        visibility_window: SignedDuration::from_secs(30),
        failed_is_final: true,
        reports_amount: ReportsAmount::default(),
        concurrency: 16,
        clocks: Clocks::of("mobile_wallet"),
    };
    let rules = Rules {
        channels: [(channel.name.clone(), channel)].into(),
        ..Rules::from(Rulebook::bundled().unwrap())
    };
    Engine::new(&rules, Limits::default(), Seed::from(1))
}

fn post(reference: u64) -> Body {
    let event = LedgerEvent {
        name: "ADJUSTMENT_CREDIT".to_owned(),
        reference: reference.to_string(),
        variables: std::collections::BTreeMap::new(),
        effective_at: None,
    };
    Post { event, actor: None }.into()
}

fn start() -> Timestamp {
    Timestamp::from_second(1_794_700_800).unwrap()
}

/// The commit of a turn without requests.
fn empty_commit() -> Commit {
    let rules = Rules::from(Rulebook::bundled().unwrap());
    apply(&TurnInput::new(&rules, &[]), ReadSet::default())
}

/// The end of a turn: it panics if a poisonous request is in it, and claims no flow otherwise.
fn end(requests: Vec<Request>, is_poison: impl Fn(&Body) -> bool) -> Input {
    if requests.iter().any(|request| is_poison(&request.body)) {
        return Input::Failed(Failed { requests, cause: Cause::Panicked });
    }
    let answer = |request: &Request| {
        Ok(if let Body::Webhooks(webhooks::Request::StartDeliveries(_)) = request.body {
            let reply = webhooks::Reply::DeliveriesStarted(DeliveriesStarted::default());
            Reply::Webhooks(reply)
        } else {
            Reply::Flows(flow::Reply::Claimed(ClaimReply::default()))
        })
    };
    let answers = requests.iter().map(answer).collect();
    Input::Saved(Box::new(Commit { answers, ..empty_commit() }))
}

/// Runs turns until the engine makes no more. Returns the turns, and for each answer whether it is one.
fn settle(
    engine: &mut Engine,
    now: Timestamp,
    is_poison: impl Fn(&Body) -> bool,
) -> (Vec<Vec<Request>>, Vec<(Ticket, bool)>) {
    let (mut turns, mut answers) = (Vec::new(), Vec::new());
    let mut input = Input::TimePassed;
    for _ in 0..10_000 {
        let mut next = None;
        for output in engine.poll(now, input) {
            match output {
                Output::Turn(requests) => {
                    turns.push(requests.clone());
                    next = Some(end(requests, &is_poison));
                }
                Output::Answer(ticket, answer) => {
                    let failed = answer.err();
                    assert!(failed.as_ref().is_none_or(|error| *error == Unanswered::Failed));
                    answers.push((ticket, failed.is_none()));
                }
                Output::Run(effect) => panic!("no turn has effects: {effect:?}"),
            }
        }
        let Some(ended) = next else { return (turns, answers) };
        input = ended;
    }
    panic!("the engine makes turns without end");
}

#[test]
fn bisection_finds_one_failing_request_among_a_thousand() {
    let mut engine = engine();
    for number in 0..1_000 {
        engine.enqueue(Input::Asked { ticket: Ticket(number), body: post(number) });
    }
    let is_poison = |body: &Body| {
        let Body::Ledger(ledger::Request::Post(post)) = body else { return false };
        post.event.reference == "617"
    };
    let (turns, answers) = settle(&mut engine, start(), is_poison);
    assert!(turns.len() <= 25, "{} turns", turns.len());
    assert_eq!(answers.len(), 1_000);
    assert!(answers.iter().all(|(ticket, is_good)| *is_good == (*ticket != Ticket(617))));
    // In the order of the requests.
    assert!(answers.is_sorted());
    assert!(engine.is_idle() && !engine.has_work());
}

#[test]
fn a_lane_whose_first_flow_cannot_be_quarantined_is_paused_for_a_minute() {
    let mut engine = engine();
    let is_poison = |body: &Body| {
        let Body::Flows(request) = body else { return false };
        match request {
            flow::Request::ClaimDue(claim) => claim.lane == "payout",
            flow::Request::Quarantine(quarantine) => quarantine.lane == "payout",
            flow::Request::EffectOutcome(_) => false,
        }
    };
    let (turns, _) = settle(&mut engine, start(), is_poison);
    let is_quarantine =
        |request: &Request| matches!(request.body, Body::Flows(flow::Request::Quarantine(_)));
    let has_quarantine = |turns: &[Vec<Request>]| turns.iter().flatten().any(is_quarantine);
    assert!(has_quarantine(&turns));
    assert_eq!(engine.stats().alerts, 1);
    // Half a minute later the engine claims from all other lanes.
    let later = start() + SignedDuration::from_secs(30);
    let (turns, _) = settle(&mut engine, later, is_poison);
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].len(), 5, "approvals, leases, submissions, schedules, deliveries");
    let later = start() + SignedDuration::from_secs(61);
    let (turns, _) = settle(&mut engine, later, is_poison);
    assert!(has_quarantine(&turns), "the lane is claimed from again");
    // Once a claim succeeds, the lane is like any other.
    let later = start() + SignedDuration::from_secs(130);
    let (_, answers) = settle(&mut engine, later, |_| false);
    assert_eq!(answers, Vec::new());
    let (turns, _) = settle(&mut engine, later + SignedDuration::from_secs(1), |_| false);
    assert_eq!((turns.len(), turns[0].len()), (1, 6));
}

/// Makes one turn in which this lane is frozen, or not. Returns how many flows of it were claimed at most, if any.
fn claim_frozen(engine: &mut Engine, now: Timestamp, is_frozen: bool) -> Option<u32> {
    let mut limit = None;
    engine.enqueue(Input::TimePassed);
    for _ in 0..10 {
        let outputs = engine.poll(now, Input::TimePassed);
        let Some(Output::Turn(requests)) = outputs.into_iter().next() else { break };
        let answer = |request: &Request| {
            if let Body::Webhooks(_) = &request.body {
                let reply = webhooks::Reply::DeliveriesStarted(DeliveriesStarted::default());
                return Ok(Reply::Webhooks(reply));
            }
            let mut claimed = ClaimReply::default();
            if let Body::Flows(flow::Request::ClaimDue(claim)) = &request.body
                && claim.lane == "submit:payout:wallet"
            {
                limit = Some(claim.limit);
                let rest = Rest { why: Blocked::Frozen, until: None };
                claimed.rest = is_frozen.then_some(rest);
            }
            Ok(Reply::Flows(flow::Reply::Claimed(claimed)))
        };
        let answers = requests.iter().map(answer).collect();
        engine.enqueue(Input::Saved(Box::new(Commit { answers, ..empty_commit() })));
    }
    limit
}

#[test]
fn a_frozen_lane_is_left_alone_and_then_probed_with_one_flow() {
    let mut engine = engine();
    let at = |milliseconds| start() + SignedDuration::from_millis(milliseconds);
    assert_eq!(claim_frozen(&mut engine, at(0), true), Some(16));
    assert_eq!(claim_frozen(&mut engine, at(900), true), None);
    assert_eq!(claim_frozen(&mut engine, at(1_000), true), Some(1));
    assert_eq!(claim_frozen(&mut engine, at(1_500), true), None);
    assert_eq!(claim_frozen(&mut engine, at(2_000), false), Some(16), "a probe, then all");
    assert_eq!(claim_frozen(&mut engine, at(2_100), true), Some(16));
    // A clock that is set back does not keep it frozen.
    assert_eq!(claim_frozen(&mut engine, at(-60_000), true), Some(1));
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_claims() {
    let mut engine = engine();
    settle(&mut engine, start(), |_| false);
    let (turns, _) = settle(&mut engine, start() - SignedDuration::from_hours(1), |_| false);
    assert_eq!(turns.len(), 1);
}

/// Turns that had nothing to write do not clear `not_saved_at`: they prove nothing about the disk.
#[test]
fn an_engine_that_could_not_save_says_so_until_it_has_saved() {
    let mut engine = engine();
    let mut turn = |commit: Result<Commit, StoreError>| {
        engine.enqueue(Input::Asked { ticket: Ticket(1), body: post(1) });
        engine.poll(start(), Input::TimePassed);
        engine.enqueue(match commit {
            Ok(commit) => Input::Saved(Box::new(commit)),
            Err(error) => Input::NotSaved(error),
        });
        engine.stats().not_saved_at
    };
    assert_eq!(turn(Ok(empty_commit())), None);
    assert_eq!(turn(Err(StoreError::Unavailable("full".to_owned()))), Some(start()));
    assert_eq!(turn(Ok(empty_commit())), Some(start()), "nothing was written");
    assert_eq!(turn(Ok(Commit { time: Some(start()), ..empty_commit() })), None);
}

fn endpoint() -> EndpointId {
    EndpointId::new(start(), &Seed::from(1), 0)
}

fn round(scheduler: &mut FairScheduler<EndpointId>, now: Timestamp) -> Round<EndpointId> {
    scheduler.round(now, 500, 500).unwrap()
}

/// Otherwise the loop would run without a pause until an effect of the endpoint is done.
#[test]
fn a_full_endpoint_is_claimed_for_once_in_a_second() {
    let at = |second: i64| start() + SignedDuration::from_secs(second);
    let mut scheduler = FairScheduler::default();
    scheduler.start(endpoint(), 1, at(0));
    let full = RoundReply { full: [endpoint()].into(), ..RoundReply::default() };
    let first = round(&mut scheduler, at(2));
    assert!(scheduler.on_started(&first, full), "an endpoint behind it may have more due");
    let second = round(&mut scheduler, at(2));
    assert_eq!(second.skipped, [endpoint()].into());
    assert!(!scheduler.on_started(&second, RoundReply::default()), "there is nothing to start");
    assert_eq!(round(&mut scheduler, at(3)).skipped, [].into());
}

#[test]
fn a_clock_that_is_set_back_does_not_prolong_a_block() {
    let mut scheduler = FairScheduler::default();
    let first = round(&mut scheduler, start());
    let until = start() + SignedDuration::from_mins(30);
    let blocked = RoundReply { blocked: [(endpoint(), until)].into(), ..RoundReply::default() };
    scheduler.on_started(&first, blocked);
    assert_eq!(round(&mut scheduler, start()).skipped, [endpoint()].into());
    let back = start() - SignedDuration::from_hours(1);
    assert_eq!(round(&mut scheduler, back).skipped, [].into());
}
