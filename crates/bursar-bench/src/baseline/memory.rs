//! Memory: rows pushed into plain maps and vectors.

use bursar_core::ledger::Account;
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_store::bulk::memory as bulk;
use bursar_store::{Memory, StoreError};

use super::{Baseline, Rows, ends};

#[derive(Debug, Default)]
pub(crate) struct MemoryBaseline {
    books: Memory,
    follows_recipe: bool,
}

impl Baseline for MemoryBaseline {
    type Books = Memory;

    fn books(&mut self) -> &mut Memory {
        &mut self.books
    }

    async fn follow_recipe(&mut self) -> Result<(), StoreError> {
        self.follows_recipe = true;
        Ok(())
    }

    async fn leave_recipe(&mut self) -> Result<(), StoreError> {
        if self.follows_recipe {
            bulk::recount(&mut self.books);
        }
        Ok(())
    }

    async fn write(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        self.open_accounts(rows.accounts).await?;
        bulk::put(&mut self.books, rows.holds, rows.flows, rows.keys);
        bulk::push(&mut self.books, rows.id, rows.commit.clone());
        Ok(())
    }

    async fn open_accounts(&mut self, accounts: &[(Name, Account)]) -> Result<(), StoreError> {
        for (address, account) in accounts {
            let key = (Name::clone(address), account.balance.currency());
            bulk::accounts(&mut self.books).insert(key, account.clone());
        }
        Ok(())
    }

    async fn write_naively(&mut self, rows: &Rows<'_>) -> Result<(), StoreError> {
        let Rows { id, commit, .. } = *rows;
        let postings = commit.transactions.iter().flat_map(|transaction| &transaction.postings);
        for posting in postings {
            let currency = posting.money.currency();
            for (address, change) in ends(posting) {
                let key = (Name::clone(address), currency);
                if let Some(account) = bulk::accounts(&mut self.books).get_mut(&key) {
                    let balance = account.balance.minor().saturating_add(change);
                    account.balance = Money::from_minor(balance, currency);
                    account.received = account.received.saturating_add(change.max(0));
                }
            }
        }
        bulk::put(&mut self.books, rows.holds, rows.flows, rows.keys);
        bulk::push(&mut self.books, id, commit.clone());
        Ok(())
    }

    async fn written_bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    async fn stored_bytes(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}
