//! Those who decide what machines cannot: they look into the provider's books, and above an amount it takes two of them.

use std::collections::BTreeMap;
use std::time::Duration;

use bursar_connect::escape;
use bursar_node::client::{Ask, Client, Trouble};
use bursar_node::failure::Failure;
use serde_json::{Value, json};

use super::crowd::{Crowd, issue, tell};
use super::feed::Feed;
use super::stage::Stage;
use super::word;

/// One who decides, and one who approves.
pub(super) struct People {
    maker: Person,
    checker: Person,
}

struct Person {
    name: &'static str,
    client: Client,
}

/// What people have decided.
#[derive(Debug, Default)]
pub(super) struct Rulings {
    pub(super) paid: u64,
    pub(super) not_paid: u64,
    /// The payouts that two had to decide.
    pub(super) by_two: Vec<String>,
}

/// What a provider's books say about a reference.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) amount: String,
    pub(super) currency: String,
    pub(super) state: String,
    pub(super) times_paid: u64,
}

/// By channel and reference.
pub(super) type Books = BTreeMap<(String, String), Entry>;

/// A calm provider ends whatever it has begun within five seconds.
const CALMING: Duration = Duration::from_secs(20);
const REST: Duration = Duration::from_millis(200);
/// Looks at one payout, while callbacks still move it.
const LOOKS_MAX: u32 = 10;

pub(super) async fn books(stage: &Stage) -> Result<Books, Failure> {
    let mut books = Books::new();
    for provider in &stage.providers {
        let answer = provider.books().await?.json;
        let payments = answer.get("payments").and_then(Value::as_array);
        for payment in payments.into_iter().flatten() {
            let entry = Entry {
                amount: word(payment, "amount")?.to_owned(),
                currency: word(payment, "currency")?.to_owned(),
                state: word(payment, "state")?.to_owned(),
                times_paid: payment.get("times_paid").and_then(Value::as_u64).unwrap_or_default(),
            };
            let reference = word(payment, "reference")?.to_owned();
            books.insert((provider.name.to_owned(), reference), entry);
        }
    }
    Ok(books)
}

/// The books once nothing in them is open any more.
pub(super) async fn closed_books(stage: &Stage) -> Result<Books, Failure> {
    let start = tokio::time::Instant::now();
    loop {
        let books = books(stage).await?;
        if books.values().all(|entry| entry.state != "pending") || start.elapsed() > CALMING {
            return Ok(books);
        }
        tokio::time::sleep(REST).await;
    }
}

impl People {
    pub(super) async fn hire(stage: &Stage, crowd: &Crowd) -> Result<Self, Failure> {
        let person = async |name: &'static str, role: &str| {
            let key = issue(&crowd.house, json!({"name": name, "role": role})).await?;
            Ok::<_, Failure>(Person { name, client: stage.client(&key)? })
        };
        Ok(Self {
            maker: person("maker", "operator").await?,
            checker: person("checker", "approver").await?,
        })
    }

    /// Decides about everything that is stuck.
    pub(super) async fn decide(&self, feed: &Feed<'_>, books: &Books) -> Result<Rulings, Failure> {
        let mut rulings = Rulings::default();
        let stuck = feed.stories.iter().filter(|(_, story)| story.status == "STUCK");
        for (id, _) in stuck {
            self.decide_one(id, books, &mut rulings).await?;
        }
        Ok(rulings)
    }

    async fn decide_one(
        &self,
        id: &str,
        books: &Books,
        rulings: &mut Rulings,
    ) -> Result<(), Failure> {
        for look in 0..LOOKS_MAX {
            let path = format!("/v1/payouts/{}", escape(id));
            let payout = tell(&self.maker.client, &Ask::get(&path)).await?.json;
            if payout.get("status").and_then(Value::as_str) != Some("STUCK") {
                // The provider has spoken up meanwhile.
                return Ok(());
            }
            let explained =
                tell(&self.maker.client, &Ask::get(format!("{path}/explain"))).await?.json;
            let is_paid = is_paid(&payout, &explained, books)?;
            let version = payout.get("version").cloned().unwrap_or_default();
            match rule(&self.maker, &path, is_paid, &version, look).await? {
                Ruled::Moved => continue,
                Ruled::Done => {}
                Ruled::Proposed => match rule(&self.checker, &path, is_paid, &version, look).await?
                {
                    Ruled::Moved => continue,
                    Ruled::Done | Ruled::Proposed => rulings.by_two.push(id.to_owned()),
                },
            }
            let count = if is_paid { &mut rulings.paid } else { &mut rulings.not_paid };
            *count = count.saturating_add(1);
            return Ok(());
        }
        Err(Failure::new(format!("nobody could decide about {id}: it did not hold still")))
    }
}

/// Whether any of its attempts is in the provider's books as paid.
fn is_paid(payout: &Value, explained: &Value, books: &Books) -> Result<bool, Failure> {
    let channel = word(payout, "channel")?;
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

/// What came of a decision.
enum Ruled {
    Done,
    /// A second person must decide the same.
    Proposed,
    /// The payout has moved on: somebody must look again.
    Moved,
}

async fn rule(
    who: &Person,
    path: &str,
    is_paid: bool,
    version: &Value,
    look: u32,
) -> Result<Ruled, Failure> {
    let (decision, evidence) = if is_paid {
        ("confirm_paid", "it is on the provider's statement")
    } else {
        ("confirm_not_paid", "it is not on the provider's statement, which is closed")
    };
    let body = json!({"decision": decision, "evidence": evidence, "expected_version": version});
    let key = format!("{}-{look}-{path}", who.name);
    let ask = Ask::post(format!("{path}/resolve"), body).keyed(key);
    match who.client.ask(&ask).await {
        Ok(answer) if answer.json.get("pending_decision").is_some() => Ok(Ruled::Proposed),
        Ok(_) => Ok(Ruled::Done),
        Err(Trouble::Problem { code, .. }) if code == "second_person_needed" => Ok(Ruled::Proposed),
        Err(Trouble::Problem { code, .. }) if code == "stale_version" || code == "not_stuck" => {
            Ok(Ruled::Moved)
        }
        Err(trouble) => Err(trouble.failure()),
    }
}
