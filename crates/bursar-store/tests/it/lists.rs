//! Lists that stay complete however many other flows there are: reviews, kinds, merchants, references, labels; and tallies.

use bursar_core::flow::{Flow, ReviewReason};
use bursar_core::ids::{FlowId, PayoutId};
use bursar_core::ledger::Post;
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{
    Callback, Cancel, Cancellation, Create, Decision, Resolution, Resolve, View,
};
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::Tally;
use bursar_store::{Browse, FlowFilter, FlowPage, Query, ReviewFilter, Store};
use uuid::Uuid;

use crate::desk::Desk;
use crate::payout_steps::new_payout;
use crate::payouts::{key, view};
use crate::stores::on_every_store;
use crate::workload::{event, registration, rules};

on_every_store! {
    stuck_payouts_and_cases_are_listed_until_a_person_decides,
    filters_and_searches_find_what_they_name,
    external_ids_are_found_whatever_other_merchants_have,
    tallies_follow_every_change,
}

async fn pay<S: Store + Query>(desk: &mut Desk<'_, S>, name: &str, amount: &str) -> View {
    let mut payout = new_payout("m1", amount);
    payout.remarks.trace_id = Some(format!("trace-{amount}"));
    let create = Create { key: key(name), payout, actor: None, workflow: None };
    view(desk.ask(create).await)
}

async fn hear<S: Store + Query>(desk: &mut Desk<'_, S>, payout: &View, verdict: Verdict) {
    let mut evidence = Evidence::new(Source::Callback, verdict);
    evidence.provider_reference = Some(format!("P-{}", payout.id));
    let (channel, reference) = ("wallet".to_owned(), payout.reference.clone());
    desk.ask(Callback { channel, reference, evidence }).await.unwrap();
}

/// The channel refuses it, and reports later that it has paid it: the second attempt may not be sent.
async fn stick<S: Store + Query>(desk: &mut Desk<'_, S>, payout: &View) {
    hear(desk, payout, Verdict::NotPaid { is_retryable: true }).await;
    hear(desk, payout, Verdict::Paid).await;
}

fn id(view: &View) -> PayoutId {
    view.id.parse().unwrap()
}

async fn decide<S: Store + Query>(
    desk: &mut Desk<'_, S>,
    payout: &View,
    (decision, name): (Decision, &str),
) -> Result<View, Rejection> {
    let flow = desk.store.flow(id(payout).into()).await.unwrap().unwrap();
    let resolution = Resolution {
        id: id(payout),
        decision,
        evidence: "looked into it".to_owned(),
        expected_version: flow.version,
        actor: "eve".to_owned(),
        is_approver: true,
        made_by: vec![],
    };
    let given = desk.ask(Resolve { key: key(name), resolution }).await?;
    Ok(View::clone(&given.view))
}

async fn ready<S: Store + Query>(rules: &Rules, store: S) -> Desk<'_, S> {
    let mut desk = Desk::new(rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    desk
}

async fn stuck_payouts_and_cases_are_listed_until_a_person_decides(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    let mut payouts = Vec::new();
    for number in 0..4 {
        payouts.push(pay(&mut desk, &format!("p{number}"), "1").await);
    }
    // Stuck in another order than created; the last one is settled, then contradicted.
    for index in [2, 0, 1] {
        stick(&mut desk, &payouts[index]).await;
    }
    hear(&mut desk, &payouts[3], Verdict::Paid).await;
    hear(&mut desk, &payouts[3], Verdict::NotPaid { is_retryable: false }).await;
    desk.assert_sound().await;

    let stuck = ReviewFilter { of: Some(("payout", ReviewReason::Stuck)), merchant: None };
    let all = FlowFilter { kind: "payout", ..FlowFilter::default() };
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = desk.store.list_reviews(&stuck, &all, after, 1).await.unwrap();
        found.extend(page.flows.iter().map(Flow::name));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expected = [2, 0, 1].map(|index: usize| payouts[index].id.clone());
    assert_eq!(found, expected, "the longest stuck is first, and all are there");
    for (merchant, count) in [("m1", 3), ("m2", 0)] {
        let of_one = ReviewFilter { merchant: Some(merchant.to_owned()), ..stuck.clone() };
        let page = desk.store.list_reviews(&of_one, &all, None, 10).await.unwrap();
        assert_eq!(page.flows.len(), count, "{merchant}");
    }
    let waiting = desk.store.waiting_reviews().await.unwrap();
    let counts: Vec<_> = waiting.iter().map(|it| (it.kind, it.reason, it.count)).collect();
    assert_eq!(counts, [("payout", ReviewReason::Stuck, 3), ("payout", ReviewReason::Case, 1)]);

    // A stuck payout has no case to close; a settled one is decided no more.
    let close = (Decision::CloseCase, "close-0");
    let rejected = decide(&mut desk, &payouts[0], close).await.unwrap_err();
    assert_eq!(rejected, Rejection::NoOpenCase { status: "STUCK" });
    let closed = decide(&mut desk, &payouts[3], (Decision::CloseCase, "close")).await.unwrap();
    assert_eq!((&*closed.status, closed.reason.as_deref()), ("SUCCESS", Some("contradicted")));
    let again = decide(&mut desk, &payouts[3], (Decision::CloseCase, "again")).await.unwrap_err();
    assert_eq!(again, Rejection::NoOpenCase { status: "SUCCESS" });
    let paid = decide(&mut desk, &payouts[2], (Decision::ConfirmPaid, "paid")).await.unwrap();
    assert_eq!(paid.status, "SUCCESS");
    let left = desk.store.reviews(&ReviewFilter::default(), None, 10).await.unwrap();
    let left: Vec<String> =
        left.iter().filter_map(|(_, flow)| Some(flow.as_ref()?.name())).collect();
    assert_eq!(left, [0, 1].map(|index: usize| payouts[index].id.clone()));
    desk.assert_sound().await;
}

async fn names(store: &mut impl Browse, filter: FlowFilter, limit: u32) -> (Vec<String>, FlowPage) {
    let filter = FlowFilter { kind: "payout", ..filter };
    let page = store.list_flows_desc(&filter, None, limit).await.unwrap();
    (page.flows.iter().map(Flow::name).collect(), page)
}

async fn filters_and_searches_find_what_they_name(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    desk.ask(registration("m2")).await.unwrap();
    let one = pay(&mut desk, "one", "1").await;
    let two = pay(&mut desk, "two", "2").await;
    let three = pay(&mut desk, "three", "2.00").await;
    hear(&mut desk, &one, Verdict::Paid).await;
    let text = |text: &str| Some(text.to_owned());
    let none = FlowFilter::default;
    let found = [
        (FlowFilter { amount: text("2"), ..none() }, vec![&three, &two]),
        (FlowFilter { amount: text("2.00"), status: text("READY"), ..none() }, vec![&three, &two]),
        (FlowFilter { amount: text("2.01"), ..none() }, vec![]),
        (
            FlowFilter { channel: text("wallet"), currency: text("PKR"), ..none() },
            vec![&three, &two, &one],
        ),
        (FlowFilter { channel: text("bank"), ..none() }, vec![]),
        (FlowFilter { merchant: text("m1"), ..none() }, vec![&three, &two, &one]),
        (FlowFilter { merchant: text("m2"), ..none() }, vec![]),
        (FlowFilter { status: text("SUCCESS"), ..none() }, vec![&one]),
        (FlowFilter { provider_reference: text(&format!("P-{}", one.id)), ..none() }, vec![&one]),
        (FlowFilter { reference: text(&one.reference), ..none() }, vec![&one]),
        (FlowFilter { reference: text("trace-2"), ..none() }, vec![]),
        (FlowFilter { trace_id: text("trace-2"), ..none() }, vec![&two]),
        (FlowFilter { trace_id: text(&one.reference), ..none() }, vec![]),
        (FlowFilter { external_id: text("trace-2"), ..none() }, vec![]),
        (FlowFilter { known_as: text("trace-2"), ..none() }, vec![&two]),
        (FlowFilter { known_as: text(&one.reference), status: text("READY"), ..none() }, vec![]),
        (FlowFilter { from: Some(two.created_at), ..none() }, vec![&three, &two]),
        (FlowFilter { until: Some(two.created_at), ..none() }, vec![&one]),
        (
            FlowFilter { from: Some(two.created_at), until: Some(three.created_at), ..none() },
            vec![&two],
        ),
    ];
    for (filter, expected) in found {
        let expected: Vec<String> = expected.into_iter().map(|view| view.id.clone()).collect();
        let (found, page) = names(&mut desk.store, filter.clone(), 10).await;
        assert_eq!((found, page.next), (expected, None), "{filter:?}");
    }
    let (_, page) = names(&mut desk.store, none(), 2).await;
    assert_eq!(page.next, Some(FlowId::from(id(&two))), "a full page has a cursor");

    for (text, expected) in [
        (one.reference.as_str(), vec![&one]),
        ("trace-2", vec![&two]),
        ("trace-2.00", vec![&three]),
        ("trace", vec![]),
        (one.id.as_str(), vec![]),
    ] {
        let last = FlowId::from_uuid(Uuid::max());
        let found = desk.store.flows_known_as(text, last, 10).await.unwrap();
        let expected: Vec<FlowId> = expected.into_iter().map(|view| id(view).into()).collect();
        assert_eq!(found, expected, "{text}");
        for flow in expected {
            assert_eq!(desk.store.flows_known_as(text, flow, 10).await.unwrap(), [], "{text}");
        }
    }
    desk.assert_sound().await;
}

/// Pages of any size have the payouts of a merchant with an external id, newest first, beside those of other merchants.
async fn external_ids_are_found_whatever_other_merchants_have(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    desk.ask(registration("m2")).await.unwrap();
    let mut credit = event(&rules, "ADJUSTMENT_CREDIT", "of-m2");
    credit.variables.insert("merchantId".into(), "m2".to_owned());
    desk.ask(Post { event: credit, actor: None }).await.unwrap();
    let mut of_one = Vec::new();
    for number in 0..40 {
        let merchant = if number % 8 == 0 { "m1" } else { "m2" };
        let mut payout = new_payout(merchant, "1");
        payout.remarks.external_id = Some("order-1".to_owned());
        // A label that a payout has twice is stored once.
        payout.remarks.trace_id = (number % 3 == 0).then(|| "order-1".to_owned());
        let create =
            Create { key: key(&format!("k{number}")), payout, actor: None, workflow: None };
        let made = view(desk.ask(create).await);
        if merchant == "m1" {
            of_one.insert(0, made.id);
        }
    }
    pay(&mut desk, "other", "1").await;
    let text = |text: &str| Some(text.to_owned());
    let all = FlowFilter { kind: "payout", external_id: text("order-1"), ..FlowFilter::default() };
    let wanted = FlowFilter { merchant: text("m1"), ..all.clone() };
    for limit in [1, 2, 10] {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = desk.store.list_flows_desc(&wanted, before, limit).await.unwrap();
            found.extend(page.flows.iter().map(Flow::name));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(found, of_one, "by {limit}");
    }
    assert_eq!(desk.store.list_flows_desc(&all, None, 100).await.unwrap().flows.len(), 40);
    let none = FlowFilter { external_id: text("order"), ..wanted };
    assert_eq!(desk.store.list_flows_desc(&none, None, 10).await.unwrap().flows, []);
    desk.assert_sound().await;
}

async fn tallies_follow_every_change(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    let name = |status: &str| format!("flow/payout/{status}/PKR/wallet");
    let tally = |count, minor, entered| Some(Tally { count, minor, entered });
    let one = pay(&mut desk, "one", "1").await;
    let two = pay(&mut desk, "two", "2").await;
    let tallies = desk.store.tallies("flow/payout/").await.unwrap();
    assert_eq!(tallies.get(&name("READY")).copied(), tally(2, 300, 2));
    // The same request again changes nothing.
    pay(&mut desk, "two", "2").await;
    stick(&mut desk, &one).await;
    let cancellation =
        Cancellation { id: id(&two), expected_version: None, actor: "eve".to_owned() };
    desk.ask(Cancel { key: key("cancel"), cancellation }).await.unwrap();
    let tallies = desk.store.tallies("").await.unwrap();
    let found = |name: &str| tallies.get(name).copied();
    assert_eq!(found(&name("READY")), tally(0, 0, 2), "none are left; two came");
    assert_eq!(found(&name("STUCK")), tally(1, 100, 1));
    assert_eq!(found(&name("CANCELLED")), tally(1, 200, 1));
    assert_eq!(found("review/payout/stuck"), tally(1, 100, 1));
    let live = desk.store.live().await.unwrap();
    let live: Vec<_> = live.iter().map(|it| (&*it.kind, &*it.status, it.count)).collect();
    assert_eq!(live, [("payout", "STUCK", 1)]);
    assert_eq!(desk.store.live_channels().await.unwrap(), ["wallet"]);
    desk.assert_sound().await;
}
