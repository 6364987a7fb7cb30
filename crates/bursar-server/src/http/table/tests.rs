//! Which connections make room.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::advance;

use super::{Room, Table, origin};
use crate::http::{Connection, HttpLimits};

fn limits(connections_max: usize, connections_per_address: usize) -> Arc<HttpLimits> {
    Arc::new(HttpLimits { connections_max, connections_per_address, ..HttpLimits::default() })
}

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// A table with connections of these addresses, a millisecond apart.
async fn table(limits: &Arc<HttpLimits>, addresses: &[u8]) -> (Table, Vec<Arc<Connection>>) {
    let (mut table, mut made) = (Table::default(), Vec::new());
    for last in addresses {
        let connection = Arc::new(Connection::new(address(*last), Arc::clone(limits)));
        table.insert(Arc::clone(&connection));
        made.push(connection);
        advance(Duration::from_millis(1)).await;
    }
    (table, made)
}

fn is_open(table: &Table, connection: &Arc<Connection>) -> bool {
    table.open.values().any(|open| Arc::ptr_eq(open, connection))
}

#[tokio::test(start_paused = true)]
async fn the_oldest_connection_without_a_key_makes_room() {
    let limits = limits(4, 4);
    let (mut table, made) = table(&limits, &[1, 2, 3, 4]).await;
    made[0].prove();
    made[1].header_received(false);
    assert!(matches!(table.make_room(address(5), &limits), Room::Wait(_)), "all are young");
    advance(Duration::from_millis(248)).await;
    assert_eq!(table.make_room(address(5), &limits), Room::Made);
    let open: Vec<bool> = made.iter().map(|connection| is_open(&table, connection)).collect();
    assert_eq!(open, [true, true, false, true], "neither a proven one nor one that is handled");
    assert_eq!(table.make_room(address(5), &limits), Room::Free);
}

#[tokio::test(start_paused = true)]
async fn requests_without_a_key_do_not_keep_a_connection_young() {
    let limits = limits(100, 2);
    let (mut table, made) = table(&limits, &[1, 1]).await;
    advance(Duration::from_millis(250)).await;
    for connection in &made {
        connection.header_received(false);
        connection.answered();
    }
    assert_eq!(table.make_room(address(1), &limits), Room::Made);
    assert!(!is_open(&table, &made[0]));
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_key_is_looked_up_stays() {
    let limits = limits(1, 1);
    let (mut table, made) = table(&limits, &[1]).await;
    made[0].header_received(true);
    made[0].check_key();
    advance(Duration::from_secs(5)).await;
    assert_eq!(table.make_room(address(2), &limits), Room::None);
    made[0].key_checked(false);
    assert_eq!(table.make_room(address(2), &limits), Room::Made);
}

#[tokio::test(start_paused = true)]
async fn a_proven_connection_makes_room_between_requests_only_and_last() {
    let limits = limits(3, 3);
    let (mut table, made) = table(&limits, &[1, 2, 3]).await;
    for connection in &made {
        connection.prove();
        connection.header_received(true);
    }
    assert_eq!(table.make_room(address(4), &limits), Room::None);
    made[1].answered();
    advance(Duration::from_millis(250)).await;
    assert_eq!(table.make_room(address(4), &limits), Room::Made);
    assert!(!is_open(&table, &made[1]));
}

#[tokio::test(start_paused = true)]
async fn an_address_with_too_many_connections_makes_room_among_its_own() {
    let limits = limits(100, 2);
    let (mut table, made) = table(&limits, &[1, 2, 2]).await;
    advance(Duration::from_millis(250)).await;
    assert_eq!(table.make_room(address(2), &limits), Room::Made);
    assert!(is_open(&table, &made[0]) && !is_open(&table, &made[1]));
    assert_eq!(table.make_room(address(1), &limits), Room::Free);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_header_or_no_next_request_is_closed() {
    let limits = limits(10, 10);
    let (mut table, made) = table(&limits, &[1, 2, 3, 4]).await;
    made[1].header_received(true);
    made[2].header_received(false);
    made[3].header_received(false);
    made[3].answered();
    advance(limits.header_timeout).await;
    assert_eq!(table.close_expired(), 1);
    assert!(!is_open(&table, &made[0]));
    advance(limits.idle_timeout).await;
    assert_eq!(table.close_expired(), 1);
    assert!(!is_open(&table, &made[3]));
    assert_eq!((table.len(), table.by_origin.len()), (2, 2));
}

#[test]
fn a_network_of_ipv6_is_one_origin() {
    let six = |last| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
    assert_eq!(origin(six(1)), origin(six(2)));
    assert_eq!(origin(IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped())), Ipv4Addr::LOCALHOST);
}
