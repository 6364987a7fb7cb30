//! Approvals: what the auditor knows of them.

use super::kinds::Kind;

pub(crate) const KIND: Kind = Kind {
    name: "approval",
    letter: 'A',
    arrows: &[
        ("PROPOSED", &["APPROVED", "REJECTED", "WITHDRAWN", "EXPIRED", "STALE"]),
        ("BREAK_GLASS", &["APPROVED", "REJECTED"]),
        ("APPROVED", &[]),
        ("REJECTED", &[]),
        ("WITHDRAWN", &[]),
        ("EXPIRED", &[]),
        ("STALE", &[]),
    ],
    causes: |_, _| Vec::new(),
    outcome: |_, _| None,
    key: |_| None,
    order: |_| None,
    shown: |_| None,
};
