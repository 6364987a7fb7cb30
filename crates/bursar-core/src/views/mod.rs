//! Reports: pure folds over postings and balances.

mod alm;
mod statement;
mod trial_balance;

pub use alm::{Alm, AlmRow, AlmSummary, alm};
pub use statement::{StatementFold, StatementRow};
pub use trial_balance::{AsOf, Clock, Row, Total, TrialBalance, TrialBalanceFold};
