//! A test client that sends one request per turn to any store, and reads the books.

use bursar_core::flow::{ClaimDue, ClaimReply};
use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, Post};
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::{Ask, Body, Commit, Request, TurnInput};
use bursar_store::{Query, Store, Walk as _, turn};
use jiff::{SignedDuration, Timestamp};

use crate::workload::{event, registration};

pub(crate) const START: Timestamp = Timestamp::constant(1_794_700_800, 0);

/// A client, and a clock that advances one second with every request.
pub(crate) struct Desk<'r, S> {
    pub(crate) rules: &'r Rules,
    pub(crate) store: S,
    admitted: u64,
    pub(crate) now: Timestamp,
}

impl<'r, S: Store + Query> Desk<'r, S> {
    /// `number` makes the seeds of several desks distinct.
    pub(crate) fn new(rules: &'r Rules, store: S, number: u64) -> Self {
        Self { rules, store, admitted: number * 1_000_000, now: START }
    }

    /// The reply has the type of the request, so every test checks the row of its request in `asks!`.
    pub(crate) async fn ask<A: Ask>(&mut self, ask: A) -> Result<A::Reply, Rejection> {
        let reply = self.commit(ask).await.answers.remove(0)?;
        Ok(A::reply(reply).expect("the reply of the request"))
    }

    /// Sends a request of any domain, which must be accepted.
    pub(crate) async fn accepted(&mut self, body: impl Into<Body>) {
        self.commit(body).await.answers.remove(0).unwrap();
    }

    /// Sends a request of any domain, which must be rejected.
    pub(crate) async fn rejected(&mut self, body: impl Into<Body>) -> Rejection {
        self.commit(body).await.answers.remove(0).unwrap_err()
    }

    /// Sends one request and returns the whole commit.
    pub(crate) async fn commit(&mut self, body: impl Into<Body>) -> Commit {
        let body = body.into();
        self.admitted += 1;
        self.now += SignedDuration::from_secs(1);
        let admission = Admission::new(self.now, Seed::from(self.admitted));
        let requests = [Request { admission, body }];
        let batch = TurnInput::new(self.rules, &requests);
        turn(&mut self.store, &batch).await.unwrap()
    }

    /// Sends these requests in one turn.
    pub(crate) async fn commit_all(&mut self, bodies: Vec<Body>) -> Commit {
        self.now += SignedDuration::from_secs(1);
        let admitted = bodies.into_iter().map(|body| {
            self.admitted += 1;
            Request { admission: Admission::new(self.now, Seed::from(self.admitted)), body }
        });
        let requests: Vec<Request> = admitted.collect();
        turn(&mut self.store, &TurnInput::new(self.rules, &requests)).await.unwrap()
    }

    /// Credits merchant `m1` with 250.00.
    pub(crate) async fn fund(&mut self) {
        let event = event(self.rules, "ADJUSTMENT_CREDIT", "start");
        self.ask(Post { event, actor: None }).await.unwrap();
    }

    /// Registers merchant `m1`.
    pub(crate) async fn open_merchant(&mut self) {
        self.ask(registration("m1")).await.unwrap();
    }

    pub(crate) async fn claim(&mut self, lane: &str, limit: u32) -> ClaimReply {
        self.ask(ClaimDue::new(lane.to_owned(), limit)).await.unwrap()
    }

    pub(crate) async fn balance(&mut self, address: &str) -> i64 {
        let accounts = self.store.accounts().await.unwrap();
        let found = accounts.iter().find(|(known, _)| &**known == address);
        found.map_or(0, |(_, account)| account.balance.minor())
    }

    pub(crate) async fn assert_sound(&mut self) {
        assert_eq!(self.differences().await, Vec::<String>::new());
    }

    pub(crate) async fn differences(&mut self) -> Vec<String> {
        match self.store.verify(&self.rules.rulebook).await {
            Ok(report) => report.differences,
            Err(error) => vec![error.to_string()],
        }
    }
}
