//! Somebody who asks one thing at a time, on any store, and looks at the books.

use bursar_core::commit::Commit;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::request::{Answer, Batch, Body, Reply, Request, Wake, Woken};
use bursar_core::rules::Rules;
use bursar_core::verify::Verifier;
use bursar_store::{Query, Store, turn};
use jiff::{SignedDuration, Timestamp};

use crate::workload::{open_merchant, post};

pub(crate) const START: Timestamp = Timestamp::constant(1_794_700_800, 0);

/// One person at the desk, and a clock that moves a second with every request.
pub(crate) struct Desk<'r, S> {
    pub(crate) rules: &'r Rules,
    pub(crate) store: S,
    admitted: u64,
    pub(crate) now: Timestamp,
}

impl<'r, S: Store + Query> Desk<'r, S> {
    /// `number` tells the requests of several desks apart.
    pub(crate) fn new(rules: &'r Rules, store: S, number: u64) -> Self {
        Self { rules, store, admitted: number * 1_000_000, now: START }
    }

    pub(crate) async fn ask(&mut self, body: Body) -> Answer {
        self.commit(body).await.answers.remove(0)
    }

    /// The whole commit of one request.
    pub(crate) async fn commit(&mut self, body: Body) -> Commit {
        self.admitted += 1;
        self.now += SignedDuration::from_secs(1);
        let admission = Admission::new(self.now, Seed::from(self.admitted));
        let requests = [Request { admission, body }];
        let batch = Batch::new(self.rules, &requests);
        turn(&mut self.store, &batch).await.unwrap()
    }

    /// All of these in one turn.
    pub(crate) async fn commit_all(&mut self, bodies: Vec<Body>) -> Commit {
        self.now += SignedDuration::from_secs(1);
        let admitted = bodies.into_iter().map(|body| {
            self.admitted += 1;
            Request { admission: Admission::new(self.now, Seed::from(self.admitted)), body }
        });
        let requests: Vec<Request> = admitted.collect();
        turn(&mut self.store, &Batch::new(self.rules, &requests)).await.unwrap()
    }

    /// The merchant of `post` gets 250.00.
    pub(crate) async fn fund(&mut self) {
        let Body::Post(event) = post(self.rules, "ADJUSTMENT_CREDIT", "start", 0).body else {
            panic!("an event is posted");
        };
        self.ask(Body::Post(event)).await.unwrap();
    }

    /// The same merchant may pay out.
    pub(crate) async fn open_merchant(&mut self) {
        self.ask(open_merchant("m1", 0).body).await.unwrap();
    }

    pub(crate) async fn wake(&mut self, lane: &str, limit: u32) -> Woken {
        match self.ask(Body::Wake(Wake { lane: lane.to_owned(), limit })).await.unwrap() {
            Reply::Woken(woken) => woken,
            reply => panic!("{reply:?}"),
        }
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
        let accounts = self.store.accounts().await.unwrap();
        let mut verifier = Verifier::new(&self.rules.rulebook, &accounts);
        for commit in self.store.history(0, u32::MAX).await.unwrap() {
            verifier.add(&commit);
        }
        match self.store.flows(None, u32::MAX).await {
            Ok(flows) => flows.iter().for_each(|flow| verifier.add_flow(flow)),
            Err(error) => return vec![error.to_string()],
        }
        let (holds, due) = (self.store.holds().await.unwrap(), self.store.due().await.unwrap());
        let end = self.store.end().await.unwrap();
        verifier.finish(&accounts, &holds, &due, &end).differences
    }
}
