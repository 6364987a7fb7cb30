//! Decimals in and out, checked arithmetic, and splits that lose nothing.

use proptest::prelude::*;

use super::{Currency, Money, MoneyError, decimal};

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

#[test]
fn every_market_has_its_decimals() {
    for (code, decimals, asset) in [
        ("PKR", 2, "PKR/2"),
        ("BDT", 2, "BDT/2"),
        ("NPR", 2, "NPR/2"),
        ("IQD", 3, "IQD/3"),
        ("EGP", 2, "EGP/2"),
        ("JPY", 0, "JPY/0"),
    ] {
        assert_eq!(currency(code).decimals(), decimals, "{code}");
        assert_eq!(currency(code).asset(), asset);
        assert_eq!(Currency::from_asset(asset), Some(currency(code)));
    }
    assert_eq!(Currency::from_asset("PKR"), None);
    assert_eq!(Currency::from_asset("PKR/3"), None);
}

#[test]
fn unknown_currency_codes_are_rejected() {
    for text in ["", "pkr", "PK", "PKRR", "XAU", "ÄÖ", "ZZZ"] {
        assert!(text.parse::<Currency>().is_err(), "{text}");
    }
}

#[test]
fn decimals_are_read_exactly() {
    for (text, code, minor) in [
        ("1500.00", "PKR", 150_000),
        ("1500", "PKR", 150_000),
        ("0.5", "PKR", 50),
        ("-0.05", "PKR", -5),
        ("007.10", "PKR", 710),
        ("1.234", "IQD", 1_234),
        ("12", "JPY", 12),
        ("92233720368547758.07", "PKR", i64::MAX),
        ("-92233720368547758.08", "PKR", i64::MIN),
    ] {
        assert_eq!(Money::parse(text, currency(code)).unwrap().minor(), minor, "{text}");
    }
}

#[test]
fn wrong_decimals_say_what_is_wrong() {
    let messages: Vec<String> = [
        ("", "PKR"),
        ("1,500.00", "PKR"),
        ("1.5e3", "PKR"),
        ("+1", "PKR"),
        ("1.", "PKR"),
        (".5", "PKR"),
        ("--1", "PKR"),
        ("1 ", "PKR"),
        ("١", "PKR"),
        ("1.500", "PKR"),
        ("1.2345", "IQD"),
        ("1.0", "JPY"),
        ("92233720368547758.08", "PKR"),
    ]
    .into_iter()
    .map(|(text, code)| {
        format!("{code} {text}: {}", Money::parse(text, currency(code)).unwrap_err())
    })
    .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn arithmetic_is_checked() {
    let (pkr, bdt) = (currency("PKR"), currency("BDT"));
    let most = Money::from_minor(i64::MAX, pkr);
    let one = Money::from_minor(1, pkr);
    assert_eq!(most.checked_add(one), Err(MoneyError::Overflow));
    assert_eq!(Money::from_minor(i64::MIN, pkr).checked_sub(one), Err(MoneyError::Overflow));
    assert_eq!(Money::from_minor(i64::MIN, pkr).checked_neg(), Err(MoneyError::Overflow));
    assert_eq!(
        one.checked_add(Money::from_minor(1, bdt)),
        Err(MoneyError::CurrencyMismatch { left: pkr, right: bdt })
    );
}

#[test]
fn basis_points_round_half_away_from_zero() {
    let pkr = currency("PKR");
    for (minor, points, expected) in [
        (10_000, 290, 290),
        (50, 100, 1),
        (49, 100, 0),
        (-50, 100, -1),
        (-49, 100, 0),
        (i64::MAX, 10_000, i64::MAX),
    ] {
        let part = Money::from_minor(minor, pkr).basis_points(points).unwrap();
        assert_eq!(part.minor(), expected, "{minor} × {points}");
    }
    assert_eq!(Money::from_minor(i64::MAX, pkr).basis_points(20_000), Err(MoneyError::Overflow));
}

#[test]
fn the_largest_remainder_gets_the_odd_unit() {
    let parts = |minor, weights: &[u32]| -> Vec<i64> {
        let money = Money::from_minor(minor, currency("PKR"));
        money.split(weights).unwrap().into_iter().map(Money::minor).collect()
    };
    assert_eq!(parts(100, &[1, 1, 1]), [34, 33, 33]);
    assert_eq!(parts(-100, &[1, 1, 1]), [-34, -33, -33]);
    assert_eq!(parts(11, &[5, 3, 2]), [6, 3, 2]);
    assert_eq!(parts(1, &[0, 1]), [0, 1]);
    assert_eq!(parts(0, &[1, 2]), [0, 0]);
    assert_eq!(Money::from_minor(1, currency("PKR")).split(&[0, 0]), Err(MoneyError::NoWeights));
    assert_eq!(Money::from_minor(1, currency("PKR")).split(&[]), Err(MoneyError::NoWeights));
}

proptest! {
    #[test]
    fn a_split_sums_to_the_whole(minor: i64, weights in prop::collection::vec(0..=u32::MAX, 1..20)) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let money = Money::from_minor(minor, currency("PKR"));
        let parts = money.split(&weights).unwrap();
        let sum: i128 = parts.iter().map(|part| i128::from(part.minor())).sum();
        prop_assert_eq!(sum, i128::from(minor));
        // Every part is within one unit of its exact share, and a zero weight gets nothing.
        let total: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
        for (part, weight) in parts.iter().zip(&weights) {
            let exact = i128::from(minor) * i128::from(*weight);
            prop_assert!((i128::from(part.minor()) * total - exact).abs() < total);
            prop_assert!(*weight > 0 || part.minor() == 0);
        }
    }

    #[test]
    fn a_decimal_reads_back_as_it_was_written(minor: i64, code in prop::sample::select(vec!["PKR", "IQD", "JPY"])) {
        let money = Money::from_minor(minor, currency(code));
        prop_assert_eq!(Money::parse(&money.to_string(), currency(code)).unwrap(), money);
        prop_assert_eq!(money.to_string(), decimal(i128::from(minor), currency(code)));
    }

    #[test]
    fn reading_an_amount_never_panics(text in "\\PC*") {
        drop(Money::parse(&text, currency("PKR")));
    }
}
