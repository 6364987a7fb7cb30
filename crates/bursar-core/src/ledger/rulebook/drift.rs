//! The drift check: does every template do what its mapping says?
//!
//! Each template runs on amounts that are all different. Its postings are read back as a journal and compared with the
//! mapping. Overdrafts are checked from both sides: an allowed overdraft must work without funds, and a forbidden one
//! must fail at the very posting for which a single unit is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::bind::Bound;
use super::rule::Rule;
use super::symbols::{Journal, Symbols, add};
use crate::ledger::chart::{Chart, GlCode, Side};
use crate::ledger::journal::{self, Posting};
use crate::money::{Currency, decimal};
use crate::numscript::amount::Amount;
use crate::numscript::{ErrorKind, Name, Snapshot};

/// A disagreement between chart, mapping and template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Drift {
    #[error("{event} has a mapping but no template: write `{event}.num`")]
    MissingTemplate { event: Name },
    #[error("{event} has a template but no mapping: add its journal lines")]
    MissingMapping { event: Name },
    #[error("the template of {event} cannot be read:\n{rendered}")]
    BadTemplate { event: Name, rendered: String },
    #[error("{event} books on {code}, which is not in the chart: add it there")]
    UnknownCode { event: Name, code: GlCode },
    #[error("{event} books on {code}, which has no address in the chart: give it one")]
    CodeWithoutAddress { event: Name, code: GlCode },
    #[error(
        "the template of {event} asks for `${variable}`, which its mapping does not have: remove it, or name it as the mapping does"
    )]
    UnmappedVariable { event: Name, variable: String },
    #[error(
        "the mapping of {event} needs `${variable}`, which its template does not declare: add it"
    )]
    MissingVariable { event: Name, variable: String },
    #[error(
        "mapping and chart do not agree what {event} does to a hold: its line raises a code with the view `hold` to open one and lowers it to end one, and says so"
    )]
    WrongHold { event: Name },
    #[error(
        "the template of {event} does more than plain sends: use sums of variables, from one account to one account"
    )]
    NotPlain { event: Name },
    #[error("{event} has more amounts than can be told apart: split it into two events")]
    TooManyAmounts { event: Name },
    #[error("the template of {event} does not run on funded accounts: {reason}")]
    DoesNotRun { event: Name, reason: String },
    #[error("the template of {event} does not keep double entry: {reason}")]
    NotDoubleEntry { event: Name, reason: String },
    #[error(
        "{event} should {side} {code} with {} {currency} and does so with {}: compare template and mapping",
        decimal(*expected, *currency),
        decimal(*found, *currency)
    )]
    WrongAmount {
        event: Name,
        code: GlCode,
        side: Side,
        currency: Currency,
        expected: i128,
        found: i128,
    },
    #[error(
        "{event} takes {code} below zero although its mapping does not allow it: remove the overdraft, or name it in the mapping"
    )]
    HiddenOverdraft { event: Name, code: GlCode },
    #[error(
        "the mapping of {event} allows an overdraft of {code} on one line and not on another: make them alike"
    )]
    MixedOverdraft { event: Name, code: GlCode },
}

/// The balance of each code in each currency.
type Funds = BTreeMap<(GlCode, Currency), i128>;

/// Runs one rule on symbolic amounts. No drift is an empty list.
pub(super) fn check(rule: &Rule, chart: &Chart) -> Vec<Drift> {
    let event = || Name::clone(&rule.event);
    let mixed = mixed_overdrafts(rule, chart);
    if !mixed.is_empty() {
        return mixed;
    }
    let Some(symbols) = Symbols::new(rule) else {
        return vec![Drift::TooManyAmounts { event: event() }];
    };
    let bound = match symbols.bind(rule) {
        Ok(bound) => bound,
        Err(rejection) => {
            return vec![Drift::DoesNotRun { event: event(), reason: rejection.to_string() }];
        }
    };
    let funds = symbols.needs(rule, chart);
    let postings = match run(&bound, &funds) {
        Ok(postings) => postings,
        Err(kind) => return vec![Drift::DoesNotRun { event: event(), reason: kind.to_string() }],
    };
    let found = match journal_of(&postings, &bound) {
        Ok(found) => found,
        Err(reason) => return vec![Drift::NotDoubleEntry { event: event(), reason }],
    };
    let wrong = compare(rule, &symbols.journal(rule), &found);
    if !wrong.is_empty() {
        return wrong;
    }
    hidden_overdrafts(rule, &bound, &funds, &postings)
}

fn mixed_overdrafts(rule: &Rule, chart: &Chart) -> Vec<Drift> {
    let mut allowed: BTreeMap<GlCode, bool> = BTreeMap::new();
    let mut drifts = Vec::new();
    for line in &rule.lines {
        for code in line.falling(chart) {
            let is_allowed = line.overdraft == Some(code);
            if *allowed.entry(code).or_insert(is_allowed) != is_allowed {
                drifts.push(Drift::MixedOverdraft { event: Name::clone(&rule.event), code });
            }
        }
    }
    drifts
}

fn journal_of(postings: &[Posting], bound: &Bound<'_>) -> Result<Journal, String> {
    let legs = journal::legs(postings, |address| bound.classify(address).map(|gl| &**gl))
        .map_err(|error| error.to_string())?;
    let mut journal = Journal::new();
    for leg in legs {
        add(
            &mut journal,
            (leg.money.currency(), leg.code, leg.side),
            i128::from(leg.money.minor()),
        );
    }
    Ok(journal)
}

fn compare(rule: &Rule, expected: &Journal, found: &Journal) -> Vec<Drift> {
    let keys: BTreeSet<_> = expected.keys().chain(found.keys()).copied().collect();
    let amount = |journal: &Journal, key| journal.get(key).copied().unwrap_or_default();
    keys.iter()
        .filter(|key| amount(expected, key) != amount(found, key))
        .map(|key| {
            let (currency, code, side) = *key;
            let (expected, found) = (amount(expected, key), amount(found, key));
            let event = Name::clone(&rule.event);
            Drift::WrongAmount { event, code, side, currency, expected, found }
        })
        .collect()
}

/// Runs each posting out of an account that must have funds with one unit too little; the template must fail there.
fn hidden_overdrafts(
    rule: &Rule,
    bound: &Bound<'_>,
    funds: &Funds,
    postings: &[Posting],
) -> Vec<Drift> {
    let mut drifts = Vec::new();
    let mut spent = Funds::new();
    for posting in postings {
        let Some(gl) = bound.classify(&posting.source) else { continue };
        let key = (gl.code, posting.money.currency());
        if !funds.contains_key(&key) {
            continue;
        }
        let amount = i128::from(posting.money.minor());
        add(&mut spent, key, amount);
        let mut short = funds.clone();
        short.insert(key, spent.get(&key).copied().unwrap_or_default().saturating_sub(1));
        let is_refused_here = run(bound, &short).is_err_and(|kind| {
            matches!(kind, ErrorKind::MissingFunds { needed, available, .. }
                if needed == Amount::from(amount) && available == Amount::from(amount.saturating_sub(1)))
        });
        if !is_refused_here {
            drifts.push(Drift::HiddenOverdraft { event: Name::clone(&rule.event), code: gl.code });
        }
    }
    drifts
}

fn run(bound: &Bound<'_>, funds: &Funds) -> Result<Vec<Posting>, ErrorKind> {
    let mut snapshot = Snapshot::default();
    for account in bound.accounts() {
        if let Some(amount) = funds.get(&(account.gl.code, account.currency)) {
            snapshot.set_balance(&account.address, &account.asset, "", Amount::from(*amount));
        }
    }
    let outcome = bound.run(&snapshot).map_err(|error| error.kind)?;
    let postings = outcome.postings.iter().map(|posting| bound.posting(posting));
    postings
        .map(|posting| posting.map_err(|error| ErrorKind::Internal { reason: error.to_string() }))
        .collect()
}
