//! Operators: resolve stuck payouts from the provider's books; above the four-eyes amount two of them decide.

use std::collections::BTreeMap;
use std::time::Duration;

use bursar_connect::escape;
use bursar_node::client::{ApiError, ApiRequest, Client};
use bursar_node::failure::Failure;
use serde_json::{Value, json};

use super::api_clients::{ApiClients, issue, send};
use super::feed::Feed;
use super::setup::Setup;
use super::text_field;

/// An operator and an approver.
pub(super) struct Operators {
    maker: Operator,
    checker: Operator,
}

struct Operator {
    name: &'static str,
    client: Client,
}

/// The decisions of the operators.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    pub(super) paid: u64,
    pub(super) not_paid: u64,
    /// Payouts that needed two decisions.
    pub(super) by_two: Vec<String>,
    /// One paid and one unpaid example, as printed.
    pub(super) examples: BTreeMap<bool, String>,
}

/// The entry of a reference in a provider's books.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) amount: String,
    pub(super) currency: String,
    pub(super) state: String,
    pub(super) times_paid: u64,
}

/// By channel and reference.
pub(super) type Books = BTreeMap<(String, String), Entry>;

/// A calm provider ends every payment within five seconds.
const BOOKS_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Tries to decide one payout while callbacks still change it.
const TRIES_MAX: u32 = 10;

pub(super) async fn books(setup: &Setup) -> Result<Books, Failure> {
    let mut books = Books::new();
    for provider in &setup.providers {
        let answer = provider.books().await?.json;
        let payments = answer.get("payments").and_then(Value::as_array);
        for payment in payments.into_iter().flatten() {
            let entry = Entry {
                amount: text_field(payment, "amount")?.to_owned(),
                currency: text_field(payment, "currency")?.to_owned(),
                state: text_field(payment, "state")?.to_owned(),
                times_paid: payment.get("times_paid").and_then(Value::as_u64).unwrap_or_default(),
            };
            let reference = text_field(payment, "reference")?.to_owned();
            books.insert((provider.name.to_owned(), reference), entry);
        }
    }
    Ok(books)
}

/// The books of all providers once no payment is pending.
pub(super) async fn closed_books(setup: &Setup) -> Result<Books, Failure> {
    let start = tokio::time::Instant::now();
    loop {
        let books = books(setup).await?;
        if books.values().all(|entry| entry.state != "pending") || start.elapsed() > BOOKS_TIMEOUT {
            return Ok(books);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

impl Operators {
    pub(super) async fn open(setup: &Setup, clients: &ApiClients) -> Result<Self, Failure> {
        let person = async |name: &'static str, role: &str| {
            let key = issue(&clients.admin, json!({"name": name, "role": role})).await?;
            Ok::<_, Failure>(Operator { name, client: setup.client(&key)? })
        };
        Ok(Self {
            maker: person("maker", "operator").await?,
            checker: person("checker", "approver").await?,
        })
    }

    /// Resolves every stuck payout.
    pub(super) async fn decide(
        &self,
        feed: &Feed<'_>,
        books: &Books,
    ) -> Result<Decisions, Failure> {
        let mut decisions = Decisions::default();
        let stuck = feed.histories.iter().filter(|(_, history)| history.status == "STUCK");
        for (id, _) in stuck {
            self.decide_one(id, books, &mut decisions).await?;
        }
        Ok(decisions)
    }

    async fn decide_one(
        &self,
        id: &str,
        books: &Books,
        decisions: &mut Decisions,
    ) -> Result<(), Failure> {
        for try_number in 0..TRIES_MAX {
            let path = format!("/v1/payouts/{}", escape(id));
            let payout = send(&self.maker.client, &ApiRequest::get(&path)).await?.json;
            if payout.get("status").and_then(Value::as_str) != Some("STUCK") {
                // A callback has resolved it meanwhile.
                return Ok(());
            }
            let explained =
                send(&self.maker.client, &ApiRequest::get(format!("{path}/explain"))).await?.json;
            let is_paid = is_paid(&payout, &explained, books)?;
            let version = payout.get("version").cloned().unwrap_or_default();
            match rule(&self.maker, &path, is_paid, &version, try_number).await? {
                DecisionResult::Stale => continue,
                DecisionResult::Done => {}
                DecisionResult::Proposed => {
                    match rule(&self.checker, &path, is_paid, &version, try_number).await? {
                        DecisionResult::Stale => continue,
                        DecisionResult::Done | DecisionResult::Proposed => {
                            decisions.by_two.push(id.to_owned());
                        }
                    }
                }
            }
            decisions.examples.entry(is_paid).or_insert(example(&payout, &explained, is_paid)?);
            let count = if is_paid { &mut decisions.paid } else { &mut decisions.not_paid };
            *count = count.saturating_add(1);
            return Ok(());
        }
        Err(Failure::new(format!("{id} could not be resolved: its version kept changing")))
    }
}

/// Whether any of its attempts is in the provider's books as paid.
fn is_paid(payout: &Value, explained: &Value, books: &Books) -> Result<bool, Failure> {
    let channel = text_field(payout, "channel")?;
    let attempts = explained.get("attempts").and_then(Value::as_array);
    let mut references = attempts
        .into_iter()
        .flatten()
        .filter_map(|attempt| attempt.get("reference").and_then(Value::as_str));
    Ok(references.any(|reference| {
        let entry = books.get(&(channel.to_owned(), reference.to_owned()));
        entry.is_some_and(|entry| entry.times_paid > 0)
    }))
}

/// Describes a stuck payout, the provider's books, and the resolution.
fn example(payout: &Value, explained: &Value, is_paid: bool) -> Result<String, Failure> {
    let part = |name: &str| text_field(payout, name);
    let ending =
        if is_paid { "paid: its hold is settled" } else { "not paid: its hold is released" };
    Ok(format!(
        "  {} of {} {} through {}\n    stuck: {}\n    the provider's books: {ending}",
        part("id")?,
        part("amount")?,
        part("currency")?,
        part("channel")?,
        text_field(explained, "summary")?
    ))
}

/// The result of a decision.
enum DecisionResult {
    Done,
    /// A second operator must make the same decision.
    Proposed,
    /// The payout has changed: it must be reviewed again.
    Stale,
}

async fn rule(
    who: &Operator,
    path: &str,
    is_paid: bool,
    version: &Value,
    try_number: u32,
) -> Result<DecisionResult, Failure> {
    let (decision, evidence) = if is_paid {
        ("confirm_paid", "it is on the provider's statement")
    } else {
        ("confirm_not_paid", "it is not on the provider's statement, which is closed")
    };
    let body = json!({"decision": decision, "evidence": evidence, "expected_version": version});
    let key = format!("{}-{try_number}-{path}", who.name);
    let request = ApiRequest::post(format!("{path}/resolve"), body).keyed(key);
    match who.client.send(&request).await {
        Ok(answer) if answer.json.get("pending_decision").is_some() => Ok(DecisionResult::Proposed),
        Ok(_) => Ok(DecisionResult::Done),
        Err(ApiError::Problem { code, .. }) if code == "second_person_needed" => {
            Ok(DecisionResult::Proposed)
        }
        Err(ApiError::Problem { code, .. }) if code == "stale_version" || code == "not_stuck" => {
            Ok(DecisionResult::Stale)
        }
        Err(error) => Err(error.failure()),
    }
}
