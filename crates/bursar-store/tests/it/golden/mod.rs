//! Golden files of every stored form: each variant, each optional field set and unset.
//!
//! A `.jsonl` file has one stored text per line, exactly as the stores keep it. One test decodes each text and encodes it
//! to the same bytes. Another checks that the constructors still produce these texts. `older.jsonl` has texts that only
//! earlier versions wrote. `BURSAR_BLESS=1` rewrites the files.

mod deliveries;
mod outcomes;
mod payins;
mod payouts;
mod records;
mod rows;

use bursar_core::flow::host::{Host, OutboxEntry, OutboxKind, Workflow};
use bursar_core::flow::{Backoff, Flow, Kind};
use bursar_core::payouts::Payout;
use bursar_core::webhooks::delivery::Delivery;

use crate::adapter::stored::{again, at, columns, delivery, flow, json, payin, payout, reply};
use crate::adapter::{assert_golden, golden, lines};

/// Every stored form. Its file is `golden/<form>.jsonl`.
const FORMS: [&str; 13] = [
    "payout",
    "payin",
    "delivery",
    "reply",
    "outcome",
    "host",
    "freeze_scope",
    "freeze",
    "merchant",
    "beneficiary",
    "api_key",
    "alert",
    "webhook_endpoint",
];

fn file(form: &str) -> String {
    format!("golden/{form}.jsonl")
}

#[test]
fn every_stored_record_reads_back() {
    for form in FORMS {
        let texts = golden(&file(form));
        assert!(texts.lines().count() > 1, "{form} has stored texts");
        for (number, text) in (1..).zip(texts.lines()) {
            assert_eq!(again(form, text), text, "{form}, line {number}");
        }
    }
}

/// Each line has a text of an earlier version, its form, and the text that this version writes for it.
#[test]
fn texts_of_earlier_versions_read_back() {
    for text in golden("golden/older.jsonl").lines() {
        let line: serde_json::Value = serde_json::from_str(text).unwrap();
        let field = |name: &str| line[name].as_str().unwrap();
        assert_eq!(again(field("form"), field("stored")), field("today"), "{}", field("why"));
    }
}

#[test]
fn constructors_write_every_stored_form() {
    let flows = flows();
    for kind in ["payout", "payin", "delivery"] {
        let of_kind = flows.iter().filter(|flow| flow.state.kind() == kind);
        assert_golden(&file(kind), &lines(of_kind.map(Flow::encode)));
    }
    assert_golden(&file("reply"), &lines(flows.iter().map(reply)));
    assert_golden("golden/columns.txt", &lines(flows.iter().map(columns)));
    assert_golden(&file("outcome"), &lines(outcomes::texts()));
    assert_golden(&file("host"), &lines(hosts().iter().map(json)));
    let (scopes, freezes) = records::freezes();
    assert_golden(&file("freeze_scope"), &lines(scopes));
    assert_golden(&file("freeze"), &lines(freezes));
    let records = records::texts();
    for kind in ["merchant", "beneficiary", "api_key", "alert", "webhook_endpoint"] {
        let of_kind = records.iter().filter(|(known, _)| *known == kind);
        assert_golden(&file(kind), &lines(of_kind.map(|(_, text)| text)));
    }
}

/// Every flow under the engine, then the first of each kind with a backoff and under every other host.
fn flows() -> Vec<Flow> {
    let payouts = payouts::all().into_iter().map(payout);
    let payins = payins::all().into_iter().map(payin);
    let deliveries = deliveries::all().into_iter().map(delivery);
    let states: Vec<_> = payouts.chain(payins).chain(deliveries).collect();
    let mut flows: Vec<Flow> =
        states.iter().map(|state| flow(state.clone(), None, Host::Engine)).collect();
    for kind in ["payout", "delivery"] {
        let first = states.iter().find(|state| state.kind() == kind).unwrap();
        for failures in [0, 2] {
            let backoff = Backoff { times: 3, until: at(500), failures };
            flows.push(flow(first.clone(), Some(backoff), Host::Engine));
        }
        flows.extend(hosts().into_iter().skip(1).map(|host| flow(first.clone(), None, host)));
    }
    flows
}

/// The engine, and workflows with every combination of optional fields.
fn hosts() -> Vec<Host> {
    let workflow = Workflow {
        id: "disbursement-m1-k1".to_owned(),
        outbox: None,
        notified_at: None,
        sweeps: 0,
    };
    let entry = |kind, tries| Workflow {
        outbox: Some(OutboxEntry { kind, available_at: at(7), tries }),
        ..workflow.clone()
    };
    let workflows = [
        workflow.clone(),
        entry(start::<Payout>(), 0),
        entry(start::<Delivery>(), 1),
        entry(OutboxKind::Wake, 2),
        Workflow { notified_at: Some(at(9)), ..workflow.clone() },
        Workflow { sweeps: 4, ..workflow.clone() },
        Workflow { notified_at: Some(at(9)), sweeps: 1, ..entry(OutboxKind::Wake, 3) },
    ];
    let temporal = workflows.map(|workflow| Host::Temporal(Box::new(workflow)));
    [Host::Engine].into_iter().chain(temporal).collect()
}

fn start<K: Kind>() -> OutboxKind {
    OutboxKind::Start(K::INFO.outbox.unwrap())
}
