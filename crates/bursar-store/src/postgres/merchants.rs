//! Cache of merchants, valid until any merchant changes.
//!
//! A commit that changes a merchant also increments `head.merchants_version`. A turn reads that version before any
//! merchant. The cache is valid while its version is the version of the head.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::registry::{Kind, Record, RecordKey};
use bursar_core::turn::ReadPlan;

/// Bounds the cache to some megabytes. When it is full, it is cleared.
const KEPT_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Merchants {
    version: i64,
    kept: BTreeMap<String, Arc<Record>>,
}

impl Merchants {
    /// Clears the cache if it has another version.
    pub(super) fn at(&mut self, version: i64) {
        if self.version != version {
            *self = Self { version, ..Self::default() };
        }
    }

    /// The cached records of a plan, and the keys of those to read.
    pub(super) fn of<'p>(&self, plan: &'p ReadPlan) -> (Vec<Arc<Record>>, Vec<&'p RecordKey>) {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for key in &plan.registry {
            let kept = self.kept.get(&key.id).filter(|_| key.kind == Kind::Merchant);
            match kept {
                Some(record) => known.push(Arc::clone(record)),
                None => unknown.push(key),
            }
        }
        (known, unknown)
    }

    /// Caches records that were read since `at`.
    pub(super) fn keep(&mut self, records: &[Arc<Record>]) {
        for record in records.iter().filter(|record| record.content.kind() == Kind::Merchant) {
            if self.kept.len() >= KEPT_MAX {
                self.kept.clear();
            }
            self.kept.insert(record.id.clone(), Arc::clone(record));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bursar_core::registry::{
        Content, DispatchShare, Kind, Merchant, MerchantStatus, Record, RecordKey,
    };
    use bursar_core::turn::ReadPlan;
    use jiff::Timestamp;

    use super::{KEPT_MAX, Merchants};

    fn merchant(id: &str) -> Arc<Record> {
        let (name, status) = (id.to_owned(), MerchantStatus::Open);
        let time = Timestamp::UNIX_EPOCH;
        Arc::new(Record {
            id: id.to_owned(),
            version: 1,
            created_at: time,
            updated_at: time,
            content: Content::Merchant(Merchant {
                name,
                status,
                event_filters: Vec::new(),
                dispatch: DispatchShare::default(),
            }),
        })
    }

    /// How many of two merchants and an alert with the same id are cached.
    fn cached(merchants: &Merchants) -> usize {
        let alert = RecordKey { kind: Kind::Alert, id: "m1".to_owned() };
        let registry = [RecordKey::merchant("m1"), RecordKey::merchant("m2"), alert].into();
        let plan = ReadPlan { registry, ..ReadPlan::default() };
        let (known, unknown) = merchants.of(&plan);
        assert_eq!(known.len() + unknown.len(), 3);
        known.len()
    }

    #[test]
    fn a_change_of_any_merchant_invalidates_the_cache() {
        let mut merchants = Merchants::default();
        merchants.at(7);
        merchants.keep(&[merchant("m1")]);
        assert_eq!(cached(&merchants), 1);
        merchants.at(7);
        merchants.keep(&[merchant("m2")]);
        assert_eq!(cached(&merchants), 2);
        merchants.at(8);
        assert_eq!(cached(&merchants), 0);
    }

    #[test]
    fn the_cache_is_bounded() {
        let mut merchants = Merchants::default();
        let all: Vec<_> = (0..=KEPT_MAX).map(|number| merchant(&format!("x{number}"))).collect();
        merchants.keep(&all);
        assert_eq!(merchants.kept.len(), 1);
    }
}
