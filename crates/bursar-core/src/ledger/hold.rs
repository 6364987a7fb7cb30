//! Holds: money reserved under a reference until it is settled or released, exactly once.
//!
//! One account holds the money of all holds of a merchant, so the amount of each lives here.
//!
//! ```text
//! opened ──▶ Open ──settled or released──▶ Ended
//!              ▲                             │
//!              └── its end was reverted ─────┘   (epoch + 1)
//! ```

use crate::ids::TransactionId;
use crate::ledger::chart::GlCode;
use crate::money::Money;
use crate::numscript::Name;
use crate::rejection::Rejection;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub account: Name,
    pub money: Money,
    /// How often the hold was opened: a late success reopens a released hold.
    pub epoch: u32,
    pub state: HoldState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldState {
    Open,
    Ended { by: TransactionId },
}

/// Identifies a hold: its code, and the reference that all its events share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldKey {
    pub code: GlCode,
    pub reference: String,
}

impl HoldKey {
    /// `p1#2` ends the hold `p1` in its second epoch. The epoch keeps a repeated message about the first one from
    /// ending the reopened hold.
    pub fn reopened(&self) -> Option<(Self, u32)> {
        let (reference, epoch) = self.reference.rsplit_once('#')?;
        Some((Self { code: self.code, reference: reference.to_owned() }, epoch.parse().ok()?))
    }
}

/// The account and amount that an event claims for a hold.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) account: Name,
    pub(super) money: Money,
}

impl Hold {
    pub(super) fn open(claim: Claim) -> Self {
        Self { account: claim.account, money: claim.money, epoch: 1, state: HoldState::Open }
    }

    /// The hold after a transaction settled or released all of it.
    pub(super) fn end(
        &self,
        key: &HoldKey,
        claim: &Claim,
        by: TransactionId,
    ) -> Result<Self, Rejection> {
        let HoldKey { code, reference } = key.clone();
        match self.state {
            HoldState::Ended { by } => Err(Rejection::HoldEnded { code, reference, by }),
            HoldState::Open if self.account != claim.account => {
                let (owner, claimed) = (Name::clone(&self.account), Name::clone(&claim.account));
                Err(Rejection::HoldOfAnother { code, reference, owner, claimed })
            }
            HoldState::Open if self.money != claim.money => Err(Rejection::HoldMismatch {
                code,
                reference,
                held: self.money,
                asked: claim.money,
            }),
            HoldState::Open => Ok(Self { state: HoldState::Ended { by }, ..self.clone() }),
        }
    }

    /// The hold after the transaction that ended it is reverted.
    pub(super) fn reopen(&self, key: &HoldKey, ended_by: TransactionId) -> Result<Self, Rejection> {
        let HoldKey { code, reference } = key.clone();
        match self.state {
            HoldState::Ended { by } if by == ended_by => Ok(Self {
                epoch: self.epoch.saturating_add(1),
                state: HoldState::Open,
                ..self.clone()
            }),
            HoldState::Ended { by } => Err(Rejection::HoldEnded { code, reference, by }),
            HoldState::Open => Err(Rejection::HoldNotFound { code, reference }),
        }
    }
}
