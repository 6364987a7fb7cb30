//! The balances that a run has seen and changed, with undo.

use super::super::Mode;
use super::super::amount::Amount;
use super::super::value::Name;
use super::Records;
use super::rows::{Key, Row, Rows};

/// Reads through to the records, remembers what it read, and keeps the changes of the run.
pub(super) struct Balances<'a> {
    records: &'a dyn Records,
    mode: Mode,
    rows: Rows,
    /// The value of each row before a change, while an attempt may still be undone.
    undo: Vec<(Key, Option<Row>)>,
    attempts: usize,
}

impl<'a> Balances<'a> {
    pub(super) fn new(records: &'a dyn Records, mode: Mode) -> Self {
        Self { records, mode, rows: Rows::default(), undo: Vec::new(), attempts: 0 }
    }

    /// The balance, from the records at its first use. Upstream takes a row that only a credit created for the whole
    /// balance, and so does compat mode.
    pub(super) fn load(&mut self, key: &Key) -> Amount {
        let (records, mode) = (self.records, self.mode);
        let row = self
            .rows
            .get_or(key.clone(), |key| Row { base: Some(read(records, key)), ..Row::EMPTY });
        if row.base.is_none() && mode == Mode::Safe {
            row.base = Some(read(records, key));
        }
        row.amount()
    }

    /// Makes every scale of an asset known that the records have for the account, and counts them.
    pub(super) fn load_scales(&mut self, account: &Name, base: &str) -> u32 {
        let mut count: u32 = 0;
        if &**account == "world" {
            return count;
        }
        for (asset, amount) in self.records.scales(account, base) {
            let key = Key { account: Name::clone(account), color: Name::from(""), asset };
            let row = self.rows.get_or(key, |_| Row::EMPTY);
            if row.base.is_none() && (self.mode == Mode::Safe || row.change.is_zero()) {
                row.base = Some(amount);
            }
            count = count.saturating_add(1);
        }
        count
    }

    /// The balance a source is measured by. Compat sees only what was loaded before the program ran.
    pub(super) fn get(&mut self, key: &Key) -> Amount {
        match self.mode {
            Mode::Safe => self.load(key),
            Mode::Compat => self.rows.get(key).map_or(Amount::ZERO, Row::amount),
        }
    }

    pub(super) fn set(&mut self, key: Key, amount: Amount) {
        self.note(&key);
        self.rows.put(key, Some(Row { base: Some(amount), ..Row::EMPTY }));
    }

    pub(super) fn credit(&mut self, key: Key, amount: &Amount) {
        self.note(&key);
        let row = self.rows.get_or(key, |_| Row::EMPTY);
        row.change = row.change.plus(amount);
    }

    pub(super) fn debit(&mut self, key: Key, amount: &Amount) {
        self.note(&key);
        let row = self.rows.get_or(key, |_| Row::EMPTY);
        row.change = row.change.minus(amount);
    }

    /// Remembers a row before it changes.
    fn note(&mut self, key: &Key) {
        if self.attempts > 0 {
            self.undo.push((key.clone(), self.rows.get(key).cloned()));
        }
    }

    /// Whether any balance of the account has been seen.
    pub(super) fn knows(&self, account: &Name) -> bool {
        self.rows.of_account(account).next().is_some()
    }

    /// The uncoloured balances of one account.
    pub(super) fn uncolored<'s>(
        &'s self,
        account: &'s Name,
    ) -> impl Iterator<Item = (&'s Name, Amount)> {
        let rows = self.rows.of_account(account).filter(|(key, _)| key.color.is_empty());
        rows.map(|(key, row)| (&key.asset, row.amount()))
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
            self.rows.put(key, before);
        }
    }
}

/// The outside world has no balance to read.
fn read(records: &dyn Records, key: &Key) -> Amount {
    match &*key.account {
        "world" => Amount::ZERO,
        account => records.balance(account, &key.asset, &key.color),
    }
}
