//! What makes books these books: an id that all copies share, the clock that they were made under, and how far a process
//! has seen them.

use bursar_core::freezes::Restore;
use bursar_core::ids::BooksId;
use bursar_core::turn::Commit;
use jiff::Timestamp;

use crate::StoreError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub id: BooksId,
    pub made_at: Timestamp,
    /// None until the first start.
    pub clock: Option<ClockKind>,
}

/// The clock of the processes that write the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockKind {
    Real,
    /// It is set by its users, so its books hold no real money.
    Test,
}

impl ClockKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Test => "test",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self, StoreError> {
        [Self::Real, Self::Test].into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            StoreError::Corrupt(format!("the books were made under an unknown clock, `{name}`"))
        })
    }
}

/// A commit that a process has seen: books that do not have it any more were put back to an earlier state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The name of the last restore, in microseconds; zero if there was none.
    pub epoch: i64,
    pub seq: u64,
    pub hash: [u8; 32],
}

impl Position {
    /// The end of the chain behind a commit.
    pub(crate) fn after(self, commit: &Commit, (seq, hash): (u64, [u8; 32])) -> Self {
        let control = commit.control.as_ref().and_then(|control| control.after.as_ref());
        let restore = control.and_then(|control| control.restore.as_ref());
        let epoch = restore.map_or(self.epoch, Restore::epoch);
        Self { epoch, seq, hash }
    }
}

impl Position {
    /// Why books do not continue what was seen, if so. A later restore than the one that was seen has noticed it already.
    pub(crate) fn is_missed(self, epoch: i64, hash_there: Option<[u8; 32]>) -> Option<String> {
        let Self { epoch: seen, seq, hash } = self;
        if epoch > seen || (epoch == seen && (seq == 0 || hash_there == Some(hash))) {
            return None;
        }
        Some(match hash_there {
            _ if epoch < seen => "they are from before a restore that was noticed".to_owned(),
            Some(_) => format!("commit {seq} is another one than was seen"),
            None => format!("commit {seq}, which was seen, is not there"),
        })
    }
}
