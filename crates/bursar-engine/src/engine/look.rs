//! Where to look for flows whose time has come.

use bursar_core::delivery;
use bursar_core::payout::{self, schedule_lane, submit_lane};
use bursar_core::plan::{DueClaim, ReadPlan};
use bursar_core::request::{Body, Mail, Wake};
use bursar_core::reservation;
use jiff::{SignedDuration, Timestamp};

use super::apart::Place;
use super::{Engine, MAIL};

impl Engine {
    /// The lanes to look into now: those of channels only with free hands, and nothing new when stopping.
    pub(super) fn looks(&mut self, now: Timestamp) -> Vec<(String, Place, Body)> {
        // Whoever sets the clock back does not stop us from looking.
        let since = self.woken_at.map(|time| now.duration_since(time));
        let is_long =
            |since: SignedDuration| since.is_negative() || since >= self.limits.wake_every;
        let is_time = self.may_look && since.is_none_or(is_long);
        if self.is_stopping || !(is_time || self.is_hungry) {
            return Vec::new();
        }
        self.woken_at = Some(now);
        self.may_look = false;
        self.is_hungry = false;
        let wake = |(lane, free): (String, u32)| {
            let limit = self.limits.wake_max.min(free).min(self.apart.care(&lane).unwrap_or(free));
            let place = Place::Wake { lane: lane.clone(), limit };
            (limit > 0).then(|| (lane.clone(), place, Body::Wake(Wake { lane, limit })))
        };
        let mut looks: Vec<_> = self.lanes(now).filter_map(wake).collect();
        looks.extend(self.look_at_mail(now));
        looks
    }

    fn look_at_mail(&mut self, now: Timestamp) -> Option<(String, Place, Body)> {
        if self.apart.is_resting(MAIL, now) {
            return None;
        }
        let limit = self.apart.care(MAIL).unwrap_or(self.limits.wake_max);
        let deliver = self.mail.deliver(now, limit, self.limits.deliveries_max)?;
        Some((MAIL.to_owned(), Place::Deliver(deliver.clone()), Body::Mail(Mail::Deliver(deliver))))
    }

    /// Where flows wait, and how many of them may be woken. A lane that rests is none of them.
    fn lanes(&self, now: Timestamp) -> impl Iterator<Item = (String, u32)> {
        let own = [payout::LANE, reservation::LANE, delivery::LEASES];
        let own = own.map(|lane| (lane.to_owned(), u32::MAX));
        let submit = self.free.iter().map(|(channel, free)| (submit_lane(channel), *free));
        let asleep = self.free.keys().map(|channel| (schedule_lane(channel), u32::MAX));
        own.into_iter()
            .chain(submit)
            .chain(asleep)
            .filter(move |(lane, _)| !self.apart.is_resting(lane, now))
    }

    /// The first flow of each lane that is due by then.
    pub(crate) fn first_due(&self, now: Timestamp, until: Timestamp) -> ReadPlan {
        let claim = |(lane, _)| DueClaim { lane, now: until, limit: 1 };
        let due = self.lanes(now).map(claim).collect();
        ReadPlan { due, fair: self.mail.first_due(now, until), ..ReadPlan::default() }
    }

    /// When the first endpoint is tried again that is left alone now, if it is by then.
    pub(crate) fn next_unblocked(&self, now: Timestamp, until: Timestamp) -> Option<Timestamp> {
        self.mail.next_unblocked(now, until)
    }
}
