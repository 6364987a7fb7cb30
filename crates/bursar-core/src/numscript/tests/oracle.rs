//! A naive implementation of `send` and `save`: copies instead of undo, small numbers.

use std::collections::{BTreeMap, VecDeque};

use super::model::{
    Balance, Destination, Key, Overdraft, Program, Source, Statement, Target, Weights,
};

type Balances = BTreeMap<Key, i64>;

/// The account, the amount and the colour of a piece.
#[derive(Clone)]
struct Piece {
    account: &'static str,
    color: &'static str,
    amount: i64,
}

/// Source, destination, asset, colour, amount.
pub(super) type Movement = (&'static str, &'static str, &'static str, &'static str, i64);

pub(super) fn describe(movements: &[Movement]) -> String {
    let lines: Vec<_> = movements
        .iter()
        .map(|(source, destination, asset, color, amount)| {
            let color = if color.is_empty() { String::new() } else { format!(" ({color})") };
            format!("{source} -> {destination} {asset} {amount}{color}")
        })
        .collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") }
}

/// The movements of the program; `None` if it is rejected.
pub(super) fn run(program: &Program, balances: &[Balance]) -> Option<Vec<Movement>> {
    let mut balances: Balances =
        balances.iter().map(|balance| (balance.key, balance.amount)).collect();
    let mut movements = Vec::new();
    for statement in &program.0 {
        match statement {
            Statement::Save { asset, amount, account } => {
                let balance = balances.entry((*account, *asset, "")).or_default();
                let saved = amount.unwrap_or(i64::MAX);
                *balance = balance.saturating_sub(saved).max((*balance).min(0));
            }
            Statement::Send { asset, amount, source, destination } => {
                let pieces = match amount {
                    Some(amount) => take(source, *amount, asset, &mut balances)?,
                    None => take_all(source, asset, &mut balances)?,
                };
                if amount.is_some_and(|amount| amount != sum(&pieces)) {
                    return None;
                }
                let amount = sum(&pieces);
                let mut giving = Giving {
                    queue: pieces.into(),
                    asset,
                    balances: &mut balances,
                    movements: &mut movements,
                };
                giving.give(destination, amount);
            }
        }
    }
    Some(movements)
}

fn sum(pieces: &[Piece]) -> i64 {
    pieces.iter().map(|piece| piece.amount).sum()
}

fn split(amount: i64, weights: &Weights, count: usize) -> Vec<i64> {
    let weights: Vec<i64> = weights.of(count).into_iter().map(i64::from).collect();
    let whole: i64 = weights.iter().sum();
    let mut parts: Vec<i64> =
        weights.iter().map(|weight| (amount * weight).div_euclid(whole)).collect();
    let mut left = amount - parts.iter().sum::<i64>();
    for part in &mut parts {
        *part += left.min(1);
        left -= left.min(1);
    }
    parts
}

fn take_account(
    source: &Source,
    most: i64,
    asset: &'static str,
    balances: &mut Balances,
) -> Vec<Piece> {
    let Source::Account { account, color, overdraft } = source else { return Vec::new() };
    let balance = balances.entry((*account, asset, *color)).or_default();
    let available = match overdraft {
        _ if *account == "world" => most,
        Overdraft::None => *balance,
        Overdraft::UpTo(limit) => *balance + limit.max(&0),
        Overdraft::Unbounded => most,
    };
    let amount = available.max(0).min(most);
    *balance -= amount;
    vec![Piece { account, color, amount }].into_iter().filter(|piece| piece.amount > 0).collect()
}

/// Up to `most`; `None` if a share is missing.
fn take(
    source: &Source,
    most: i64,
    asset: &'static str,
    balances: &mut Balances,
) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    match source {
        Source::Account { .. } => pieces = take_account(source, most, asset, balances),
        Source::Max(cap, source) => {
            pieces = take(source, most.min((*cap).max(0)), asset, balances)?;
        }
        Source::List(sources) => {
            for source in sources {
                let taken = take(source, most - sum(&pieces), asset, balances)?;
                pieces.extend(taken);
            }
        }
        Source::OneOf(sources) => {
            for (at, source) in sources.iter().enumerate() {
                let mut attempt = balances.clone();
                let taken = take(source, most, asset, &mut attempt)?;
                if sum(&taken) == most || at + 1 == sources.len() {
                    *balances = attempt;
                    return Some(taken);
                }
            }
        }
        Source::Allotment(sources, weights) => {
            for (source, part) in sources.iter().zip(split(most, weights, sources.len())) {
                let taken = take(source, part, asset, balances)?;
                if sum(&taken) != part {
                    return None;
                }
                pieces.extend(taken);
            }
        }
    }
    Some(pieces)
}

fn take_all(source: &Source, asset: &'static str, balances: &mut Balances) -> Option<Vec<Piece>> {
    match source {
        Source::Account { account: "world", .. }
        | Source::Account { overdraft: Overdraft::Unbounded, .. }
        | Source::Allotment(..) => None,
        Source::Account { .. } => Some(take_account(source, i64::MAX, asset, balances)),
        Source::Max(cap, source) => take(source, (*cap).max(0), asset, balances),
        Source::OneOf(sources) => take_all(&sources[0], asset, balances),
        Source::List(sources) => {
            let mut pieces = Vec::new();
            for source in sources {
                pieces.extend(take_all(source, asset, balances)?);
            }
            Some(pieces)
        }
    }
}

struct Giving<'a> {
    queue: VecDeque<Piece>,
    asset: &'static str,
    balances: &'a mut Balances,
    movements: &'a mut Vec<Movement>,
}

impl Giving<'_> {
    fn give(&mut self, destination: &Destination, amount: i64) {
        match destination {
            Destination::Account(account) => self.deliver(Some(account), amount),
            Destination::Allotment(targets, weights) => {
                for (target, part) in targets.iter().zip(split(amount, weights, targets.len())) {
                    self.give_target(target, part);
                }
            }
            Destination::InOrder(capped, rest) => {
                let mut left = amount;
                for (cap, target) in capped {
                    let part = left.min((*cap).max(0));
                    self.give_target(target, part);
                    left -= part;
                }
                self.give_target(rest, left);
            }
            Destination::OneOf(capped, rest) => {
                let fits = capped.iter().find(|(cap, _)| *cap >= amount);
                self.give_target(fits.map_or(&**rest, |(_, target)| target), amount);
            }
        }
    }

    fn give_target(&mut self, target: &Target, amount: i64) {
        match target {
            Some(destination) => self.give(destination, amount),
            None => self.deliver(None, amount),
        }
    }

    /// To an account, or back to the senders.
    fn deliver(&mut self, to: Option<&'static str>, amount: i64) {
        let mut left = amount;
        while left > 0 {
            let mut first = self.queue.pop_front().unwrap();
            while let Some(next) = self
                .queue
                .front()
                .filter(|next| (next.account, next.color) == (first.account, first.color))
            {
                first.amount += next.amount;
                self.queue.pop_front();
            }
            let part = first.amount.min(left);
            left -= part;
            let receiver = to.unwrap_or(first.account);
            *self.balances.entry((receiver, self.asset, first.color)).or_default() += part;
            if let Some(to) = to {
                self.movements.push((first.account, to, self.asset, first.color, part));
            }
            first.amount -= part;
            if first.amount > 0 {
                self.queue.push_front(first);
            }
        }
    }
}
