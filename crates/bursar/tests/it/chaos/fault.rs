//! The faults by name.

use super::processes::Store;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// `kill -9` of an engine, then a restart.
    Kill,
    /// SIGTERM to an engine, then a restart.
    Term,
    /// An engine is paused for longer than its leases, then resumed.
    Stop,
    /// An engine is lost permanently; the others finish its work.
    Loss,
    /// The provider is paused: it accepts connections and answers nothing.
    Channel,
    /// Syncs and writes are slow.
    DiskSlow,
    /// The disk is full until space is freed.
    DiskFull,
    /// PostgreSQL is restarted.
    PgRestart,
    /// PostgreSQL crashes and recovers.
    PgCrash,
    /// PostgreSQL ends every connection.
    PgDrop,
    /// An earlier copy of the books replaces them; two people end the recheck.
    Restore,
    /// The Temporal server is killed and restarted on its database.
    TemporalCrash,
}

impl Fault {
    /// In an order in which temporary faults overlap with instant ones.
    const ALL: [Self; 12] = [
        Self::DiskSlow,
        Self::Stop,
        Self::Kill,
        Self::Term,
        Self::Channel,
        Self::PgRestart,
        Self::PgCrash,
        Self::PgDrop,
        Self::TemporalCrash,
        Self::Restore,
        Self::DiskFull,
        Self::Loss,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Term => "term",
            Self::Stop => "stop",
            Self::Loss => "loss",
            Self::Channel => "channel",
            Self::DiskSlow => "disk-slow",
            Self::DiskFull => "disk-full",
            Self::PgRestart => "pg-restart",
            Self::PgCrash => "pg-crash",
            Self::PgDrop => "pg-drop",
            Self::Restore => "restore",
            Self::TemporalCrash => "temporal-crash",
        }
    }

    const fn applies_to(self, store: Store) -> bool {
        match self {
            Self::Loss | Self::PgRestart | Self::PgCrash | Self::PgDrop => {
                matches!(store, Store::Postgres | Store::Temporal)
            }
            Self::TemporalCrash => matches!(store, Store::Temporal),
            // Disk faults are injected in runs without other stores. Workflows are not in the copy of the books.
            Self::DiskSlow | Self::DiskFull | Self::Restore => {
                matches!(store, Store::Sqlite | Store::Postgres)
            }
            Self::Kill | Self::Term | Self::Stop | Self::Channel => true,
        }
    }

    /// All faults of this store, or the named ones.
    pub(super) fn chosen(store: Store, names: Option<&str>) -> Vec<Self> {
        let applying: Vec<Self> =
            Self::ALL.into_iter().filter(|fault| fault.applies_to(store)).collect();
        let Some(names) = names else { return applying };
        let fault = |name: &str| {
            let known = Self::ALL.iter().find(|fault| fault.name() == name);
            *known.unwrap_or_else(|| {
                let all: Vec<&str> = Self::ALL.iter().map(|fault| fault.name()).collect();
                panic!("no fault is called {name:?}. There are {}", all.join(", "))
            })
        };
        let chosen: Vec<Self> = names.split(',').map(fault).collect();
        let chosen: Vec<Self> =
            chosen.into_iter().filter(|fault| applying.contains(fault)).collect();
        assert!(!chosen.is_empty(), "none of {names} can happen on {store:?}");
        chosen
    }
}

/// Deterministic random numbers from a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        // Never zero, and far apart for seeds that are close.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From the first number up to the one before the second.
    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        from + (self.0 >> 11) % (to - from)
    }

    pub(super) fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.between(0, u64::try_from(count).unwrap())).unwrap()
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.pick(at + 1));
        }
    }
}
