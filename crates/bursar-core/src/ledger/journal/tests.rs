//! The four ways to lower a journal line, and postings that are not double entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Leg, Posting, legs};
use crate::ledger::chart::{Chart, GlAccount};
use crate::money::Money;
use crate::numscript::Name;

const CHART: &str = "gl,name,class,normal,address,liquidity,view
1,Bank,asset,debit,bank,T0,cash
2,Costs,expense,debit,costs,none,pnl
3,Merchant,liability,credit,merchant,T0,merchant
4,Fees,revenue,credit,fees,none,pnl
";

/// Reads `bank > merchant 10` and returns `1 debit 10`, or the error.
fn read(postings: &str) -> String {
    let chart = Chart::parse(CHART).unwrap();
    let accounts: BTreeMap<String, Arc<GlAccount>> = chart
        .accounts()
        .map(|gl| (gl.pattern.as_ref().unwrap().to_string(), Arc::clone(gl)))
        .collect();
    let posting = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let money =
            Money::parse(words[3], words.get(4).unwrap_or(&"JPY").parse().unwrap()).unwrap();
        Posting { source: words[0].into(), destination: words[2].into(), money }
    };
    let postings: Vec<Posting> = postings.split(';').map(posting).collect();
    let classify = |address: &Name| accounts.get(&**address).map(|gl| &**gl);
    match legs(&postings, classify) {
        Ok(legs) => {
            let text = |leg: &Leg<'_>| format!("{} {} {}", leg.code, leg.side, leg.money);
            legs.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn postings_read_back_as_the_lines_they_were_lowered_from() {
    for (line, postings, expected) in [
        ("Dr 1 Cr 2", "costs > bank 10", "2 credit 10, 1 debit 10"),
        ("Dr 3 Cr 4", "merchant > fees 10", "3 debit 10, 4 credit 10"),
        ("Dr 1 Cr 3", "world > bank 10; world > merchant 10", "1 debit 10, 3 credit 10"),
        ("Dr 3 Cr 1", "merchant > world 10; bank > world 10", "3 debit 10, 1 credit 10"),
    ] {
        assert_eq!(read(postings), expected, "{line}");
    }
}

#[test]
fn what_is_not_double_entry_is_refused() {
    for (postings, expected) in [
        (
            "bank > merchant 10",
            "a posting from `bank` to `merchant` crosses the two sides of the books",
        ),
        (
            "merchant > bank 10",
            "a posting from `merchant` to `bank` crosses the two sides of the books",
        ),
        ("world > bank 10", "debits of 10 JPY meet credits of 0 JPY"),
        ("world > bank 10; world > merchant 9", "debits of 10 JPY meet credits of 9 JPY"),
        ("world > bank 10; merchant > world 10", "debits of 20 JPY meet credits of 0 JPY"),
        ("world > bank 10 JPY; world > merchant 10 KRW", "debits of 10 JPY meet credits of 0 JPY"),
        ("world > stranger 10", "the account `stranger` belongs to no code of the chart"),
    ] {
        assert_eq!(read(postings), expected, "{postings}");
    }
}
