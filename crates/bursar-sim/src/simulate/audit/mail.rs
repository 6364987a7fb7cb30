//! What merchants are told: who wanted to hear what when it happened, what is planned to be sent, and what receivers
//! really got.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::commit::{Commit, FlowWrite};
use bursar_core::delivery::{Deadlettered, Parcel, State};
use bursar_core::feed::FeedEvent;
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::registry::{Content, Endpoint};

use super::super::invariant::Invariant;
use super::Audit;

#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) endpoints: BTreeMap<EndpointId, Known>,
    /// What was sent of each delivery since somebody last asked for it again.
    rounds: BTreeMap<FlowId, u32>,
    /// Attempts that never began: once that is known, they do not count.
    unsent: BTreeSet<(FlowId, u32)>,
    /// The number of the last attempt when it was known to be taken.
    delivered: BTreeMap<FlowId, u32>,
    /// What receivers got, by endpoint and event.
    bodies: BTreeMap<FlowId, String>,
    /// What receivers have said 2xx to.
    taken: BTreeSet<FlowId>,
    /// How many attempts a round has.
    pub(crate) attempts_max: u32,
}

/// An endpoint as it was saved last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) merchant: String,
    pub(crate) is_on: bool,
    /// Since when it is not what it was, in microseconds of this world.
    changed_at: u64,
    event_types: BTreeSet<String>,
    concurrency: u32,
}

impl Known {
    fn new(endpoint: &Endpoint, before: Option<&Self>, now: u64) -> Self {
        let known = Self {
            merchant: endpoint.merchant.clone(),
            is_on: endpoint.is_enabled(),
            changed_at: now,
            event_types: endpoint.settings.event_types.clone(),
            concurrency: endpoint.settings.concurrency,
        };
        match before {
            Some(before) if (Self { changed_at: now, ..before.clone() }) == known => before.clone(),
            Some(_) | None => known,
        }
    }

    fn wants(&self, event: &FeedEvent) -> bool {
        let family = event.kind.split('.').next().unwrap_or_default();
        let is_wanted = |wanted: &String| match wanted.as_str() {
            "*" => family == "payout" || family == "payin",
            other => *other == event.kind || *other == format!("{family}.*"),
        };
        self.is_on && self.merchant == event.merchant && self.event_types.iter().any(is_wanted)
    }
}

impl Audit {
    /// Everything about deliveries in a commit. The turn that it ends began at this time.
    pub(super) fn follow_mail(&mut self, commit: &Commit, (began, now): (u64, u64)) {
        let before = self.mail.endpoints.clone();
        for write in &commit.records {
            let Content::Endpoint(endpoint) = &write.after.content else { continue };
            let Ok(id) = write.after.id.parse() else { continue };
            let known = Known::new(endpoint, before.get(&id), now);
            self.mail.endpoints.insert(id, known);
        }
        for event in &commit.events {
            self.look_at_fan_out(event, &before, commit);
        }
        for write in &commit.flows {
            self.look_at_delivery(write, &before, commit);
        }
        for parcel in &commit.parcels {
            self.look_at_parcel(parcel, &before, began);
        }
    }

    /// Whoever wanted to hear of it has a delivery, and nobody else has.
    fn look_at_fan_out(
        &mut self,
        event: &FeedEvent,
        before: &BTreeMap<EndpointId, Known>,
        commit: &Commit,
    ) {
        let about = self.resources.get(&event.resource).cloned().unwrap_or_default();
        let known: Vec<(EndpointId, Known)> =
            self.mail.endpoints.iter().map(|(id, known)| (*id, known.clone())).collect();
        for (id, after) in known.into_iter().filter(|(_, known)| known.merchant == event.merchant) {
            let flow = FlowId::from(DeliveryId::of(event.id, id));
            let found = commit.flows.iter().find(|write| write.after.id == flow);
            let was_wanted = before.get(&id).is_some_and(|before| before.wants(event));
            let is_wanted = after.wants(event);
            let is_test = event.kind == "webhook.test" && event.resource == id.to_string();
            // What changes in the same commit may come before or behind it.
            let is_right = match found {
                Some(write) => {
                    let body = write.after.state.delivery().map(|known| known.terms.body.as_str());
                    let is_own = body.is_some_and(|body| tells(body, event));
                    is_own && write.before.is_none() && (was_wanted || is_wanted || is_test)
                }
                None => !(is_test || was_wanted && is_wanted),
            };
            self.check(Invariant::EveryEventIsMailed, &about, is_right, || {
                let word = if found.is_some() { "has a wrong delivery" } else { "has no delivery" };
                format!("{} {word} for an endpoint of {}", event.kind, event.merchant)
            });
        }
    }

    fn look_at_delivery(
        &mut self,
        write: &FlowWrite,
        before: &BTreeMap<EndpointId, Known>,
        commit: &Commit,
    ) {
        let Some(delivery) = write.after.state.delivery() else { return };
        let known = write.before.as_ref().and_then(|flow| flow.state.delivery());
        let (id, about) = (write.after.id, self.name(write.after.id));
        let (endpoint, status) = (delivery.terms.endpoint, delivery.state.status());
        let is_told = commit.events.iter().any(|event| event.id == delivery.terms.event);
        self.check(Invariant::MailIsFromAnEvent, &about, known.is_some() || is_told, || {
            "a delivery begins, and nothing was told".to_owned()
        });
        let is_same = known.is_none_or(|known| known.terms == delivery.terms);
        self.check(Invariant::SameBytes, &about, is_same, || {
            "what is to be sent has changed".to_owned()
        });
        let was = known.map(|known| known.state.clone());
        let is_open = !delivery.state.is_over();
        if was.as_ref().is_some_and(State::is_over) && is_open {
            let names =
                [DeliveryId::from_uuid(id.uuid()).to_string(), delivery.terms.endpoint.to_string()];
            let is_asked = commit
                .audit
                .iter()
                .any(|entry| entry.action == "delivery.replay" && names.contains(&entry.resource));
            self.check(Invariant::OverIsOver, &about, is_asked, || {
                format!("it was over and is {status}, and nobody asked")
            });
            self.mail.rounds.insert(id, 0);
            self.mail.delivered.remove(&id);
        }
        if was.as_ref() == Some(&delivery.state) {
            return;
        }
        let is_on = |known: Option<&Known>| known.is_some_and(|known| known.is_on);
        let tries = self.mail.rounds.get(&id).copied().unwrap_or_default();
        match delivery.state {
            State::Delivered => {
                let is_taken = self.mail.taken.contains(&id);
                self.check(Invariant::DeliveredIsTaken, &about, is_taken, || {
                    "it is DELIVERED, and the receiver has never said 2xx".to_owned()
                });
                self.mail.delivered.insert(id, delivery.attempts);
            }
            State::Dlq { reason: Deadlettered::Exhausted, .. } => {
                let most = self.mail.attempts_max;
                self.check(Invariant::DeadWasTried, &about, tries == most, || {
                    format!("nobody tries any more after {tries} of {most} attempts")
                });
            }
            State::Cancelled { .. } => {
                let after = self.mail.endpoints.get(&endpoint);
                let is_off = !is_on(before.get(&endpoint)) || !is_on(after);
                self.check(Invariant::CancelledIsOff, &about, is_off, || {
                    "it is cancelled, and its endpoint is on".to_owned()
                });
            }
            State::WaitingRetry { .. } if self.mail.unsent.contains(&(id, delivery.attempts)) => {
                self.mail.rounds.insert(id, tries.saturating_sub(1));
            }
            State::Pending { .. }
            | State::Delivering { .. }
            | State::WaitingRetry { .. }
            | State::Dlq { .. } => {}
        }
    }

    /// Something is planned to be sent.
    fn look_at_parcel(
        &mut self,
        parcel: &Parcel,
        before: &BTreeMap<EndpointId, Known>,
        began: u64,
    ) {
        let about = self.name(parcel.flow);
        let after = self.mail.endpoints.get(&parcel.endpoint);
        // Whoever decides has seen what was saved before.
        let is_on = [before.get(&parcel.endpoint), after].into_iter().flatten();
        let is_on = is_on.into_iter().any(|known| known.is_on || known.changed_at >= began);
        self.check(Invariant::OffIsNotMailed, &about, is_on, || {
            "planned to be sent, and the endpoint is off".to_owned()
        });
        let is_known = self.mail.delivered.contains_key(&parcel.flow);
        self.check(Invariant::TakenIsNotMailed, &about, !is_known, || {
            "planned to be sent, and it is known to be taken".to_owned()
        });
        let tries = self.mail.rounds.entry(parcel.flow).or_default();
        *tries = tries.saturating_add(1);
        let (tries, most) = (*tries, self.mail.attempts_max);
        self.check(Invariant::TriedWithinSchedule, &about, tries <= most, || {
            format!("attempt {tries} of a schedule that has {most}")
        });
    }

    /// A process has nothing to send it with.
    pub(crate) fn unsent(&mut self, parcel: &Parcel) {
        self.mail.unsent.insert((parcel.flow, parcel.attempt));
    }

    /// A process sends to an endpoint, and this many are on their way.
    pub(crate) fn under_way(&mut self, endpoint: EndpointId, count: usize) {
        let most = self.mail.endpoints.get(&endpoint).map_or(0, |known| known.concurrency);
        let is_right = u32::try_from(count).is_ok_and(|count| count <= most);
        self.check(Invariant::MailWithinConcurrency, "", is_right, || {
            format!("{count} are on their way to an endpoint that takes {most} at once")
        });
    }

    /// A receiver got something.
    pub(crate) fn received(&mut self, parcel: &Parcel, is_taken: bool) {
        let about = self.name(parcel.flow);
        let delivery = self.flows.get(&parcel.flow).and_then(|flow| flow.state.delivery());
        let is_saved = delivery.is_some_and(|delivery| delivery.attempts >= parcel.attempt);
        let is_own = delivery.is_none_or(|delivery| {
            delivery.terms.body == parcel.body && delivery.terms.endpoint == parcel.endpoint
        });
        self.check(Invariant::MailIsSaved, &about, is_saved, || {
            format!("a receiver got attempt {}, which the books do not know", parcel.attempt)
        });
        let first = self.mail.bodies.entry(parcel.flow).or_insert_with(|| parcel.body.clone());
        let is_same = is_own && *first == parcel.body;
        self.check(Invariant::SameBytes, &about, is_same, || {
            "a receiver got other bytes than were told".to_owned()
        });
        let last = self.mail.delivered.get(&parcel.flow).copied();
        let is_news = last.is_none_or(|last| parcel.attempt <= last);
        self.check(Invariant::TakenIsNotMailed, &about, is_news, || {
            format!("a receiver got attempt {} of what is known to be taken", parcel.attempt)
        });
        if is_taken {
            self.mail.taken.insert(parcel.flow);
        }
    }
}

/// Whether these bytes say what was told.
fn tells(body: &str, event: &FeedEvent) -> bool {
    let data = format!(",\"data\":{}}}", event.data);
    let (id, kind) = (format!("\"{}\"", event.id), format!("\"{}\"", event.kind));
    body.ends_with(&data) && body.contains(&id) && body.contains(&kind)
}
