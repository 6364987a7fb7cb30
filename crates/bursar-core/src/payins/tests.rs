//! The whole table: every state, every report. Cases: what is kept, and what opens them.

use jiff::Timestamp;

use super::{
    Case, NewPayIn, OTHER_REPORTS_MAX, OtherReport, PayIn, ProviderStatus, State, Step, Terms,
    close_case, keep_report, step,
};
use crate::flow::Kind as _;
use crate::ledger::funds::Funds;
use crate::money::Money;

#[test]
fn every_word_in_every_state_is_written_down() {
    let pairs = State::ALL
        .into_iter()
        .flat_map(|state| ProviderStatus::ALL.map(|reported| (state, reported)));
    let line = |(state, reported): (State, ProviderStatus)| {
        let next = match step(state, reported) {
            Step::Stays => "stays".to_owned(),
            Step::Moves { state, is_booked: true } => format!("{}, booked", state.status()),
            Step::Moves { state, is_booked: false } => state.status().to_owned(),
        };
        format!("{:12} {:10} {next}", state.status(), format!("{reported:?}"))
    };
    let table: Vec<String> = pairs.map(line).collect();
    insta::assert_snapshot!(table.join("\n"));
}

/// In any order and with repetitions, a pay-in is booked once if and only if one report is `Completed`.
#[test]
fn any_order_of_words_books_once() {
    let reports = || ProviderStatus::ALL.into_iter();
    let orders = reports().flat_map(|one| {
        reports().flat_map(move |two| reports().map(move |three| [one, two, three]))
    });
    for order in orders {
        let mut state = State::Pending;
        let mut booked = 0;
        for reported in order.into_iter().chain(order) {
            if let Step::Moves { state: next, is_booked } = step(state, reported) {
                state = next;
                booked += u32::from(is_booked);
            }
        }
        let is_paid = order.contains(&ProviderStatus::Completed);
        assert_eq!(booked, u32::from(is_paid), "{order:?}");
        assert_eq!(state.is_booked(), is_paid);
    }
}

fn other(amount: &str, said: ProviderStatus) -> OtherReport {
    OtherReport::new(&report("m1", amount, "PKR", said), Timestamp::UNIX_EPOCH)
}

fn report(merchant: &str, amount: &str, currency: &str, said: ProviderStatus) -> NewPayIn {
    NewPayIn {
        key: None,
        actor: None,
        merchant: merchant.to_owned(),
        provider: "easypay".to_owned(),
        reference: "r-1".to_owned(),
        currency: currency.to_owned(),
        amount: amount.to_owned(),
        said,
        event: "e-1".to_owned(),
    }
}

#[test]
fn values_differ_by_what_they_mean() {
    let pkr = "PKR".parse().unwrap();
    let money = |minor| Money::from_minor(minor, pkr);
    let (merchant, bank) = ("m1".to_owned(), "main".to_owned());
    let funds = Funds { merchant, bank, amount: money(10_000), fee: money(0), vat: money(0) };
    let (provider, reference) = ("easypay".to_owned(), "r-1".to_owned());
    let terms = Terms { funds, provider, reference };
    let differs = |(merchant, amount, currency)| {
        let report = report(merchant, amount, currency, ProviderStatus::Completed);
        OtherReport::new(&report, Timestamp::UNIX_EPOCH).differs_from(&terms)
    };
    for same in [("m1", "100.00", "PKR"), ("m1", "100", "PKR"), ("m1", "100.0", "PKR")] {
        assert!(!differs(same), "{same:?}");
    }
    for other in [
        ("m2", "100.00", "PKR"),
        ("m1", "100.01", "PKR"),
        ("m1", "100.001", "PKR"),
        ("m1", "-100.00", "PKR"),
        ("m1", "1e2", "PKR"),
        ("m1", "", "PKR"),
        ("m1", "100.00", "USD"),
        ("m1", "100.00", "rupees"),
    ] {
        assert!(differs(other), "{other:?}");
    }
}

#[test]
fn a_report_is_kept_once_and_opens_a_closed_case_only_if_it_is_new() {
    let less = || other("90", ProviderStatus::Pending);
    let first = keep_report(None, less()).unwrap();
    assert_eq!(keep_report(Some(&first), less()), None);
    assert_eq!(close_case(None), None);
    let closed = close_case(Some(&first)).unwrap();
    assert_eq!(close_case(Some(&closed)), None);
    assert_eq!(keep_report(Some(&closed), less()), None, "an operator has seen it");
    for new in [other("91", ProviderStatus::Pending), other("90", ProviderStatus::Completed)] {
        let again = keep_report(Some(&closed), new).unwrap();
        assert_eq!((again.reports.len(), again.is_closed), (2, false));
    }
}

#[test]
fn a_full_case_grows_no_more_and_still_opens() {
    let amounts = (1..100).map(|amount| amount.to_string());
    let mut case: Option<Case> = None;
    for amount in amounts {
        case = keep_report(case.as_ref(), other(&amount, ProviderStatus::Completed)).or(case);
    }
    let full = case.unwrap();
    assert_eq!(full.reports.len(), OTHER_REPORTS_MAX);
    let closed = close_case(Some(&full)).unwrap();
    let again = keep_report(Some(&closed), other("99", ProviderStatus::Completed));
    assert_eq!(again, Some(full));
}

/// Pay-ins of earlier versions have no case, and are written as before.
#[test]
fn a_pay_in_without_a_case_is_stored_as_before() {
    let text = r#"{"terms":{"funds":{"merchant":"m1","bank":"b1","currency":"PKR","amount":1,"fee":0,"vat":0},"provider":"p","reference":"r"},"state":"collected","said":{}}"#;
    let payin: PayIn = serde_json::from_str(text).unwrap();
    assert_eq!((payin.case.as_ref(), payin.reason()), (None, None));
    assert_eq!(serde_json::to_string(&payin).unwrap(), text);
}

#[test]
fn merchants_can_subscribe_to_the_event_of_every_state() {
    assert_eq!(State::ALL.map(State::event), PayIn::INFO.merchant_events);
}
