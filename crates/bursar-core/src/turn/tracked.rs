//! Records of one kind in a turn: their current values, and the values that were read.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tracked<K, V>(BTreeMap<K, Record<V>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Record<V> {
    now: V,
    before: Before<V>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Before<V> {
    /// Unchanged since the read.
    Same,
    /// Absent at the read.
    Nothing,
    Was(V),
}

impl<K, V> Default for Tracked<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V> Tracked<K, V> {
    pub(crate) fn read(records: impl IntoIterator<Item = (K, V)>) -> Self {
        let record = |(key, now)| (key, Record { now, before: Before::Same });
        Self(records.into_iter().map(record).collect())
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key).map(|record| &record.now)
    }

    pub(crate) fn was_read(&self, key: &K) -> bool {
        self.0.get(key).is_some_and(|record| !matches!(record.before, Before::Nothing))
    }

    /// All records in order, changed or not.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, record)| (key, &record.now))
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        match self.0.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Record { now: value, before: Before::Nothing });
            }
            Entry::Occupied(mut entry) => {
                let record = entry.get_mut();
                let last = std::mem::replace(&mut record.now, value);
                if matches!(record.before, Before::Same) {
                    record.before = Before::Was(last);
                }
            }
        }
    }

    /// The changed records: as they were read, if they existed, and as they are now.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (Option<&V>, &V)> {
        self.0.values().filter_map(|record| match &record.before {
            Before::Same => None,
            Before::Nothing => Some((None, &record.now)),
            Before::Was(was) => Some((Some(was), &record.now)),
        })
    }

    /// The changed records in order: as they were read, if they existed, and as they are now.
    pub(crate) fn into_changed(self) -> impl Iterator<Item = (K, Option<V>, V)> {
        self.0.into_iter().filter_map(|(key, Record { now, before })| match before {
            Before::Same => None,
            Before::Nothing => Some((key, None, now)),
            Before::Was(was) => Some((key, Some(was), now)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Tracked;

    #[test]
    fn changed_records_keep_the_value_that_was_read() {
        let mut tracked = Tracked::read([(1, "a"), (2, "b"), (3, "c")]);
        tracked.put(2, "b'");
        tracked.put(2, "b''");
        tracked.put(4, "d");
        tracked.put(4, "d'");
        assert_eq!(tracked.get(&2), Some(&"b''"));
        let now: Vec<_> = tracked.iter().collect();
        assert_eq!(now, [(&1, &"a"), (&2, &"b''"), (&3, &"c"), (&4, &"d'")]);
        let changed: Vec<_> = tracked.into_changed().collect();
        assert_eq!(changed, [(2, Some("b"), "b''"), (4, None, "d'")]);
    }
}
