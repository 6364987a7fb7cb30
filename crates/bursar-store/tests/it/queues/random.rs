//! Random requests about queues: every store claims the same payouts in the same order, and stores the same queues.

use bursar_core::dispatch::{Queue, QueueKey};
use bursar_core::flow::{self, ClaimDue, Effect, EffectOutcome, FailureCause, Quarantine};
use bursar_core::payouts::{Event, Order, Outcome, submit_lane};
use bursar_core::turn::{Answer, Body, Commit, Reply};
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{cancel, create, desk_of, freeze, unfreeze};
use crate::cluster::Cluster;
use crate::payouts::call;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

/// More merchants than a claim looks at. Their order depends on the collation.
const MERCHANTS: [&str; 7] = ["m1", "M1", "m_2", "m10", "Zoe", "a", "mB"];

#[derive(Debug, Clone)]
enum Step {
    /// With the seconds until its time, if it is scheduled.
    Create(usize, Option<i64>),
    Claim(u32, u64),
    /// Both in one turn.
    CreateAndClaim(usize, u32),
    Cancel(usize),
    Freeze(usize),
    Unfreeze(usize),
    /// A merchant is frozen or unfrozen in the turn of a claim, before it.
    ChangeAndClaim(usize, bool),
    /// One that was sent comes back.
    NotSent(usize),
    Quarantine,
    Wait(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let merchant = || 0..MERCHANTS.len();
    let step = prop_oneof![
        8 => (merchant(), Just(None)).prop_map(|(merchant, at)| Step::Create(merchant, at)),
        4 => (merchant(), 0..90_i64).prop_map(|(merchant, at)| Step::Create(merchant, Some(at))),
        6 => (0..9_u32, 0..40_u64).prop_map(|(limit, served)| Step::Claim(limit, served)),
        1 => Just(Step::Claim(100, 0)),
        2 => (merchant(), 1..4_u32).prop_map(|(merchant, limit)| Step::CreateAndClaim(merchant, limit)),
        2 => any::<usize>().prop_map(Step::Cancel),
        2 => merchant().prop_map(Step::Freeze),
        2 => merchant().prop_map(Step::Unfreeze),
        1 => (merchant(), any::<bool>()).prop_map(|(merchant, it)| Step::ChangeAndClaim(merchant, it)),
        2 => any::<usize>().prop_map(Step::NotSent),
        1 => Just(Step::Quarantine),
        2 => (1..60_i64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..120)
}

/// The answers and effects of a step, and the queues after it.
type Seen = (Vec<Answer>, Vec<Effect>, Vec<(QueueKey, Queue)>);

fn claim(limit: u32, served: u64) -> Body {
    ClaimDue { lane: submit_lane("wallet"), limit, served }.into()
}

fn not_sent(effect: &Effect) -> Body {
    let Order::Submit { r#try, .. } = call(effect).order else { panic!("{effect:?}") };
    let outcome = Outcome::NotSent { detail: "refused".to_owned(), is_ours: false };
    let event = Event::Submitted { attempt: effect.attempt, r#try, outcome };
    EffectOutcome { flow: effect.flow, outcome: flow::Outcome::Payout(event) }.into()
}

async fn run(store: impl Store + Query, steps: &[Step]) -> Vec<Seen> {
    let rules = rules();
    let mut desk = desk_of(&rules, store, &MERCHANTS).await;
    let (mut made, mut sent, mut seen) = (Vec::<String>::new(), Vec::<Effect>::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        let name = number.to_string();
        let bodies: Vec<Body> = match *step {
            Step::Create(merchant, after) => {
                let at = after.map(|seconds| desk.now + SignedDuration::from_secs(seconds));
                vec![create(MERCHANTS[merchant], &name, at).into()]
            }
            Step::Claim(limit, served) => vec![claim(limit, served)],
            Step::CreateAndClaim(merchant, limit) => {
                vec![create(MERCHANTS[merchant], &name, None).into(), claim(limit, 0)]
            }
            Step::Cancel(_) if made.is_empty() => continue,
            Step::Cancel(index) => vec![cancel(&made[index % made.len()]).into()],
            Step::Freeze(merchant) => vec![freeze(MERCHANTS[merchant]).into()],
            Step::Unfreeze(merchant) => {
                ["b", "c"].map(|actor| unfreeze(MERCHANTS[merchant], actor).into()).into()
            }
            Step::ChangeAndClaim(merchant, true) => {
                vec![freeze(MERCHANTS[merchant]).into(), claim(5, 0)]
            }
            Step::ChangeAndClaim(merchant, false) => {
                let [b, c] = ["b", "c"].map(|actor| unfreeze(MERCHANTS[merchant], actor).into());
                vec![b, c, claim(5, 0)]
            }
            Step::NotSent(_) if sent.is_empty() => continue,
            Step::NotSent(index) => vec![not_sent(&sent[index % sent.len()])],
            Step::Quarantine => {
                let (lane, cause) = (submit_lane("wallet"), FailureCause::TurnFailed);
                vec![Quarantine { lane, cause }.into()]
            }
            Step::Wait(seconds) => {
                desk.now += SignedDuration::from_secs(seconds);
                continue;
            }
        };
        let Commit { answers, effects, .. } = desk.commit_all(bodies).await;
        for answer in &answers {
            if let (Ok(Reply::Payouts(bursar_core::payouts::Reply::Payout(given))), false) =
                (answer, matches!(step, Step::Cancel(_)))
            {
                made.push(given.view.id.clone());
            }
        }
        sent.extend(effects.clone());
        seen.push((answers, effects, desk.store.queues().await.unwrap()));
    }
    desk.assert_sound().await;
    seen
}

/// The queues exist while something waits in them, and their counts are positive.
fn check(seen: &[Seen]) {
    for (_, _, queues) in seen {
        assert!(queues.iter().all(|(_, queue)| queue.waiting > 0), "{queues:?}");
        assert!(queues.iter().all(|(_, queue)| queue.pass.is_none_or(|pass| pass >= 0)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sqlite_claims_as_memory_does(steps in steps()) {
        let scratch = Scratch::new();
        let expected = block_on(run(Memory::default(), &steps));
        check(&expected);
        let found = block_on(run(Sqlite::open(scratch.path()).unwrap(), &steps));
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn postgres_claims_as_memory_does() {
    let cluster = Cluster::start();
    let mut runner = TestRunner::deterministic();
    let mut claimed = 0;
    for number in 0..8 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let expected = block_on(run(Memory::default(), &steps));
        claimed += expected.iter().map(|(_, effects, _)| effects.len()).sum::<usize>();
        let url = cluster.new_database(&format!("books{number}"));
        let found = block_on(async { run(Postgres::open(&url).await.unwrap(), &steps).await });
        assert_eq!(found, expected, "{steps:?}");
    }
    assert!(claimed > 50, "{claimed}");
}
