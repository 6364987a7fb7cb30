//! What callers add to a payout: its hash, its limits, its labels, and what views show of it.

use super::*;
use crate::flow::Kind as _;
use crate::registry::hexadecimal;
use crate::rejection::Rejection;

fn new_payout() -> NewPayout {
    let terms = Arc::unwrap_or_clone(payout(State::Ready { not_before: at(0) }, 0).terms);
    NewPayout {
        merchant: "m1".to_owned(),
        channel: terms.channel,
        currency: "PKR".to_owned(),
        amount: "1500.00".to_owned(),
        beneficiary: terms.beneficiary,
        beneficiary_id: None,
        scheduled_at: None,
        remarks: ClientMetadata { trace_id: Some("t-1".to_owned()), ..ClientMetadata::default() },
    }
}

fn hash(payout: &NewPayout) -> String {
    hexadecimal(&payout.request_hash().unwrap())
}

/// Keys that earlier versions stored must be answered as before.
#[test]
fn a_request_without_external_id_and_description_has_the_hash_of_earlier_versions() {
    let plain = new_payout();
    let old = "66cc77b47150f89fb1dcf3702a15a59d1f580a04689cc38b4df9f9587575a8c4";
    assert_eq!(hash(&plain), old);
    let registered = NewPayout { beneficiary_id: Some("ben_1".to_owned()), ..plain.clone() };
    assert_eq!(hash(&registered), old, "the details are hashed, not where they come from");
    let text = |text: &str| Some(text.to_owned());
    let with = |external_id, description| {
        let remarks = ClientMetadata { external_id, description, ..plain.remarks.clone() };
        hash(&NewPayout { remarks, ..plain.clone() })
    };
    let hashes = [
        old.to_owned(),
        with(text("a"), None),
        with(text("b"), None),
        with(None, text("a")),
        with(None, text("")),
        with(text("a"), text("a")),
    ];
    for (number, one) in hashes.iter().enumerate() {
        assert!(!hashes[..number].contains(one), "request {number} has a hash of its own");
    }
}

#[test]
fn external_ids_and_descriptions_have_limits() {
    let external_id = |id: &str| {
        ClientMetadata { external_id: Some(id.to_owned()), ..ClientMetadata::default() }.check()
    };
    for good in ["1", "order/17 é", &"x".repeat(128), &"é".repeat(64)] {
        assert_eq!(external_id(good), Ok(()), "{good}");
    }
    for bad in ["", "a\nb", "\u{0}", "a\u{85}", &"x".repeat(129), &"é".repeat(65)] {
        assert_eq!(external_id(bad), Err(Rejection::BadExternalId), "{bad}");
    }
    let description = |text: &str| {
        ClientMetadata { description: Some(text.to_owned()), ..ClientMetadata::default() }.check()
    };
    for good in ["", "two\nlines", &"é".repeat(250)] {
        assert_eq!(description(good), Ok(()), "{good}");
    }
    for bad in ["a\u{0}", &"x".repeat(501)] {
        assert_eq!(description(bad), Err(Rejection::BadRemarks), "{bad}");
    }
}

fn with_remarks(trace_id: Option<&str>, external_id: Option<&str>) -> Payout {
    let mut payout = payout(State::Ready { not_before: at(0) }, 0);
    let text = |text: Option<&str>| text.map(str::to_owned);
    let (trace_id, external_id) = (text(trace_id), text(external_id));
    Arc::make_mut(&mut payout.terms).remarks =
        ClientMetadata { trace_id, external_id, ..ClientMetadata::default() };
    payout
}

#[test]
fn a_payout_has_each_label_once() {
    for (trace_id, external_id, expected) in [
        (None, None, vec![]),
        (Some("t"), None, vec!["t"]),
        (None, Some("e"), vec!["e"]),
        (Some("t"), Some("e"), vec!["t", "e"]),
        (Some("same"), Some("same"), vec!["same"]),
    ] {
        let payout = with_remarks(trace_id, external_id);
        assert_eq!(payout.labels().collect::<Vec<_>>(), expected);
    }
}

/// An attempt with these references of the channel.
fn attempt(number: u32, references: &[&str]) -> Attempt {
    let mut attempt = Attempt::new(number, format!("ref-{number}"));
    for reference in references {
        let provider_reference = Some((*reference).to_owned());
        let evidence = Evidence::new(Source::Callback, Verdict::Accepted);
        attempt.merge(Evidence { provider_reference, ..evidence }, at(1));
    }
    attempt
}

#[test]
fn the_provider_reference_is_that_of_the_settled_attempt_or_else_the_latest() {
    let (one, two, none) = (attempt(1, &["P-1"]), attempt(2, &["P-2"]), attempt(2, &[]));
    for (attempts, settled, expected) in [
        (vec![attempt(1, &[])], None, None),
        (vec![one.clone()], None, Some("P-1")),
        (vec![one.clone(), two.clone()], None, Some("P-2")),
        (vec![one.clone(), none.clone()], None, Some("P-1")),
        (vec![one.clone(), two.clone()], Some(1), Some("P-1")),
        (vec![one.clone(), two], Some(2), Some("P-2")),
        (vec![one, none], Some(2), None),
    ] {
        let payout = Payout { attempts, settled, ..payout(State::Success, 1) };
        assert_eq!(payout.provider_reference(), expected, "settled: {settled:?}");
    }
}
