//! D7: an endpoint is switched off with ten thousand that wait and fifty on their way, on every store.

use std::collections::BTreeMap;

use bursar_core::delivery::{CANCELLED, Parcel};
use bursar_core::registry::{EndpointChange, SettingsPatch};
use bursar_core::request::{Body, Busy, Deliver, Mail, Reply};
use bursar_store::{Browse, FlowFilter, Memory, Postgres, Query, Sqlite, Store};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::office::{Office, add, answered, calm, change, deliver, endpoint_id};
use crate::scratch::Scratch;
use crate::workload::block_on;

const IN_FLIGHT: u32 = 50;
/// As many as the engine asks for.
const AT_ONCE: u32 = 500;

async fn what_waits_is_cancelled_and_what_is_under_way_comes_back(
    store: impl Store + Query + Browse,
) {
    let rules = calm();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    let mut office = Office { desk, payins: 0 };
    let endpoint = endpoint_id(1);
    office.desk.ask(add(endpoint, &["*"])).await.unwrap();
    let fifty = SettingsPatch { concurrency: Some(IN_FLIGHT), ..SettingsPatch::default() };
    let fifty = change(endpoint, EndpointChange::Alter(Box::new(fifty)));
    office.desk.ask(fifty).await.unwrap();
    for _ in 0..20 {
        office.tell_many(AT_ONCE).await;
    }
    office.tell_many(IN_FLIGHT).await;
    let parcels = fill(&mut office).await;
    assert_eq!(parcels.len(), 50);
    let off = EndpointChange::Disable { reason: "moving".to_owned() };
    office.desk.ask(change(endpoint, off)).await.unwrap();

    let mut turns = Vec::new();
    loop {
        let cancel = Body::Mail(Mail::Cancel { endpoint, limit: AT_ONCE });
        match office.desk.ask(cancel).await.unwrap() {
            Reply::Woken(woken) if woken.flows.is_empty() => break,
            Reply::Woken(woken) => turns.push(woken.flows.len()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(turns, [500; 20], "in turns that are no larger than any other");
    assert_eq!(office.deliver(deliver(AT_ONCE)).await.0.count, 0, "nothing more is sent");

    for (number, parcel) in parcels.iter().enumerate() {
        assert_eq!(office.status(parcel.flow).await, "DELIVERING");
        let status = if number % 2 == 0 { 204 } else { 500 };
        office.came_back(parcel, answered(status)).await;
        let view = office.view(parcel.flow).await;
        let (expected, error) = match status {
            204 => ("DELIVERED", None),
            _ => ("CANCELLED", Some("it answered 500")),
        };
        assert_eq!((view.status.as_str(), view.last_error.as_deref()), (expected, error));
        assert_eq!(view.attempts, 1, "what came of it is on record");
    }
    assert_eq!(
        office.statuses().await,
        BTreeMap::from([("CANCELLED", 10_025), ("DELIVERED", 25)]),
        "none is lost"
    );
    let filter = FlowFilter { kind: "delivery", ..FlowFilter::default() };
    let page = office.desk.store.lane_back(CANCELLED, &filter, None, 10).await.unwrap();
    assert_eq!(page.flows.len(), 10, "and whoever wants them after all finds them");
    office.desk.ask(change(endpoint, EndpointChange::Enable)).await.unwrap();
    assert_eq!(office.deliver(deliver(AT_ONCE)).await.0.count, 0, "nothing is sent by itself");
    office.desk.assert_sound().await;
}

/// As many as the endpoint takes.
async fn fill<S: Store + Query + Browse>(office: &mut Office<'_, S>) -> Vec<Parcel> {
    let mut parcels: Vec<Parcel> = Vec::new();
    loop {
        let in_flight = u32::try_from(parcels.len()).unwrap();
        let busy = Busy { in_flight, room: IN_FLIGHT - in_flight, begun: 0 };
        let next = Deliver { busy: [(endpoint_id(1), busy)].into(), ..deliver(AT_ONCE) };
        let (begun, more) = office.deliver(next).await;
        parcels.extend(more);
        if begun.count == 0 {
            return parcels;
        }
    }
}

#[test]
fn switched_off_in_memory() {
    block_on(what_waits_is_cancelled_and_what_is_under_way_comes_back(Memory::default()));
}

#[test]
fn switched_off_in_sqlite() {
    let scratch = Scratch::new();
    let store = Sqlite::open(scratch.path()).unwrap();
    block_on(what_waits_is_cancelled_and_what_is_under_way_comes_back(store));
}

#[test]
fn switched_off_in_postgres() {
    let cluster = Cluster::start();
    block_on(async {
        let store = Postgres::open(&cluster.url()).await.unwrap();
        what_waits_is_cancelled_and_what_is_under_way_comes_back(store).await;
    });
}
