//! A payment provider that is not idempotent: it pays whatever it receives, as often as it receives it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::receiver::{Got, Receiver, Said};

/// What became of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Paid,
    /// Refused for now: a second attempt may follow.
    Busy,
}

#[derive(Debug, Default)]
struct Books {
    /// How often each reference was received, and what became of it.
    references: BTreeMap<String, (u32, Fate)>,
    /// The number of submissions that are still refused for now.
    busy: u32,
}

pub(super) struct Provider {
    receiver: Receiver,
    books: Arc<Mutex<Books>>,
}

impl Provider {
    pub(super) fn start() -> Self {
        let books: Arc<Mutex<Books>> = Arc::default();
        let kept = Arc::clone(&books);
        let receiver = Receiver::start(move |got, _| kept.lock().unwrap().answer(got));
        Self { receiver, books }
    }

    /// Refuses the next submissions for now.
    pub(super) fn refuse(&self, count: u32) {
        self.books.lock().unwrap().busy = count;
    }

    pub(super) fn paid(&self) -> usize {
        let books = self.books.lock().unwrap();
        books.references.values().filter(|(_, fate)| *fate == Fate::Paid).count()
    }

    /// No reference was received twice.
    pub(super) fn assert_paid_once(&self) {
        let books = self.books.lock().unwrap();
        let twice: Vec<_> = books.references.iter().filter(|(_, (count, _))| *count > 1).collect();
        assert_eq!(twice, [], "what was received twice was paid twice");
    }

    /// Its report: all payments, in the columns that `bursar restore report` reads.
    pub(super) fn report(&self, amount: &str) -> String {
        let books = self.books.lock().unwrap();
        let row = |(reference, (_, fate)): (&String, &(u32, Fate))| {
            let status = if *fate == Fate::Paid { "paid" } else { "failed" };
            format!("{reference},{status},{amount},PKR\n")
        };
        let rows: String = books.references.iter().map(row).collect();
        format!("reference,status,amount,currency\n{rows}")
    }

    /// The configuration of a channel with this name, with short intervals.
    pub(super) fn config(&self, name: &str, more: &str) -> String {
        format!(
            "[channels.{name}]\nkind = \"http\"\nurl = \"http://{}\"\ncurrencies = [\"PKR\"]\nsubmit_timeout_s = 1\nquery_timeout_s = 5\nrequery_schedule_s = [1, 1]\npoll_interval_s = 1\nfirst_retry_s = 0.2\nlast_retry_s = 0.5\n{more}\n",
            self.receiver.address
        )
    }
}

impl Books {
    fn answer(&mut self, got: &Got) -> Said {
        let is_submission = got.path.ends_with("/transactions");
        let reference = if is_submission {
            got.header("x-correlationid").to_owned()
        } else {
            got.path.rsplit('/').next().unwrap().to_owned()
        };
        if is_submission {
            let is_busy = self.busy > 0;
            self.busy = self.busy.saturating_sub(1);
            let fate = if is_busy { Fate::Busy } else { Fate::Paid };
            let known = self.references.entry(reference.clone()).or_insert((0, fate));
            known.0 += 1;
        }
        let (status, body) = match self.references.get(&reference) {
            None => (404, json!({ "errorCode": "TransactionNotFound" })),
            Some((_, Fate::Paid)) => {
                (200, json!({ "status": "completed", "clientCorrelationId": reference }))
            }
            Some((_, Fate::Busy)) if is_submission => (400, json!({ "errorCode": "SystemBusy" })),
            Some((_, Fate::Busy)) => {
                let error = json!({ "errorCode": "SystemBusy", "errorDescription": "busy" });
                (
                    200,
                    json!({ "status": "failed", "clientCorrelationId": reference, "errorReference": error }),
                )
            }
        };
        (status, vec![("x-correlationid", reference)], body.to_string().into_bytes())
    }
}
