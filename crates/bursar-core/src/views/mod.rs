//! Reports: pure folds over postings.

mod trial_balance;

pub use trial_balance::{AsOf, Clock, Row, Total, TrialBalance, TrialBalanceFold};
