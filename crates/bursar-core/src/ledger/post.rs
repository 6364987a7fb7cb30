//! Posting an event: check, run its template, read the postings back as a journal, and only then change anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::hold::{Claim, Hold, HoldKey};
use super::revert::{REVERT, Revert};
use super::{Account, AccountKey, Admission, Event, Ledger, Posted, Transaction};
use crate::chart::GlAccount;
use crate::ids::TransactionId;
use crate::journal::{self, Posting, WORLD};
use crate::money::{Currency, Money};
use crate::numscript::amount::Amount;
use crate::numscript::{Error, ErrorKind, Name, Records};
use crate::records::KnownReference;
use crate::rejection::Rejection;
use crate::rulebook::{Bound, ForeignPosting, HoldEffect, Rulebook};

/// Everything that one transaction changes. Making it changes nothing; applying it cannot fail.
pub(super) struct Changes {
    pub(super) transaction: Transaction,
    pub(super) accounts: BTreeMap<AccountKey, Moved>,
    pub(super) hold: Option<(HoldKey, Hold)>,
}

/// An account as one transaction leaves it.
pub(super) struct Moved {
    pub(super) after: Account,
    pub(super) change: i64,
    /// The lowest change at which funds were checked.
    pub(super) lowest: Option<i64>,
}

impl Ledger {
    /// Posts an event once. Sent again with the same values, it is answered and not posted again.
    pub fn post(
        &mut self,
        rulebook: &Rulebook,
        event: &Event,
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
            return self.replay(known, bound.request_hash());
        }
        let changes = self.decide(bound, admission)?;
        Ok(Posted::New(self.apply(changes)))
    }

    fn decide(&self, bound: &Bound<'_>, admission: &Admission) -> Result<Changes, Rejection> {
        let event = bound.rule().event();
        let id = admission.transaction_id(event, bound.reference());
        let hold = self.decide_hold(bound, id)?;
        let outcome = bound
            .run(&BoundRecords { ledger: self, bound })
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
        let mut accounts =
            self.move_balances(&postings, |address| bound.classify(address).map(Arc::clone))?;
        for moved in accounts.values_mut() {
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

    /// The hold that the event's reference names, as it will be afterwards.
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

    /// The accounts as the postings leave them. `metadata` is asked for an account that has no balance yet.
    pub(super) fn move_balances(
        &self,
        postings: &[Posting],
        metadata: impl Fn(&Name) -> Option<Arc<GlAccount>>,
    ) -> Result<BTreeMap<AccountKey, Moved>, Rejection> {
        let mut accounts: BTreeMap<AccountKey, Moved> = BTreeMap::new();
        for posting in postings {
            let minor = posting.money.minor();
            for (address, change) in
                [(&posting.source, minor.checked_neg()), (&posting.destination, Some(minor))]
            {
                if &**address == WORLD {
                    continue;
                }
                let too_large = || Rejection::BalanceTooLarge { account: Name::clone(address) };
                let key = (Name::clone(address), posting.money.currency());
                let before = accounts.remove(&key).or_else(|| self.unmoved(&key, &metadata));
                let moved = before.and_then(|before| before.by(change?)).ok_or_else(too_large)?;
                accounts.insert(key, moved);
            }
        }
        Ok(accounts)
    }

    fn unmoved(
        &self,
        key: &AccountKey,
        metadata: impl Fn(&Name) -> Option<Arc<GlAccount>>,
    ) -> Option<Moved> {
        let after = match self.accounts.get(key) {
            Some(account) => account.clone(),
            None => Account::empty(metadata(&key.0)?, key.1),
        };
        Some(Moved { after, change: 0, lowest: None })
    }

    /// The same request gets the same answer; another one under the same reference is refused, and so is one whose
    /// transaction was taken back: answering it would say that something holds which does not.
    pub(super) fn replay(
        &self,
        known: &KnownReference,
        request_hash: [u8; 32],
    ) -> Result<Posted, Rejection> {
        let (event, reference) = (Name::clone(&known.event), known.reference.clone());
        if known.request_hash != request_hash {
            return Err(Rejection::ReferenceReused { event, reference });
        }
        match self.known(&REVERT.into(), &known.id.to_string()) {
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
            let movement = self.movements.entry(key.clone()).or_default();
            let needed =
                moved.lowest.map(|lowest| movement.delta.saturating_add(lowest).saturating_neg());
            movement.least_opening = movement.least_opening.max(needed);
            movement.delta = movement.delta.saturating_add(moved.change);
            self.accounts.insert(key, moved.after);
        }
        if let Some((key, hold)) = hold {
            let before = self.holds.insert(key.clone(), hold);
            self.holds_before.entry(key).or_insert(before);
        }
        let known = KnownReference {
            event: Name::clone(&transaction.event),
            reference: transaction.reference.clone(),
            id,
            request_hash: transaction.request_hash,
        };
        self.references.insert((Name::clone(&known.event), known.reference.clone()), known);
        self.touch(transaction.inserted_at);
        self.transactions.push(transaction);
        id
    }

    /// Insertion time never goes back, whatever the clock does.
    pub(super) fn next_time(&self, now: Timestamp) -> Timestamp {
        self.time.map_or(now, |time| time.max(now))
    }
}

impl Moved {
    fn by(self, change: i64) -> Option<Self> {
        let money = Money::from_minor(change, self.after.balance.currency());
        let balance = self.after.balance.checked_add(money).ok()?;
        let total = self.change.checked_add(change)?;
        let lowest = if change < 0 {
            Some(self.lowest.map_or(total, |low| low.min(total)))
        } else {
            self.lowest
        };
        Some(Self { after: Account { balance, ..self.after }, change: total, lowest })
    }
}

/// What a template may read: the balances of its own accounts.
struct BoundRecords<'a> {
    ledger: &'a Ledger,
    bound: &'a Bound<'a>,
}

impl Records for BoundRecords<'_> {
    fn balance(&self, account: &str, asset: &str, _color: &str) -> Amount {
        let Some(account) = self.bound.account(account, asset) else {
            return Amount::ZERO;
        };
        let key = (Name::clone(&account.address), account.currency);
        let known = self.ledger.accounts.get(&key);
        known.map_or(Amount::ZERO, |account| account.balance.minor().into())
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
