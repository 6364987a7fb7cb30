//! The whole table: every state, every report.

use super::{ProviderStatus, State, Step, step};

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
