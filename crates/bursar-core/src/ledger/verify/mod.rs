//! Recomputes the books from their postings: every balance, every hold and the hash chain. Checks every flow against
//! its events, its holds and its timers.
//!
//! Pure folds over pages: of commits, of flows, of holds. The caller looks up what a page names elsewhere in the books, so
//! that memory grows with the accounts and with what waits for a person, and not with the history.
//!
//! It cannot detect two things: a chain that an attacker has rewritten as a whole (keep the number and hash of the last
//! commit elsewhere), and edited chart lines.

mod chain;
mod closings;
mod commits;
mod digests;
mod flows;
mod holds;
mod since;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::dispatch::{Queue, QueueKey, QueueRecount};

use crate::flow::Review;
use crate::ids::FlowId;
use crate::ledger::chart::GlAccount;
use crate::ledger::closing::{Closing, Moved, SinceClosing, add_postings};
use crate::ledger::journal;
use crate::ledger::rulebook::Rulebook;
use crate::ledger::{Account, AccountKey, Transaction};
use crate::money::decimal;
use crate::numscript::Name;
use crate::turn::{Recount, SavedCommit, Tally};
pub use chain::ChainEnd;
pub use commits::CommitNames;
pub use digests::{IndexedEntries, LabelDigest};
pub use flows::FlowRecords;
pub(crate) use flows::{Ending, LastEvent, hold_key};
pub use since::SinceVerifier;

/// The counts, and the differences found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub commits: u64,
    pub transactions: u64,
    pub postings: u64,
    pub accounts: u64,
    pub holds: u64,
    pub events: u64,
    pub audit: u64,
    pub flows: u64,
    /// The first differences, each with its place.
    pub differences: Vec<String>,
    /// The total number of differences.
    pub difference_count: u64,
}

/// The last commit. Before the first one, number and hash are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    pub seq: u64,
    pub hash: [u8; 32],
    pub time: Option<Timestamp>,
}

/// The totals that the store reports about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct End {
    pub head: Head,
    /// All rows, including rows that no commit names.
    pub transactions: u64,
    pub postings: u64,
    pub events: u64,
    pub audit: u64,
    /// Flows that wait in a lane.
    pub due: u64,
}

/// The rows that the store derives from commits, and its own totals.
#[derive(Debug, Clone, Default)]
pub struct Derived {
    pub reviews: Vec<Review>,
    pub tallies: BTreeMap<String, Tally>,
    pub queues: Vec<(QueueKey, Queue)>,
    pub labels: LabelDigest,
    pub end: End,
}

/// More would not help to find the first cause.
const DIFFERENCES_MAX: usize = 100;

#[derive(Debug)]
pub struct Verifier<'r> {
    rulebook: &'r Rulebook,
    metadata: BTreeMap<Name, Arc<GlAccount>>,
    chain: ChainEnd,
    time: Option<Timestamp>,
    sums: BTreeMap<AccountKey, Moved>,
    /// The money of open holds.
    held: BTreeMap<AccountKey, i128>,
    /// The number of the last event of each resource that is no flow.
    sequences: BTreeMap<String, u64>,
    /// The flows that wait in a lane, and have their due row.
    due: u64,
    /// What was looked up for the flows that are checked now.
    records: FlowRecords,
    /// The flows that wait for a person.
    reviews: BTreeMap<FlowId, Review>,
    recount: Recount,
    queues: QueueRecount,
    labels: LabelDigest,
    /// The closings that are not compared yet.
    closings: BTreeMap<u64, Closing>,
    since: SinceClosing,
    indexed: IndexedEntries,
    /// The entries that the index must have.
    expected: IndexedEntries,
    report: Report,
}

impl<'r> Verifier<'r> {
    pub fn new(rulebook: &'r Rulebook, accounts: &[(Name, Account)]) -> Self {
        let metadata = accounts.iter();
        Self {
            rulebook,
            metadata: metadata
                .map(|(address, account)| (Name::clone(address), Arc::clone(&account.metadata)))
                .collect(),
            chain: ChainEnd::default(),
            time: None,
            sums: BTreeMap::new(),
            held: BTreeMap::new(),
            sequences: BTreeMap::new(),
            due: 0,
            records: FlowRecords::default(),
            reviews: BTreeMap::new(),
            recount: Recount::default(),
            queues: QueueRecount::default(),
            labels: LabelDigest::default(),
            closings: BTreeMap::new(),
            since: SinceClosing::default(),
            indexed: IndexedEntries::default(),
            expected: IndexedEntries::default(),
            report: Report::default(),
        }
    }

    /// Same, for a store whose statements read the account index.
    #[must_use]
    pub fn with(self, indexed: IndexedEntries) -> Self {
        Self { indexed, expected: IndexedEntries::until(indexed.until), ..self }
    }

    /// What was counted and found up to now.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The next commit, in order.
    pub fn add(&mut self, commit: &SavedCommit) {
        let expected = self.report.commits.saturating_add(1);
        if commit.seq != expected {
            self.differ(format!("commit {expected} is missing: commit {} follows", commit.seq));
        }
        self.report.commits = commit.seq;
        if self.time.is_some_and(|time| commit.time < time) {
            self.differ(format!("commit {} is dated before the one it follows", commit.seq));
        }
        self.time = Some(commit.time);
        self.link(commit);
        self.since.add(commit);
        for (transaction, n) in commit.transactions.iter().zip(0..) {
            self.transaction(commit.seq, transaction);
            if commit.seq <= self.expected.until {
                for account in journal::touched(&transaction.postings) {
                    self.expected.add(account, commit.seq, n);
                }
            }
        }
        for event in &commit.events {
            self.event(commit.seq, event);
        }
        let audit = u64::try_from(commit.audit.len()).unwrap_or(u64::MAX);
        self.report.audit = self.report.audit.saturating_add(audit);
    }

    fn transaction(&mut self, seq: u64, transaction: &Transaction) {
        self.report.transactions = self.report.transactions.saturating_add(1);
        let place = format!("{} in commit {seq}", transaction.id);
        let metadata = &self.metadata;
        let legs =
            journal::legs(&transaction.postings, |address| metadata.get(address).map(|gl| &**gl));
        if let Err(error) = legs {
            self.differ(format!("{place} is not double entry: {error}"));
        }
        let postings = u64::try_from(transaction.postings.len()).unwrap_or(u64::MAX);
        self.report.postings = self.report.postings.saturating_add(postings);
        add_postings(&mut self.sums, transaction);
    }

    /// Compares with what the store derived.
    pub fn finish(mut self, accounts: &[(Name, Account)], derived: &Derived) -> Report {
        let Derived { reviews, tallies, queues, labels, end } = derived;
        self.compare_end(end);
        self.report.accounts = u64::try_from(accounts.len()).unwrap_or(u64::MAX);
        self.compare_accounts(accounts);
        self.compare_held(accounts);
        if *labels != self.labels {
            let (found, expected) = (labels.labels, self.labels.labels);
            self.differ(format!(
                "the {found} labels are not the {expected} of the flows: a search does not find them"
            ));
        }
        self.compare_closings();
        self.compare_reviews(reviews);
        let tallies = std::mem::take(&mut self.recount).compare(tallies);
        let queues = std::mem::take(&mut self.queues).compare(queues);
        for difference in tallies.into_iter().chain(queues) {
            self.differ(difference);
        }
        self.report
    }

    fn compare_end(&mut self, end: &End) {
        if end.head.time != self.time {
            self.differ("the head is not dated as the last commit is".to_owned());
        }
        let counts = [
            ("transactions", end.transactions, self.report.transactions),
            ("postings", end.postings, self.report.postings),
            ("events", end.events, self.report.events),
            ("audit entries", end.audit, self.report.audit),
        ];
        for (what, rows, chained) in counts.into_iter().filter(|(_, rows, chained)| rows != chained)
        {
            self.differ(format!(
                "there are {rows} {what}, but commits have {chained}: rows stand outside the chain"
            ));
        }
        if self.indexed != self.expected {
            let (IndexedEntries { until, entries, .. }, expected) =
                (self.indexed, self.expected.entries);
            self.differ(format!(
                "the {entries} entries under accounts up to commit {until} are not the {expected} of its transactions: \
                 statements are wrong"
            ));
        }
        let head = (end.head.seq, end.head.hash);
        if head != (self.report.commits, self.chain.hash) {
            self.differ(format!(
                "the head names commit {}, but the last one is {}: commits were removed or added",
                head.0, self.report.commits
            ));
        }
    }

    fn compare_accounts(&mut self, accounts: &[(Name, Account)]) {
        for (address, account) in accounts {
            let currency = account.balance.currency();
            let key = (Name::clone(address), currency);
            let Some(Moved { balance: sum, received }) = self.sums.remove(&key) else {
                self.differ(format!("{address} has an account in {currency} and no postings"));
                continue;
            };
            if sum != i128::from(account.balance.minor()) {
                let sum = decimal(sum, currency);
                let balance = account.balance;
                self.differ(format!(
                    "{address} has {balance} {currency}, its postings add up to {sum}"
                ));
            }
            if received.min(i128::from(i64::MAX)) != i128::from(account.received) {
                let stored = decimal(i128::from(account.received), currency);
                let received = decimal(received, currency);
                self.differ(format!(
                    "{address} has received {stored} {currency} in all, its postings say {received}: its turnover is wrong"
                ));
            }
        }
        for (address, currency) in std::mem::take(&mut self.sums).into_keys() {
            self.differ(format!("{address} has postings in {currency} and no account"));
        }
    }

    /// More than one transaction is posted under each of these events and references.
    pub fn add_repeated(&mut self, references: &[(Name, String)]) {
        for (event, reference) in references {
            self.differ(format!("{event} `{reference}` stands twice"));
        }
    }

    pub(crate) fn differ(&mut self, difference: String) {
        self.report.differ(difference);
    }
}

impl Report {
    fn differ(&mut self, difference: String) {
        self.difference_count = self.difference_count.saturating_add(1);
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(difference);
        }
    }
}
