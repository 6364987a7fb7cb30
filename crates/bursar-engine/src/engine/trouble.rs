//! Turns that were not saved or failed: nobody is left without an answer, and whatever makes turns fail ends up alone.

use bursar_core::request::{Blame, Body, Mail};
use bursar_store::StoreError;
use jiff::Timestamp;

use super::apart::{Group, Place};
use super::{Cause, Engine, Failed, MAIL, Output, REPORT_FAILURES_MAX, Unanswered};
use crate::stats::{Alert, add};

impl Engine {
    /// Callers are told; what channels have said is kept and told again.
    pub(super) fn not_saved(&mut self, error: &StoreError, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        add(&mut self.stats.not_saved, 1);
        self.stats.not_saved_at = Some(turn.admitted_at);
        for place in turn.places {
            match place {
                Place::Caller(ticket) => {
                    let unanswered = Unanswered::NotSaved(error.to_string());
                    outputs.push(Output::Answer(ticket, Err(unanswered)));
                }
                Place::Report { report, .. } => self.reports.push_back(report),
                Place::Cancel(endpoint) => self.mail.switched_off(endpoint),
                Place::Wake { .. }
                | Place::SetAside { .. }
                | Place::Deliver(_)
                | Place::SetAsideDelivery => {}
            }
        }
    }

    /// Halved and run again, until whatever makes turns fail is alone; everybody else goes on.
    pub(super) fn failed(&mut self, failed: Failed, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        match failed.cause {
            Cause::Panicked => add(&mut self.stats.panics, 1),
            Cause::Conflict => add(&mut self.stats.conflicts, 1),
        }
        let bodies = failed.requests.into_iter().map(|request| request.body);
        let mut group: Group = turn.places.into_iter().zip(bodies).collect();
        if group.len() > 1 {
            self.apart.halve(group);
            return;
        }
        let Some((place, body)) = group.pop() else { return };
        match place {
            Place::Caller(ticket) => {
                outputs.push(Output::Answer(ticket, Err(Unanswered::Failed)));
            }
            Place::Report { report, failures } => {
                let failures = failures.saturating_add(1);
                if failures < REPORT_FAILURES_MAX {
                    self.apart.push(vec![(Place::Report { report, failures }, body)]);
                } else {
                    // Nothing is lost: when its lease ends, the flow asks the channel.
                    add(&mut self.stats.dropped_reports, 1);
                    let alert = Alert::DroppedReport { flow: report.flow };
                    self.stats.alert(turn.admitted_at, alert);
                }
            }
            Place::Wake { lane, limit } => {
                self.is_hungry = true;
                if limit <= 1 {
                    let blame = match failed.cause {
                        Cause::Panicked => Blame::Fails,
                        Cause::Conflict => Blame::None,
                    };
                    let body = Body::SetAside { lane: lane.clone(), blame };
                    self.apart.push_front(vec![(Place::SetAside { lane: lane.clone() }, body)]);
                }
                self.apart.take_care(lane);
            }
            Place::Deliver(asked) => {
                self.is_hungry = true;
                // Whoever was slower than others is no danger to them.
                if asked.limit <= 1 && failed.cause == Cause::Panicked {
                    let body = Body::Mail(Mail::SetAside(asked, Blame::Fails));
                    self.apart.push_front(vec![(Place::SetAsideDelivery, body)]);
                }
                self.apart.take_care(MAIL.to_owned());
            }
            place @ (Place::SetAside { .. } | Place::SetAsideDelivery) => {
                self.not_set_aside(place, body, turn.admitted_at);
            }
            // Those that wait are cancelled when their time comes.
            Place::Cancel(_) => {}
        }
    }

    /// What cannot even be given up may still be put off; if not, nothing behind it moves for a while.
    fn not_set_aside(&mut self, place: Place, body: Body, now: Timestamp) {
        if let Body::SetAside { lane, blame: Blame::Fails } = body {
            let body = Body::SetAside { lane, blame: Blame::None };
            self.apart.push_front(vec![(place, body)]);
        } else if let Body::Mail(Mail::SetAside(asked, Blame::Fails)) = body {
            let body = Body::Mail(Mail::SetAside(asked, Blame::None));
            self.apart.push_front(vec![(place, body)]);
        } else if let Place::SetAside { lane } = place {
            self.rest(lane, now);
        } else {
            self.rest(MAIL.to_owned(), now);
        }
    }

    fn rest(&mut self, lane: String, now: Timestamp) {
        self.apart.rest(lane.clone(), now);
        self.stats.alert(now, Alert::LaneRests { lane });
    }
}
