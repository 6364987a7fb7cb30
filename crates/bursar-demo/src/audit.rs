//! Independent audit: compares the requests, the providers' books, the event feed and the ledger.

use std::collections::{BTreeMap, BTreeSet};

use bursar_connect::escape;
use bursar_core::money::{Currency, Money, decimal};
use bursar_node::client::{ApiRequest, Client};
use bursar_node::failure::Failure;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::api_clients::{ApiClients, CreatedPayout, RecordedPayIn, Repeated, send};
use super::feed::{Feed, PayoutHistory};
use super::operators::{Books, Decisions};
use super::setup::FOUR_EYES_ABOVE;
use super::text_field;

/// A promise, the number of checks, and the failures.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) promise: &'static str,
    pub(super) checked: usize,
    pub(super) failures: Vec<String>,
}

/// All records outside the ledger.
pub(super) struct Evidence<'e> {
    pub(super) payins: &'e [RecordedPayIn],
    pub(super) created: &'e [CreatedPayout],
    pub(super) overdrawn: &'e [String],
    pub(super) merchants: usize,
    pub(super) feed: &'e Feed<'e>,
    pub(super) books: &'e Books,
    pub(super) decisions: &'e Decisions,
}

/// The money of one currency according to three independent records.
#[derive(Debug)]
pub(super) struct Cash {
    pub(super) currency: Currency,
    /// Pay-ins according to the responses of the API.
    pub(super) payins: i128,
    /// Payouts according to the providers' books.
    pub(super) paid: i128,
    /// The bank balance according to the ledger.
    pub(super) bank: i128,
}

/// The GL code of bank accounts.
const BANK: &str = "1000";
const CONCURRENCY: usize = 16;

impl Evidence<'_> {
    pub(super) async fn check(
        &self,
        clients: &ApiClients,
    ) -> Result<(Vec<Finding>, Vec<Cash>), Failure> {
        let admin = &clients.admin;
        let cash = self.cash(admin).await?;
        let findings = vec![
            self.ended(),
            self.paid_once(),
            self.same_key(),
            Finding {
                promise: "no merchant pays out more than its balance",
                checked: self.merchants,
                failures: self.overdrawn.to_vec(),
            },
            balanced(admin).await?,
            conserved(&cash),
            self.merchants_have(admin).await?,
            self.events_match(admin).await?,
            self.two_people(admin).await?,
            verified(admin).await?,
        ];
        Ok((findings, cash))
    }

    fn history(&self, created: &CreatedPayout) -> Option<&PayoutHistory> {
        self.feed.histories.get(&created.id)
    }

    /// According to the event feed.
    fn is_settled(&self, created: &CreatedPayout) -> bool {
        let status = self.history(created).map(|history| history.status.as_str());
        matches!(status, Some("SUCCESS" | "LATE_SUCCESS"))
    }

    fn ended(&self) -> Finding {
        let open = self
            .created
            .iter()
            .filter(|created| !self.history(created).is_some_and(|history| history.is_final));
        let failures = open.map(|created| format!("{} has not ended", created.id)).collect();
        Finding {
            promise: "every payout reached a final status",
            checked: self.created.len(),
            failures,
        }
    }

    /// Compares the providers' books with the payouts by reference, in both directions.
    fn paid_once(&self) -> Finding {
        let mut failures = Vec::new();
        let mut known = BTreeSet::new();
        for created in self.created {
            let references = self.history(created).map(|history| &history.references);
            let mut times_paid: u64 = 0;
            for reference in references.into_iter().flatten() {
                let name = (created.channel.to_owned(), reference.clone());
                let Some(entry) = self.books.get(&name) else { continue };
                known.insert(name);
                times_paid = times_paid.saturating_add(entry.times_paid);
                let is_same = entry.amount == created.amount.to_string()
                    && entry.currency == created.amount.currency().to_string();
                if !is_same {
                    failures
                        .push(format!("{}: another amount was paid, {}", created.id, entry.amount));
                }
            }
            if times_paid != u64::from(self.is_settled(created)) {
                let status =
                    self.history(created).map_or("without events", |history| &history.status);
                failures
                    .push(format!("{} is {status}, and was paid {times_paid} times", created.id));
            }
        }
        let unknown = self.books.keys().filter(|name| !known.contains(*name));
        failures.extend(
            unknown.map(|(_, reference)| format!("no payout has the reference {reference}")),
        );
        let promise = "what the providers paid is what was settled, each reference once";
        Finding { promise, checked: self.created.len(), failures }
    }

    fn same_key(&self) -> Finding {
        let repeated: Vec<&Repeated> = self.repeated().collect();
        let failures = repeated.iter().filter_map(|repeated| repeated.wrong.clone()).collect();
        let promise = "the same key got the same answer, and nothing was done twice";
        Finding { promise, checked: repeated.len(), failures }
    }

    pub(super) fn repeated(&self) -> impl Iterator<Item = &Repeated> {
        let payins = self.payins.iter().flat_map(|payin| &payin.repeated);
        payins.chain(self.created.iter().flat_map(|created| &created.repeated))
    }

    async fn cash(&self, admin: &Client) -> Result<Vec<Cash>, Failure> {
        let mut all: BTreeMap<Currency, Cash> = BTreeMap::new();
        let mut of = |currency: Currency, payins: i128, paid: i128, bank: i128| {
            let none = Cash { currency, payins: 0, paid: 0, bank: 0 };
            let cash = all.entry(currency).or_insert(none);
            cash.payins = cash.payins.saturating_add(payins);
            cash.paid = cash.paid.saturating_add(paid);
            cash.bank = cash.bank.saturating_add(bank);
        };
        for RecordedPayIn { amount, .. } in self.payins {
            of(amount.currency(), amount.minor().into(), 0, 0);
        }
        for entry in self.books.values() {
            let amount = parse(&entry.amount, &entry.currency)?;
            let paid = i128::from(amount.minor()).saturating_mul(entry.times_paid.into());
            of(amount.currency(), 0, paid, 0);
        }
        for account in pages(admin, "/v1/ledger/accounts").await? {
            if text_field(&account, "gl")? == BANK {
                let balance =
                    parse(text_field(&account, "balance")?, text_field(&account, "currency")?)?;
                of(balance.currency(), 0, 0, balance.minor().into());
            }
        }
        Ok(all.into_values().collect())
    }

    /// Every balance is the pay-ins less the payouts of the merchant.
    async fn merchants_have(&self, admin: &Client) -> Result<Finding, Failure> {
        let mut expected: BTreeMap<&str, (Currency, i128)> = BTreeMap::new();
        let mut add = |merchant, money: Money, sign: i128| {
            let (_, sum) = expected.entry(merchant).or_insert((money.currency(), 0));
            *sum = sum.saturating_add(sign.saturating_mul(money.minor().into()));
        };
        for RecordedPayIn { merchant, net, .. } in self.payins {
            add(merchant.as_str(), *net, 1);
        }
        for created in self.created.iter().filter(|created| self.is_settled(created)) {
            add(&created.merchant, created.cost, -1);
        }
        let mut failures = Vec::new();
        for (merchant, (currency, sum)) in &expected {
            let path = format!("/v1/merchants/{}/balances", escape(merchant));
            let answer = send(admin, &ApiRequest::get(path)).await?.json;
            let balances = answer.get("balances").and_then(Value::as_array).into_iter().flatten();
            let code = currency.to_string();
            let mut own = balances
                .filter(|balance| balance.get("currency").and_then(Value::as_str) == Some(&code));
            let own = own.next().unwrap_or(&Value::Null);
            let (available, held) = (text_field(own, "available")?, text_field(own, "held")?);
            let wanted = decimal(*sum, *currency);
            if available != wanted || parse(held, &code)?.minor() != 0 {
                failures.push(format!(
                    "{merchant}: has {available} {code} and {held} held, should have {wanted}"
                ));
            }
        }
        let promise =
            "every merchant's balance is its pay-ins less its payouts, and nothing is held";
        Ok(Finding { promise, checked: expected.len(), failures })
    }

    /// The last event of a payout has its current status.
    async fn events_match(&self, admin: &Client) -> Result<Finding, Failure> {
        let stands = stream::iter(self.created).map(async |created| {
            let path = format!("/v1/payouts/{}", escape(&created.id));
            let payout = send(admin, &ApiRequest::get(path)).await?.json;
            Ok::<_, Failure>((created, text_field(&payout, "status")?.to_owned()))
        });
        let stands: Vec<(&CreatedPayout, String)> =
            stands.buffered(CONCURRENCY).try_collect().await?;
        let mut failures = self.feed.gaps.clone();
        for (created, status) in stands {
            let last = self.history(created).map_or("nothing", |history| &history.status);
            if last != status {
                failures
                    .push(format!("{} is {status}, and its last event says {last}", created.id));
            }
        }
        let promise = "every change has an event, in order and without a gap";
        Ok(Finding { promise, checked: self.created.len(), failures })
    }

    async fn two_people(&self, admin: &Client) -> Result<Finding, Failure> {
        let mut actors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut decided = BTreeSet::new();
        for entry in pages(admin, "/v1/audit").await? {
            let (action, id) = (text_field(&entry, "action")?, text_field(&entry, "resource")?);
            let is_decision = action.starts_with("payout.confirm");
            if is_decision || action == "payout.propose" {
                let who = actors.entry(id.to_owned()).or_default();
                who.insert(text_field(&entry, "actor")?.to_owned());
            }
            if is_decision {
                decided.insert(id.to_owned());
            }
        }
        let large = self.created.iter().filter(|created| is_above(created.amount, FOUR_EYES_ABOVE));
        let large = large.filter(|created| decided.contains(&created.id));
        let decided: Vec<_> =
            large.filter_map(|created| Some((&created.id, actors.get(&created.id)?))).collect();
        let alone = decided.iter().filter(|(_, who)| who.len() < 2);
        let failures = alone.map(|(id, _)| format!("{id} was decided by one person")).collect();
        let promise = "above the four-eyes amount two operators decided";
        Ok(Finding { promise, checked: decided.len(), failures })
    }
}

fn conserved(cash: &[Cash]) -> Finding {
    let differs = |cash: &&Cash| cash.payins.saturating_sub(cash.paid) != cash.bank;
    let failures = cash.iter().filter(differs).map(|cash| {
        let text = |minor| decimal(minor, cash.currency);
        let (payins, paid, bank) = (text(cash.payins), text(cash.paid), text(cash.bank));
        format!("{}: {payins} came in, {paid} was paid, {bank} is booked", cash.currency)
    });
    let promise = "the bank holds what came in less what the providers paid out";
    Finding { promise, checked: cash.len(), failures: failures.collect() }
}

async fn balanced(admin: &Client) -> Result<Finding, Failure> {
    let trial = send(admin, &ApiRequest::get("/v1/ledger/trial-balance")).await?.json;
    let totals = trial.get("totals").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut failures = Vec::new();
    for total in totals {
        let (debit, credit) = (text_field(total, "debit")?, text_field(total, "credit")?);
        if debit != credit {
            failures.push(format!("{}: {debit}, {credit}", text_field(total, "currency")?));
        }
    }
    if trial.get("is_balanced") != Some(&Value::Bool(true)) && failures.is_empty() {
        failures.push("the trial balance says that it is not balanced".to_owned());
    }
    let promise = "debits equal credits in every currency";
    Ok(Finding { promise, checked: totals.len(), failures })
}

async fn verified(admin: &Client) -> Result<Finding, Failure> {
    let report = send(admin, &ApiRequest::get("/v1/ledger/verify")).await?.json;
    let differences = report.get("differences").and_then(Value::as_array).into_iter().flatten();
    let mut failures: Vec<String> = differences.map(ToString::to_string).collect();
    if report.get("ok") != Some(&Value::Bool(true)) && failures.is_empty() {
        failures.push("the books are not what their postings make them".to_owned());
    }
    let counted = ["commits", "accounts", "holds", "flows", "events"].into_iter();
    let counts = counted.filter_map(|name| report.get(name).and_then(Value::as_u64));
    let checked = usize::try_from(counts.sum::<u64>()).unwrap_or(usize::MAX);
    let promise = "every balance, hold, flow and hash is what the postings make it";
    Ok(Finding { promise, checked, failures })
}

/// Whether the amount is above this many whole units of its currency.
fn is_above(amount: Money, units: i64) -> bool {
    let unit = 10_i64.checked_pow(amount.currency().decimals().into()).unwrap_or(1);
    amount.minor() > units.saturating_mul(unit)
}

/// All pages of a list.
pub(super) async fn pages(admin: &Client, path: &str) -> Result<Vec<Value>, Failure> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let request =
            ApiRequest::get(path).with("limit", Some(500)).with("cursor", cursor.as_ref());
        let page = send(admin, &request).await?.json;
        let rows = page.get("data").and_then(Value::as_array);
        found.extend(rows.into_iter().flatten().cloned());
        match page.get("next_cursor").and_then(Value::as_str) {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(found),
        }
    }
}

fn parse(amount: &str, currency: &str) -> Result<Money, Failure> {
    let unreadable = |error: String| Failure::new(format!("`{amount} {currency}`: {error}"));
    let currency: Currency = currency.parse().map_err(|error| unreadable(format!("{error}")))?;
    Money::parse(amount, currency).map_err(|error| unreadable(error.to_string()))
}
