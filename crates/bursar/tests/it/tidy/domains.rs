//! Which modules of the core each module may use.

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// Used by every domain: the turn, the flow, the ledger, the records, and plain values.
const SHARED: [&str; 12] = [
    "dispatch",
    "feed",
    "flow",
    "four_eyes",
    "idempotency",
    "ids",
    "ledger",
    "money",
    "numscript",
    "registry",
    "rejection",
    "rules",
];

/// A domain is one folder and uses `turn` and `SHARED`, and another domain only along the arrows that are listed here.
const DOMAINS: [(&str, &[&str]); 6] = [
    // A proposal has the request of another domain.
    ("approvals", &["payins", "payouts"]),
    ("freezes", &[]),
    ("payins", &[]),
    ("payouts", &["freezes"]),
    // A report about a restore has rows about payouts.
    ("restores", &["freezes", "payouts"]),
    ("webhooks", &[]),
];

/// The tables that list all domains.
const TABLES: [&str; 2] = ["flow/table.rs", "turn/request.rs"];

/// What is below the domains uses them only in the tables, or where a record or setting is theirs.
const BELOW: [(&str, &[&str]); 12] = [
    ("dispatch", &[]),
    // A commit has freezes, and emitting an event creates deliveries.
    ("turn", &["freezes", "registry", "webhooks"]),
    ("flow", &[]),
    // Records of beneficiaries and endpoints.
    ("registry", &["payouts", "webhooks"]),
    // Settings of channels and retries.
    ("rules", &["payouts", "webhooks"]),
    ("ledger", &[]),
    ("feed", &[]),
    ("four_eyes", &[]),
    ("idempotency", &[]),
    ("rejection", &[]),
    ("numscript", &[]),
    ("money", &[]),
];

/// The modules of the core that the files of each module name, without tests.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in sources() {
        let Some(path) = name.strip_prefix("crates/bursar-core/src/") else { continue };
        if path == "lib.rs" || path.contains("tests") || TABLES.contains(&path) {
            continue;
        }
        let module = path.split(['/', '.']).next().unwrap().to_owned();
        let modules = uses.entry(module).or_default();
        for rest in text.split("crate::").skip(1) {
            let grouped = rest.strip_prefix('{').and_then(|rest| rest.split('}').next());
            let names = grouped.map_or(vec![rest], |group| group.split(',').collect());
            let word = |text: &str| -> String {
                text.trim().chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
            };
            modules.extend(names.into_iter().map(word));
        }
    }
    uses
}

#[test]
fn domains_use_each_other_only_along_listed_arrows() {
    let domains: BTreeSet<&str> = DOMAINS.iter().map(|(name, _)| *name).collect();
    let listed: BTreeMap<&str, &[&str]> = DOMAINS.iter().chain(&BELOW).copied().collect();
    let uses = uses();
    for domain in &domains {
        assert!(uses.contains_key(*domain), "{domain} is a folder of the core");
    }
    for (module, used) in &uses {
        if module == "ids" {
            assert!(used.is_empty(), "ids uses {used:?}");
            continue;
        }
        let allowed = listed.get(module.as_str());
        let allowed =
            allowed.unwrap_or_else(|| panic!("list {module} and its arrows in this test"));
        for other in used.iter().filter(|other| domains.contains(other.as_str())) {
            assert!(
                other == module || allowed.contains(&other.as_str()),
                "{module} must not use {other}: list the arrow here, or move what both need below them"
            );
        }
        let is_known = |other: &&String| {
            !domains.contains(other.as_str())
                && *other != "turn"
                && !SHARED.contains(&other.as_str())
                && uses.contains_key(other.as_str())
        };
        assert_eq!(used.iter().find(is_known), None, "{module} uses a module that is not listed");
    }
}
