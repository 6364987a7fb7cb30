//! Decisions that wait for a second person and have routes of their own: stuck payouts, freezes, restores.

use bursar_core::flow::{Flow, Kind as _, Review, ReviewReason};
use bursar_core::payouts::{self, Payout};
use bursar_store::{Browse as _, Query as _, ReviewFilter};
use jiff::Timestamp;

use super::approvals::Approval;
use crate::App;
use crate::problem::Problem;

/// How many flows that wait for a person are read at once, and looked at in all.
const PAGE: u32 = 500;
const REVIEWS_MAX: usize = 20_000;

pub(super) async fn read(app: &App) -> Result<Vec<Approval>, Problem> {
    let read = app.0.readers.read(async |store| {
        let mut pending = Vec::new();
        for reason in [ReviewReason::Stuck, ReviewReason::Case] {
            let filter = ReviewFilter { of: Some((Payout::INFO.name, reason)), merchant: None };
            let (mut after, mut seen) = (None, 0_usize);
            while seen < REVIEWS_MAX {
                let page = store.reviews(&filter, after, PAGE).await?;
                let Some((last, _)) = page.last() else { break };
                after = Some((last.since, last.flow));
                seen = seen.saturating_add(page.len());
                pending.extend(page.iter().filter_map(of_payout));
            }
        }
        Ok((pending, store.control().await?))
    });
    let (mut pending, control) = read.await?;
    for (scope, freeze) in &control.freezes {
        if let Some(first) = &freeze.lifted_by {
            let (what, at) = (format!("unfreeze {scope}"), "/v1/dispatch/unfreeze");
            let id = format!("unfreeze:{scope}");
            pending.push(waiting((id, "dispatch.unfreeze"), what, &first.actor, freeze.since, at));
        }
    }
    if let Some(restore) = control.restore.as_ref().filter(|restore| restore.is_open()) {
        for (channel, first) in &restore.proposals {
            let name = if channel.is_empty() { "all channels" } else { channel };
            let (what, id) = (format!("end the recheck of {name}"), format!("restore:{name}"));
            let at = "/v1/restore/end";
            pending.push(waiting((id, "restore.end"), what, &first.actor, restore.at, at));
        }
        for (channel, report) in &restore.proposed {
            let (at, actor) = ("/v1/restore/report", &report.loaded_by.actor);
            let what = format!("load a report of {} payments of {channel}", report.rows);
            let id = format!("report:{channel}");
            pending.push(waiting((id, "restore.report"), what, actor, restore.at, at));
        }
    }
    Ok(pending)
}

fn of_payout((review, flow): &(Review, Option<Flow>)) -> Option<Approval> {
    let flow = flow.as_ref()?;
    let proposal = flow.state.payout()?.proposal.as_ref()?;
    let name = flow.name();
    let words = match proposal.decision {
        payouts::Decision::ConfirmPaid => "confirm that it was paid",
        payouts::Decision::ConfirmNotPaid => "confirm that it was not paid",
        payouts::Decision::KeepWaiting => "keep waiting",
        payouts::Decision::NewAttempt => "make a new attempt",
        payouts::Decision::CloseCase => "close the case",
    };
    let funds = flow.state.funds()?;
    let what = format!("{name}, {} {}: {words}", funds.amount, funds.amount.currency());
    let at = format!("/v1/payouts/{name}/resolve");
    let id = format!("resolve:{name}");
    Some(waiting((id, "payout.resolve"), what, &proposal.actor, review.since, &at))
}

fn waiting(
    (id, action): (String, &str),
    summary: String,
    maker: &str,
    since: Timestamp,
    decided_at: &str,
) -> Approval {
    Approval {
        id,
        status: "PROPOSED".to_owned(),
        version: 1,
        action: action.to_owned(),
        summary,
        maker: maker.to_owned(),
        note: String::new(),
        quorum: 2,
        signed: Vec::new(),
        would: Vec::new(),
        result: None,
        reason: None,
        expires_at: None,
        created_at: since,
        updated_at: since,
        decided_at: Some(format!("POST {decided_at}")),
    }
}
