//! The balances that a run has seen and changed, with undo.

use std::collections::BTreeMap;

use super::super::Mode;
use super::super::amount::Amount;
use super::super::value::Name;
use super::Records;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) account: Name,
    pub(super) color: Name,
    pub(super) asset: Name,
}

/// Reads through to the records, remembers what it read, and keeps the changes of the run.
pub(super) struct Balances<'a> {
    records: &'a dyn Records,
    mode: Mode,
    rows: BTreeMap<Key, Amount>,
    /// What each row was before a change, while an attempt may still be undone.
    undo: Vec<(Key, Option<Amount>)>,
    attempts: usize,
}

impl<'a> Balances<'a> {
    pub(super) fn new(records: &'a dyn Records, mode: Mode) -> Self {
        Self { records, mode, rows: BTreeMap::new(), undo: Vec::new(), attempts: 0 }
    }

    /// Makes sure that the row is known, as the records have it. The outside world has no balance to read.
    pub(super) fn load(&mut self, key: &Key) -> &Amount {
        let records = self.records;
        self.rows.entry(key.clone()).or_insert_with_key(|key| match &*key.account {
            "world" => Amount::ZERO,
            account => records.balance(account, &key.asset, &key.color),
        })
    }

    /// Makes every scale of an asset known that the records have for the account.
    pub(super) fn load_scales(&mut self, account: &Name, base: &str) {
        if &**account == "world" {
            return;
        }
        for (asset, amount) in self.records.scales(account, base) {
            let key = Key { account: Name::clone(account), color: Name::from(""), asset };
            self.rows.entry(key).or_insert(amount);
        }
    }

    /// The balance a source is measured by. Compat never looks behind a row that a credit made.
    pub(super) fn get(&mut self, key: &Key) -> Amount {
        match self.mode {
            Mode::Safe => self.load(key).clone(),
            Mode::Compat => self.rows.get(key).cloned().unwrap_or(Amount::ZERO),
        }
    }

    pub(super) fn set(&mut self, key: Key, amount: Amount) {
        if self.attempts > 0 {
            self.undo.push((key.clone(), self.rows.get(&key).cloned()));
        }
        self.rows.insert(key, amount);
    }

    pub(super) fn credit(&mut self, key: Key, amount: &Amount) {
        let balance = self.get(&key).plus(amount);
        self.set(key, balance);
    }

    pub(super) fn debit(&mut self, key: Key, amount: &Amount) {
        let balance = self.get(&key).minus(amount);
        self.set(key, balance);
    }

    /// Whether any balance of the account has been seen.
    pub(super) fn knows(&self, account: &Name) -> bool {
        self.of_account(account).next().is_some()
    }

    /// The uncoloured rows of one account.
    pub(super) fn uncolored(&self, account: &Name) -> impl Iterator<Item = (&Name, &Amount)> {
        self.of_account(account)
            .filter(|(key, _)| key.color.is_empty())
            .map(|(key, amount)| (&key.asset, amount))
    }

    fn of_account(&self, account: &Name) -> impl Iterator<Item = (&Key, &Amount)> {
        let empty = Name::from("");
        let first = Key { account: Name::clone(account), color: Name::clone(&empty), asset: empty };
        let account = Name::clone(account);
        self.rows.range(first..).take_while(move |(key, _)| key.account == account)
    }

    /// Starts an attempt that `finish` either keeps or undoes.
    pub(super) fn attempt(&mut self) -> usize {
        self.attempts = self.attempts.saturating_add(1);
        self.undo.len()
    }

    pub(super) fn finish(&mut self, mark: usize, keep: bool) {
        self.attempts = self.attempts.saturating_sub(1);
        if keep && self.attempts == 0 {
            self.undo.clear();
        }
        while !keep && self.undo.len() > mark {
            let Some((key, before)) = self.undo.pop() else { return };
            match before {
                Some(amount) => self.rows.insert(key, amount),
                None => self.rows.remove(&key),
            };
        }
    }
}
