//! The books of a benchmark: decided commits, linked to a new hash chain for the baselines, and the final verification of
//! all books.

use bursar_core::idempotency::KnownKey;
use bursar_core::ids::CommitId;
use bursar_core::ledger::Account;
use bursar_core::ledger::verify::Report;
use bursar_core::numscript::Name;
use bursar_core::rules::Rules;
use bursar_core::turn::{Commit, FlowWrite, HoldWrite, Link, SavedCommit, chain};
use bursar_node::failure::Failure;
use bursar_store::{Query, Walk as _};

use super::measure::failed;
use crate::baseline::Rows;

/// A decided commit with the rows that raw and naive write.
pub(super) struct Decided {
    id: CommitId,
    commit: SavedCommit,
    digests: [u8; 96],
    accounts: Vec<(Name, Account)>,
    holds: Vec<HoldWrite>,
    flows: Vec<FlowWrite>,
    states: Vec<String>,
    keys: Vec<KnownKey>,
}

impl Decided {
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows {
            id: self.id,
            commit: &self.commit,
            digests: &self.digests,
            accounts: &self.accounts,
            holds: &self.holds,
            flows: &self.flows,
            states: &self.states,
            keys: &self.keys,
        }
    }

    pub(super) fn into_commit(self) -> SavedCommit {
        self.commit
    }
}

/// The head of a hash chain of commits that were decided elsewhere.
#[derive(Debug, Default)]
pub(super) struct Head {
    seq: u64,
    hash: [u8; 32],
}

impl Head {
    pub(super) fn link(&mut self, id: CommitId, commit: Commit) -> Decided {
        let time = commit.time.unwrap_or_default();
        self.seq = self.seq.saturating_add(1);
        let digests = commit.appended().digests();
        self.hash = chain(self.hash, time, &digests);
        let Commit { transactions, events, audit, accounts, holds, flows, keys, .. } = commit;
        let accounts = accounts.into_iter().map(|write| (write.address, write.after)).collect();
        Decided {
            id,
            digests: digests.to_bytes(),
            commit: SavedCommit {
                seq: self.seq,
                time,
                hash: self.hash,
                link: Link::new(digests),
                transactions,
                events,
                audit,
            },
            accounts,
            holds,
            states: flows.iter().map(|change| change.after.encode()).collect(),
            flows,
            keys,
        }
    }
}

/// Reads all books back and recomputes them.
pub(super) async fn verify(books: &mut impl Query, rules: &Rules) -> Result<Report, Failure> {
    let report = books.verify(&rules.rulebook).await.map_err(|error| failed(&error))?;
    match report.differences.first() {
        Some(difference) => Err(Failure::new(format!(
            "the books of the benchmark are wrong: {difference}. Its figures mean nothing; report this"
        ))),
        None => Ok(report),
    }
}
