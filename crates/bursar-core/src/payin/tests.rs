//! The whole table: every state, every word.

use super::{Said, State, Step, step};

#[test]
fn every_word_in_every_state_is_written_down() {
    let mut table = String::new();
    for state in State::ALL {
        for said in Said::ALL {
            let next = match step(state, said) {
                Step::Stays => "stays".to_owned(),
                Step::Moves { state, is_booked: true } => format!("{}, booked", state.status()),
                Step::Moves { state, is_booked: false } => state.status().to_owned(),
            };
            table += &format!("{:12} {:10} {next}\n", state.status(), format!("{said:?}"));
        }
    }
    insta::assert_snapshot!(table);
}

/// However its words are ordered and repeated, a pay-in is booked once if the provider ever says that it was paid.
#[test]
fn any_order_of_words_books_once() {
    for first in Said::ALL {
        for second in Said::ALL {
            for third in Said::ALL {
                let mut state = State::Pending;
                let mut booked = 0;
                for said in [first, second, third, first] {
                    if let Step::Moves { state: next, is_booked } = step(state, said) {
                        state = next;
                        booked += u32::from(is_booked);
                    }
                }
                let is_paid = [first, second, third].contains(&Said::Completed);
                assert_eq!(booked, u32::from(is_paid), "{first:?} {second:?} {third:?}");
                assert_eq!(state.is_booked(), is_paid);
            }
        }
    }
}
