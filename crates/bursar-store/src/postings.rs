//! The postings of a transaction as one JSON text, and the account index of a commit.

use std::collections::BTreeMap;

use bursar_core::ids::TransactionId;
use bursar_core::ledger::Transaction;
use bursar_core::ledger::journal::{Posting, WORLD};
use bursar_core::money::Money;

use crate::StoreError;
use crate::chart_lines::{damaged, parse};

/// A JSON array with source, destination, currency and amount of each posting.
pub(crate) fn encode(postings: &[Posting]) -> Result<String, StoreError> {
    /// Bytes of a usual posting.
    const USUAL: usize = 112;
    let mut text = Vec::with_capacity(postings.len().saturating_mul(USUAL));
    let mut opening = b'[';
    for Posting { source, destination, money } in postings {
        let currency = money.currency();
        text.push(opening);
        let row = (&**source, &**destination, currency.code(), money.minor());
        serde_json::to_writer(&mut text, &row).map_err(damaged)?;
        opening = b',';
    }
    if postings.is_empty() {
        text.push(opening);
    }
    text.push(b']');
    String::from_utf8(text).map_err(damaged)
}

pub(crate) fn decode(id: TransactionId, text: &str) -> Result<Vec<Posting>, StoreError> {
    let unreadable = |error| damaged(format!("the postings of {id} cannot be read: {error}"));
    let rows: Vec<(String, String, String, i64)> =
        serde_json::from_str(text).map_err(unreadable)?;
    let posting = |(source, destination, currency, minor): (String, String, String, i64)| {
        let currency = parse(&currency, "a currency")?;
        let money = Money::from_minor(minor, currency);
        Ok(Posting { source: source.into(), destination: destination.into(), money })
    };
    rows.into_iter().map(posting).collect()
}

/// Accounts in order, each with the positions of the transactions that touch it.
pub(crate) fn entries(transactions: &[Transaction]) -> BTreeMap<&str, Vec<i32>> {
    let mut entries: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (transaction, position) in transactions.iter().zip(0..) {
        let postings = transaction.postings.iter();
        let accounts = postings.flat_map(|posting| [&*posting.source, &*posting.destination]);
        for account in accounts.filter(|account| *account != WORLD) {
            let positions = entries.entry(account).or_default();
            if positions.last() != Some(&position) {
                positions.push(position);
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use bursar_core::ids::TransactionId;
    use bursar_core::ledger::journal::Posting;
    use bursar_core::money::Money;
    use uuid::Uuid;

    use super::{decode, encode};

    fn posting(source: &str, destination: &str, minor: i64) -> Posting {
        let money = Money::from_minor(minor, "PKR".parse().unwrap());
        Posting { source: source.into(), destination: destination.into(), money }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let postings = [
            posting("merchants:m1:available:PKR", "merchants:m1:reserved:PKR", 1),
            posting("a\"quote\\", "world", i64::MAX),
        ];
        let id = TransactionId::from_uuid(Uuid::nil());
        for count in 0..=postings.len() {
            let text = encode(&postings[..count]).unwrap();
            assert_eq!(decode(id, &text).unwrap(), postings[..count]);
        }
        let text = r#"[["merchants:m1:available:PKR","merchants:m1:reserved:PKR","PKR",1]]"#;
        assert_eq!(encode(&postings[..1]).unwrap(), text);
        let error = decode(id, &text[1..]).unwrap_err().to_string();
        assert!(error.contains(&id.to_string()), "{error}");
    }
}
