//! The open connections, and which one makes room for a new one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::HttpLimits;
use super::connection::Connection;

#[derive(Debug, Default)]
pub(super) struct Table {
    next: u64,
    open: BTreeMap<u64, Arc<Connection>>,
    by_origin: BTreeMap<IpAddr, usize>,
}

/// A connection makes room only this long after it was accepted, so that a client can send its request although many others
/// connect. Meanwhile new connections wait in the queue of the system, for no longer than this.
const YOUNG: Duration = Duration::from_millis(250);

/// Whether there is room for a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// Another connection was told to close.
    Made,
    /// The connection that would make room is too young: ask again then.
    Wait(Instant),
    None,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn insert(&mut self, connection: Arc<Connection>) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        let count = self.by_origin.entry(connection.origin).or_default();
        *count = count.saturating_add(1);
        self.open.insert(number, connection);
        number
    }

    pub(super) fn remove(&mut self, number: u64) {
        let Some(connection) = self.open.remove(&number) else { return };
        if let Some(count) = self.by_origin.get_mut(&connection.origin) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_origin.remove(&connection.origin);
            }
        }
    }

    /// Makes room for a connection of this origin: among its own connections if it has too many, otherwise among all.
    pub(super) fn make_room(&mut self, origin: IpAddr, limits: &HttpLimits) -> Room {
        let own = self.by_origin.get(&origin).copied().unwrap_or_default();
        if own >= limits.connections_per_address {
            return self.evict(|connection| connection.origin == origin);
        }
        if self.open.len() >= limits.connections_max { self.evict(|_| true) } else { Room::Free }
    }

    /// Closes the connection with the smallest rank, if it is not too young.
    pub(super) fn evict(&mut self, is_eligible: impl Fn(&Connection) -> bool) -> Room {
        let eligible = self.open.iter().filter(|(_, connection)| is_eligible(connection));
        let ranked = eligible.filter_map(|(number, connection)| {
            connection.rank().map(|rank| (rank, *number, connection))
        });
        let Some((_, number, connection)) = ranked.min_by_key(|(rank, number, _)| (*rank, *number))
        else {
            return Room::None;
        };
        let grown = connection.accepted_at.checked_add(YOUNG);
        if let Some(grown) = grown.filter(|grown| *grown > Instant::now()) {
            return Room::Wait(grown);
        }
        connection.close();
        self.remove(number);
        Room::Made
    }

    /// Closes connections whose clients have used up their time.
    pub(super) fn close_expired(&mut self) -> usize {
        let now = Instant::now();
        let expired = self.open.iter().filter(|(_, connection)| connection.is_expired(now));
        let expired: Vec<u64> = expired
            .map(|(number, connection)| {
                connection.close();
                *number
            })
            .collect();
        for number in &expired {
            self.remove(*number);
        }
        expired.len()
    }
}

/// The address that limits apply to. A network of IPv6 (/64) counts as one, because its owner can use any address in it.
pub(super) fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests;
