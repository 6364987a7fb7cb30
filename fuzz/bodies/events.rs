//! Lines of `ledger import`: whatever they say, they are refused in words or become postings that balance, and nothing
//! that no store could keep.

use std::sync::LazyLock;

use bursar_core::ids::Seed;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::{Admission, LedgerEvent, Post};
use bursar_core::rules::Rules;
use bursar_core::turn::{ReadSet, Request, TurnInput, apply, plan, plan_second};
use jiff::Timestamp;

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::from(Rulebook::bundled().unwrap()));

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(32);
    let mut requests = Vec::new();
    for (line, number) in lines.zip(1..) {
        match LedgerEvent::from_line(line) {
            Ok(event) => {
                let now = Timestamp::UNIX_EPOCH;
                let admission = Admission::new(now, Seed::from(number));
                requests.push(Request { admission, body: Post { event, actor: None }.into() });
            }
            Err(reason) => assert!(!reason.is_empty()),
        }
    }
    let batch = TurnInput::new(&RULES, &requests);
    let records = ReadSet::default();
    plan_second(&batch, &plan(&batch), &records);
    let commit = apply(&batch, records);
    assert_eq!(commit.answers.len(), requests.len(), "each is answered");
    let accepted = commit.answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(commit.transactions.len() <= accepted, "nothing is posted that is refused");
    for transaction in &commit.transactions {
        let texts = [&*transaction.reference, &*transaction.event];
        assert!(!texts.iter().any(|text| text.contains('\0')), "{transaction:?}");
    }
    let delta: i128 = commit.accounts.iter().map(|write| i128::from(write.delta)).sum();
    assert!(commit.time.is_some() || delta == 0);
}
