//! The registry records of a turn by kind and id: their current values, which are changed, and which a decision relied
//! on.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::sync::Arc;

use jiff::Timestamp;

use crate::registry::{Content, Kind, Record, RecordKey, RecordWrite};

#[derive(Clone)]
pub(super) struct RecordCache {
    kinds: BTreeMap<Kind, BTreeMap<String, Entry>>,
    /// Records that exist but cannot be decoded: a request that relies on one is rejected.
    unreadable: Vec<RecordKey>,
}

#[derive(Clone)]
struct Entry {
    record: Arc<Record>,
    /// The version that was read; none if the record is new.
    read: Option<u64>,
    is_relied_on: bool,
}

impl Entry {
    fn is_changed(&self) -> bool {
        self.read != Some(self.record.version)
    }
}

impl RecordCache {
    pub(super) fn read(records: Vec<Arc<Record>>, unreadable: Vec<RecordKey>) -> Self {
        let mut kinds: BTreeMap<Kind, BTreeMap<String, Entry>> = BTreeMap::new();
        for record in records {
            let (kind, id, read) = (record.content.kind(), record.id.clone(), Some(record.version));
            kinds.entry(kind).or_default().insert(id, Entry { record, read, is_relied_on: false });
        }
        Self { kinds, unreadable }
    }

    pub(super) fn get(&self, kind: Kind, id: &str) -> Option<&Record> {
        self.kinds.get(&kind)?.get(id).map(|entry| &*entry.record)
    }

    /// Same, for a decision that depends on the record: its version becomes a precondition of the commit.
    pub(super) fn rely_on(&mut self, kind: Kind, id: &str) -> Option<&Record> {
        let entry = self.kinds.get_mut(&kind)?.get_mut(id)?;
        entry.is_relied_on = true;
        Some(&entry.record)
    }

    pub(super) fn is_unreadable(&self, kind: Kind, id: &str) -> bool {
        self.unreadable.iter().any(|key| key.kind == kind && key.id == id)
    }

    /// Creates or updates a record.
    pub(super) fn put(&mut self, key: RecordKey, content: Content, now: Timestamp) -> &Record {
        let entries = self.kinds.entry(key.kind).or_default();
        let record = |before: Option<&Record>, id| Record {
            id,
            version: before.map_or(0, |record| record.version).saturating_add(1),
            created_at: before.map_or(now, |record| record.created_at),
            updated_at: now,
            content,
        };
        match entries.entry(key.id) {
            btree_map::Entry::Occupied(entry) => {
                let entry = entry.into_mut();
                entry.record = Arc::new(record(Some(&entry.record), entry.record.id.clone()));
                &entry.record
            }
            btree_map::Entry::Vacant(entry) => {
                let record = Arc::new(record(None, entry.key().clone()));
                &entry.insert(Entry { record, read: None, is_relied_on: false }).record
            }
        }
    }

    /// The changed records, and the versions of unchanged records that a decision relied on. A changed record is
    /// checked by its own version.
    pub(super) fn into_writes(self) -> (Vec<RecordWrite>, Vec<(RecordKey, u64)>) {
        let (mut changed, mut relied_on) = (Vec::new(), Vec::new());
        for (kind, entries) in self.kinds {
            for (id, entry) in entries {
                if entry.is_changed() {
                    let after = Arc::unwrap_or_clone(entry.record);
                    changed.push(RecordWrite { before: entry.read, after });
                } else if entry.is_relied_on {
                    relied_on.push((RecordKey { kind, id }, entry.record.version));
                }
            }
        }
        (changed, relied_on)
    }
}
