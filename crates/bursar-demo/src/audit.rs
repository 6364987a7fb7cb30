//! An independent look: what was asked for, what the providers' own books say, what merchants were told, and the ledger,
//! each held against the others.

use std::collections::{BTreeMap, BTreeSet};

use bursar_connect::escape;
use bursar_core::money::{Currency, Money, decimal};
use bursar_node::client::{Ask, Client};
use bursar_node::failure::Failure;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::crowd::{Collected, Crowd, Made, Repeated, tell};
use super::feed::{Feed, Story};
use super::people::{Books, Rulings};
use super::stage::FOUR_EYES_ABOVE;
use super::word;

/// A promise, how often it was looked at, and how it was broken if it was.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) promise: &'static str,
    pub(super) checked: usize,
    pub(super) failures: Vec<String>,
}

/// Everything that is known from outside.
pub(super) struct Evidence<'e> {
    pub(super) collected: &'e [Collected],
    pub(super) made: &'e [Made],
    pub(super) overdrawn: &'e [String],
    pub(super) merchants: usize,
    pub(super) feed: &'e Feed<'e>,
    pub(super) books: &'e Books,
    pub(super) rulings: &'e Rulings,
}

/// One currency, by three who do not ask each other.
#[derive(Debug)]
pub(super) struct Cash {
    pub(super) currency: Currency,
    /// What customers paid, as the API confirmed it.
    pub(super) collected: i128,
    /// What the providers' books say was paid.
    pub(super) paid: i128,
    /// What the ledger has at the bank.
    pub(super) bank: i128,
}

/// The GL code of money at our banks.
const BANK: &str = "1000";
const HANDS: usize = 16;

impl Evidence<'_> {
    pub(super) async fn check(&self, crowd: &Crowd) -> Result<(Vec<Finding>, Vec<Cash>), Failure> {
        let house = &crowd.house;
        let cash = self.cash(house).await?;
        let findings = vec![
            self.ended(),
            self.paid_once(),
            self.same_key(),
            Finding {
                promise: "nobody pays out more than they have",
                checked: self.merchants,
                failures: self.overdrawn.to_vec(),
            },
            balanced(house).await?,
            conserved(&cash),
            self.merchants_have(house).await?,
            self.told(house).await?,
            self.two_people(house).await?,
            verified(house).await?,
        ];
        Ok((findings, cash))
    }

    fn story(&self, made: &Made) -> Option<&Story> {
        self.feed.stories.get(&made.id)
    }

    /// By what merchants were told.
    fn is_settled(&self, made: &Made) -> bool {
        let status = self.story(made).map(|story| story.status.as_str());
        matches!(status, Some("SUCCESS" | "LATE_SUCCESS"))
    }

    fn ended(&self) -> Finding {
        let open =
            self.made.iter().filter(|made| !self.story(made).is_some_and(|story| story.is_final));
        let failures = open.map(|made| format!("{} has not ended", made.id)).collect();
        Finding { promise: "every payout came to its end", checked: self.made.len(), failures }
    }

    /// The providers' books against ours, by reference, both ways.
    fn paid_once(&self) -> Finding {
        let mut failures = Vec::new();
        let mut known = BTreeSet::new();
        for made in self.made {
            let references = self.story(made).map(|story| &story.references);
            let mut times_paid: u64 = 0;
            for reference in references.into_iter().flatten() {
                let name = (made.channel.to_owned(), reference.clone());
                let Some(entry) = self.books.get(&name) else { continue };
                known.insert(name);
                times_paid = times_paid.saturating_add(entry.times_paid);
                let is_same = entry.amount == made.amount.to_string()
                    && entry.currency == made.amount.currency().to_string();
                if !is_same {
                    failures
                        .push(format!("{}: another amount was paid, {}", made.id, entry.amount));
                }
            }
            if times_paid != u64::from(self.is_settled(made)) {
                let status = self.story(made).map_or("not told", |story| &story.status);
                failures.push(format!("{} is {status}, and was paid {times_paid} times", made.id));
            }
        }
        let unknown = self.books.keys().filter(|name| !known.contains(*name));
        failures.extend(unknown.map(|(_, reference)| format!("nobody asked for {reference}")));
        let promise = "what the providers paid is what was settled, each reference once";
        Finding { promise, checked: self.made.len(), failures }
    }

    fn same_key(&self) -> Finding {
        let repeated: Vec<&Repeated> = self.repeated().collect();
        let failures = repeated.iter().filter_map(|repeated| repeated.wrong.clone()).collect();
        let promise = "the same key got the same answer, and nothing was done twice";
        Finding { promise, checked: repeated.len(), failures }
    }

    pub(super) fn repeated(&self) -> impl Iterator<Item = &Repeated> {
        let payins = self.collected.iter().flat_map(|payin| &payin.repeated);
        payins.chain(self.made.iter().flat_map(|made| &made.repeated))
    }

    async fn cash(&self, house: &Client) -> Result<Vec<Cash>, Failure> {
        let mut all: BTreeMap<Currency, Cash> = BTreeMap::new();
        let mut of = |currency: Currency, collected: i128, paid: i128, bank: i128| {
            let none = Cash { currency, collected: 0, paid: 0, bank: 0 };
            let cash = all.entry(currency).or_insert(none);
            cash.collected = cash.collected.saturating_add(collected);
            cash.paid = cash.paid.saturating_add(paid);
            cash.bank = cash.bank.saturating_add(bank);
        };
        for Collected { amount, .. } in self.collected {
            of(amount.currency(), amount.minor().into(), 0, 0);
        }
        for entry in self.books.values() {
            let amount = parse(&entry.amount, &entry.currency)?;
            let paid = i128::from(amount.minor()).saturating_mul(entry.times_paid.into());
            of(amount.currency(), 0, paid, 0);
        }
        for account in pages(house, "/v1/ledger/accounts").await? {
            if word(&account, "gl")? == BANK {
                let balance = parse(word(&account, "balance")?, word(&account, "currency")?)?;
                of(balance.currency(), 0, 0, balance.minor().into());
            }
        }
        Ok(all.into_values().collect())
    }

    /// Every merchant has what came in for it, less what went out for it.
    async fn merchants_have(&self, house: &Client) -> Result<Finding, Failure> {
        let mut expected: BTreeMap<&str, (Currency, i128)> = BTreeMap::new();
        let mut add = |merchant, money: Money, sign: i128| {
            let (_, sum) = expected.entry(merchant).or_insert((money.currency(), 0));
            *sum = sum.saturating_add(sign.saturating_mul(money.minor().into()));
        };
        for Collected { merchant, net, .. } in self.collected {
            add(merchant.as_str(), *net, 1);
        }
        for made in self.made.iter().filter(|made| self.is_settled(made)) {
            add(&made.merchant, made.cost, -1);
        }
        let mut failures = Vec::new();
        for (merchant, (currency, sum)) in &expected {
            let path = format!("/v1/merchants/{}/balances", escape(merchant));
            let answer = tell(house, &Ask::get(path)).await?.json;
            let balances = answer.get("balances").and_then(Value::as_array).into_iter().flatten();
            let code = currency.to_string();
            let mut own = balances
                .filter(|balance| balance.get("currency").and_then(Value::as_str) == Some(&code));
            let own = own.next().unwrap_or(&Value::Null);
            let (available, held) = (word(own, "available")?, word(own, "held")?);
            let wanted = decimal(*sum, *currency);
            if available != wanted || parse(held, &code)?.minor() != 0 {
                failures.push(format!(
                    "{merchant}: has {available} {code} and {held} aside, should have {wanted}"
                ));
            }
        }
        let promise = "every merchant has what came in less what went out, and nothing aside";
        Ok(Finding { promise, checked: expected.len(), failures })
    }

    /// The last thing that was told about a payout is how it stands.
    async fn told(&self, house: &Client) -> Result<Finding, Failure> {
        let stands = stream::iter(self.made).map(async |made| {
            let path = format!("/v1/payouts/{}", escape(&made.id));
            let payout = tell(house, &Ask::get(path)).await?.json;
            Ok::<_, Failure>((made, word(&payout, "status")?.to_owned()))
        });
        let stands: Vec<(&Made, String)> = stands.buffered(HANDS).try_collect().await?;
        let mut failures = self.feed.gaps.clone();
        for (made, status) in stands {
            let told = self.story(made).map_or("nothing", |story| &story.status);
            if told != status {
                failures.push(format!("{} is {status}, and {told} was told", made.id));
            }
        }
        let promise = "merchants were told of every change, in order and without a gap";
        Ok(Finding { promise, checked: self.made.len(), failures })
    }

    async fn two_people(&self, house: &Client) -> Result<Finding, Failure> {
        let mut actors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut decided = BTreeSet::new();
        for entry in pages(house, "/v1/audit").await? {
            let (action, id) = (word(&entry, "action")?, word(&entry, "resource")?);
            let is_decision = action.starts_with("payout.confirm");
            if is_decision || action == "payout.propose" {
                let who = actors.entry(id.to_owned()).or_default();
                who.insert(word(&entry, "actor")?.to_owned());
            }
            if is_decision {
                decided.insert(id.to_owned());
            }
        }
        let large = self.made.iter().filter(|made| is_above(made.amount, FOUR_EYES_ABOVE));
        let large = large.filter(|made| decided.contains(&made.id));
        let decided: Vec<_> =
            large.filter_map(|made| Some((&made.id, actors.get(&made.id)?))).collect();
        let alone = decided.iter().filter(|(_, who)| who.len() < 2);
        let failures = alone.map(|(id, _)| format!("{id} was decided by one person")).collect();
        let promise = "above the four-eyes amount two people decided";
        Ok(Finding { promise, checked: decided.len(), failures })
    }
}

fn conserved(cash: &[Cash]) -> Finding {
    let differs = |cash: &&Cash| cash.collected.saturating_sub(cash.paid) != cash.bank;
    let failures = cash.iter().filter(differs).map(|cash| {
        let text = |minor| decimal(minor, cash.currency);
        let (collected, paid, bank) = (text(cash.collected), text(cash.paid), text(cash.bank));
        format!("{}: {collected} came in, {paid} was paid, {bank} is booked", cash.currency)
    });
    let promise = "the bank holds what came in less what the providers paid out";
    Finding { promise, checked: cash.len(), failures: failures.collect() }
}

async fn balanced(house: &Client) -> Result<Finding, Failure> {
    let trial = tell(house, &Ask::get("/v1/ledger/trial-balance")).await?.json;
    let totals = trial.get("totals").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut failures = Vec::new();
    for total in totals {
        let (debit, credit) = (word(total, "debit")?, word(total, "credit")?);
        if debit != credit {
            failures.push(format!("{}: {debit}, {credit}", word(total, "currency")?));
        }
    }
    if trial.get("is_balanced") != Some(&Value::Bool(true)) && failures.is_empty() {
        failures.push("the trial balance says that it is not balanced".to_owned());
    }
    let promise = "debits equal credits in every currency";
    Ok(Finding { promise, checked: totals.len(), failures })
}

async fn verified(house: &Client) -> Result<Finding, Failure> {
    let report = tell(house, &Ask::get("/v1/ledger/verify")).await?.json;
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

/// Above this many whole units of its currency.
fn is_above(amount: Money, units: i64) -> bool {
    let unit = 10_i64.checked_pow(amount.currency().decimals().into()).unwrap_or(1);
    amount.minor() > units.saturating_mul(unit)
}

/// A list to its end.
pub(super) async fn pages(house: &Client, path: &str) -> Result<Vec<Value>, Failure> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let ask = Ask::get(path).with("limit", Some(500)).with("cursor", cursor.as_ref());
        let page = tell(house, &ask).await?.json;
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
