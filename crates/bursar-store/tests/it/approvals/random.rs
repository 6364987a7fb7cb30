//! Random proposals and decisions: every store gives the answers and the books of the memory store.

use std::collections::BTreeMap;

use bursar_core::approvals::{Reply, Request};
use bursar_core::flow::{ClaimDue, ReviewReason};
use bursar_core::ids::ApprovalId;
use bursar_core::ledger::Post;
use bursar_core::registry::hexadecimal;
use bursar_core::rules::Rules;
use bursar_core::turn::{self, Body};
use bursar_store::{Browse, Memory, Query as _, ReviewFilter, Store};
use jiff::SignedDuration;

use super::{LANE, approve, id, issue, payin, payout, propose, ready, revoke, rules, turn_down};
use crate::adapter::{assert_golden, sha256, text};
use crate::desk::Desk;
use crate::stores::on_every_store;
use crate::workload::{block_on, event};

on_every_store! { proposals_leave_the_books_of_memory, }

/// Golden file of the stored rows, the answers and the chain. `BURSAR_BLESS=1` writes it anew.
#[test]
fn random_proposals_match_their_digest() {
    let rules = rules();
    let (said, head) = block_on(async {
        let mut desk = ready(&rules, Memory::default()).await;
        let said = random_decisions(&mut desk, &mut BTreeMap::new()).await;
        (said, desk.store.head().await.unwrap())
    });
    let (rows, digest, hash) = (said.len(), sha256(&said.join("\n")), hexadecimal(&head.hash));
    let found = format!("rows and answers {rows} {digest}\ncommits {} chain {hash}\n", head.seq);
    assert_golden("approvals/random.txt", &found);
}

/// Everything that a store says after a run.
async fn books(desk: &mut Desk<'_, impl Store + Browse>) -> Vec<String> {
    let filter = ReviewFilter { of: Some(("approval", ReviewReason::Approval)), merchant: None };
    vec![
        format!("{:?}", desk.store.head().await.unwrap()),
        format!("{:?}", desk.store.flows(None, 10_000).await.unwrap()),
        format!("{:?}", desk.store.tallies("").await.unwrap()),
        format!("{:?}", desk.store.reviews(&filter, None, 10_000).await.unwrap()),
        format!("{:?}", desk.store.history(0, 10_000).await.unwrap()),
        format!("{:?}", desk.store.accounts().await.unwrap()),
    ]
}

/// What staff asks for at about the same time.
fn requests(rules: &Rules, number: u8) -> [Body; 6] {
    let event = event(rules, "ADJUSTMENT_CREDIT", &format!("c{number}"));
    [
        Post { event, actor: Some("mia/1".to_owned()) }.into(),
        payout(&format!("o{number}"), "170"),
        payout(&format!("p{number}"), "190"),
        payin(&format!("r{number}"), "150").into(),
        issue(number),
        revoke(number.saturating_sub(1)),
    ]
}

/// Random proposals and decisions about few requests, several in one turn: the answers, and the rows of every commit.
async fn random_decisions(
    desk: &mut Desk<'_, impl Store + Browse>,
    counts: &mut BTreeMap<String, u32>,
) -> Vec<String> {
    let people = ["mia/1", "MIA/2", "otto/3", "anna/4", "ben/5", "anna/4"];
    let mut state = 42_u64;
    let mut below = |sides: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % sides
    };
    let mut known: Vec<(ApprovalId, Body)> = Vec::new();
    let mut said = Vec::new();
    for round in 0..200_u8 {
        let pool = requests(desk.rules, round.div_euclid(5));
        let mut bodies = Vec::new();
        for _ in 0..=below(4) {
            let (body, person) = (pool[below(pool.len())].clone(), people[below(people.len())]);
            // The last ones: most of the others are decided.
            let recent = known.get(known.len().saturating_sub(5)..).unwrap_or_default();
            let decided = recent.get(below(recent.len().max(1))).cloned();
            bodies.push(match (below(12), decided) {
                (0, _) => body,
                (1..=4, _) | (_, None) => propose(&body, person, below(8) == 0).into(),
                (5..=9, Some((id, body))) => approve(id, &body, person).into(),
                (_, Some((id, _))) => turn_down(id, person).into(),
            });
        }
        let commit = desk.commit_all(bodies.clone()).await;
        said.extend(text::rows(&commit));
        for (answer, body) in commit.answers.iter().zip(bodies) {
            let name = match answer {
                Ok(turn::Reply::Approvals(Reply::Proposed(given))) => {
                    if let (false, Body::Approvals(Request::Propose(it))) = (given.is_replay, body)
                    {
                        known.push((id(&given.view), *it.body));
                    }
                    given.view.status.clone()
                }
                Ok(turn::Reply::Approvals(Reply::Decided(it))) => it.view.status.clone(),
                Ok(_) => "done".to_owned(),
                Err(rejection) => rejection.code().to_owned(),
            };
            *counts.entry(name).or_default() += 1;
            said.push(text::answer(answer));
        }
        desk.now += SignedDuration::from_mins(i64::try_from(below(120)).unwrap());
        let commit = desk.commit(ClaimDue::new(LANE.to_owned(), 10)).await;
        said.extend(text::rows(&commit));
        *counts.entry("EXPIRED".to_owned()).or_default() +=
            u32::try_from(commit.flows.len()).unwrap();
    }
    said
}

async fn proposals_leave_the_books_of_memory(store: impl Store + Browse) {
    let rules = rules();
    let mut counts = BTreeMap::new();
    let mut memory = ready(&rules, Memory::default()).await;
    let expected = random_decisions(&mut memory, &mut counts).await;
    for name in [
        "PROPOSED",
        "APPROVED",
        "REJECTED",
        "WITHDRAWN",
        "STALE",
        "EXPIRED",
        "BREAK_GLASS",
        "done",
        "approval_needed",
        "second_person_needed",
        "approver_needed",
        "not_proposed",
        "done_already",
        "no_break_glass",
    ] {
        assert!(counts.contains_key(name), "{name}: {counts:?}");
    }
    let mut desk = ready(&rules, store).await;
    assert_eq!(random_decisions(&mut desk, &mut BTreeMap::new()).await, expected);
    assert_eq!(books(&mut desk).await, books(&mut memory).await);
    desk.assert_sound().await;
    memory.assert_sound().await;
}
