//! Why a payout waits to be sent.

use bursar_core::dispatch::{AtCutOff, Config, Queue, QueueKey, Rate};
use bursar_core::flow::Flow;
use bursar_core::freezes::{Control, Scope};
use bursar_core::payouts::{Payout, State};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Why a payment waits.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Why {
    id: String,
    status: &'static str,
    /// One sentence for a person.
    summary: String,
    /// `nothing`, `time`, `freeze`, `disabled`, `window`, `limit`, `rate` or `turn`.
    reason: &'static str,
    /// When the reason ends, if that is known.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// How many payments of its merchant wait in its rank, it among them.
    waiting_of_merchant: Option<i64>,
    /// How many merchants have payments in its rank.
    merchants_waiting: Option<u64>,
    /// The rate in force.
    #[schema(value_type = Option<f64>)]
    rate_per_s: Option<Rate>,
    /// When it is sent at the latest, if everything that waits in its rank and above goes before it and nothing else comes.
    #[schema(value_type = Option<String>, format = DateTime)]
    expected_by: Option<Timestamp>,
}

/// What is known beside the payout.
pub(super) struct Known {
    pub(super) now: Timestamp,
    pub(super) control: Control,
    /// The queues of its channel.
    pub(super) queues: Vec<(QueueKey, Queue)>,
    /// None if nothing limits the channel.
    pub(super) config: Option<Config>,
}

pub(super) fn explain(flow: &Flow, known: &Known) -> Why {
    let mut why = Why {
        id: flow.name(),
        status: flow.state.status(),
        summary: String::new(),
        reason: "nothing",
        until: None,
        waiting_of_merchant: None,
        merchants_waiting: None,
        rate_per_s: None,
        expected_by: None,
    };
    let Some(payout) = flow.state.payout() else { return why };
    let (reason, until, summary) = match payout.state {
        State::Scheduled { .. } | State::Ready { .. } => {
            why.count(flow, known);
            waiting(flow, payout, known, &why)
        }
        State::Submitting { .. }
        | State::Unconfirmed { .. }
        | State::Processing { .. }
        | State::Stuck { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Expired
        | State::Returned
        | State::LateSuccess => {
            ("nothing", None, format!("It does not wait to be sent: it is {}.", why.status))
        }
    };
    Why { summary, reason, until, ..why }
}

impl Why {
    /// The figures of the queue of the payout.
    fn count(&mut self, flow: &Flow, known: &Known) {
        let Some(lane) = flow.due().map(|due| due.lane) else { return };
        let Some(key) = QueueKey::parse(&lane) else { return };
        let of_rank = || known.queues.iter().filter(|(it, _)| it.rank == key.rank);
        self.waiting_of_merchant = of_rank().find(|(it, _)| *it == key).map(|(_, it)| it.waiting);
        self.merchants_waiting = u64::try_from(of_rank().count()).ok();
        let pace = known.config.as_ref().and_then(|config| config.pace);
        self.rate_per_s = pace.map(|pace| pace.rate);
        let before: i64 = known
            .queues
            .iter()
            .filter(|(it, queue)| it.rank <= key.rank && queue.ready_at() <= known.now)
            .map(|(_, queue)| queue.waiting)
            .sum();
        self.expected_by = pace.and_then(|pace| {
            let span = pace.rate.interval().checked_mul(i32::try_from(before).ok()?)?;
            known.now.checked_add(span).ok()
        });
    }
}

type Reason = (&'static str, Option<Timestamp>, String);

fn waiting(flow: &Flow, payout: &Payout, known: &Known, why: &Why) -> Reason {
    let Known { now, control, config, .. } = known;
    let channel = &payout.terms.channel;
    if let Some(scope) = frozen_by(control, channel, &flow.merchant) {
        let text = format!(
            "Sending is frozen ({scope}); it goes on when two people have lifted the freeze."
        );
        return ("freeze", None, text);
    }
    if let Some(due) = flow.step_at().filter(|due| now < due) {
        let is_retry = payout.latest().is_some_and(|attempt| attempt.tries > 0);
        let text = if is_retry {
            format!("{channel} could not be reached; it is tried again at {due}.")
        } else {
            format!("It waits for its time, {due}.")
        };
        return ("time", Some(due), text);
    }
    if let Some(config) = config {
        if !config.is_enabled {
            let text =
                format!("{channel} is disabled in its settings; it goes on when it is enabled.");
            return ("disabled", None, text);
        }
        let opening = config.calendar.at(*now);
        let has_missed =
            opening.closed_at.is_some_and(|closed| flow.step_at().is_some_and(|due| due < closed));
        let is_sent_anyway = has_missed && config.at_cut_off == AtCutOff::SendAnyway;
        if !opening.is_open && !is_sent_anyway {
            let text = match opening.changes_at {
                Some(at) => format!("The window of {channel} is closed; it opens at {at}."),
                None => {
                    format!("The window of {channel} is closed, and does not open within a year.")
                }
            };
            return ("window", opening.changes_at, text);
        }
    }
    let parked = known.queues.iter().find(|(key, _)| key.merchant == flow.merchant);
    let parked = parked.and_then(|(_, queue)| queue.parked_until).filter(|until| now < until);
    if let Some(until) = parked {
        let text = format!(
            "Its merchant has reached its limit at {channel}; the next one is sent at {until}."
        );
        return ("limit", Some(until), text);
    }
    let figures = (why.rate_per_s, why.waiting_of_merchant, why.merchants_waiting);
    if let (Some(rate), Some(waiting), Some(merchants)) = figures {
        let text = format!(
            "It is due and waits for its turn: {waiting} payments of its merchant wait beside {} other merchants, and {channel} is sent {rate} a second.",
            merchants.saturating_sub(1)
        );
        return ("rate", why.expected_by, text);
    }
    let text = format!("It is due, and is sent as soon as {channel} has a free place.");
    ("turn", None, text)
}

fn frozen_by(control: &Control, channel: &str, merchant: &str) -> Option<String> {
    let scopes =
        [Scope::Global, Scope::Channel(channel.to_owned()), Scope::Merchant(merchant.to_owned())];
    let found = scopes.into_iter().find(|scope| control.freezes.contains_key(scope));
    found.map(|scope| scope.to_string())
}
