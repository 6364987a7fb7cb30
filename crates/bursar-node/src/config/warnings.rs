//! Configurations that can be used, and are probably a mistake. `bursar check` prints them, and a starting process logs them.

use bursar_core::dispatch::dispatch_id;
use bursar_core::four_eyes::Action;
use bursar_core::payouts::channel::Channel;
use bursar_core::rules::Rules;
use jiff::{SignedDuration, Timestamp};

use super::Config;
use super::dispatch::few_at_once;

impl Config {
    pub fn log_warnings(&self, rules: &Rules) {
        for warning in self.warnings(rules) {
            tracing::warn!("{warning}");
        }
    }

    pub fn warnings(&self, rules: &Rules) -> Vec<String> {
        let mut warnings: Vec<String> = self.secret_warnings().collect();
        for (name, channel) in &rules.channels {
            warnings.extend(late_proof(channel));
            warnings.extend(early_deadline(channel));
            let settings = rules.dispatch.get(&dispatch_id("payout", name));
            warnings.extend(settings.and_then(|settings| few_at_once(channel, settings)));
            let currencies = channel.currencies.iter();
            let free = currencies.filter(|currency| !rules.payout_tariffs.contains_key(*currency));
            warnings.extend(free.map(|currency| {
                format!("channels.{name}: no market has {currency}, so that its payouts cost no fee. Add [fees.MARKET] with this currency")
            }));
            if self.channels.get(name).is_some_and(super::ChannelConfig::is_overheard) {
                warnings.push(format!(
                    "channels.{name}.url: payouts, with names and numbers of beneficiaries, go to another machine in clear text. Use https"
                ));
            }
        }
        if self.webhooks.retry_schedule_s.is_empty() {
            warnings.push(
                "webhooks.retry_schedule_s is empty: a delivery that fails once is a dead letter, and the merchant is not told. Give pauses".to_owned(),
            );
        }
        warnings.extend(Action::ALL.into_iter().filter_map(|action| one_person(action, rules)));
        let (found, possible) = (self.http.connections_max, self.connections_possible());
        if found > possible {
            warnings.push(format!(
                "http.connections_max is {found}, and the file limit of this process (ulimit -n) allows {possible} beside books, channels and webhooks. Raise the file limit, or lower it"
            ));
        }
        warnings
    }
}

/// The questions end before “not found” would prove that a payout was not sent.
fn late_proof(channel: &Channel) -> Option<String> {
    let Channel { name, clocks, .. } = channel;
    // After a connection that was reset, the questions begin at once.
    let asked =
        clocks.requeries.iter().fold(SignedDuration::ZERO, |sum, pause| sum.saturating_add(*pause));
    let shown = channel.shown_at(Timestamp::UNIX_EPOCH).duration_since(Timestamp::UNIX_EPOCH);
    let is_late = channel.not_found_is_final && asked <= shown;
    is_late.then(|| {
        format!(
            "channels.{name}: not_found_is_final proves nothing, because requery_schedule_s ends {} seconds after a submission and absence is proven after {} (visibility_window_s and the lease of the submission). Payouts without an answer become STUCK. Give requery_schedule_s longer or more pauses",
            asked.as_secs(),
            shown.as_secs()
        )
    })
}

/// A payout is given up before the channel promises to know it.
fn early_deadline(channel: &Channel) -> Option<String> {
    let (deadline, window) = (channel.clocks.poll_deadline, channel.visibility_window);
    (deadline < window).then(|| {
        format!(
            "channels.{}: poll_deadline_s is {} and visibility_window_s is {}: payouts become STUCK before the channel promises to show them. Give poll_deadline_s at least as long",
            channel.name,
            deadline.as_secs(),
            window.as_secs()
        )
    })
}

fn one_person(action: Action, rules: &Rules) -> Option<String> {
    let name = action.name();
    let quorum = rules.approvals.get(&action).map(|rule| rule.quorum);
    if quorum.is_some_and(|quorum| quorum < action.usual().quorum) {
        return Some(format!(
            "[[approvals]]: {name} takes one person, so that one key alone can do it. Remove the rule when it is not needed any more"
        ));
    }
    rules.is_never_above(action).then(|| {
        format!(
            "{name}: the amount above which two people are needed is not below limits.largest, so that one person suffices for every payment. Lower [review] four_eyes_above, or `above` in [[approvals]]"
        )
    })
}
