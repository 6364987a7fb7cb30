//! The rate limit of wrong API keys, by address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The number of addresses that are remembered.
const ADDRESSES_MAX: usize = 4_096;

/// For each address the time at which all of its wrong keys are forgiven. Each wrong key adds an interval; an address is
/// limited while this time is more than a minute ahead.
#[derive(Debug)]
pub(crate) struct WrongKeys {
    /// None for no limit.
    interval: Option<Duration>,
    forgiven_at: Mutex<BTreeMap<IpAddr, Instant>>,
}

const WINDOW: Duration = Duration::from_mins(1);

impl WrongKeys {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { interval: WINDOW.checked_div(per_minute), forgiven_at: Mutex::default() }
    }

    /// Counts a wrong key. Returns how long the address has to wait if it sends too many.
    pub(crate) fn count(&self, address: IpAddr) -> Option<Duration> {
        self.count_at(address, Instant::now())
    }

    fn count_at(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let interval = self.interval?;
        let mut table = self.forgiven_at.lock().unwrap_or_else(PoisonError::into_inner);
        let known = table.get(&address).copied().unwrap_or(now).max(now);
        let forgiven_at = known.checked_add(interval)?;
        let excess = forgiven_at.saturating_duration_since(now).checked_sub(WINDOW);
        if let Some(excess) = excess.filter(|excess| !excess.is_zero()) {
            return Some(excess);
        }
        if table.len() >= ADDRESSES_MAX && !table.contains_key(&address) {
            make_room(&mut table, now);
        }
        table.insert(address, forgiven_at);
        None
    }
}

/// Removes all addresses that are forgiven, or else the one that is forgiven first.
fn make_room(table: &mut BTreeMap<IpAddr, Instant>, now: Instant) {
    table.retain(|_, forgiven_at| *forgiven_at > now);
    if table.len() < ADDRESSES_MAX {
        return;
    }
    let first = table.iter().min_by_key(|(_, forgiven_at)| **forgiven_at);
    if let Some(address) = first.map(|(address, _)| *address) {
        table.remove(&address);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{ADDRESSES_MAX, WrongKeys};

    fn address(number: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).unwrap()))
    }

    #[test]
    fn an_address_has_so_many_wrong_keys_a_minute_and_others_are_not_affected() {
        let (wrong, now) = (WrongKeys::new(60), Instant::now());
        let limited = (0..100).filter(|_| wrong.count_at(address(1), now).is_some()).count();
        assert_eq!(limited, 40);
        assert_eq!(wrong.count_at(address(1), now), Some(Duration::from_secs(1)));
        assert_eq!(wrong.count_at(address(2), now), None);
        assert_eq!(wrong.count_at(address(1), now + Duration::from_secs(1)), None);
        assert!(wrong.count_at(address(1), now + Duration::from_secs(1)).is_some());
    }

    #[test]
    fn no_limit_is_no_limit() {
        let (wrong, now) = (WrongKeys::new(0), Instant::now());
        assert!((0..1_000).all(|_| wrong.count_at(address(1), now).is_none()));
    }

    #[test]
    fn the_table_is_bounded() {
        let (wrong, now) = (WrongKeys::new(60), Instant::now());
        for number in 0..ADDRESSES_MAX + 100 {
            assert_eq!(wrong.count_at(address(number), now), None);
        }
        assert_eq!(wrong.forgiven_at.lock().unwrap().len(), ADDRESSES_MAX);
        // All are forgiven later, and one count removes them.
        wrong.count_at(address(1 << 20), now + Duration::from_secs(2));
        assert_eq!(wrong.forgiven_at.lock().unwrap().len(), 1);
    }
}
