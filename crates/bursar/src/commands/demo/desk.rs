//! The demo's desk: turns what happens into requests, has them decided and saved together, and stops if an answer is not
//! what it must be.

use std::collections::BTreeMap;
use std::path::Path;

use bursar_core::idempotency::Key;
use bursar_core::ids::{ReservationId, Seed};
use bursar_core::ledger::{Admission, Event, Posted};
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::pricing::Quote;
use bursar_core::request::{Answer, Batch, Body, Reply, Request, Wake};
use bursar_core::reservation::{Decision, LANE, NewReservation, Verdict};
use bursar_core::rules::Rules;
use bursar_store::{Query as _, Sqlite, StoreError, turn};
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::{Builder, Runtime};

use super::audit::World;
use crate::config::Market;
use crate::failure::Failure;

/// Requests that are decided and saved together.
const BATCH: usize = 1_000;

pub(super) struct Desk<'r> {
    rules: &'r Rules,
    store: Sqlite,
    runtime: Runtime,
    bank_id: String,
    now: Timestamp,
    admitted: u64,
    queue: Vec<Queued>,
    /// What really happened at the bank, kept apart from the books.
    pub(super) world: World,
    pub(super) tally: Tally,
}

/// A merchant in a market.
#[derive(Debug, Clone)]
pub(super) struct Shop {
    pub(super) market: Market,
    pub(super) number: u64,
}

/// What must be answered. Anything else stops the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    Done,
    /// Done if the money is there, refused if it is not.
    DoneIfFunded,
    Repeated,
    /// Refused with this code.
    Refused(&'static str),
}

/// What the bank sees of it, if it is done.
#[derive(Debug, Clone)]
pub(super) enum Cash {
    None,
    Received(Money),
    Paid(Money),
}

/// A request that waits for its batch.
struct Queued {
    request: Request,
    name: String,
    expect: Expect,
    cash: Option<(Name, Cash)>,
}

/// How each kind of request was answered.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<String, Count>);

#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) done: u64,
    pub(super) repeated: u64,
    pub(super) refused: u64,
}

impl Tally {
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &Count)> {
        self.0.iter().map(|(name, count)| (name.as_str(), count))
    }

    /// How often it was done.
    pub(super) fn done(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |count| count.done)
    }
}

impl<'r> Desk<'r> {
    pub(super) fn new(
        rules: &'r Rules,
        directory: &Path,
        bank_id: &str,
        morning: Timestamp,
    ) -> Result<Self, Failure> {
        Ok(Self {
            rules,
            store: Sqlite::open(directory).map_err(|error| failed(&error))?,
            runtime: Builder::new_current_thread().build()?,
            bank_id: bank_id.to_owned(),
            now: morning,
            admitted: 0,
            queue: Vec::new(),
            world: World::default(),
            tally: Tally::default(),
        })
    }

    /// Tells the ledger that something happened.
    pub(super) fn event(
        &mut self,
        shop: &Shop,
        name: &str,
        reference: &str,
        amounts: &[(&str, Money)],
        (expect, cash): (Expect, Cash),
    ) -> Result<(), Failure> {
        let rule = self
            .rules
            .rulebook
            .rule(name)
            .map_err(|rejection| Failure::new(rejection.to_string()))?;
        let mut variables: BTreeMap<String, String> =
            amounts.iter().map(|(name, money)| ((*name).to_owned(), money.to_string())).collect();
        for variable in rule.variables() {
            if let Some(value) = self.identifier(variable, shop) {
                variables.insert(variable.clone(), value);
            }
        }
        let event = Event {
            name: name.to_owned(),
            reference: reference.to_owned(),
            variables,
            effective_at: None,
        };
        let bank = self.address("1000", shop)?;
        self.ask(name, Body::Post(event), expect, Some((bank, cash)));
        Ok(())
    }

    /// Puts a shop's money aside for a payout.
    pub(super) fn reserve(
        &mut self,
        shop: &Shop,
        amount: Money,
        quote: Quote,
        expect: Expect,
    ) -> ReservationId {
        let identifier = |name| self.identifier(name, shop).unwrap_or_default();
        let reservation = NewReservation {
            merchant: identifier("merchantId"),
            bank: identifier("bankId"),
            currency: identifier("currency"),
            amount: amount.to_string(),
            fee: quote.fee.to_string(),
            vat: quote.vat.to_string(),
            expires_at: self.now.saturating_add(SignedDuration::from_hours(2)).unwrap_or(self.now),
        };
        let key = self.next_key();
        let admission = self.ask("reserve", Body::Reserve { key, reservation }, expect, None);
        ReservationId::new(admission.now, &admission.seed, 0)
    }

    /// The channel has answered: the payout was made, or it was not.
    pub(super) fn decide(
        &mut self,
        shop: &Shop,
        id: ReservationId,
        verdict: Verdict,
        (expect, cash): (Expect, Cash),
    ) -> Result<(), Failure> {
        let (actor, note) = ("channel".to_owned(), String::new());
        let decision = Decision { id, verdict, expected_version: None, actor, note };
        let name = match verdict {
            Verdict::Settle => "settle",
            Verdict::Release => "release",
        };
        let key = self.next_key();
        let bank = self.address("1000", shop)?;
        self.ask(name, Body::Decide { key, decision }, expect, Some((bank, cash)));
        Ok(())
    }

    /// Time passes, and whatever is due is woken.
    pub(super) fn hour_passes(&mut self) -> Result<(), Failure> {
        self.now = self.now.saturating_add(SignedDuration::from_hours(1)).unwrap_or(self.now);
        let wake = Wake { lane: LANE.to_owned(), limit: 10_000 };
        self.ask("expire", Body::Wake(wake), Expect::Done, None);
        self.decide_all().map(drop)
    }

    fn ask(
        &mut self,
        name: &str,
        body: Body,
        expect: Expect,
        cash: Option<(Name, Cash)>,
    ) -> Admission {
        self.now = self.now.saturating_add(SignedDuration::from_millis(200)).unwrap_or(self.now);
        self.admitted = self.admitted.saturating_add(1);
        let admission = Admission::new(self.now, Seed::from(self.admitted));
        let request = Request { admission, body };
        self.queue.push(Queued { request, name: name.to_owned(), expect, cash });
        admission
    }

    /// Has everything decided that was asked, in order; says for each whether it was done.
    pub(super) fn decide_all(&mut self) -> Result<Vec<bool>, Failure> {
        let queue = std::mem::take(&mut self.queue);
        let mut done = Vec::with_capacity(queue.len());
        for queued in queue.chunks(BATCH) {
            let requests: Vec<Request> =
                queued.iter().map(|queued| queued.request.clone()).collect();
            let batch = Batch::new(self.rules, &requests);
            let commit = self.runtime.block_on(turn(&mut self.store, &batch));
            let commit = commit.map_err(|error| failed(&error))?;
            for (queued, answer) in queued.iter().zip(&commit.answers) {
                done.push(self.check(queued, answer)?);
            }
        }
        Ok(done)
    }

    fn check(&mut self, queued: &Queued, answer: &Answer) -> Result<bool, Failure> {
        let count = self.tally.0.entry(queued.name.clone()).or_default();
        let found = match answer {
            Ok(
                Reply::Posted(Posted::New(_))
                | Reply::Flow { is_replay: false, .. }
                | Reply::Noted { .. }
                | Reply::Registered { .. },
            ) => {
                count.done = count.done.saturating_add(1);
                Expect::Done
            }
            Ok(Reply::Posted(Posted::Replayed(_)) | Reply::Flow { is_replay: true, .. }) => {
                count.repeated = count.repeated.saturating_add(1);
                Expect::Repeated
            }
            Ok(Reply::Woken(woken)) if !woken.refused.is_empty() => {
                count.refused = count.refused.saturating_add(1);
                Expect::Refused("wake")
            }
            Ok(Reply::Woken(woken)) => {
                let woken = u64::try_from(woken.flows.len()).unwrap_or(u64::MAX);
                count.done = count.done.saturating_add(woken);
                Expect::Done
            }
            Err(rejection) => {
                count.refused = count.refused.saturating_add(1);
                Expect::Refused(rejection.code())
            }
        };
        let is_expected = match queued.expect {
            Expect::DoneIfFunded => {
                matches!(found, Expect::Done | Expect::Refused("missing_funds"))
            }
            Expect::Done | Expect::Repeated | Expect::Refused(_) => found == queued.expect,
        };
        if !is_expected {
            return Err(Failure::new(format!(
                "{:?} should have been {:?}, but the answer was {answer:?}. No real money was touched",
                queued.request.body, queued.expect
            )));
        }
        let is_done = found == Expect::Done;
        if let Some((bank, cash)) = queued.cash.as_ref().filter(|_| is_done) {
            self.world.saw(bank, cash);
        }
        Ok(is_done)
    }

    /// The account of a code, as the chart in use addresses it.
    pub(super) fn address(&self, code: &str, shop: &Shop) -> Result<Name, Failure> {
        let gl = code.parse().ok().and_then(|code| self.rules.rulebook.chart().get(code));
        let Some(pattern) = gl.and_then(|gl| gl.pattern.as_ref()) else {
            return Err(Failure::new(format!("the chart has no address for {code}")));
        };
        let values: BTreeMap<&str, String> = pattern
            .placeholders()
            .filter_map(|name| Some((&**name, self.identifier(name, shop)?)))
            .collect();
        Ok(pattern.fill(|name| values.get(name).map_or("", String::as_str)))
    }

    pub(super) fn balance(&mut self, code: &str, shop: &Shop) -> Result<Money, Failure> {
        let address = self.address(code, shop)?;
        let currency = shop.market.currency;
        let accounts = self.read(async |store| store.accounts().await)?;
        let found = accounts
            .iter()
            .find(|(known, account)| *known == address && account.balance.currency() == currency);
        Ok(found.map_or(Money::from_minor(0, currency), |(_, account)| account.balance))
    }

    /// Reads from the books.
    pub(super) fn read<T>(
        &mut self,
        read: impl AsyncFnOnce(&mut Sqlite) -> Result<T, StoreError>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(read(&mut self.store)).map_err(|error| failed(&error))
    }

    pub(super) fn reference(&self, kind: &str) -> String {
        format!("{kind}-{}", self.admitted)
    }

    fn next_key(&self) -> Key {
        Key { scope: "demo".to_owned(), key: self.reference("request") }
    }

    fn identifier(&self, variable: &str, shop: &Shop) -> Option<String> {
        let market = &shop.market;
        match variable {
            "merchantId" => Some(format!("{}_shop_{}", market.name.to_lowercase(), shop.number)),
            "bankId" => Some(self.bank_id.clone()),
            "providerId" => Some(format!("acquirer_{}", market.name)),
            "currency" => Some(market.currency.to_string()),
            _ => None,
        }
    }
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(error.to_string())
}
