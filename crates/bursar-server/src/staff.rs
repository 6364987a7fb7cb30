//! The people behind the keys of staff: who may approve, and whether the first set-up is over.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bursar_core::approvals::Approval;
use bursar_core::flow::{Kind as _, ReviewReason};
use bursar_core::four_eyes::Signature;
use bursar_core::registry::{Alert, Content, Kind, Role};
use bursar_store::{Browse as _, ReviewFilter};
use jiff::Timestamp;

use crate::App;
use crate::auth::holder;
use crate::problem::Problem;

/// Records that one query reads.
const PAGE: u32 = 500;

#[derive(Debug, Default)]
pub(crate) struct Staff {
    /// The keys in use that may approve.
    approvers: Vec<Signature>,
    /// The people with a key in use.
    people: BTreeSet<String>,
    /// The keys that may approve, in use or not.
    approving: Vec<ApprovingKey>,
}

/// When a person could approve with a key.
#[derive(Debug)]
struct ApprovingKey {
    person: String,
    is_admin: bool,
    from: Timestamp,
    until: Option<Timestamp>,
}

impl Staff {
    pub(crate) async fn read(app: &App) -> Result<Self, Problem> {
        let mut staff = Self::default();
        let mut after: Option<String> = None;
        loop {
            let cursor = after.clone();
            let read = app.0.readers.read(async move |store| {
                store.records(Kind::ApiKey, None, cursor.as_deref(), PAGE).await
            });
            let records = read.await?.records;
            after = records.last().map(|record| record.id.clone());
            if after.is_none() {
                return Ok(staff);
            }
            for record in records {
                let Content::ApiKey(key) = record.content else { continue };
                if key.role == Role::Merchant {
                    continue;
                }
                if key.role.may_approve() {
                    staff.approving.push(ApprovingKey {
                        person: key.person(),
                        is_admin: key.role == Role::Admin,
                        from: record.created_at,
                        until: key.revoked_at,
                    });
                }
                let Some(caller) = holder(&record.id, key) else { continue };
                staff.people.insert(caller.person());
                staff.approvers.extend(caller.is_approver().then(|| caller.signature()));
            }
        }
    }

    /// Whether there were two people who may approve at any time, one of them an admin. Keys that were revoked since count:
    /// otherwise one person could revoke the keys of all others in an emergency, and make the next two people alone.
    pub(crate) fn is_set_up(&self) -> bool {
        self.approving.iter().map(|key| key.from).any(|time| {
            let is_live =
                |key: &&ApprovingKey| key.from <= time && key.until.is_none_or(|end| time < end);
            let live = || self.approving.iter().filter(is_live);
            let people: BTreeSet<&str> = live().map(|key| key.person.as_str()).collect();
            people.len() >= 2 && live().any(|key| key.is_admin)
        })
    }

    /// Whether the person has a key in use.
    pub(crate) fn has_key(&self, person: &str) -> bool {
        self.people.contains(person)
    }

    fn can_decide(&self, approval: &Approval) -> bool {
        self.approvers.iter().any(|by| approval.check_signer(by).is_ok())
    }

    /// The summaries of open approvals that no key in use may sign.
    async fn blocked(&self, app: &App) -> Result<Vec<String>, Problem> {
        let read = app.0.readers.read(async |store| {
            let of = Some((Approval::INFO.name, ReviewReason::Approval));
            store.reviews(&ReviewFilter { of, merchant: None }, None, PAGE).await
        });
        let open = read.await?;
        let open = open.iter().filter_map(|(_, flow)| flow.as_ref()?.state.approval());
        let blocked = open.filter(|approval| !self.can_decide(approval));
        Ok(blocked.map(|approval| approval.summary.clone()).collect())
    }
}

/// The keys of staff are read again after this time.
const EVERY: Duration = Duration::from_secs(30);

/// What the watcher of alerts knows of the people who may approve.
#[derive(Debug, Default)]
pub(crate) struct StaffWatch {
    read_at: Option<Instant>,
    is_set_up: bool,
    /// Summaries of approvals that no key in use may sign.
    blocked: Vec<String>,
    /// The admin key of the environment was used, and the keys of staff were not read since.
    is_use_unread: bool,
    /// It was used after the first set-up.
    is_admin_used: bool,
}

impl StaffWatch {
    /// Reads the keys of staff if approvals are open or the admin key of the environment is used, and not too often.
    pub(crate) async fn look(&mut self, app: &App, has_open_approvals: bool) {
        let is_used = app.0.keys.take_admin_use() || self.is_use_unread;
        self.is_use_unread = is_used && !self.is_set_up;
        if !has_open_approvals {
            self.blocked.clear();
        }
        let is_old = self.read_at.is_none_or(|read_at| read_at.elapsed() >= EVERY);
        if is_old && (has_open_approvals || (is_used && !self.is_set_up)) {
            // If this fails, the next check reads them again.
            let Ok(staff) = Staff::read(app).await else { return };
            let Ok(blocked) = staff.blocked(app).await else { return };
            (self.is_set_up, self.blocked) = (staff.is_set_up(), blocked);
            self.read_at = Some(Instant::now());
            self.is_use_unread = false;
        }
        self.is_admin_used = is_used && self.is_set_up;
    }

    pub(crate) fn blocked(&self) -> Alert {
        let (count, first) = (self.blocked.len(), self.blocked.first());
        let detail = format!(
            "{count} proposals wait and no key in use may approve them, one of them to {}: make a key of a further approver (two people), or withdraw them",
            first.map_or("", String::as_str)
        );
        Alert { is_raised: count > 0, detail }
    }

    /// The alert while the admin key of the environment is in use.
    pub(crate) fn admin_key(&self) -> Option<(String, String)> {
        let detail = "the admin key of the environment is in use although two people have keys of their own: use theirs, and start the server without BURSAR_ADMIN_KEY";
        self.is_admin_used.then(|| ("bootstrap_key".to_owned(), detail.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{ApprovingKey, Staff};

    #[test]
    fn the_set_up_is_over_for_good_when_two_people_could_approve() {
        let key = |person: &str, is_admin, from, until: Option<i64>| {
            let at = |second| Timestamp::from_second(second).unwrap();
            let person = person.to_owned();
            ApprovingKey { person, is_admin, from: at(from), until: until.map(at) }
        };
        let cases = [
            (vec![], false),
            (vec![key("anna", true, 1, None)], false),
            (vec![key("anna", true, 1, None), key("anna", false, 2, None)], false),
            (vec![key("abid", false, 1, None), key("ben", false, 2, None)], false),
            // A key that was made by mistake, and revoked.
            (vec![key("rosa", true, 1, Some(2)), key("abid", false, 3, None)], false),
            (vec![key("anna", true, 1, None), key("abid", false, 2, None)], true),
            (vec![key("anna", true, 1, Some(9)), key("abid", false, 2, Some(9))], true),
        ];
        for (approving, expected) in cases {
            let staff = Staff { approving, ..Staff::default() };
            assert_eq!(staff.is_set_up(), expected, "{staff:?}");
        }
    }
}
