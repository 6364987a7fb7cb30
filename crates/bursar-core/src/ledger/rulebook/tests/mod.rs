//! The bundled rulebook is consistent, and every defect in it is found.

mod mutants;

use std::collections::{BTreeMap, BTreeSet};

use super::{BUNDLED, Drift, HoldEffect, Rulebook, RulebookError, Sources};

fn bundled() -> Rulebook {
    Rulebook::bundled().unwrap()
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn drifts(sources: &Sources<'_>) -> Vec<Drift> {
    match Rulebook::new(sources) {
        Ok(_) => Vec::new(),
        Err(RulebookError::Drift(drifts)) => drifts,
        Err(other) => panic!("expected drift, found: {other}"),
    }
}

#[test]
fn eighteen_events_eighteen_mappings_eighteen_templates() {
    let rulebook = bundled();
    assert_eq!(rulebook.rules().count(), 18);
    assert_eq!(BUNDLED.templates.len(), 18);
    let names: BTreeSet<_> = BUNDLED.templates.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 18);
}

#[test]
fn the_bundled_rulebook_does_not_drift() {
    assert_eq!(drifts(&BUNDLED), []);
}

#[test]
fn only_capital_is_left_for_opening_entries() {
    let rulebook = bundled();
    let unused: Vec<_> = rulebook.unused_codes().iter().map(|gl| gl.code.to_string()).collect();
    assert_eq!(unused, ["3000"]);
}

#[test]
fn holds_are_opened_and_ended_by_the_events_that_say_so() {
    let rulebook = bundled();
    let holds: Vec<String> = rulebook
        .rules()
        .filter_map(|rule| {
            rule.hold().map(|(effect, code)| format!("{} {effect:?} {code}", rule.event()))
        })
        .collect();
    assert_eq!(
        holds,
        [
            "CHARGEBACK_HOLD Opens 2011",
            "CHARGEBACK_LOST Ends 2011",
            "CHARGEBACK_WON Ends 2011",
            "PAYOUT_RELEASE Ends 2010",
            "PAYOUT_RESERVE Opens 2010",
            "PAYOUT_SETTLE Ends 2010",
        ]
    );
    assert_eq!(rulebook.rule("REFUND").unwrap().hold(), None::<(HoldEffect, _)>);
}

#[test]
fn the_hash_names_every_text() {
    let chart = BUNDLED.chart.replace("Settlement bank", "Bank");
    let renamed = Rulebook::with_chart(&chart).unwrap();
    assert_ne!(renamed.hash(), bundled().hash());
    assert_eq!(bundled().hash(), bundled().hash());
}

#[test]
fn a_chart_of_the_finance_team_moves_the_accounts() {
    let chart = BUNDLED.chart.replace(
        "merchants:{merchantId}:available:{currency}",
        "m:{branchId}:{merchantId}:{currency}",
    );
    let rulebook = Rulebook::with_chart(&chart).unwrap();
    let rule = rulebook.rule("ADJUSTMENT_CREDIT").unwrap();
    assert_eq!(rule.variables(), ["branchId", "merchantId", "currency", "amount"]);
    let bound = rule
        .bind(
            "r",
            &variables(&[
                ("branchId", "b"),
                ("merchantId", "m1"),
                ("currency", "PKR"),
                ("amount", "1"),
            ]),
            None,
        )
        .unwrap();
    let addresses: Vec<_> = bound.accounts().iter().map(|account| &*account.address).collect();
    assert_eq!(addresses, ["expenses:adjustment:PKR", "m:b:m1:PKR"]);
}

#[test]
fn a_chart_may_keep_several_currencies_at_one_address() {
    let chart = BUNDLED.chart.replace(":{currency}", "");
    let rulebook = Rulebook::with_chart(&chart).unwrap();
    let pairs = [
        ("merchantId", "m1"),
        ("sellCurrency", "PKR"),
        ("buyCurrency", "USD"),
        ("sell", "280"),
        ("buy", "1"),
        ("margin", "0"),
    ];
    let bound =
        rulebook.rule("FX_CONVERSION").unwrap().bind("x", &variables(&pairs), None).unwrap();
    let usd = bound.account("merchants:m1:available", "USD/2").unwrap();
    assert_eq!(usd.currency.code(), "USD");
    assert_eq!(bound.account("merchants:m1:available", "PKR/2").unwrap().currency.code(), "PKR");
}

#[test]
fn a_chart_must_keep_owners_apart() {
    let chart = BUNDLED.chart.replace(":{merchantId}", "");
    let error = Rulebook::with_chart(&chart).unwrap_err().to_string();
    assert!(error.contains("must contain {merchantId}"), "{error}");
}

#[test]
fn a_conversion_needs_two_currencies() {
    let rulebook = bundled();
    let pairs = [
        ("merchantId", "m1"),
        ("sellCurrency", "PKR"),
        ("buyCurrency", "PKR"),
        ("sell", "1"),
        ("buy", "1000000"),
        ("margin", "0"),
    ];
    let rejection =
        rulebook.rule("FX_CONVERSION").unwrap().bind("x", &variables(&pairs), None).unwrap_err();
    assert_eq!(rejection.code(), "same_currency");
}

#[test]
fn each_kind_of_drift_is_named() {
    let pruned: Vec<_> = BUNDLED.templates.iter().copied().skip(1).collect();
    let foreign: Vec<_> = BUNDLED.templates.iter().copied().chain([("GIFT", "")]).collect();
    let with_refund = |template: &'static str| -> Vec<(&str, &str)> {
        let swap = |(name, text)| if name == "REFUND" { (name, template) } else { (name, text) };
        BUNDLED.templates.iter().copied().map(swap).collect()
    };
    let misspelt = with_refund("send $amount (source = @world");
    let extra =
        with_refund("vars { account $gl_2004 account $gl_1000 account $gl_9 monetary $amount }");
    let mistyped = with_refund("vars { account $gl_2004 number $gl_1000 monetary $amount }");
    let idle = with_refund("vars { account $gl_2004 account $gl_1000 monetary $amount }");
    let chain = with_refund(
        "vars { account $gl_2004 account $gl_1000 monetary $amount }
         send $amount (source = $gl_2004 destination = $gl_1000)
         send $amount (source = $gl_1000 destination = @world)",
    );
    let without_code = BUNDLED.chart.replace("4090,", "4091,");
    let without_address = BUNDLED.chart.replace("revenue:adjustment:{currency}", "");
    let wrong_side =
        BUNDLED.chart.replace("2100,VAT payable,liability,credit", "2100,VAT payable,asset,debit");
    let both_ways = format!("{}PAYOUT_RESERVE,2010,2004,fee,currency,,ends\n", BUNDLED.mappings);
    let no_holds = BUNDLED.chart.replace(",hold\n", ",merchant\n");
    let greedy = with_refund(
        "vars { account $gl_2004 account $gl_1000 monetary $amount }
         send $amount (source = { $gl_2004 $gl_1000 } destination = @world)
         send $amount (source = $gl_1000 destination = @world)",
    );
    let chatty = with_refund(
        "vars { account $gl_2004 account $gl_1000 monetary $amount }
         send $amount (source = $gl_2004 destination = @world)
         send $amount (source = $gl_1000 destination = @world)
         set_tx_meta(\"why\", \"because\")",
    );
    let report: Vec<String> = [
        ("template missing", Sources { templates: &pruned, ..BUNDLED }),
        ("mapping missing", Sources { templates: &foreign, ..BUNDLED }),
        ("template unreadable", Sources { templates: &misspelt, ..BUNDLED }),
        ("variable too many", Sources { templates: &extra, ..BUNDLED }),
        ("variable of another type", Sources { templates: &mistyped, ..BUNDLED }),
        ("template does nothing", Sources { templates: &idle, ..BUNDLED }),
        ("the literal chain through the bank", Sources { templates: &chain, ..BUNDLED }),
        ("code missing", Sources { chart: &without_code, ..BUNDLED }),
        ("address missing", Sources { chart: &without_address, ..BUNDLED }),
        ("side changed", Sources { chart: &wrong_side, ..BUNDLED }),
        ("a hold opened and ended", Sources { mappings: &both_ways, ..BUNDLED }),
        ("a chart without holds", Sources { chart: &no_holds, ..BUNDLED }),
        ("a second source", Sources { templates: &greedy, ..BUNDLED }),
        ("something else than sends", Sources { templates: &chatty, ..BUNDLED }),
    ]
    .into_iter()
    .map(|(what, sources)| {
        let drifts: Vec<String> =
            drifts(&sources).iter().map(|drift| format!("  {drift}")).collect();
        assert!(!drifts.is_empty(), "{what}");
        format!("{what}\n{}", drifts.join("\n"))
    })
    .collect();
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn bad_events_are_refused_with_a_remedy() {
    let rulebook = bundled();
    let good = [
        ("merchantId", "m1"),
        ("bankId", "b1"),
        ("currency", "PKR"),
        ("gross", "100.00"),
        ("fee", "2.90"),
        ("vat", "0.58"),
    ];
    let with = |name: &str, value: &str| -> BTreeMap<String, String> {
        let mut all = variables(&good);
        all.insert(name.to_owned(), value.to_owned());
        all
    };
    let mut without = variables(&good);
    without.remove("fee");
    without.remove("vat");
    let long = "x".repeat(300);
    let answers: Vec<String> = [
        ("PAYIN", "r", variables(&good)),
        ("PAYIN_COLLECTION", "r", without),
        ("PAYIN_COLLECTION", "r", with("tip", "1")),
        ("PAYIN_COLLECTION", "r", with("currency", "pkr")),
        ("PAYIN_COLLECTION", "r", with("merchantId", "m-1")),
        ("PAYIN_COLLECTION", "r", with("bankId", "a:b")),
        ("PAYIN_COLLECTION", "r", with("gross", "100.001")),
        ("PAYIN_COLLECTION", "r", with("gross", "-1")),
        ("PAYIN_COLLECTION", "r", with("fee", "lots")),
        ("PAYIN_COLLECTION", "", variables(&good)),
        ("PAYIN_COLLECTION", &long, variables(&good)),
        ("PAYIN_COLLECTION", "a\nb", variables(&good)),
        ("PAYIN_COLLECTION", "a\u{202e}b", variables(&good)),
    ]
    .into_iter()
    .map(|(event, reference, variables)| {
        let bound = rulebook.rule(event).and_then(|rule| rule.bind(reference, &variables, None));
        let rejection = bound.unwrap_err();
        format!("{}: {rejection}", rejection.code())
    })
    .collect();
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn the_request_hash_ignores_spelling_and_nothing_else() {
    let rulebook = bundled();
    let rule = rulebook.rule("FUNDS_AVAILABLE").unwrap();
    let hash = |reference: &str, merchant: &str, amount: &str, at: Option<&str>| {
        let variables =
            variables(&[("merchantId", merchant), ("currency", "PKR"), ("amount", amount)]);
        rule.bind(reference, &variables, at.map(|at| at.parse().unwrap())).unwrap().request_hash()
    };
    let first = hash("r", "m1", "1.50", None);
    assert_eq!(first, hash("r", "m1", "1.5", None));
    assert_eq!(first, hash("r", "m1", "01.50", None));
    assert_ne!(first, hash("r", "m1", "1.51", None));
    assert_ne!(first, hash("r", "m2", "1.50", None));
    assert_ne!(first, hash("s", "m1", "1.50", None));
    let at = hash("r", "m1", "1.50", Some("2026-11-15T12:00:00Z"));
    assert_ne!(first, at);
    assert_eq!(at, hash("r", "m1", "1.50", Some("2026-11-15T17:00:00+05:00")));
}
