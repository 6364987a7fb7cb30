//! Bugs that are injected around the product, one at a time, to check that they are found. The product itself is not
//! touched: each is a store or a host that does its own part wrong.

mod host;
mod store;

pub(crate) use store::save;

/// One line makes an injected bug: its name, within how many seeds it is found, and what is wrong.
macro_rules! injected_bugs {
    ($($bug:ident, $name:literal, $within:literal, $meaning:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum InjectedBug {
            $(#[doc = $meaning] $bug,)*
        }

        impl InjectedBug {
            pub const ALL: &[Self] = &[$(Self::$bug,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$bug => $name,)*
                }
            }

            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$bug => $meaning,)*
                }
            }

            /// Seeds 0 up to this are enough to find it.
            pub const fn within(self) -> u64 {
                match self {
                    $(Self::$bug => $within,)*
                }
            }
        }
    };
}

injected_bugs! {
    StoreForgetsVersions, "store-forgets-versions", 20, "a store of several processes that does not check versions";
    StoreLosesCommits, "store-loses-commits", 20, "a store that says it has saved and has not";
    StoreSavesTwice, "store-saves-twice", 40, "a store that saves once more if the outcome of a commit is unknown";
    StoreCountsTwice, "store-counts-twice", 40, "a store that adds the changes of tallies once more if the outcome of a commit is unknown";
    StoreDropsEvents, "store-drops-events", 20, "a store that loses events";
    StoreLosesDeliveries, "store-loses-deliveries", 20, "a store that loses deliveries of the events that it has saved";
    StoreForgetsDecisions, "store-forgets-decisions", 40, "a store that saves what was approved, and not the approval";
    StoreSavesDecisionsAlone, "store-saves-decisions-alone", 40, "a store that saves an approval, and not what was approved";
    StoreForgetsSlots, "store-forgets-slots", 40, "a store that loses which slots were given out";
    StoreSharesSlots, "store-shares-slots", 120, "a store of several processes that does not check whether slots were given out meanwhile";
    HostForgetsWebhooks, "host-forgets-webhooks", 20, "a host that loses the answers of endpoints";
    HostTakesAnyAnswer, "host-takes-any-answer", 20, "a host that takes any answer of an endpoint for a good one";
    HostNotifiesBeforeSave, "host-notifies-before-save", 20, "a host that calls endpoints before the commit is saved";
    HostIgnoresLeases, "host-ignores-leases", 160, "a host that sends however late it is";
    HostSendsBeforeSave, "host-sends-before-save", 20, "a host that sends what is not saved yet";
    HostAnswersBeforeSave, "host-answers-before-save", 20, "a host that answers what is not saved yet";
    HostResendsOnRestart, "host-resends-on-restart", 40, "a host that sends again what was in flight when it died";
    HostIgnoresAmounts, "host-ignores-amounts", 60, "a host that does not read the amounts that channels report";
    HostDropsOtherAmounts, "host-drops-other-amounts", 40, "a host that rejects pay-in reports of another amount before they are decided";
    HostTakesKeysForPeople, "host-takes-keys-for-people", 40, "a host that takes two keys of one person for two people";
    HostRepeatsApproved, "host-repeats-approved", 40, "a host that does once more what was approved";
    HostCallsUnknownFailed, "host-calls-unknown-failed", 20, "a host that takes a timeout for a rejection";
}

impl InjectedBug {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|bug| bug.name() == name)
    }

    /// Whether it shows only where several processes share the books.
    pub(crate) fn needs_two(self) -> bool {
        matches!(self, Self::StoreForgetsVersions | Self::StoreSharesSlots)
    }

    /// Whether the host acts when it is decided, not when it is saved.
    pub(crate) fn is_hasty(self) -> bool {
        matches!(
            self,
            Self::HostSendsBeforeSave | Self::HostAnswersBeforeSave | Self::HostNotifiesBeforeSave
        )
    }
}
