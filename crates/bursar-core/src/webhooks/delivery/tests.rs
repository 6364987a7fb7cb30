//! The whole machine as one table, the retry policy with its dates, and the health of an endpoint.

use jiff::{SignedDuration, Timestamp};

use super::step::give_up;
use super::{
    Context, DeadLetterReason, Delivery, Event, Outcome, Response, RetryPolicy, State, Step, Terms,
    Unsendable, step,
};
use crate::ids::{EndpointId, EventId, Seed};
use crate::webhooks::{
    CONCURRENCY, Endpoint, EventFilter, Health, HealthSignal, PAYLOAD_VERSION, Secret, Settings,
    Status,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + second).unwrap()
}

fn endpoint(status: Status) -> Endpoint {
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
        status,
        secrets: vec![Secret { sealed: "s".to_owned(), until: None }],
        event_sequence: 0,
        health: Health::default(),
    }
}

fn delivery(state: State, attempts: u32) -> Delivery {
    let terms = Terms {
        event: EventId::new(at(0), &Seed::from(1), 0),
        kind: "payout.success".to_owned(),
        endpoint: EndpointId::new(at(0), &Seed::from(2), 0),
        body: "{}".to_owned(),
    };
    Delivery { state, attempts, ..Delivery::new(terms, at(0)) }
}

fn without_jitter() -> RetryPolicy {
    RetryPolicy { jitter_percent: 0, ..RetryPolicy::default() }
}

fn answered(status: u16) -> Outcome {
    Outcome::Answered { status, retry_after: None, response: Response::new(b"") }
}

fn text(step: &Step) -> String {
    match step {
        Step::Stays => "stays".to_owned(),
        Step::Blocked { .. } => "blocked".to_owned(),
        Step::Sends(delivery) => {
            format!("{}, attempt {}", delivery.state.status(), delivery.attempts)
        }
        Step::Moves { delivery, sign } => {
            let reason = match delivery.state {
                State::Dlq { reason, .. } => format!(" {}", reason.name()),
                State::Pending { .. }
                | State::Delivering { .. }
                | State::WaitingRetry { .. }
                | State::Delivered
                | State::Cancelled { .. } => String::new(),
            };
            let sign = sign.map(|sign| format!(", {sign:?}")).unwrap_or_default();
            format!("{}{reason}{sign}", delivery.state.status())
        }
    }
}

#[test]
fn every_state_answers_every_event() {
    let states = [
        delivery(State::Pending { due: at(0) }, 0),
        delivery(State::Delivering { since: at(0), lease_until: at(35) }, 1),
        delivery(State::Delivering { since: at(0), lease_until: at(35) }, 8),
        delivery(State::WaitingRetry { due: at(60) }, 1),
        delivery(State::Delivered, 1),
        delivery(State::Dlq { reason: DeadLetterReason::Exhausted, since: at(9) }, 8),
        delivery(State::Cancelled { since: at(9) }, 1),
    ];
    let returned = |attempt, outcome| Event::Returned { attempt, took_ms: 5, outcome };
    let failed = Outcome::Failed { class: "dns".to_owned(), detail: "no such name".to_owned() };
    let unsendable = |what| Outcome::Unsendable { what, detail: "the key is not here".to_owned() };
    let off = Status::Disabled { reason: "by hand".to_owned(), at: at(0) };
    let (schedule, seed) = (without_jitter(), Seed::from(3));
    let mut table = Vec::new();
    for before in &states {
        let attempt = before.attempts;
        let events = [
            ("due", Event::Due),
            ("200", returned(attempt, answered(200))),
            ("200 of an attempt that was given up", returned(0, answered(200))),
            ("302", returned(attempt, answered(302))),
            ("410", returned(attempt, answered(410))),
            ("500", returned(attempt, answered(500))),
            ("500 of an attempt that was given up", returned(0, answered(500))),
            ("no answer", returned(attempt, failed.clone())),
            ("cannot be signed", returned(attempt, unsendable(Unsendable::Signing))),
            ("cannot be written", returned(attempt, unsendable(Unsendable::Serialisation))),
            ("no key", returned(attempt, unsendable(Unsendable::NoKey))),
            ("no means", returned(attempt, unsendable(Unsendable::LocalResourceExhausted))),
            ("endpoint off", Event::Cancelled),
            ("replayed", Event::Replayed),
        ];
        for (name, event) in events {
            for (endpoint, second) in
                [(Status::Enabled, 10), (Status::Enabled, 90), (off.clone(), 90)]
            {
                let endpoint = self::endpoint(endpoint);
                let context =
                    Context { now: at(second), seed, endpoint: &endpoint, schedule: &schedule };
                let found = text(&step(before, &event, &context));
                let (from, to) = (before.state.status(), endpoint.status.name());
                table.push(format!("{from:13} {attempt} {name:36} {to:8} {second}s  {found}"));
            }
        }
    }
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn only_unfinished_deliveries_are_given_up_and_a_sent_one_may_have_arrived() {
    let sent = State::Delivering { since: at(0), lease_until: at(35) };
    let states = [
        (State::Pending { due: at(0) }, Some((2, "SERIALISATION_FAILED"))),
        (State::WaitingRetry { due: at(60) }, Some((2, "SERIALISATION_FAILED"))),
        (sent, Some((1, "it may have arrived"))),
        (State::Delivered, None),
        (State::Dlq { reason: DeadLetterReason::Exhausted, since: at(9) }, None),
        (State::Cancelled { since: at(9) }, None),
    ];
    for (state, expected) in states {
        let before = delivery(state, 1);
        let given_up = give_up(&before, at(90));
        assert_eq!(given_up.is_some(), expected.is_some(), "{before:?}");
        let (Some(dead), Some((attempts, text))) = (given_up, expected) else { continue };
        let reason = DeadLetterReason::SerialisationFailed;
        assert_eq!(dead.state, State::Dlq { reason, since: at(90) });
        assert_eq!(dead.attempts, attempts);
        assert!(dead.last_error().unwrap().contains(text), "{dead:?}");
    }
}

#[test]
fn attempts_follow_the_retry_policy_and_end_in_the_dead_letters() {
    let (schedule, seed) = (without_jitter(), Seed::from(1));
    let endpoint = endpoint(Status::Enabled);
    let mut delivery = delivery(State::Pending { due: at(0) }, 0);
    let (mut now, mut times) = (at(0), Vec::new());
    loop {
        let context = Context { now, seed, endpoint: &endpoint, schedule: &schedule };
        let Step::Sends(sent) = step(&delivery, &Event::Due, &context) else { panic!("not sent") };
        times.push(now.duration_since(at(0)).as_mins());
        let event = Event::Returned { attempt: sent.attempts, took_ms: 1, outcome: answered(500) };
        let Step::Moves { delivery: failed, .. } = step(&sent, &event, &context) else {
            panic!("the delivery does not move");
        };
        delivery = failed;
        let State::WaitingRetry { due } = delivery.state else { break };
        now = due;
    }
    assert_eq!(delivery.state.status(), "DLQ");
    assert_eq!(times, [0, 1, 6, 36, 156, 876, 2_316, 6_636], "the last at 110 h 36 m");
}

#[test]
fn retry_after_is_honoured_up_to_a_maximum_and_no_retry_is_early() {
    let (hour, seed) = (SignedDuration::from_hours(1), Seed::from(1));
    let minutes = SignedDuration::from_mins;
    let schedule = without_jitter();
    for (asked, expected) in [
        (None, minutes(1)),
        (Some(SignedDuration::from_secs(1)), minutes(1)),
        (Some(hour), hour),
        (Some(hour * 1_000), hour * 72),
    ] {
        assert_eq!(schedule.pause(1, asked, &seed), Some(expected), "{asked:?}");
    }
    let jittery = RetryPolicy::default();
    let mut pauses = std::collections::BTreeSet::new();
    for number in 0..200 {
        let pause = jittery.pause(2, None, &Seed::from(number)).unwrap();
        assert!((minutes(5)..=SignedDuration::from_secs(330)).contains(&pause), "{pause:?}");
        pauses.insert(pause);
    }
    assert!(pauses.len() > 150, "deliveries that fail together do not retry together");
}

/// While file descriptors are exhausted, the endpoint loses no attempts, and its earlier response stays in the history.
#[test]
fn an_unsent_attempt_does_not_count_and_says_nothing_about_the_endpoint() {
    let (schedule, seed, endpoint) = (without_jitter(), Seed::from(1), endpoint(Status::Enabled));
    let context = |now| Context { now, seed, endpoint: &endpoint, schedule: &schedule };
    let attempt = |delivery: &Delivery, outcome: Outcome, now| {
        let Step::Sends(sent) = step(delivery, &Event::Due, &context(now)) else {
            panic!("not sent")
        };
        let event = Event::Returned { attempt: sent.attempts, took_ms: 1, outcome };
        let Step::Moves { delivery, sign } = step(&sent, &event, &context(now)) else {
            panic!("the delivery does not move")
        };
        let State::WaitingRetry { due } = delivery.state else { panic!("{:?}", delivery.state) };
        (delivery, due, sign)
    };
    let no_means = || {
        let detail = "too many open files".to_owned();
        Outcome::Unsendable { what: Unsendable::LocalResourceExhausted, detail }
    };
    let first = delivery(State::Pending { due: at(0) }, 0);
    let (mut delivery, mut due, _) = attempt(&first, answered(500), at(0));
    for _ in 0..100 {
        let (next, again, sign) = attempt(&delivery, no_means(), due);
        assert_eq!((again.duration_since(due), sign), (SignedDuration::from_secs(10), None));
        (delivery, due) = (next, again);
    }
    let errors: Vec<_> = delivery.history.iter().filter_map(|it| it.result.error()).collect();
    assert_eq!(errors, ["it answered 500", "no_means: too many open files"]);
    // The second attempt of the policy follows, with its own pause.
    let (delivery, again, sign) = attempt(&delivery, answered(500), due);
    assert_eq!((again.duration_since(due).as_mins(), sign), (5, Some(HealthSignal::Failed)));
    assert_eq!(delivery.attempts, 102, "numbers are not used twice");
}

/// D2: all deliveries fail in one turn, and their retries are spread evenly over the jitter.
#[test]
fn a_hundred_thousand_that_fail_together_come_back_spread_out() {
    const PARTS: i128 = 60;
    let (schedule, turn) = (RetryPolicy::default(), Seed::from(7));
    let seed = |number| {
        let id = crate::ids::DeliveryId::new(at(0), &Seed::from(number), 0);
        turn.child(["delivery", &crate::ids::FlowId::from(id).to_string()])
    };
    let seeds: Vec<Seed> = (0..100_000).map(seed).collect();
    for (attempt, step) in [(1, SignedDuration::from_mins(1)), (7, SignedDuration::from_hours(72))]
    {
        // A tenth of the pause, in sixty parts.
        let part = step.as_millis().div_euclid(10 * PARTS);
        let mut counts = std::collections::BTreeMap::<i128, u32>::new();
        for seed in &seeds {
            let late = schedule.pause(attempt, None, seed).unwrap() - step;
            assert!(!late.is_negative(), "no retry is early");
            *counts.entry(late.as_millis().div_euclid(part).min(PARTS - 1)).or_default() += 1;
        }
        assert_eq!(counts.len(), 60);
        let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
        // 1,667 on average.
        assert!(*least > 1_450 && *most < 1_900, "{least} to {most} behind attempt {attempt}");
    }
}

#[test]
fn one_event_alone_never_opens_a_breaker() {
    let schedule = without_jitter();
    let mut endpoint = endpoint(Status::Enabled);
    let id = |number| crate::ids::DeliveryId::new(at(0), &Seed::from(number), 0);
    for second in 0..100 {
        assert_eq!(endpoint.note(HealthSignal::Failed, id(1), (at(second), &schedule)), None);
    }
    assert_eq!(endpoint.health.breaker, None);
    for number in 2..=20 {
        endpoint.note(HealthSignal::Failed, id(number), (at(100), &schedule));
    }
    assert_eq!(endpoint.health.breaker.map(|breaker| breaker.until), Some(at(160)));
    endpoint.note(HealthSignal::Took, id(1), (at(130), &schedule));
    assert_eq!(endpoint.health, Health::default(), "one success closes it");
}

#[test]
fn a_filter_matches_its_event_types() {
    let filter = |kinds: &[&str]| EventFilter {
        endpoint: EndpointId::new(at(0), &Seed::from(1), 0),
        event_types: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        version: PAYLOAD_VERSION.to_owned(),
    };
    for (kinds, kind, expected) in [
        (&["*"][..], "payout.success", true),
        (&["*"], "payin.success", true),
        (&["*"], "reservation.settled", false),
        (&["*"], "alert.raised", false),
        (&["*"], "webhook_endpoint.disabled", false),
        (&["payout.*"], "payout.failed", true),
        (&["payout.*"], "payin.failed", false),
        (&["payin.success", "payout.failed"], "payout.failed", true),
        (&["payin.success", "payout.failed"], "payout.failed_too", false),
    ] {
        assert_eq!(filter(kinds).wants(kind), expected, "{kinds:?} {kind}");
    }
}

#[test]
fn any_response_body_is_kept_as_it_was() {
    assert_eq!(Response::new(b"ok"), Response::Text("ok".to_owned()));
    assert_eq!(Response::new(b"a\0b"), Response::Hex("610062".to_owned()));
    assert_eq!(Response::new(&[0xff, 0xfe]), Response::Hex("fffe".to_owned()));
}
