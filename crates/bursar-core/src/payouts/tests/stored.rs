//! The stored form of payouts: every stored payout reads back.

use super::*;
use crate::flow::host::Host;
use crate::ids::Seed;

fn flow(payout: Payout) -> Flow {
    Flow {
        id: FlowId::new(at(0), &Seed::from(1), 0),
        merchant: "m1".to_owned(),
        version: 1,
        sequence: 1,
        created_at: at(0),
        updated_at: at(0),
        state: FlowState::Payout(Box::new(payout)),
        backoff: None,
        host: Host::Engine,
    }
}

#[test]
fn every_stored_payout_reads_back() {
    let mut texts = Vec::new();
    for payout in states() {
        let flow = flow(payout);
        texts.push(flow.encode());
        assert_eq!(Flow::decode("payout", &flow.encode()).unwrap().state, flow.state);
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn absent_fields_may_be_stored_as_null() {
    let flow = flow(payout(State::Ready { not_before: at(0) }, 0));
    let (text, nothing) = (flow.encode(), r#""settled":null,"case":null,"proposal":null,"#);
    let written = text.replace(r#""hold_epoch""#, &format!(r#"{nothing}"hold_epoch""#));
    assert_ne!(written, text);
    assert_eq!(Flow::decode("payout", &written).unwrap().state, flow.state);
}
