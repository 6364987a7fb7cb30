//! Posting an event: check it, run its template, read the postings back as a journal, and only then change anything.

use std::sync::Arc;

use jiff::Timestamp;

use super::hold::{Claim, Hold, HoldKey};
use super::revert::{REVERT, Revert};
use super::{
    Account, AccountKey, Admission, Entry, Known, Ledger, LedgerEvent, Posted, Transaction,
};
use crate::ids::TransactionId;
use crate::ledger::journal::{self, Posting, WORLD};
use crate::ledger::rulebook::{Bound, BoundAccount, ForeignPosting, HoldEffect, Rulebook};
use crate::money::{Currency, Money};
use crate::numscript::amount::Amount;
use crate::numscript::{Error, ErrorKind, Name, Records};
use crate::rejection::Rejection;

/// All changes of one transaction. Computing them changes nothing; applying them cannot fail.
pub(super) struct Changes {
    pub(super) transaction: Transaction,
    /// There are few: a list is faster than a tree.
    pub(super) accounts: Vec<(AccountKey, Moved)>,
    pub(super) hold: Option<(HoldKey, Hold)>,
}

/// An account after one transaction.
pub(super) struct Moved {
    pub(super) after: Account,
    pub(super) change: i64,
    pub(super) received: i64,
    /// The lowest change at which funds were checked.
    pub(super) lowest: Option<i64>,
}

impl Ledger {
    /// Posts an event once. The same event with the same values gets the first reply again.
    pub fn post(
        &mut self,
        rulebook: &Rulebook,
        event: &LedgerEvent,
        admission: &Admission,
    ) -> Result<Posted, Rejection> {
        if event.name == REVERT {
            return self.revert(rulebook, &Revert::from_event(event)?, admission);
        }
        let rule = rulebook.rule(&event.name)?;
        let bound = rule.bind(&event.reference, &event.variables, event.effective_at)?;
        self.post_bound(&bound, admission)
    }

    /// Posts an event whose variables are already resolved.
    pub fn post_bound(
        &mut self,
        bound: &Bound<'_>,
        admission: &Admission,
    ) -> Result<Posted, Rejection> {
        let event = bound.rule().event();
        if let Some(known) = self.known(event, bound.reference()) {
            return self.replay(known, event, bound.reference(), bound.request_hash());
        }
        let changes = self.decide(bound, admission)?;
        Ok(Posted::New(self.apply(changes)))
    }

    fn decide(&self, bound: &Bound<'_>, admission: &Admission) -> Result<Changes, Rejection> {
        let event = bound.rule().event();
        let id = admission.transaction_id(event, bound.reference());
        let hold = self.decide_hold(bound, id)?;
        // Looked up once, for the template and for the balances.
        let known = |account: &BoundAccount| {
            self.accounts.get(&(Name::clone(&account.address), account.currency))
        };
        let known: Vec<Option<&Entry>> = bound.accounts().iter().map(known).collect();
        let outcome = bound
            .run(&BoundRecords { bound, known: &known })
            .map_err(|error| template_rejection(event, &error))?;
        let mut postings = Vec::with_capacity(outcome.postings.len());
        for posting in &outcome.postings {
            postings.push(bound.posting(posting).map_err(|error| foreign_rejection(event, error))?);
        }
        if postings.is_empty() {
            return Err(Rejection::NothingMoves { event: Name::clone(event) });
        }
        journal::legs(&postings, |address| bound.classify(address).map(|gl| &**gl))
            .map_err(|error| Rejection::NotDoubleEntry { error })?;
        let mut accounts = move_balances(&postings, |address, currency| {
            let mut accounts = bound.accounts().iter().zip(&known);
            let (account, known) = accounts
                .find(|(account, _)| account.currency == currency && account.address == *address)?;
            let empty = || Account::empty(Arc::clone(&account.gl), currency);
            Some(known.map_or_else(empty, |entry| entry.account.clone()))
        })?;
        for (_, moved) in &mut accounts {
            if bound.rule().may_overdraw(moved.after.metadata.code) {
                moved.lowest = None;
            }
        }
        let transaction = Transaction {
            id,
            event: Name::clone(event),
            reference: bound.reference().to_owned(),
            request_hash: bound.request_hash(),
            rulebook_hash: bound.rule().rulebook_hash(),
            effective_at: bound.effective_at().unwrap_or(admission.now),
            inserted_at: self.next_time(admission.now),
            reverts: None,
            postings,
        };
        Ok(Changes { transaction, accounts, hold })
    }

    /// The hold that the event's reference names, after the event.
    fn decide_hold(
        &self,
        bound: &Bound<'_>,
        id: TransactionId,
    ) -> Result<Option<(HoldKey, Hold)>, Rejection> {
        let Some((effect, code)) = bound.rule().hold() else { return Ok(None) };
        let reference = bound.reference();
        let not_found = || Rejection::HoldNotFound { code, reference: reference.to_owned() };
        let account = bound.accounts().iter().find(|account| account.gl.code == code);
        let account = Name::clone(&account.ok_or_else(not_found)?.address);
        let Some(money) = bound.booked_on(code) else {
            return Err(Rejection::BalanceTooLarge { account });
        };
        let claim = Claim { account, money };
        let key = HoldKey { code, reference: reference.to_owned() };
        match (effect, self.holds.get(&key)) {
            (HoldEffect::Opens, None) if key.reopened().is_some() => {
                Err(Rejection::EpochInReference { reference: key.reference })
            }
            (HoldEffect::Opens, None) => Ok(Some((key, Hold::open(claim)))),
            (HoldEffect::Opens, Some(_)) => {
                let event = Name::clone(bound.rule().event());
                Err(Rejection::ReferenceReused { event, reference: key.reference })
            }
            (HoldEffect::Ends, Some(hold)) => {
                let ended = hold.end(&key, &claim, id)?;
                Ok(Some((key, ended)))
            }
            (HoldEffect::Ends, None) => {
                let (key, epoch) = key.reopened().ok_or_else(not_found)?;
                let hold = self.holds.get(&key).filter(|hold| hold.epoch == epoch);
                let ended = hold.ok_or_else(not_found)?.end(&key, &claim, id)?;
                Ok(Some((key, ended)))
            }
        }
    }

    /// The same request gets the same reply. Another request under the same reference is rejected, and so is a request
    /// whose transaction was reverted: its old reply would no longer be true.
    pub(super) fn replay(
        &self,
        known: Known,
        event: &Name,
        reference: &str,
        request_hash: [u8; 32],
    ) -> Result<Posted, Rejection> {
        let (event, reference) = (Name::clone(event), reference.to_owned());
        if known.request_hash != request_hash {
            return Err(Rejection::ReferenceReused { event, reference });
        }
        match self.known(REVERT, &known.id.to_string()) {
            Some(revert) => Err(Rejection::TakenBack { event, reference, by: revert.id }),
            None => Ok(Posted::Replayed(known.id)),
        }
    }

    pub(super) fn apply(&mut self, changes: Changes) -> TransactionId {
        let Changes { transaction, accounts, hold } = changes;
        let id = transaction.id;
        let earlier = self.by_id.insert(id, self.transactions.len());
        assert!(
            earlier.is_none(),
            "event and reference are part of the id, and they are posted once"
        );
        for (key, moved) in accounts {
            let unmoved = || Entry { account: moved.after.clone(), movement: None };
            let entry = self.accounts.entry(key).or_insert_with(unmoved);
            let movement = entry.movement.get_or_insert_default();
            let needed =
                moved.lowest.map(|lowest| movement.delta.saturating_add(lowest).saturating_neg());
            movement.least_opening = movement.least_opening.max(needed);
            movement.delta = movement.delta.saturating_add(moved.change);
            movement.received = movement.received.saturating_add(moved.received);
            entry.account = moved.after;
        }
        if let Some((key, hold)) = hold {
            self.holds.put(key, hold);
        }
        let known = Known { id, request_hash: transaction.request_hash };
        let references = self.references.entry(Name::clone(&transaction.event)).or_default();
        references.insert(transaction.reference.clone(), known);
        self.mark_written(transaction.inserted_at);
        self.transactions.push(transaction);
        id
    }

    /// Insertion time never goes back, even if the clock does.
    pub(super) fn next_time(&self, now: Timestamp) -> Timestamp {
        self.time.map_or(now, |time| time.max(now))
    }
}

/// The accounts after the postings. `before` returns each account before them.
pub(super) fn move_balances(
    postings: &[Posting],
    before: impl Fn(&Name, Currency) -> Option<Account>,
) -> Result<Vec<(AccountKey, Moved)>, Rejection> {
    let mut accounts: Vec<(AccountKey, Moved)> = Vec::with_capacity(postings.len());
    for posting in postings {
        let (minor, currency) = (posting.money.minor(), posting.money.currency());
        for (address, change) in
            [(&posting.source, minor.checked_neg()), (&posting.destination, Some(minor))]
        {
            if &**address == WORLD {
                continue;
            }
            let too_large = || Rejection::BalanceTooLarge { account: Name::clone(address) };
            let is_known =
                |known: &&mut (AccountKey, Moved)| known.0.1 == currency && known.0.0 == *address;
            if let Some((_, moved)) = accounts.iter_mut().find(is_known) {
                *moved = change.and_then(|change| moved.by(change)).ok_or_else(too_large)?;
            } else {
                let unmoved = |after| Moved { after, change: 0, received: 0, lowest: None };
                let moved = before(address, currency).and_then(|after| unmoved(after).by(change?));
                let key = (Name::clone(address), currency);
                accounts.push((key, moved.ok_or_else(too_large)?));
            }
        }
    }
    Ok(accounts)
}

impl Moved {
    fn by(&self, change: i64) -> Option<Self> {
        let money = Money::from_minor(change, self.after.balance.currency());
        let balance = self.after.balance.checked_add(money).ok()?;
        let total = self.change.checked_add(change)?;
        let lowest = if change < 0 {
            Some(self.lowest.map_or(total, |low| low.min(total)))
        } else {
            self.lowest
        };
        let incoming = change.max(0);
        let after = Account {
            balance,
            received: self.after.received.saturating_add(incoming),
            metadata: Arc::clone(&self.after.metadata),
        };
        let received = self.received.saturating_add(incoming);
        Some(Self { after, change: total, received, lowest })
    }
}

/// The records that a template may read: the balances of its own accounts.
struct BoundRecords<'a> {
    bound: &'a Bound<'a>,
    /// One for each account of `bound`.
    known: &'a [Option<&'a Entry>],
}

impl Records for BoundRecords<'_> {
    fn balance(&self, account: &str, asset: &str, _color: &str) -> Amount {
        let index = self.bound.place(account, asset);
        let known = index.and_then(|index| *self.known.get(index)?);
        known.map_or(Amount::ZERO, |entry| entry.account.balance.minor().into())
    }

    fn scales(&self, _account: &str, _base: &str) -> Vec<(Name, Amount)> {
        Vec::new()
    }

    fn metadata(&self, _account: &str, _key: &str) -> Option<&str> {
        None
    }
}

fn template_rejection(event: &Name, error: &Error) -> Rejection {
    let failed =
        || Rejection::TemplateFailed { event: Name::clone(event), reason: error.to_string() };
    let money = |asset: &Name, amount: &Amount| {
        Some(Money::from_minor(amount.to_i64()?, Currency::from_asset(asset)?))
    };
    if let ErrorKind::MissingFunds { asset, needed, available, account: Some(account) } =
        &error.kind
        && let (Some(needed), Some(available)) = (money(asset, needed), money(asset, available))
    {
        return Rejection::MissingFunds { account: Name::clone(account), needed, available };
    }
    if let ErrorKind::NegativeAmount { asset, amount } = &error.kind
        && let Some(excess) = money(asset, &amount.negated())
    {
        return Rejection::PartsExceedWhole { event: Name::clone(event), excess };
    }
    failed()
}

fn foreign_rejection(event: &Name, error: ForeignPosting) -> Rejection {
    match error {
        ForeignPosting::TooLarge { account } => Rejection::BalanceTooLarge { account },
        ForeignPosting::Accounts { .. } | ForeignPosting::Colored => {
            Rejection::TemplateFailed { event: Name::clone(event), reason: error.to_string() }
        }
    }
}
