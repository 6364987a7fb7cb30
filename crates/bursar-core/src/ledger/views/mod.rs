//! Reports: pure folds over postings and balances.
//!
//! A fold that sums keeps as much as its result has rows. A fold that lists returns the rows of each transaction at
//! once and keeps the running balances only: the caller decides where the rows go.

mod alm;
mod balances;
mod cash;
mod directory;
mod fees;
mod moment;
mod running;
mod statement;
#[cfg(test)]
mod tests;
mod trial_balance;

pub use alm::{Alm, AlmRow, AlmSummary, alm};
pub use balances::{Balance, BalanceFold};
pub use cash::{CashFold, CashRow, CashTotal};
pub use fees::{FeeRate, FeeRow, FeeTotal, Fees, FeesFold};
pub use moment::{AsOf, Clock, Period, Placed};
pub use statement::{Breakdown, StatementBalance, StatementFold, StatementRow};
pub use trial_balance::{Row, Total, TrialBalance, TrialBalanceFold};
