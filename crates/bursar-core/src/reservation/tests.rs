//! The whole machine as one table, and the form in which it is kept.

use jiff::Timestamp;

use super::{Booking, Event, Reservation, State, Step, Terms, step};
use crate::flow::{Flow, FlowState, Parked};
use crate::funds::Funds;
use crate::host::Host;
use crate::ids::{FlowId, ReservationId, Seed};
use crate::money::Money;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + second).unwrap()
}

/// Expires at second 60.
fn reservation(state: State) -> Reservation {
    let money = |minor| Money::from_minor(minor, "PKR".parse().unwrap());
    let funds = Funds {
        merchant: "m1".to_owned(),
        bank: "b1".to_owned(),
        amount: money(150_000),
        fee: money(1_500),
        vat: money(240),
    };
    Reservation { terms: Terms { funds, expires_at: at(60) }, state }
}

#[test]
fn every_state_answers_every_event() {
    use Event::{Due, ReleaseAsked, SettlementAsked};
    use State::{Expired, Held, Released, Settled};
    let moves = |state, booking| Ok(Step::Moves { state, booking });
    let (stays, over) = (Ok(Step::Stays), Err("flow_ended"));
    let table = [
        (Held, SettlementAsked, 0, moves(Settled, Booking::Settle)),
        (Held, SettlementAsked, 61, moves(Settled, Booking::Settle)),
        (Held, ReleaseAsked, 0, moves(Released, Booking::Release)),
        (Held, ReleaseAsked, 61, moves(Released, Booking::Release)),
        (Held, Due, 59, stays),
        (Held, Due, 60, moves(Expired, Booking::Release)),
        (Settled, SettlementAsked, 0, over),
        (Settled, ReleaseAsked, 0, over),
        (Settled, Due, 60, stays),
        (Released, SettlementAsked, 0, over),
        (Released, ReleaseAsked, 0, over),
        (Released, Due, 60, stays),
        (Expired, SettlementAsked, 0, over),
        (Expired, ReleaseAsked, 0, over),
        (Expired, Due, 60, stays),
    ];
    let id = ReservationId::new(at(0), &Seed::from(1), 0);
    for (state, event, second, expected) in table {
        let found = step(id, &reservation(state), event, at(second));
        let found = found.map_err(|rejection| rejection.code());
        assert_eq!(found, expected, "{state:?} {event:?} at {second}");
    }
    for state in State::ALL {
        for event in Event::ALL {
            let is_listed = table.iter().any(|(known, by, ..)| (*known, *by) == (state, event));
            assert!(is_listed, "{state:?} {event:?} is not in the table");
        }
    }
}

#[test]
fn only_what_is_not_over_waits() {
    for state in State::ALL {
        assert_eq!(reservation(state).due().is_none(), state.is_final(), "{state:?}");
    }
}

#[test]
fn what_is_stored_reads_back() {
    let flow = |state, parked| Flow {
        id: FlowId::new(at(0), &Seed::from(1), 0),
        merchant: "m1".to_owned(),
        version: 1,
        sequence: 1,
        created_at: at(0),
        updated_at: at(0),
        state: FlowState::Reservation(reservation(state)),
        parked,
        host: Host::Engine,
    };
    for state in State::ALL {
        let flow = flow(state, None);
        assert_eq!(Flow::decode("reservation", &flow.encode()).unwrap().state, flow.state);
    }
    let parked = Some(Parked { times: 2, until: at(90), failures: 1 });
    let parked = flow(State::Held, parked);
    assert_eq!(Flow::decode("reservation", &parked.encode()).unwrap().parked, parked.parked);
    let text = flow(State::Held, None).encode();
    insta::assert_snapshot!(text);
    for (kind, text) in [
        ("reservation", text.replace("\"v\":1", "\"v\":2")),
        ("reservation", text.replace("held", "lost")),
        ("reservation", text.replace("PKR", "XYZ")),
        ("reservation", text.replace("\"fee\"", "\"tip\"")),
        ("journey", text.clone()),
    ] {
        assert!(Flow::decode(kind, &text).is_err(), "{kind} {text}");
    }
}

#[test]
fn what_is_refused_waits_ever_longer() {
    let mut flow = Flow {
        id: FlowId::new(at(0), &Seed::from(1), 0),
        merchant: "m1".to_owned(),
        version: 1,
        sequence: 1,
        created_at: at(0),
        updated_at: at(0),
        state: FlowState::Reservation(reservation(State::Held)),
        parked: None,
        host: Host::Engine,
    };
    assert_eq!(flow.due().unwrap().at, at(60));
    let mut pauses = Vec::new();
    for _ in 0..14 {
        flow = flow.park(at(60));
        pauses.push((flow.due().unwrap().at - at(60)).get_seconds());
    }
    let minutes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440, 1_440];
    assert_eq!(pauses, minutes.map(|minutes| minutes * 60));
}
