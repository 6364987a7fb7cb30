//! The behaviours of the provider, with weights in a thousand.

use super::Profile;
use super::dice::Dice;

/// What the provider does with a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Lost on the way: never processed.
    Lost,
    Paid,
    PaidLater,
    FailedLater,
    Refused,
    RefusedForNow,
}

/// How the provider answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Truth,
    /// No answer, until the client gives up.
    Hold,
    ServerError,
    HangUp,
    Garbage,
    /// Says that it is a duplicate, true or not.
    Duplicate,
}

type Rows<T> = &'static [(u64, T)];

const CALM: Rows<(Fate, Manner)> = &[(1_000, (Fate::Paid, Manner::Truth))];

const FLAKY: Rows<(Fate, Manner)> = &[
    (780, (Fate::Paid, Manner::Truth)),
    (120, (Fate::PaidLater, Manner::Truth)),
    (20, (Fate::Refused, Manner::Truth)),
    (20, (Fate::RefusedForNow, Manner::Truth)),
    (20, (Fate::Paid, Manner::ServerError)),
    (20, (Fate::Lost, Manner::ServerError)),
    (10, (Fate::Paid, Manner::Hold)),
    (10, (Fate::Lost, Manner::HangUp)),
];

const HOSTILE: Rows<(Fate, Manner)> = &[
    (280, (Fate::Paid, Manner::Truth)),
    (190, (Fate::PaidLater, Manner::Truth)),
    (60, (Fate::FailedLater, Manner::Truth)),
    (60, (Fate::Refused, Manner::Truth)),
    (40, (Fate::RefusedForNow, Manner::Truth)),
    (50, (Fate::Paid, Manner::ServerError)),
    (20, (Fate::PaidLater, Manner::ServerError)),
    (20, (Fate::Refused, Manner::ServerError)),
    (20, (Fate::Lost, Manner::ServerError)),
    (40, (Fate::Paid, Manner::HangUp)),
    (20, (Fate::FailedLater, Manner::HangUp)),
    (40, (Fate::Lost, Manner::HangUp)),
    (30, (Fate::Paid, Manner::Hold)),
    (10, (Fate::RefusedForNow, Manner::Hold)),
    (20, (Fate::Lost, Manner::Hold)),
    (30, (Fate::Paid, Manner::Garbage)),
    (20, (Fate::Refused, Manner::Garbage)),
    (30, (Fate::Paid, Manner::Duplicate)),
    (20, (Fate::PaidLater, Manner::Duplicate)),
];

/// An unreachable provider loses every submission.
const SILENT: Rows<(Fate, Manner)> = &[(1_000, (Fate::Lost, Manner::Hold))];

/// Pays another amount, and says so: at once, when it is asked, or in a callback.
const WRONG_AMOUNT: Rows<(Fate, Manner)> = &[
    (400, (Fate::Paid, Manner::Truth)),
    (300, (Fate::Paid, Manner::HangUp)),
    (300, (Fate::PaidLater, Manner::Truth)),
];

const CALM_ANSWERS: Rows<Manner> = &[(1_000, Manner::Truth)];
const FLAKY_ANSWERS: Rows<Manner> =
    &[(950, Manner::Truth), (30, Manner::ServerError), (10, Manner::HangUp), (10, Manner::Hold)];
const HOSTILE_ANSWERS: Rows<Manner> = &[
    (780, Manner::Truth),
    (90, Manner::ServerError),
    (50, Manner::HangUp),
    (50, Manner::Garbage),
    (30, Manner::Hold),
];
const SILENT_ANSWERS: Rows<Manner> = &[(1_000, Manner::Hold)];

/// The behaviour for a submission.
pub(super) fn submission(profile: Profile, dice: Dice) -> (Fate, Manner) {
    let rows = match profile {
        Profile::Calm => CALM,
        Profile::Flaky => FLAKY,
        Profile::Hostile => HOSTILE,
        Profile::Silent => SILENT,
        Profile::WrongAmount => WRONG_AMOUNT,
    };
    pick(rows, dice).unwrap_or((Fate::Lost, Manner::Hold))
}

/// How a query is answered.
pub(super) fn answer(profile: Profile, dice: Dice) -> Manner {
    let rows = match profile {
        Profile::Calm | Profile::WrongAmount => CALM_ANSWERS,
        Profile::Flaky => FLAKY_ANSWERS,
        Profile::Hostile => HOSTILE_ANSWERS,
        Profile::Silent => SILENT_ANSWERS,
    };
    pick(rows, dice).unwrap_or(Manner::Hold)
}

fn pick<T: Copy>(rows: Rows<T>, dice: Dice) -> Option<T> {
    let mut left = dice.which();
    for (weight, choice) in rows {
        match left.checked_sub(*weight) {
            Some(rest) => left = rest,
            None => return Some(*choice),
        }
    }
    None
}

/// Ranges of milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) answer: (u64, u64),
    /// From accepted to paid or failed.
    pub(super) finish: (u64, u64),
    /// Until a query finds a processed payment; never more than five seconds.
    pub(super) hidden: (u64, u64),
    /// How many of a thousand are hidden at first.
    pub(super) hidden_chance: u64,
    pub(super) callback: (u64, u64),
}

pub(super) const fn pace(profile: Profile) -> Pace {
    match profile {
        Profile::Calm | Profile::WrongAmount => Pace {
            answer: (0, 0),
            finish: (50, 1_000),
            hidden: (0, 0),
            hidden_chance: 0,
            callback: (0, 20),
        },
        Profile::Flaky => Pace {
            answer: (1, 40),
            finish: (50, 2_000),
            hidden: (50, 1_000),
            hidden_chance: 50,
            callback: (5, 200),
        },
        Profile::Hostile | Profile::Silent => Pace {
            answer: (5, 200),
            finish: (20, 6_000),
            hidden: (50, 4_500),
            hidden_chance: 250,
            callback: (0, 3_000),
        },
    }
}

/// Which callbacks follow when a payment is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallbackPlan {
    None,
    Once,
    Twice,
    /// Once, and then a late `pending`.
    OutOfOrder,
}

pub(super) fn callback_plan(profile: Profile, dice: Dice) -> CallbackPlan {
    let rows: Rows<CallbackPlan> = match profile {
        Profile::Calm | Profile::WrongAmount | Profile::Silent => &[(1_000, CallbackPlan::Once)],
        Profile::Flaky => {
            &[(900, CallbackPlan::Once), (50, CallbackPlan::Twice), (50, CallbackPlan::None)]
        }
        Profile::Hostile => &[
            (600, CallbackPlan::Once),
            (150, CallbackPlan::Twice),
            (150, CallbackPlan::OutOfOrder),
            (100, CallbackPlan::None),
        ],
    };
    pick(rows, dice).unwrap_or(CallbackPlan::None)
}

const BODIES: [&str; 8] = [
    "",
    "OK",
    "<html><body>Transaction completed</body></html>",
    "{\"status\":\"comple",
    "{\"status\":null}",
    "[\"completed\"]",
    "{\"status\":\"completed\",\"status\":\"failed\"}",
    "\u{fffd}\u{0}\u{1}",
];

/// A body that is not an answer.
pub(super) fn garbage(dice: Dice) -> &'static str {
    let at = usize::try_from(dice.which()).unwrap_or_default() % BODIES.len();
    BODIES.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total<T>(rows: Rows<T>) -> u64 {
        rows.iter().map(|(weight, _)| weight).sum()
    }

    #[test]
    fn every_table_adds_up_to_a_thousand() {
        for rows in [CALM, FLAKY, HOSTILE, SILENT, WRONG_AMOUNT] {
            assert_eq!(total(rows), 1_000);
        }
        for rows in [CALM_ANSWERS, FLAKY_ANSWERS, HOSTILE_ANSWERS, SILENT_ANSWERS] {
            assert_eq!(total(rows), 1_000);
        }
    }

    #[test]
    fn nothing_is_hidden_for_more_than_five_seconds() {
        for profile in Profile::ALL {
            let Pace { hidden: (_, most), finish, .. } = pace(profile);
            assert!(most < 5_000, "{profile}");
            assert!(profile != Profile::Calm || finish.1 < 5_000);
        }
    }
}
