//! What a request would do: its postings. Balances move all the time, so they are not compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ledger::Transaction;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub postings: Vec<PreviewPosting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewPosting {
    pub event: String,
    pub source: String,
    pub destination: String,
    pub amount: String,
    pub currency: String,
}

impl Preview {
    pub(super) fn of(transactions: &[Transaction]) -> Self {
        let postings = transactions.iter().flat_map(|transaction| {
            transaction.postings.iter().map(|posting| PreviewPosting {
                event: transaction.event.to_string(),
                source: posting.source.to_string(),
                destination: posting.destination.to_string(),
                amount: posting.money.decimal(),
                currency: posting.money.currency().to_string(),
            })
        });
        Self { postings: postings.collect() }
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.postings.is_empty() {
            return f.write_str("no posting");
        }
        for (n, posting) in self.postings.iter().enumerate() {
            let PreviewPosting { source, destination, amount, currency, .. } = posting;
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{amount} {currency} from {source} to {destination}")?;
        }
        Ok(())
    }
}
