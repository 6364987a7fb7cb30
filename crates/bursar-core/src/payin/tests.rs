//! The whole table: every state, every word.

use super::{Said, State, Step, step};

#[test]
fn every_word_in_every_state_is_written_down() {
    let pairs = State::ALL.into_iter().flat_map(|state| Said::ALL.map(|said| (state, said)));
    let line = |(state, said): (State, Said)| {
        let next = match step(state, said) {
            Step::Stays => "stays".to_owned(),
            Step::Moves { state, is_booked: true } => format!("{}, booked", state.status()),
            Step::Moves { state, is_booked: false } => state.status().to_owned(),
        };
        format!("{:12} {:10} {next}", state.status(), format!("{said:?}"))
    };
    let table: Vec<String> = pairs.map(line).collect();
    insta::assert_snapshot!(table.join("\n"));
}

/// However its words are ordered and repeated, a pay-in is booked once if the provider ever says that it was paid.
#[test]
fn any_order_of_words_books_once() {
    let words = || Said::ALL.into_iter();
    let orders = words()
        .flat_map(|one| words().flat_map(move |two| words().map(move |three| [one, two, three])));
    for order in orders {
        let mut state = State::Pending;
        let mut booked = 0;
        for said in order.into_iter().chain(order) {
            if let Step::Moves { state: next, is_booked } = step(state, said) {
                state = next;
                booked += u32::from(is_booked);
            }
        }
        let is_paid = order.contains(&Said::Completed);
        assert_eq!(booked, u32::from(is_paid), "{order:?}");
        assert_eq!(state.is_booked(), is_paid);
    }
}
