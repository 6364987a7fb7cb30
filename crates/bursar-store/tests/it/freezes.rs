//! Freezing on every store: one person stops everything, two let it go on.

use bursar_core::control::{Scope, Switch, Turned};
use bursar_core::payout::submit_lane;
use bursar_core::request::{Answer, Body, Reply};
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::payouts::{Payments, code, create, paid, view};
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

/// Frozen by one, lifted by two; nothing is sent meanwhile, and what was sent before goes on.
async fn frozen(mut desk: Desk<'_, impl Store + Query>) {
    desk.fund().await;
    desk.open_merchant().await;
    let mut payments = Payments { desk };
    let (_, sent) = payments.submit("a", "10").await;
    let waiting = view(payments.desk.ask(create("b", "10")).await);
    for scope in
        [Scope::Global, Scope::Channel("wallet".to_owned()), Scope::Merchant("m1".to_owned())]
    {
        let switch = |actor: &str, turn| {
            Body::Switch(Switch {
                scope: scope.clone(),
                actor: actor.to_owned(),
                is_approver: true,
                turn,
            })
        };
        let freeze = switch("a", Turned::Freeze { reason: "odd numbers".to_owned() });
        assert_eq!(noted(payments.desk.ask(freeze).await), "FROZEN");
        payments.desk.now += SignedDuration::from_mins(1);
        assert_eq!(payments.wake(&submit_lane("wallet")).await, [], "{scope} is frozen");
        assert_eq!(
            noted(payments.desk.ask(switch("b", Turned::Unfreeze { reason: String::new() })).await),
            "UNFREEZE_PROPOSED"
        );
        let again =
            payments.desk.ask(switch("b", Turned::Unfreeze { reason: String::new() })).await;
        assert_eq!(code(again), "second_person_needed");
        payments.desk.now += SignedDuration::from_mins(1);
        assert_eq!(payments.wake(&submit_lane("wallet")).await, [], "{scope} is still frozen");
        assert_eq!(
            noted(payments.desk.ask(switch("c", Turned::Unfreeze { reason: String::new() })).await),
            "OPEN"
        );
    }
    assert_eq!(payments.submitted(&sent, paid()).await, "SUCCESS");
    payments.desk.now += SignedDuration::from_mins(1);
    let effects = payments.wake(&submit_lane("wallet")).await;
    assert_eq!(effects[0].reference, waiting.reference, "it was only kept waiting");
    let history = payments.desk.store.history(0, 1_000).await.unwrap();
    let audit = history.iter().flat_map(|commit| &commit.audit);
    let actions: Vec<&str> = audit.map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions[1..], ["freeze", "unfreeze.propose", "unfreeze"].repeat(3));
    payments.desk.assert_sound().await;
}

fn noted(answer: Answer) -> &'static str {
    match answer.unwrap() {
        Reply::Noted { status, .. } => status,
        reply => panic!("{reply:?}"),
    }
}

#[test]
fn what_is_frozen_is_not_sent() {
    let (rules, scratch, cluster) = (rules(), Scratch::new(), Cluster::start());
    block_on(async {
        frozen(Desk::new(&rules, Memory::default(), 0)).await;
        frozen(Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0)).await;
        frozen(Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0)).await;
    });
}
