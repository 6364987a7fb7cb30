//! Every kind of request, in proportions that let payouts and deliveries reach final states.

use std::collections::BTreeMap;

use bursar_core::flow::host;
use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::idempotency::Key;
use bursar_core::ids::{DeliveryId, EndpointId, PayoutId, Seed};
use bursar_core::ledger::LedgerEvent;
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{
    self, Beneficiary, Cancellation, ClientMetadata, Decision, NewPayout, Resolution, lease_lane,
    submit_lane,
};
use bursar_core::registry;
use bursar_core::registry::{Change, MerchantStatus, Role};
use bursar_core::rules::Rules;
use bursar_core::turn::Body;
use bursar_core::webhooks::delivery;
use bursar_core::webhooks::{EndpointChange, PAYLOAD_VERSION, Settings, SettingsPatch};
use jiff::SignedDuration;

use super::world::World;
use super::{outcomes, payins};
use crate::adapter::requests;
use crate::desk::START;

/// The first rounds open merchants, endpoints and accounts, one by one.
pub(super) fn first(world: &mut World, rules: &Rules, round: u64) -> Body {
    match round {
        0..3 => {
            let (id, name) = (format!("m{round}"), text("Shop"));
            requests::register("ops", Change::OpenMerchant { id, name })
        }
        3..9 => endpoint(merchant_of(round - 3), round - 3, add(round - 3)),
        _ => fund(world, rules),
    }
}

/// Any request. Requests that advance payouts and deliveries are the most frequent.
pub(super) fn any(world: &mut World, rules: &Rules) -> Body {
    match world.dice.below(100) {
        0..14 => create(world),
        14..34 => outcome(world),
        34..50 => step(world),
        50..54 => poll(world),
        54..58 => callback(world),
        58..61 => cancel(world),
        61..65 => resolve(world),
        65 if world.dice.chance(70) => requests::close_payin_case(payins::close_case(world)),
        65..71 => requests::payin(payins::report(world)),
        71..76 => requests::freeze_change(freeze_change(world)),
        76..83 => register(world),
        83..90 => webhook(world),
        90..94 => outbox(world),
        94..96 => revert(world),
        _ => fund(world, rules),
    }
}

pub(super) fn text(text: &str) -> String {
    text.to_owned()
}

fn merchant(world: &mut World) -> String {
    format!("m{}", world.dice.below(3))
}

/// A new key, or one of few, so that requests repeat keys.
pub(super) fn key(world: &mut World, name: &str) -> Key {
    let number = if world.dice.chance(25) { world.dice.below(8) } else { world.admitted + 100 };
    Key::new(text("test"), format!("{name}-{number}"))
}

fn create(world: &mut World) -> Body {
    let key = key(world, "create");
    let payout = NewPayout {
        merchant: merchant(world),
        channel: text(world.dice.pick(&["wallet", "wallet", "bank", "pigeon"])),
        currency: text("PKR"),
        amount: text(world.dice.pick(&["0", "1", "7", "7", "100", "7.5"])),
        beneficiary: beneficiary(world),
        scheduled_at: world.dice.chance(15).then(|| world.now + SignedDuration::from_secs(120)),
        beneficiary_id: None,
        remarks: ClientMetadata {
            metadata: BTreeMap::from_iter(
                world.dice.chance(20).then(|| (text("order"), text("17"))),
            ),
            trace_id: world.dice.chance(20).then(|| text("t-1")),
            ..ClientMetadata::default()
        },
    };
    match world.dice.below(6) {
        0 => requests::create_workflow_payout(key, payout, &format!("wf-{}", world.admitted)),
        1 => requests::create_payout(key, payout, Some("ops")),
        _ => requests::create_payout(key, payout, None),
    }
}

fn beneficiary(world: &mut World) -> Beneficiary {
    let has_account = world.dice.chance(30);
    Beneficiary {
        name: text("A. Khan"),
        account: has_account.then(|| text("PK36SCBL0000001123456702")),
        msisdn: (!has_account || world.dice.chance(3)).then(|| text("923001234567")),
        bank: has_account.then(|| text("SCBL")),
    }
}

/// The outcome of a call, mostly the oldest. One in ten is lost, and one in twenty is repeated.
fn outcome(world: &mut World) -> Body {
    if world.calls.is_empty() {
        return step(world);
    }
    let last = world.calls.len() - 1;
    let index = if world.dice.chance(70) { 0 } else { last };
    if world.dice.chance(10) {
        world.calls.remove(index);
        return requests::claim_due(delivery::LEASES, 4);
    }
    let call = world.calls[index];
    if !world.dice.chance(5) {
        world.calls.remove(index);
    }
    let (name, body) = outcomes::body(call, &mut world.dice);
    *world.outcomes.entry(name).or_default() += 1;
    body
}

/// Claims due flows; under Temporal, workflows poll their flows instead.
fn step(world: &mut World) -> Body {
    let limit = 1 + u32::from(world.dice.chance(50)) * 3;
    if world.is_temporal && world.dice.chance(90) {
        return poll(world);
    }
    match world.dice.below(20) {
        0..5 => requests::claim_due(&submit_lane(world.dice.pick(&["wallet", "bank"])), limit),
        5..12 => requests::claim_due(payouts::LANE, limit),
        12 | 13 => requests::claim_due(&lease_lane(world.dice.pick(&["wallet", "bank"])), limit),
        14 => requests::claim_due(delivery::LEASES, limit),
        _ => requests::start_deliveries(limit * 2, world.dice.chance(80)),
    }
}

/// A workflow polls its flow, with or without an outcome.
fn poll(world: &mut World) -> Body {
    let has_slot = world.dice.chance(80);
    let (payout, delivery) = (world.some_payout().flow, world.some_delivery());
    let flow = if world.dice.chance(50) { payout } else { delivery };
    let events = [delivery::Event::Cancelled, delivery::Event::Due, delivery::Event::Replayed];
    match world.dice.below(12) {
        0 if world.dice.chance(50) => requests::poll_with_delivery(flow, world.dice.pick(&events)),
        1 => requests::poll_with_payout(flow, payouts::Event::Due),
        _ => requests::poll(flow, has_slot),
    }
}

fn callback(world: &mut World) -> Body {
    let verdicts = [
        Verdict::Accepted,
        Verdict::Paid,
        Verdict::NotPaid { is_retryable: true },
        Verdict::NotPaid { is_retryable: false },
        Verdict::Returned,
        Verdict::Unknown { r#try: 1 },
    ];
    let name = |world: &mut World, name: &str| world.dice.chance(40).then(|| text(name));
    let evidence = Evidence {
        provider_reference: name(world, "px-1"),
        detail: name(world, "said so"),
        digest: name(world, "00ff"),
        ..Evidence::new(Source::Callback, world.dice.pick(&verdicts))
    };
    let channel = world.dice.pick(&["wallet", "wallet", "bank"]);
    let reference = world.some_payout().reference;
    requests::callback(channel, &reference, evidence)
}

fn payout_id(world: &mut World) -> (PayoutId, u64) {
    let payout = world.some_payout();
    (PayoutId::from_uuid(payout.flow.uuid()), payout.version)
}

fn cancel(world: &mut World) -> Body {
    let (key, (id, version)) = (key(world, "cancel"), payout_id(world));
    let expected_version = world.dice.chance(50).then_some(version);
    requests::cancel_payout(key, Cancellation { id, expected_version, actor: text("m1") })
}

fn resolve(world: &mut World) -> Body {
    let (key, (id, version)) = (key(world, "resolve"), payout_id(world));
    let decisions = [
        Decision::ConfirmPaid,
        Decision::ConfirmNotPaid,
        Decision::KeepWaiting,
        Decision::NewAttempt,
    ];
    let resolution = Resolution {
        id,
        decision: world.dice.pick(&decisions),
        evidence: text("the statement says so"),
        expected_version: if world.dice.chance(10) { version + 1 } else { version },
        actor: format!("ops{}", world.dice.below(3)),
        is_approver: world.dice.chance(50),
        made_by: vec![],
    };
    requests::resolve_payout(key, resolution)
}

fn freeze_change(world: &mut World) -> FreezeChange {
    let scope = match world.dice.below(4) {
        0 => Scope::Global,
        1 => Scope::Channel(text("wallet")),
        _ => Scope::Merchant(text("m0")),
    };
    // An unfreeze needs two operators, so it is more frequent than a freeze.
    let action = if world.dice.chance(8) {
        FreezeAction::Freeze { reason: text("a leak") }
    } else {
        FreezeAction::Unfreeze { reason: text("mended") }
    };
    let actor = format!("ops{}", world.dice.below(3));
    let by = Signature::new(&actor, world.dice.chance(60));
    FreezeChange { scope, by, action }
}

fn register(world: &mut World) -> Body {
    let (id, number) = (merchant(world), world.dice.below(6));
    let digest = [u8::try_from(number).unwrap(); 32];
    let change = match world.dice.below(14) {
        0 => Change::OpenMerchant { id, name: text("Shop") },
        1 => Change::AlterMerchant { id, name: None, status: Some(MerchantStatus::Closed) },
        2..5 => Change::AlterMerchant {
            id,
            name: world.dice.chance(20).then(|| text("Shop")),
            status: Some(MerchantStatus::Open),
        },
        5 => Change::AddBeneficiary { merchant: id, details: beneficiary(world) },
        6 => {
            let role = world.dice.pick(&Role::ALL);
            let merchant = (role == Role::Merchant).then_some(id);
            Change::IssueKey {
                name: text("till 7"),
                person: text("till 7"),
                role,
                merchant,
                digest,
                made_by: vec![],
                is_setup: false,
            }
        }
        7 => Change::RevokeKey { id: registry::ApiKey::id_of(&digest).to_string() },
        8 => Change::SetAlert {
            name: text("stuck"),
            is_raised: world.dice.chance(50),
            detail: format!("{number} payouts"),
        },
        _ => {
            let owner = if world.dice.chance(90) { merchant_of(number) } else { id };
            let change = endpoint_change(world, number);
            return endpoint(owner, number, change);
        }
    };
    requests::register("ops", change)
}

/// Endpoints 0 and 3 belong to the first merchant, and so on.
fn merchant_of(endpoint: u64) -> String {
    format!("m{}", endpoint % 3)
}

fn endpoint_id(number: u64) -> EndpointId {
    EndpointId::new(START, &Seed::from(number), 0)
}

fn endpoint(merchant: String, number: u64, change: EndpointChange) -> Body {
    requests::register("ops", Change::Endpoint { id: endpoint_id(number), merchant, change })
}

fn add(number: u64) -> EndpointChange {
    let types = [&["*"][..], &["payout.*"], &["payin.success", "payout.success"]];
    let types = types[usize::try_from(number % 3).unwrap()];
    let settings = Settings {
        url: format!("https://m{number}.example/hooks"),
        event_types: types.iter().map(|kind| (*kind).to_owned()).collect(),
        version: text(PAYLOAD_VERSION),
        header_names: Vec::new(),
        headers: (number == 1).then(|| text("sealed headers")),
        concurrency: 2 + u32::try_from(number).unwrap(),
        rate_limit: (number == 2).then_some(3),
    };
    EndpointChange::Add { settings, secret: text("sealed") }
}

fn endpoint_change(world: &mut World, number: u64) -> EndpointChange {
    match world.dice.below(12) {
        0 => add(number),
        1 => EndpointChange::Alter(Box::new(SettingsPatch {
            url: Some(format!("https://m{number}.example/other")),
            concurrency: Some(3),
            rate_limit: Some(0),
            ..SettingsPatch::default()
        })),
        2 => EndpointChange::Rotate {
            secret: format!("sealed {}", world.admitted),
            overlap: SignedDuration::from_secs(60),
        },
        3 => EndpointChange::Reseal { anew: BTreeMap::from([(text("sealed"), text("resealed"))]) },
        4 => EndpointChange::Disable { reason: text("it is moved") },
        5 if world.dice.chance(5) => EndpointChange::Delete,
        _ => EndpointChange::Enable,
    }
}

fn webhook(world: &mut World) -> Body {
    let endpoint = endpoint_id(world.dice.below(6));
    match world.dice.below(10) {
        0 | 1 => requests::quarantine_delivery(world.dice.chance(70)),
        2 => {
            let lane = world.dice.pick(&["payout", "submit:payout:wallet", "webhook-lease"]);
            requests::quarantine(lane, world.dice.chance(70))
        }
        3 => requests::cancel_deliveries(endpoint, 5),
        4..7 => {
            let count = 1 + world.dice.below(3);
            let some = (0..count).map(|_| DeliveryId::from_uuid(world.some_delivery().uuid()));
            requests::replay(some.collect())
        }
        _ => requests::test_endpoint(endpoint),
    }
}

/// The relay claims entries, and the cluster accepts them.
fn outbox(world: &mut World) -> Body {
    if world.dice.chance(5) {
        return requests::record_refusal("payout.confirm_paid");
    }
    match world.claimed.pop() {
        Some((flow, entry)) if world.dice.chance(60) => {
            let renamed = world.dice.chance(10).then(|| format!("renamed-{}", world.admitted));
            requests::acknowledge(flow, entry, renamed)
        }
        _ => requests::claim_outbox(world.dice.pick(&host::lanes().collect::<Vec<_>>()), 3),
    }
}

fn revert(world: &mut World) -> Body {
    let reference = if world.posted.is_empty() || world.dice.chance(10) {
        text("none")
    } else {
        world.dice.pick(&world.posted)
    };
    let event = LedgerEvent {
        name: text("REVERT"),
        reference,
        variables: BTreeMap::new(),
        effective_at: None,
    };
    requests::post(event, world.dice.chance(50).then_some("ops"))
}

/// Credits a merchant with 500 units, sometimes under a used reference.
fn fund(world: &mut World, rules: &Rules) -> Body {
    let (merchant, number) = (merchant(world), world.admitted);
    let value = |variable: &str| match variable {
        "merchantId" => merchant.clone(),
        "bankId" => text("b1"),
        "currency" => text("PKR"),
        _ => text("500"),
    };
    let variables = rules.rulebook.rule("ADJUSTMENT_CREDIT").unwrap().variables().iter();
    let variables = variables.map(|variable| (variable.clone(), value(variable))).collect();
    let number = if world.dice.chance(10) { 5 } else { number };
    let (name, reference) = (text("ADJUSTMENT_CREDIT"), format!("f{number}"));
    let event = LedgerEvent { name, reference, variables, effective_at: None };
    requests::post(event, world.dice.chance(50).then_some("ops"))
}
