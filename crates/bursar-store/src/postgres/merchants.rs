//! Merchants that this process has read, kept for as long as no merchant changes.
//!
//! Whoever changes one also counts `head.merchants_version` up, in the same commit. A turn reads that version before any
//! merchant; as long as it is the one that these were read under, reading them again would find the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::plan::ReadPlan;
use bursar_core::registry::{Kind, Record, RecordKey};

/// Some megabytes; whoever has more merchants reads them again.
const KEPT_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Merchants {
    version: i64,
    kept: BTreeMap<String, Arc<Record>>,
}

impl Merchants {
    /// Forgets everything that is not of this version.
    pub(super) fn at(&mut self, version: i64) {
        if self.version != version {
            *self = Self { version, ..Self::default() };
        }
    }

    /// Those of a plan that are kept, and what must be read.
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

    /// Keeps what was read since `at`.
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

    use bursar_core::plan::ReadPlan;
    use bursar_core::registry::{Content, Kind, Merchant, MerchantStatus, Record, RecordKey};
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
            content: Content::Merchant(Merchant { name, status, subscriptions: Vec::new() }),
        })
    }

    /// How many of two merchants and an alert of the same name are known.
    fn known(merchants: &Merchants) -> usize {
        let alert = RecordKey { kind: Kind::Alert, id: "m1".to_owned() };
        let registry = [RecordKey::merchant("m1"), RecordKey::merchant("m2"), alert].into();
        let plan = ReadPlan { registry, ..ReadPlan::default() };
        let (known, unknown) = merchants.of(&plan);
        assert_eq!(known.len() + unknown.len(), 3);
        known.len()
    }

    #[test]
    fn merchants_are_known_until_one_of_them_changes() {
        let mut merchants = Merchants::default();
        merchants.at(7);
        merchants.keep(&[merchant("m1")]);
        assert_eq!(known(&merchants), 1);
        merchants.at(7);
        merchants.keep(&[merchant("m2")]);
        assert_eq!(known(&merchants), 2);
        merchants.at(8);
        assert_eq!(known(&merchants), 0);
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut merchants = Merchants::default();
        let all: Vec<_> = (0..=KEPT_MAX).map(|number| merchant(&format!("x{number}"))).collect();
        merchants.keep(&all);
        assert_eq!(merchants.kept.len(), 1);
    }
}
