//! Knowledge as a table, and the merge as a join.

use jiff::Timestamp;
use proptest::prelude::*;

use super::{Attempt, Evidence, Knowledge, Source, Verdict};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + second).unwrap()
}

fn attempt(tries: u32, verdicts: &[Verdict]) -> Attempt {
    let mut attempt = Attempt::new(1, "r".to_owned());
    attempt.tries = tries;
    for verdict in verdicts {
        attempt.merge(Evidence::new(Source::Query, *verdict), at(0));
    }
    attempt
}

#[test]
fn knowledge_follows_from_the_evidence() {
    use Verdict::{
        Accepted, AmountDiffers, AmountMissing, NotPaid, NotSent, Paid, Returned, Unknown,
    };
    let refused = NotPaid { is_retryable: false };
    let busy = NotPaid { is_retryable: true };
    let refused_try = |r#try, is_retryable| Verdict::Refused { r#try, is_retryable };
    let table: [(u32, &[Verdict], Knowledge); 33] = [
        (0, &[], Knowledge::NotSent),
        (1, &[], Knowledge::InFlight),
        (1, &[NotSent { r#try: 1 }], Knowledge::NotSent),
        (1, &[Unknown { r#try: 1 }], Knowledge::Unknown),
        // Proof that a try was not sent overrides an unknown outcome.
        (1, &[Unknown { r#try: 1 }, NotSent { r#try: 1 }], Knowledge::NotSent),
        (2, &[NotSent { r#try: 1 }], Knowledge::InFlight),
        (2, &[NotSent { r#try: 1 }, Unknown { r#try: 2 }], Knowledge::Unknown),
        (2, &[Unknown { r#try: 1 }, NotSent { r#try: 2 }], Knowledge::Unknown),
        (2, &[NotSent { r#try: 1 }, NotSent { r#try: 2 }], Knowledge::NotSent),
        (1, &[Accepted], Knowledge::Accepted),
        (1, &[Unknown { r#try: 1 }, Accepted], Knowledge::Accepted),
        (1, &[NotSent { r#try: 1 }, Accepted], Knowledge::Accepted),
        (1, &[Accepted, Paid], Knowledge::Paid),
        (1, &[Accepted, refused], Knowledge::NotPaid { is_retryable: false }),
        (1, &[busy], Knowledge::NotPaid { is_retryable: true }),
        (1, &[busy, refused], Knowledge::NotPaid { is_retryable: false }),
        (1, &[Paid, refused], Knowledge::Conflict),
        (1, &[Paid, Returned], Knowledge::Returned),
        (1, &[refused, Returned], Knowledge::Returned),
        (1, &[refused_try(1, true)], Knowledge::NotPaid { is_retryable: true }),
        (
            2,
            &[NotSent { r#try: 1 }, refused_try(2, false)],
            Knowledge::NotPaid { is_retryable: false },
        ),
        // A try with an unknown outcome may still arrive.
        (2, &[Unknown { r#try: 1 }, refused_try(2, true)], Knowledge::Unknown),
        (2, &[refused_try(2, true)], Knowledge::InFlight),
        (
            2,
            &[refused_try(1, true), refused_try(2, true)],
            Knowledge::NotPaid { is_retryable: true },
        ),
        (1, &[refused_try(1, true), Accepted], Knowledge::Accepted),
        (1, &[refused_try(1, true), Paid], Knowledge::Conflict),
        // Another amount is stronger than everything else that is said.
        (1, &[AmountDiffers], Knowledge::AmountDiffers),
        (1, &[AmountDiffers, Paid], Knowledge::AmountDiffers),
        (1, &[AmountDiffers, refused], Knowledge::AmountDiffers),
        (1, &[AmountDiffers, Paid, Returned], Knowledge::AmountDiffers),
        (1, &[Accepted, AmountMissing], Knowledge::AmountMissing),
        (1, &[AmountMissing, Paid], Knowledge::Paid),
        (1, &[AmountMissing, refused], Knowledge::Conflict),
    ];
    for (tries, verdicts, expected) in table {
        assert_eq!(attempt(tries, verdicts).knowledge(), expected, "{tries} {verdicts:?}");
    }
}

#[test]
fn evidence_is_bounded_and_a_new_verdict_is_kept() {
    let mut attempt = attempt(1, &[]);
    for number in 0..1_000 {
        let detail = Some(format!("said {number} times"));
        let evidence = Evidence { detail, ..Evidence::new(Source::Callback, Verdict::Accepted) };
        attempt.merge(evidence, at(number));
    }
    assert!(attempt.evidence().count() <= 64);
    attempt.merge(Evidence::new(Source::Callback, Verdict::Paid), at(2_000));
    assert_eq!(attempt.knowledge(), Knowledge::Paid);
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        (1..4_u32).prop_map(|r#try| Verdict::NotSent { r#try }),
        (1..4_u32).prop_map(|r#try| Verdict::Unknown { r#try }),
        (1..4_u32, any::<bool>())
            .prop_map(|(r#try, is_retryable)| Verdict::Refused { r#try, is_retryable }),
        Just(Verdict::Accepted),
        Just(Verdict::Paid),
        any::<bool>().prop_map(|is_retryable| Verdict::NotPaid { is_retryable }),
        Just(Verdict::Returned),
        Just(Verdict::AmountDiffers),
        Just(Verdict::AmountMissing),
    ]
}

fn evidence() -> impl Strategy<Value = (Evidence, i64)> {
    let source = prop::sample::select(vec![Source::Submission, Source::Callback, Source::Query]);
    let text = prop::option::of("[ab]");
    (source, verdict(), text.clone(), text, 0..9_i64).prop_map(
        |(source, verdict, provider_reference, detail, second)| {
            (
                Evidence {
                    source,
                    verdict,
                    provider_reference,
                    detail,
                    reported: None,
                    digest: None,
                },
                second,
            )
        },
    )
}

proptest! {
    /// Any order and any repetition give the same knowledge and the same record.
    #[test]
    fn evidence_merges_in_any_order(
        all in prop::collection::vec(evidence(), 0..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        tries in 0..4_u32,
    ) {
        let mut forwards = attempt(tries, &[]);
        for (evidence, second) in &all {
            forwards.merge(evidence.clone(), at(*second));
        }
        let mut shuffled = attempt(tries, &[]);
        let repeated = order.iter().filter(|_| !all.is_empty()).map(|index| index.get(&all));
        for (evidence, second) in repeated.chain(all.iter().rev()) {
            shuffled.merge(evidence.clone(), at(*second));
        }
        prop_assert_eq!(forwards.knowledge(), shuffled.knowledge());
        prop_assert_eq!(forwards, shuffled);
    }

    /// More evidence never returns an attempt to a state in which money could be sent again.
    #[test]
    fn a_paid_attempt_stays_paid_contradicted_or_returned(all in prop::collection::vec(evidence(), 0..12), tries in 0..4_u32) {
        let mut attempt = attempt(tries, &[Verdict::Paid]);
        for (evidence, second) in all {
            attempt.merge(evidence, at(second));
        }
        prop_assert!(attempt.was_paid());
        let is_kept = matches!(
            attempt.knowledge(),
            Knowledge::Paid
                | Knowledge::Returned
                | Knowledge::Conflict
                | Knowledge::AmountDiffers
        );
        prop_assert!(is_kept);
    }
}

#[test]
fn amounts_are_compared_as_money() {
    let asked = crate::money::Money::parse("1500.00", "PKR".parse().unwrap()).unwrap();
    let reported = |amount: Option<&str>, currency: Option<&str>| super::Reported {
        amount: amount.map(str::to_owned),
        currency: currency.map(str::to_owned),
    };
    for amount in [None, Some("1500"), Some("1500.0"), Some("1500.00"), Some("1500.0000")] {
        for currency in [None, Some("PKR"), Some("pkr")] {
            assert!(reported(amount, currency).is(asked), "{amount:?} {currency:?}");
        }
        assert!(!reported(amount, Some("USD")).is(asked), "{amount:?}");
    }
    for amount in ["1.00", "1500.01", "-1500.00", "1,500.00", "15e2", "1500.000001", "", "all"] {
        assert!(!reported(Some(amount), Some("PKR")).is(asked), "{amount}");
    }
}
