//! Turns that fail, by hand: how often they run, and who is told.

use bursar_core::apply::apply;
use bursar_core::channel::{Channel, Clocks};
use bursar_core::commit::Commit;
use bursar_core::ids::{EndpointId, Seed};
use bursar_core::ledger::Event;
use bursar_core::records::ReadSet;
use bursar_core::request::{Batch, Body, Delivering, Reply, Request, Woken};
use bursar_core::rulebook::Rulebook;
use bursar_core::rules::Rules;
use bursar_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use super::mail::Mail;
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
    Body::Post(Event {
        name: "ADJUSTMENT_CREDIT".to_owned(),
        reference: reference.to_string(),
        variables: std::collections::BTreeMap::new(),
        effective_at: None,
    })
}

fn start() -> Timestamp {
    Timestamp::from_second(1_794_700_800).unwrap()
}

/// What is saved if nothing was asked.
fn nothing() -> Commit {
    let rules = Rules::from(Rulebook::bundled().unwrap());
    apply(&Batch::new(&rules, &[]), ReadSet::default())
}

/// What a world says that fails whenever one of these is in a turn, and wakes nobody otherwise.
fn end(requests: Vec<Request>, is_poison: impl Fn(&Body) -> bool) -> Input {
    if requests.iter().any(|request| is_poison(&request.body)) {
        return Input::Failed(Failed { requests, cause: Cause::Panicked });
    }
    let answer = |request: &Request| {
        let is_mail = matches!(request.body, Body::Mail(_));
        let mail = is_mail.then(|| Reply::Delivering(Delivering::default()));
        Ok(mail.unwrap_or_else(|| Reply::Woken(Woken::default())))
    };
    let answers = requests.iter().map(answer).collect();
    Input::Saved(Box::new(Commit { answers, ..nothing() }))
}

/// Runs turns until there is nothing more to do; says how many, and what came of it.
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
                Output::Do(effect) => panic!("nothing is done: {effect:?}"),
                Output::Send(parcel) => panic!("nothing is sent: {parcel:?}"),
            }
        }
        let Some(ended) = next else { return (turns, answers) };
        input = ended;
    }
    panic!("it never comes to rest");
}

#[test]
fn one_among_a_thousand_is_found_by_halving() {
    let mut engine = engine();
    for number in 0..1_000 {
        engine.enqueue(Input::Asked { ticket: Ticket(number), body: post(number) });
    }
    let is_poison = |body: &Body| matches!(body, Body::Post(event) if event.reference == "617");
    let (turns, answers) = settle(&mut engine, start(), is_poison);
    assert!(turns.len() <= 25, "{} turns", turns.len());
    assert_eq!(answers.len(), 1_000);
    assert!(answers.iter().all(|(ticket, is_good)| *is_good == (*ticket != Ticket(617))));
    // In the order in which they were asked.
    assert!(answers.is_sorted());
    assert!(engine.is_idle() && !engine.is_eager());
}

#[test]
fn a_lane_that_nothing_helps_rests_for_a_minute() {
    let mut engine = engine();
    let is_poison = |body: &Body| {
        let wakes = matches!(body, Body::Wake(wake) if wake.lane == "payout");
        wakes || matches!(body, Body::SetAside { lane, .. } if lane == "payout")
    };
    let (turns, _) = settle(&mut engine, start(), is_poison);
    let set_aside = |turns: &[Vec<Request>]| {
        let mut requests = turns.iter().flatten();
        requests.any(|request| matches!(request.body, Body::SetAside { .. }))
    };
    assert!(set_aside(&turns));
    assert_eq!(engine.stats().alerts, 1);
    // Half a minute later the other lanes are looked into, and that one is not.
    let later = start() + SignedDuration::from_secs(30);
    let (turns, _) = settle(&mut engine, later, is_poison);
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].len(), 5, "reservations, what sleeps or is to be sent, and what is told");
    let later = start() + SignedDuration::from_secs(61);
    let (turns, _) = settle(&mut engine, later, is_poison);
    assert!(set_aside(&turns), "tried again");
    // And once it goes well, it is a lane like any other.
    let later = start() + SignedDuration::from_secs(130);
    let (_, answers) = settle(&mut engine, later, |_| false);
    assert_eq!(answers, Vec::new());
    let (turns, _) = settle(&mut engine, later + SignedDuration::from_secs(1), |_| false);
    assert_eq!((turns.len(), turns[0].len()), (1, 6));
}

#[test]
fn a_clock_that_is_set_back_does_not_keep_flows_waiting() {
    let mut engine = engine();
    settle(&mut engine, start(), |_| false);
    let (turns, _) = settle(&mut engine, start() - SignedDuration::from_hours(1), |_| false);
    assert_eq!(turns.len(), 1);
}

/// Whoever watches must not be told that all is well by turns that had nothing to write.
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
    assert_eq!(turn(Ok(nothing())), None);
    assert_eq!(turn(Err(StoreError::Unavailable("full".to_owned()))), Some(start()));
    assert_eq!(turn(Ok(nothing())), Some(start()), "nothing was written");
    assert_eq!(turn(Ok(Commit { time: Some(start()), ..nothing() })), None);
}

/// Otherwise the loop would run without a pause until something of theirs comes back.
#[test]
fn whoever_takes_no_more_is_looked_at_once_in_a_second() {
    let at = |second: i64| start() + SignedDuration::from_secs(second);
    let endpoint = EndpointId::new(start(), &Seed::from(1), 0);
    let mut mail = Mail::default();
    mail.sent(endpoint, 1, at(0));
    let full = Delivering { full: [endpoint].into(), ..Delivering::default() };
    let first = mail.deliver(at(2), 500, 500).unwrap();
    assert!(mail.begun(&first, full.clone()), "somebody behind it may want something");
    let second = mail.deliver(at(2), 500, 500).unwrap();
    assert_eq!(second.skipped, [endpoint].into());
    assert!(!mail.begun(&second, Delivering::default()), "there is nothing to do");
    assert_eq!(mail.deliver(at(3), 500, 500).unwrap().skipped, [].into());
}

#[test]
fn a_clock_that_is_set_back_leaves_no_endpoint_alone_for_longer() {
    let endpoint = EndpointId::new(start(), &Seed::from(1), 0);
    let mut mail = Mail::default();
    let first = mail.deliver(start(), 500, 500).unwrap();
    let until = start() + SignedDuration::from_mins(30);
    mail.begun(&first, Delivering { blocked: [(endpoint, until)].into(), ..Delivering::default() });
    assert_eq!(mail.deliver(start(), 500, 500).unwrap().skipped, [endpoint].into());
    let back = start() - SignedDuration::from_hours(1);
    assert_eq!(mail.deliver(back, 500, 500).unwrap().skipped, [].into());
}
