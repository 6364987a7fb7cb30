//! Tallies: counts and sums of flows by name. A commit changes them by net deltas, so no report counts flows.

use std::collections::BTreeMap;
use std::fmt;

use super::commit::FlowWrite;
use crate::flow::{Flow, FlowAlert, ReviewReason};
use crate::money::Currency;

/// What is stored under a name; in a commit, its net change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The flows that are counted under the name now.
    pub count: i64,
    /// The sum of their amounts, in minor units. A sum that does not fit stays at the largest integer, so that no commit
    /// is refused for it.
    pub minor: i64,
    /// How often a flow came under the name, since the beginning: the difference of two reads is a rate.
    pub entered: i64,
}

impl Tally {
    /// Adds a net change.
    #[must_use]
    pub fn plus(self, change: Self) -> Self {
        Self {
            count: self.count.saturating_add(change.count),
            minor: plus_minor(self.minor, change.minor),
            entered: self.entered.saturating_add(change.entered),
        }
    }

    /// The sum of the amounts, unless it does not fit.
    pub fn sum(self) -> Option<i64> {
        (self.minor != i64::MAX).then_some(self.minor)
    }
}

fn plus_minor(sum: i64, change: i64) -> i64 {
    if sum == i64::MAX { sum } else { sum.max(0).saturating_add(change) }
}

/// What a flow is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TallyName<'n> {
    /// All flows. `channel` is empty for a kind without channels.
    Flow { kind: &'n str, status: &'n str, currency: Option<Currency>, channel: &'n str },
    /// Flows that wait for a person.
    Review { kind: &'n str, reason: ReviewReason },
    /// Flows that raise an alert for their channel.
    Alert { alert: FlowAlert, channel: &'n str },
}

/// The first part of the names of a family of tallies.
pub const FLOW_TALLIES: &str = "flow/";
pub const REVIEW_TALLIES: &str = "review/";
pub const ALERT_TALLIES: &str = "alert/";

/// The stored form. The channel comes last: a configuration names it.
impl fmt::Display for TallyName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flow { kind, status, currency, channel } => {
                let currency = currency.as_ref().map_or("", Currency::code);
                write!(f, "{FLOW_TALLIES}{kind}/{status}/{currency}/{channel}")
            }
            Self::Review { kind, reason } => {
                write!(f, "{REVIEW_TALLIES}{kind}/{}", reason.name())
            }
            Self::Alert { alert, channel } => {
                write!(f, "{ALERT_TALLIES}{}/{channel}", alert.name())
            }
        }
    }
}

/// A stored tally of flows, read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowTally<'n> {
    pub kind: &'n str,
    pub status: &'n str,
    /// Empty for a kind without amounts.
    pub currency: &'n str,
    /// Empty for a kind without channels.
    pub channel: &'n str,
    pub tally: Tally,
}

impl<'n> FlowTally<'n> {
    /// None for a name of another family.
    pub fn parse(name: &'n str, tally: Tally) -> Option<Self> {
        let mut parts = name.strip_prefix(FLOW_TALLIES)?.splitn(4, '/');
        let mut next = || parts.next();
        let (kind, status) = (next()?, next()?);
        let (currency, channel) = (next()?, next()?);
        Some(Self { kind, status, currency, channel, tally })
    }
}

/// The names that a flow is counted under.
fn names(flow: &Flow) -> impl Iterator<Item = TallyName<'_>> {
    let (kind, status) = (flow.state.kind(), flow.state.status());
    let currency = flow.state.funds().map(|funds| funds.amount.currency());
    let channel = flow.state.channel().unwrap_or_default();
    let review = flow.state.review().map(|reason| TallyName::Review { kind, reason });
    let alert = flow.state.alert().map(|alert| TallyName::Alert { alert, channel });
    let flow = TallyName::Flow { kind, status, currency, channel };
    [Some(flow), review, alert].into_iter().flatten()
}

fn minor(flow: &Flow) -> i64 {
    flow.state.funds().map_or(0, |funds| funds.amount.minor())
}

/// The net change of each tally, in the order of the names.
pub(crate) fn tally_changes(flows: &[FlowWrite]) -> Vec<(String, Tally)> {
    let mut changes: BTreeMap<TallyName<'_>, Tally> = BTreeMap::new();
    for FlowWrite { before, after, .. } in flows {
        let before = before.as_deref();
        if before.is_some_and(|before| names(before).eq(names(after))) {
            continue;
        }
        for name in before.into_iter().flat_map(names) {
            let change = changes.entry(name).or_default();
            change.count = change.count.saturating_sub(1);
            change.minor = change.minor.saturating_sub(before.map_or(0, minor));
        }
        for name in names(after) {
            let is_new = !before.is_some_and(|before| names(before).any(|left| left == name));
            let change = changes.entry(name).or_default();
            change.count = change.count.saturating_add(1);
            change.minor = change.minor.saturating_add(minor(after));
            change.entered = change.entered.saturating_add(i64::from(is_new));
        }
    }
    let changes = changes.into_iter().filter(|(_, change)| *change != Tally::default());
    changes.map(|(name, change)| (name.to_string(), change)).collect()
}

/// The tallies of flows that came under their names once.
pub fn tallies_of<'f>(flows: impl IntoIterator<Item = &'f Flow>) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for flow in flows {
        for name in names(flow) {
            let tally = tallies.entry(name.to_string()).or_default();
            *tally = tally.plus(Tally { count: 1, minor: minor(flow), entered: 1 });
        }
    }
    tallies
}

/// Tallies recounted from flows. Sums that do not fit are exact here.
#[derive(Debug, Default)]
pub(crate) struct Recount(BTreeMap<String, (i64, i128)>);

impl Recount {
    pub(crate) fn add(&mut self, flow: &Flow) {
        for name in names(flow) {
            let (count, sum) = self.0.entry(name.to_string()).or_default();
            *count = count.saturating_add(1);
            *sum = sum.saturating_add(i128::from(minor(flow)));
        }
    }

    /// The differences to the stored tallies.
    pub(crate) fn compare(mut self, stored: &BTreeMap<String, Tally>) -> Vec<String> {
        let mut differences = Vec::new();
        for (name, tally) in stored {
            let (count, sum) = self.0.remove(name).unwrap_or_default();
            if tally.count != count {
                let found = tally.count;
                differences
                    .push(format!("the tally `{name}` counts {found} flows, there are {count}"));
            }
            if tally.sum().is_some_and(|stored| i128::from(stored) != sum) {
                let found = tally.minor;
                differences.push(format!(
                    "the tally `{name}` adds up to {found} minor units, its flows to {sum}"
                ));
            }
            if tally.entered < tally.count {
                let Tally { entered, count, .. } = tally;
                differences.push(format!(
                    "the tally `{name}` counts {count} flows, but only {entered} ever came"
                ));
            }
        }
        for (name, (count, _)) in self.0 {
            differences.push(format!("{count} flows have no tally `{name}`"));
        }
        differences
    }
}
