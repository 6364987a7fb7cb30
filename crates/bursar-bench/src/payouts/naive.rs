//! Naive baseline: created, submitted and paid are a transaction each, with a statement for every row.

use bursar_core::flow::{ClaimDue, EffectOutcome};
use bursar_core::ids::Seed;
use bursar_core::ledger::{Account, Admission};
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::payouts::{self, submit_lane};
use bursar_core::rules::Rules;
use bursar_core::turn::{Body, Request};
use bursar_node::failure::Failure;
use bursar_store::{Memory, Query as _};
use jiff::Timestamp;

use super::driver::{self, Commits, decide, paid};
use super::requests::{CHANNEL, Merchants, Payouts};
use crate::baseline::Baseline;
use crate::books::{Decided, Head};
use crate::measure::{Lane, Work, failed, timed};

/// Naive is slow; fewer payouts suffice to measure its rate.
const SHARE: u32 = 50;
const MAX: u32 = 2_000;

pub(super) async fn run<B: Baseline>(
    lane: &mut Lane,
    books: &mut B,
    rules: &Rules,
    work: Work,
) -> Result<(), Failure> {
    let mut memory = Memory::default();
    let mut head = Head::default();
    let (id, commit) = driver::open(&mut memory, rules, Merchants::Uniform).await?;
    let opened = head.link(id, commit);
    lane.done = work.count.div_ceil(SHARE).min(MAX);
    let lives = lives(&mut memory, rules, lane.done).await?;
    let decided: Vec<Decided> =
        lives.into_iter().map(|(id, commit)| head.link(id, commit)).collect();
    open(books, &opened, &mut memory).await?;
    lane.measure(books, async |books, time| {
        for decided in &decided {
            timed(time, books.write_naively(&decided.rows())).await?;
        }
        Ok(())
    })
    .await
}

/// Decided in memory, one request at a time.
async fn lives(memory: &mut Memory, rules: &Rules, count: u32) -> Result<Commits, Failure> {
    let mut commits = Commits::new();
    let mut numbers = 1_000_000_u64..;
    for (key, payout) in Payouts::new(Merchants::Uniform, 3).next(count) {
        let mut request = |body| {
            let seed = Seed::from(numbers.next().unwrap_or_default());
            [Request { admission: Admission::new(Timestamp::now(), seed), body }]
        };
        let created = request(payouts::Create { key, payout, actor: None, workflow: None }.into());
        commits.push(decide(memory, rules, &created).await?);
        let sent = request(ClaimDue::new(submit_lane(CHANNEL), 1).into());
        let (id, sent) = decide(memory, rules, &sent).await?;
        let reports: Vec<Body> = sent
            .effects
            .iter()
            .map(|effect| Ok(EffectOutcome { flow: effect.flow, outcome: paid(effect)? }.into()))
            .collect::<Result<_, Failure>>()?;
        commits.push((id, sent));
        for report in reports {
            commits.push(decide(memory, rules, &request(report)).await?);
        }
    }
    Ok(commits)
}

/// Creates funded merchants, and all other accounts empty.
async fn open<B: Baseline>(
    books: &mut B,
    opened: &Decided,
    memory: &mut Memory,
) -> Result<(), Failure> {
    let all = memory.accounts().await.map_err(|error| failed(&error))?;
    let empty: Vec<(Name, Account)> = all
        .into_iter()
        .map(|(address, account)| {
            let balance = Money::from_minor(0, account.balance.currency());
            (address, Account { balance, received: 0, ..account })
        })
        .collect();
    books.open_accounts(&empty).await.map_err(|error| failed(&error))?;
    books.write(&opened.rows()).await.map_err(|error| failed(&error))
}
