//! `bursar serve` is killed repeatedly under load, with a hostile provider.
//!
//! `BURSAR_KILL_PAYOUTS` and `BURSAR_KILLS` extend the short default run.

use crate::chaos::{Fault, PAUSE, Plan, Store, survives};

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

fn plan() -> Plan {
    let kills = number("BURSAR_KILLS", 6);
    Plan {
        faults: vec![Fault::Kill; kills],
        minutes: None,
        seed: 11,
        payouts: Some(number("BURSAR_KILL_PAYOUTS", 300)),
        pace: None,
        pause: PAUSE,
        questions: (15 + 3 * kills, "1"),
    }
}

#[test]
fn one_process_on_sqlite_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    survives(Store::Sqlite, &plan());
}

#[test]
fn two_processes_on_postgres_that_are_killed_again_and_again_lose_and_double_nothing() {
    survives(Store::Postgres, &plan());
}
