//! Drives the real engine with requests. Its channel pays every submission and confirms it ten batches later.

use std::collections::VecDeque;
use std::mem::{replace, take};
use std::time::{Duration, Instant};

use bursar_core::flow::{self, Call, Effect};
use bursar_core::idempotency::Key;
use bursar_core::ids::{CommitId, Seed};
use bursar_core::ledger::Ledger;
use bursar_core::payouts::{self, Event, NewPayout, Order, Outcome};
use bursar_core::rules::Rules;
use bursar_core::turn::{Body, Commit, Request, TurnInput};
use bursar_engine::{EffectDone, Engine, Input, Limits, Output, Ticket};
use bursar_node::failure::Failure;
use bursar_store::{Store, turn};
use jiff::Timestamp;

use super::requests::{Merchants, admitted, openings, registrations};
use crate::measure::failed;

/// Batches in flight at the channel, of all writers together.
pub(crate) const LAG: u32 = 10;

/// Commits with their ids.
pub(super) type Commits = Vec<(CommitId, Commit)>;

pub(crate) struct Driver {
    engine: Engine,
    batch: usize,
    /// Batches in flight at the channel.
    pub(super) lag: u32,
    in_flight: VecDeque<Effect>,
    tickets: u64,
    /// Recorded commits, if a baseline writes them again.
    pub(super) kept: Option<Commits>,
}

/// Maximum payouts in flight at the channel.
pub(crate) const fn in_flight_max(batch: u32) -> u32 {
    batch.saturating_mul(LAG.saturating_add(2))
}

impl Driver {
    /// The seed makes its requests differ from those of other drivers.
    pub(crate) fn new(rules: &Rules, batch: u32, seed: Seed) -> Self {
        let size = usize::try_from(batch).unwrap_or(usize::MAX);
        let limits = Limits {
            inbox_max: size,
            // As many requests as outcomes.
            batch_max: size.saturating_mul(2),
            claim_max: batch,
            ..Limits::default()
        };
        let engine = Engine::new(rules, limits, seed);
        Self { engine, batch: size, lag: LAG, in_flight: VecDeque::new(), tickets: 0, kept: None }
    }

    /// One turn that creates and submits these payouts, and settles as many earlier ones.
    pub(crate) async fn ask(
        &mut self,
        store: &mut impl Store,
        rules: &Rules,
        payouts: Vec<(Key, NewPayout)>,
        time: &mut Duration,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        for (key, payout) in payouts {
            self.tickets = self.tickets.saturating_add(1);
            let (ticket, body) = (
                Ticket(self.tickets),
                payouts::Create { key, payout, actor: None, workflow: None }.into(),
            );
            let outputs = self.engine.enqueue(Input::Asked { ticket, body });
            self.carry_out(outputs)?;
        }
        let lag = self.batch.saturating_mul(usize::try_from(self.lag).unwrap_or(usize::MAX));
        self.hear(self.in_flight.len().saturating_sub(lag))?;
        self.turn(store, rules).await?;
        *time = time.saturating_add(started.elapsed());
        Ok(())
    }

    /// Settles everything in flight.
    pub(crate) async fn finish(
        &mut self,
        store: &mut impl Store,
        rules: &Rules,
        time: &mut Duration,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        while !self.engine.is_idle() {
            self.hear(self.batch)?;
            self.turn(store, rules).await?;
        }
        *time = time.saturating_add(started.elapsed());
        Ok(())
    }

    /// The channel confirms its oldest batch.
    fn hear(&mut self, count: usize) -> Result<(), Failure> {
        for _ in 0..count.min(self.batch) {
            let Some(effect) = self.in_flight.pop_front() else { break };
            let outcome = paid(&effect)?;
            self.engine.enqueue(Input::EffectDone(EffectDone { effect, outcome }));
        }
        Ok(())
    }

    async fn turn(&mut self, store: &mut impl Store, rules: &Rules) -> Result<(), Failure> {
        for output in self.engine.poll(Timestamp::now(), Input::TimePassed) {
            let Output::Turn(requests) = output else { continue };
            let (id, mut commit) = decide(store, rules, &requests).await?;
            if let Some(kept) = &mut self.kept {
                kept.push((id, take_rows(&mut commit)));
            }
            let outputs = self.engine.enqueue(Input::Saved(Box::new(commit)));
            self.carry_out(outputs)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, outputs: Vec<Output>) -> Result<(), Failure> {
        for output in outputs {
            match output {
                Output::Run(effect) => self.in_flight.push_back(effect),
                Output::Answer(_, Ok(Ok(_))) => {}
                Output::Answer(_, Ok(Err(rejection))) => return Err(refused(&rejection)),
                Output::Answer(_, Err(unanswered)) => return Err(refused(&unanswered)),
                Output::Turn(_) => return Err(refused(&"a turn came out of turn")),
            }
        }
        Ok(())
    }
}

/// Takes a commit except what the engine still needs. Nothing is copied, so that recording does not slow a variant down.
fn take_rows(commit: &mut Commit) -> Commit {
    let engine = Commit {
        effects: take(&mut commit.effects),
        answers: take(&mut commit.answers),
        ..Ledger::default().into_commit(Vec::new())
    };
    replace(commit, engine)
}

/// The complete turn: from requests to rows on disk.
pub(super) async fn decide(
    store: &mut impl Store,
    rules: &Rules,
    requests: &[Request],
) -> Result<(CommitId, Commit), Failure> {
    let batch = TurnInput::new(rules, requests);
    let commit = turn(store, &batch).await.map_err(|error| failed(&error))?;
    if let Some(rejection) = commit.answers.iter().find_map(|answer| answer.as_ref().err()) {
        return Err(refused(rejection));
    }
    let id = batch.commit_id(0).ok_or_else(|| refused(&"a batch has no requests"))?;
    Ok((id, commit))
}

/// Makes one request; each needs a number of its own. Returns the reference of the payout that it is about.
pub(crate) async fn request(
    store: &mut impl Store,
    rules: &Rules,
    (number, body): (u64, Body),
) -> Result<String, Failure> {
    let (_, commit) = decide(store, rules, &[admitted(number, body)]).await?;
    let payouts = commit.flows.iter().filter_map(|write| write.after.state.payout());
    Ok(payouts.map(|payout| payout.reference().to_owned()).next().unwrap_or_default())
}

/// Creates and funds merchants; returns the funding commit.
pub(crate) async fn open(
    store: &mut impl Store,
    rules: &Rules,
    merchants: Merchants,
) -> Result<(CommitId, Commit), Failure> {
    decide(store, rules, &registrations(merchants)).await?;
    decide(store, rules, &openings(merchants)).await
}

/// The outcome of a paid submission.
pub(super) fn paid(effect: &Effect) -> Result<flow::Outcome, Failure> {
    let unexpected = || refused(&"the channel is asked about a payout that it has paid");
    let Call::Payout(call) = &effect.call else { return Err(unexpected()) };
    let Order::Submit { r#try, .. } = call.order else { return Err(unexpected()) };
    let provider_reference = Some(format!("P-{}", call.reference));
    let outcome = Outcome::Paid { provider_reference, reported: None };
    Ok(flow::Outcome::Payout(Event::Submitted { attempt: effect.attempt, r#try, outcome }))
}

fn refused(reason: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("a payout of the benchmark was refused: {reason}"))
}
