//! The rows of a run by key: a short list at first, with an index once it is long.

use std::collections::BTreeMap;

use super::super::amount::Amount;
use super::super::value::Name;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) account: Name,
    pub(super) color: Name,
    pub(super) asset: Name,
}

/// A balance as far as the run has looked at it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The balance in the records, once it is read.
    pub(super) base: Option<Amount>,
    /// What the run has added since.
    pub(super) change: Amount,
}

impl Row {
    pub(super) const EMPTY: Self = Self { base: None, change: Amount::ZERO };

    pub(super) fn amount(&self) -> Amount {
        self.base.as_ref().map_or_else(|| self.change.clone(), |base| base.plus(&self.change))
    }
}

/// Templates touch a handful of rows, and comparing a few names is cheaper than keeping a tree.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// `None` where a row was removed.
    list: Vec<(Key, Option<Row>)>,
    index: BTreeMap<Key, usize>,
}

const LIST_MAX: usize = 16;

impl Rows {
    pub(super) fn get(&self, key: &Key) -> Option<&Row> {
        self.find(key).and_then(|at| self.list.get(at)).and_then(|(_, row)| row.as_ref())
    }

    /// The row, made by `first` if it is not there.
    pub(super) fn get_or(&mut self, key: Key, first: impl FnOnce(&Key) -> Row) -> &mut Row {
        let (key, slot) = self.slot(key);
        slot.get_or_insert_with(|| first(key))
    }

    /// Sets a row, or removes it.
    pub(super) fn put(&mut self, key: Key, row: Option<Row>) {
        self.slot(key).1 = row;
    }

    /// All rows of one account.
    pub(super) fn of_account<'s>(
        &'s self,
        account: &'s Name,
    ) -> impl Iterator<Item = (&'s Key, &'s Row)> {
        let empty = Name::from("");
        let first = Key { account: Name::clone(account), color: Name::clone(&empty), asset: empty };
        let indexed = self.index.range(first..).map(|(_, at)| *at);
        let listed = 0..if self.index.is_empty() { self.list.len() } else { 0 };
        indexed
            .chain(listed)
            .filter_map(|at| self.list.get(at))
            .take_while(|(key, _)| self.index.is_empty() || key.account == *account)
            .filter(|(key, _)| key.account == *account)
            .filter_map(|(key, row)| Some((key, row.as_ref()?)))
    }

    fn find(&self, key: &Key) -> Option<usize> {
        if self.index.is_empty() {
            return self.list.iter().position(|(known, _)| known == key);
        }
        self.index.get(key).copied()
    }

    #[expect(clippy::indexing_slicing, reason = "the position was just found or made")]
    fn slot(&mut self, key: Key) -> &mut (Key, Option<Row>) {
        let at = match self.find(&key) {
            Some(at) => at,
            None => self.add(key),
        };
        &mut self.list[at]
    }

    fn add(&mut self, key: Key) -> usize {
        let at = self.list.len();
        if at == LIST_MAX {
            let keys = self.list.iter().map(|(key, _)| key.clone());
            self.index = keys.zip(0..).collect();
        }
        if at >= LIST_MAX {
            self.index.insert(key.clone(), at);
        }
        if at == 0 {
            self.list.reserve(LIST_MAX >> 1);
        }
        self.list.push((key, None));
        at
    }
}
