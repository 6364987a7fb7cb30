//! What channels report, as evidence: amounts are compared with what was asked for, and the evidence is merged.

use super::event::{Answer, Outcome};
use super::state::Payout;
use super::step::Context;
use crate::money::Money;
use crate::payouts::attempt::{Evidence, Reported, Source, Verdict};
use crate::payouts::channel::ReportsAmount;

/// Evidence that is new to the attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEvidence {
    pub(super) attempt: u32,
    pub(super) verdict: Verdict,
}

/// Evidence about an unknown attempt is ignored. Repeated evidence with other bytes is still the same: the record grows with
/// new content, not with repetitions.
pub(super) fn merge(
    payout: &mut Payout,
    number: u32,
    evidence: Evidence,
    context: &Context<'_>,
) -> Option<NewEvidence> {
    let evidence = compared(evidence, payout.terms.funds.amount, context.channel.reports_amount);
    let verdict = evidence.verdict;
    let attempt = payout.attempts.iter_mut().find(|attempt| attempt.number == number)?;
    let known = attempt.evidence().map(|(known, _)| known).find(|known| known.says(&evidence));
    let evidence = known.cloned().unwrap_or(evidence);
    attempt.merge(evidence, context.now).then_some(NewEvidence { attempt: number, verdict })
}

/// Compares the amount that a channel reports with the one that was asked for. Only another amount is kept. Where an amount is
/// required, a return without one may be a part, which only a person can find out.
fn compared(evidence: Evidence, asked: Money, reports_amount: ReportsAmount) -> Evidence {
    let says_amount = match evidence.verdict {
        Verdict::Accepted | Verdict::Paid | Verdict::Returned => {
            evidence.source != Source::Operator
        }
        Verdict::NotSent { .. }
        | Verdict::Unknown { .. }
        | Verdict::Refused { .. }
        | Verdict::NotPaid { .. }
        | Verdict::AmountDiffers
        | Verdict::AmountMissing => false,
    };
    let names_amount = evidence.reported.as_ref().is_some_and(|it| it.amount.is_some());
    match (reports_amount, &evidence.reported) {
        (ReportsAmount::Required | ReportsAmount::IfPresent, Some(reported))
            if says_amount && !reported.is(asked) =>
        {
            Evidence { verdict: Verdict::AmountDiffers, ..evidence }
        }
        (ReportsAmount::Required, _) if says_amount && !names_amount => match evidence.verdict {
            Verdict::Paid => {
                Evidence { verdict: Verdict::AmountMissing, reported: None, ..evidence }
            }
            Verdict::Returned => {
                let reported = Some(evidence.reported.unwrap_or_default());
                Evidence { verdict: Verdict::AmountDiffers, reported, ..evidence }
            }
            Verdict::NotSent { .. }
            | Verdict::Unknown { .. }
            | Verdict::Refused { .. }
            | Verdict::Accepted
            | Verdict::NotPaid { .. }
            | Verdict::AmountDiffers
            | Verdict::AmountMissing => Evidence { reported: None, ..evidence },
        },
        (ReportsAmount::Required | ReportsAmount::IfPresent | ReportsAmount::Never, _) => {
            Evidence { reported: None, ..evidence }
        }
    }
}

pub(super) fn submission_evidence(r#try: u32, outcome: &Outcome) -> Evidence {
    let source = Source::Submission;
    let with_detail = |verdict, detail: &str| Evidence {
        detail: Some(detail.to_owned()),
        ..Evidence::new(source, verdict)
    };
    match outcome {
        Outcome::NotSent { detail, is_ours: _ } => with_detail(Verdict::NotSent { r#try }, detail),
        Outcome::Rejected { is_retryable, detail } => {
            with_detail(Verdict::Refused { r#try, is_retryable: *is_retryable }, detail)
        }
        Outcome::Accepted { provider_reference, reported } => {
            received(source, Verdict::Accepted, provider_reference.as_ref(), reported.as_ref())
        }
        Outcome::Paid { provider_reference, reported } => {
            received(source, Verdict::Paid, provider_reference.as_ref(), reported.as_ref())
        }
        // The channel has this reference; queries will show its outcome.
        Outcome::Duplicate => with_detail(Verdict::Accepted, "duplicate"),
        Outcome::Unknown { detail } => with_detail(Verdict::Unknown { r#try }, detail),
    }
}

fn received(
    source: Source,
    verdict: Verdict,
    provider_reference: Option<&String>,
    reported: Option<&Reported>,
) -> Evidence {
    let (provider_reference, reported) = (provider_reference.cloned(), reported.cloned());
    Evidence { provider_reference, reported, ..Evidence::new(source, verdict) }
}

/// The evidence in an answer, if any.
pub(super) fn query_evidence(answer: &Answer) -> Option<Evidence> {
    let source = Source::Query;
    match answer {
        Answer::Paid { provider_reference, reported } => {
            Some(received(source, Verdict::Paid, provider_reference.as_ref(), reported.as_ref()))
        }
        Answer::NotPaid { is_retryable, detail } => Some(Evidence {
            detail: Some(detail.clone()),
            ..Evidence::new(source, Verdict::NotPaid { is_retryable: *is_retryable })
        }),
        Answer::Pending { provider_reference, reported } => Some(received(
            source,
            Verdict::Accepted,
            provider_reference.as_ref(),
            reported.as_ref(),
        )),
        Answer::Returned { detail, reported } => Some(Evidence {
            detail: Some(detail.clone()),
            ..received(source, Verdict::Returned, None, reported.as_ref())
        }),
        Answer::NotFound | Answer::Failed { .. } => None,
    }
}
