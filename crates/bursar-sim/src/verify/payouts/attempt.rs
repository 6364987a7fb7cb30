//! All evidence about one attempt of two tries, in every order and repeatedly: it gives one knowledge.

use bursar_core::payouts::attempt::{Attempt, Evidence, Knowledge, Source, Verdict};
use jiff::Timestamp;

use super::{Said, Tried, VERDICTS};
use crate::verify::World;
use crate::verify::explore::{Broken, Correction, Model, Nexts};
use crate::verify::rule::Rule;

pub(super) type MergeFn = fn(&mut Attempt, Evidence, Timestamp) -> bool;

#[derive(Debug)]
struct Around {
    merge: MergeFn,
}

/// The world around what is made of evidence, as shipped or with a mistake.
pub(super) fn world(merge: MergeFn) -> World {
    World::new("evidence about an attempt", Around { merge })
}

impl Around {
    fn attempt(&self, said: Said) -> Attempt {
        attempt(Tried { tries: 2, has_ended: false, said, ours: [false; 2] }, self.merge)
    }

    fn after(&self, before: &Attempt, before_said: Said, verdict: Verdict) -> Result<Said, Broken> {
        let broken = |rule, what: &str| Err(Broken::new(rule, what));
        let mut after = before.clone();
        (self.merge)(&mut after, said(verdict), Timestamp::UNIX_EPOCH);
        let mut again = after.clone();
        if (self.merge)(&mut again, said(verdict), Timestamp::MAX) || again != after {
            return broken(Rule::I13, "repeated, it counts again");
        }
        // As if it had been said in the order of the list: so every order gives the same.
        let known = before_said.with(verdict);
        if after != self.attempt(known) {
            return broken(Rule::I13, "in another order, it means something else");
        }
        if before.was_paid() && !(after.was_paid() && is_paid(&after)) {
            return broken(Rule::K1, "it was paid, and is known as something else");
        }
        for tried in histories(before_said) {
            let later = Tried { said: tried.weighed().said.with(verdict), ..tried };
            if later.weighed() != (Tried { said: known, ..tried }).weighed() {
                return broken(Rule::W1, "what was left out makes a difference later");
            }
        }
        Ok(known)
    }
}

/// What is known of an attempt about which this was said.
fn attempt(tried: Tried, merge: MergeFn) -> Attempt {
    let mut attempt = Attempt::new(1, String::new());
    attempt.tries = tried.tries;
    attempt.ended = tried.has_ended.then_some(tried.tries);
    for verdict in tried.said.verdicts() {
        merge(&mut attempt, said(verdict), Timestamp::UNIX_EPOCH);
    }
    attempt
}

/// The worlds around payouts forget what is outweighed: nothing follows from it.
fn check_weighing(said: Said) -> Result<(), Broken> {
    let follows = |tried: Tried| {
        let attempt = attempt(tried, Attempt::merge);
        // Only a second try is ever waited for, and only if the whole is said not to be paid.
        let is_not_paid = matches!(attempt.knowledge(), Knowledge::NotPaid { .. });
        let is_out = is_not_paid && attempt.tries > 1 && attempt.is_last_try_out();
        let settled = (attempt.was_returned(), attempt.is_contradicted());
        (attempt.knowledge(), attempt.was_paid(), settled, is_out)
    };
    if histories(said).into_iter().any(|tried| follows(tried) != follows(tried.weighed())) {
        return Err(Broken::new(Rule::W1, "what was left out makes a difference"));
    }
    Ok(())
}

/// One try, two, or two of which the second has come back.
fn histories(said: Said) -> [Tried; 3] {
    [(1, false), (2, false), (2, true)].map(|(tries, has_ended)| Tried {
        tries,
        has_ended,
        said,
        ours: [false; 2],
    })
}

fn said(verdict: Verdict) -> Evidence {
    Evidence::new(Source::Callback, verdict)
}

fn is_paid(attempt: &Attempt) -> bool {
    match attempt.knowledge() {
        Knowledge::Paid
        | Knowledge::Returned
        | Knowledge::Conflict
        | Knowledge::AmountMissing
        | Knowledge::AmountDiffers => true,
        Knowledge::NotSent
        | Knowledge::InFlight
        | Knowledge::Unknown
        | Knowledge::Accepted
        | Knowledge::NotPaid { .. } => false,
    }
}

impl Around {
    fn known(&self, said: Said) -> &'static str {
        match self.attempt(said).knowledge() {
            Knowledge::NotSent => "not sent",
            Knowledge::InFlight => "in flight",
            Knowledge::Unknown => "unknown",
            Knowledge::Accepted => "accepted",
            Knowledge::NotPaid { .. } => "not paid",
            Knowledge::Paid => "paid",
            Knowledge::Returned => "returned",
            Knowledge::Conflict => "conflict",
            Knowledge::AmountMissing => "paid, without an amount",
            Knowledge::AmountDiffers => "paid, with another amount",
        }
    }
}

impl Model for Around {
    type World = Said;
    type Happening = Verdict;

    fn start(&self) -> Said {
        Said::default()
    }

    fn next(&self, world: &Said) -> Nexts<Verdict, Said> {
        let before = self.attempt(*world);
        let is_sound = check_weighing(*world);
        let after = |verdict| {
            (verdict, is_sound.clone().and_then(|()| self.after(&before, *world, verdict)))
        };
        VERDICTS.into_iter().map(after).collect()
    }

    fn is_over(&self, world: &Said) -> bool {
        world.is_paid() || world.is_not_paid()
    }

    fn correction(&self, _: &Said, _: &Said) -> Option<Correction> {
        // Knowledge has no end: whatever is said is added.
        None
    }

    fn narrate(&self, world: &Said, happening: &Verdict) -> String {
        let (before, after) = (self.known(*world), self.known(world.with(*happening)));
        format!("It is said: {happening:?}. It was {before}, it is {after}.")
    }

    fn rules(&self) -> Vec<Rule> {
        vec![Rule::I13, Rule::K1, Rule::W1, Rule::L1]
    }
}
