//! The records of a turn by kind and id: as they are now, which of them were changed, and which a decision relied on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use jiff::Timestamp;

use crate::registry::{Content, Kind, Record, RecordKey, RecordWrite};

pub(super) struct Shelf {
    kinds: BTreeMap<Kind, BTreeMap<String, Place>>,
    /// Those that are there and cannot be read: whatever relies on one of them is refused.
    unreadable: Vec<RecordKey>,
}

struct Place {
    record: Arc<Record>,
    /// The version that was read; none if the record is new.
    read: Option<u64>,
    is_relied_on: bool,
}

impl Place {
    fn is_changed(&self) -> bool {
        self.read != Some(self.record.version)
    }
}

impl Shelf {
    pub(super) fn read(records: Vec<Arc<Record>>, unreadable: Vec<RecordKey>) -> Self {
        let mut kinds: BTreeMap<Kind, BTreeMap<String, Place>> = BTreeMap::new();
        for record in records {
            let (kind, id, read) = (record.content.kind(), record.id.clone(), Some(record.version));
            kinds.entry(kind).or_default().insert(id, Place { record, read, is_relied_on: false });
        }
        Self { kinds, unreadable }
    }

    pub(super) fn get(&self, kind: Kind, id: &str) -> Option<&Record> {
        self.kinds.get(&kind)?.get(id).map(|place| &*place.record)
    }

    /// The same for a decision that holds only as long as the record is as it is.
    pub(super) fn rely_on(&mut self, kind: Kind, id: &str) -> Option<&Record> {
        let place = self.kinds.get_mut(&kind)?.get_mut(id)?;
        place.is_relied_on = true;
        Some(&place.record)
    }

    pub(super) fn is_unreadable(&self, kind: Kind, id: &str) -> bool {
        self.unreadable.iter().any(|key| key.kind == kind && key.id == id)
    }

    /// Makes a record, or changes the one that is there.
    pub(super) fn put(&mut self, key: RecordKey, content: Content, now: Timestamp) -> &Record {
        let places = self.kinds.entry(key.kind).or_default();
        let record = |before: Option<&Record>, id| Record {
            id,
            version: before.map_or(0, |record| record.version).saturating_add(1),
            created_at: before.map_or(now, |record| record.created_at),
            updated_at: now,
            content,
        };
        match places.entry(key.id) {
            Entry::Occupied(place) => {
                let place = place.into_mut();
                place.record = Arc::new(record(Some(&place.record), place.record.id.clone()));
                &place.record
            }
            Entry::Vacant(place) => {
                let record = Arc::new(record(None, place.key().clone()));
                &place.insert(Place { record, read: None, is_relied_on: false }).record
            }
        }
    }

    /// What has changed, and the versions of those that a decision relied on. What is changed is checked by its own version.
    pub(super) fn into_writes(self) -> (Vec<RecordWrite>, Vec<(RecordKey, u64)>) {
        let (mut changed, mut relied_on) = (Vec::new(), Vec::new());
        for (kind, places) in self.kinds {
            for (id, place) in places {
                if place.is_changed() {
                    let after = Arc::unwrap_or_clone(place.record);
                    changed.push(RecordWrite { before: place.read, after });
                } else if place.is_relied_on {
                    relied_on.push((RecordKey { kind, id }, place.record.version));
                }
            }
        }
        (changed, relied_on)
    }
}
