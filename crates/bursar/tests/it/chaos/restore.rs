//! The fault `restore`: an earlier copy replaces the books, while the provider keeps what it has paid since.
//!
//! The engines must notice it by themselves. Clients repeat what the copy does not have. When the books know every payment
//! of the provider again, two people end the recheck.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fault::Fault;
use super::fault_injector::FaultInjector;
use super::load::{CLIENTS, KEY, Load, references};
use super::processes::Processes;
use crate::bursar::bursar;
use crate::caller::{Caller, until};
use crate::cluster::Cluster;

/// The witness of the books is written once a second: a copy is older than that when it replaces them.
const AGE_MIN: Duration = Duration::from_secs(2);
/// How long the books may take to learn of every payment again.
const RECHECK_MAX: Duration = Duration::from_mins(10);
/// Statuses of payouts that the books would send.
const UNSENT: [&str; 2] = ["SCHEDULED", "READY"];

/// What the fault `restore` needs.
pub(super) struct Restores {
    /// An operator and an approver. Their keys are older than every copy.
    people: [Caller; 2],
    copy: Option<BooksCopy>,
    recheck: Option<Recheck>,
}

struct BooksCopy {
    made: Instant,
    /// The number of requests that were acknowledged before the copy was begun.
    requests: usize,
}

/// A recheck that is open.
struct Recheck {
    since: Instant,
    /// The number of submissions that the provider has received, counted after the restore.
    submissions: Option<u64>,
    /// References of the provider that the books know.
    known: BTreeSet<String>,
}

impl Restores {
    pub(super) fn new(load: &Load) -> Self {
        let admin = Caller::new(&load.addresses[0], Some(KEY));
        let people = [("ops", "operator"), ("boss", "approver")]
            .map(|(name, role)| admin.key(name, role, None));
        Self { people, copy: None, recheck: None }
    }
}

impl FaultInjector<'_> {
    /// Copies the books, now and then, for a later restore. Other faults happen in between.
    pub(super) fn copy_books_sometimes(&mut self) {
        if self.restores.as_ref().is_some_and(|it| it.copy.is_none()) && self.dice.pick(3) == 0 {
            self.copy_books();
        }
    }

    fn copy_books(&mut self) {
        let requests = self.load.acknowledged.lock().unwrap().requests.len();
        self.processes.copy_books();
        self.say(Fault::Restore, "the books are copied");
        let copy = BooksCopy { made: Instant::now(), requests };
        self.restores.as_mut().unwrap().copy = Some(copy);
    }

    /// Replaces the books by their copy.
    pub(super) fn restore(&mut self) {
        if self.restores.as_ref().unwrap().copy.is_none() {
            self.copy_books();
        }
        let copy = self.restores.as_mut().unwrap().copy.take().unwrap();
        self.await_lost_commits(&copy);
        // A lost engine stays lost.
        let engines = self.processes.engines.iter().enumerate();
        let running: Vec<usize> =
            engines.filter(|(_, engine)| engine.process.is_some()).map(|(at, _)| at).collect();
        for at in &running {
            self.processes.engines[*at].take().kill();
        }
        self.mending.retain(|mending| mending.fault != Fault::Stop);
        self.processes.put_copy_back();
        for at in running {
            self.processes.engines[at].start();
        }
        let state = self.load.get("/v1/restore");
        assert_eq!(state["status"], "RECHECKING", "the engine notices the restore: {state}");
        assert_eq!(state["actor"], "bursar", "{state}");
        // An answer of the killed engines may not be recorded yet.
        self.load.await_answers();
        let lost = self.load.acknowledged.lock().unwrap().requests.split_off(copy.requests);
        let age = copy.made.elapsed().as_secs_f64();
        let what = format!("a copy {age:.1} s old; {} requests are lost, and repeated", lost.len());
        self.say(Fault::Restore, &what);
        self.load.forgotten.lock().unwrap().extend(lost);
        let (since, known) = (Instant::now(), BTreeSet::new());
        let recheck = Recheck { since, submissions: None, known };
        self.restores.as_mut().unwrap().recheck = Some(recheck);
        self.mend_later(Fault::Restore, Duration::ZERO);
    }

    /// Waits until the books, and their witness, have more than the copy.
    fn await_lost_commits(&mut self, copy: &BooksCopy) {
        let load = self.load;
        let made = || load.made.load(Ordering::Relaxed);
        thread::sleep(AGE_MIN.saturating_sub(copy.made.elapsed()));
        // At least one of these answers is to a request that was sent after the pause.
        let enough = made() + 2 * CLIENTS;
        while made() < enough && !load.is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(100));
            self.mend_what_is_due();
        }
    }

    /// Two people end the recheck if the books know every payment of the provider. Returns whether they did.
    pub(super) fn try_end_recheck(&mut self) -> bool {
        let load = self.load;
        assert!(!load.has_failed.load(Ordering::Relaxed), "given up, because another failed");
        let is_silent = |fault: Fault| matches!(fault, Fault::Stop | Fault::Channel);
        if self.mending.iter().any(|mending| is_silent(mending.fault))
            || !load.forgotten.lock().unwrap().is_empty()
        {
            return false;
        }
        load.await_answers();
        let restores = self.restores.as_mut().unwrap();
        let recheck = restores.recheck.as_mut().unwrap();
        let books = load.books();
        let submissions = books.values().filter_map(|entry| entry["submissions"].as_u64()).sum();
        let Some(before) = recheck.submissions else {
            recheck.submissions = Some(submissions);
            return false;
        };
        assert_eq!(submissions, before, "nothing is sent during the recheck");
        let unknown = recheck.unknown(load, &books);
        if let Some(reference) = unknown {
            let is_late = recheck.since.elapsed() > RECHECK_MAX;
            assert!(!is_late, "the books do not learn of {reference}: {}", books[&reference]);
            return false;
        }
        end(&restores.people);
        let lasted = recheck.since.elapsed().as_secs_f64();
        restores.recheck = None;
        self.say(Fault::Restore, &format!("two people end the recheck after {lasted:.1} s"));
        true
    }
}

impl Recheck {
    /// A reference of the provider that the books do not know, or would send.
    fn unknown(&mut self, load: &Load, books: &BTreeMap<String, Value>) -> Option<String> {
        let mut statuses = load.statuses();
        statuses.retain(|status, _| !UNSENT.contains(&status.as_str()));
        let sent: Vec<&str> = statuses.keys().map(String::as_str).collect();
        self.known.extend(references(&statuses, &sent));
        for reference in books.keys() {
            if !self.known.contains(reference) {
                if !is_known(load, reference) {
                    return Some(reference.clone());
                }
                self.known.insert(reference.clone());
            }
        }
        None
    }
}

/// Whether the books have the attempt with this reference, and would not send it again.
fn is_known(load: &Load, reference: &str) -> bool {
    let found = load.get(&format!("/v1/payouts?reference={reference}"));
    let payout = &found["data"][0];
    let Some(id) = payout["id"].as_str() else { return false };
    if !UNSENT.contains(&payout["status"].as_str().unwrap()) {
        return true;
    }
    let explained = load.get(&format!("/v1/payouts/{id}/explain"));
    let mut attempts = explained["attempts"].as_array().unwrap().iter();
    let attempt = attempts.find(|attempt| attempt["reference"] == reference).unwrap();
    !attempt["evidence"].as_array().unwrap().is_empty()
}

fn end([operator, approver]: &[Caller; 2]) {
    let ask = |person: &Caller| {
        let body = json!({}).to_string();
        person.try_ask("POST", "/v1/restore/end", &[], body.as_bytes())
    };
    // Refused if the answer to the first try was lost: the proposal is there.
    let is_proposed = |status: u16| status == 200 || status == 409;
    until("an operator proposes the end", || {
        ask(operator).filter(|answer| is_proposed(answer.status))
    });
    until("an approver ends the recheck", || {
        ask(approver).filter(|answer| answer.status == 200 && answer.json()["status"] == "ENDED")
    });
}

impl Processes {
    fn copy_path(&self) -> PathBuf {
        // The PostgreSQL user owns the directory of its data.
        let of_server = |cluster: &Cluster| format!("{}-copy", cluster.data()).into();
        self.cluster.as_ref().map_or_else(|| self.beside("copy"), of_server)
    }

    /// Copies the books beside the running engines.
    fn copy_books(&self) {
        let copy = self.copy_path();
        if copy.exists() {
            std::fs::remove_dir_all(&copy).unwrap();
        }
        let copy = copy.to_str().unwrap();
        match &self.cluster {
            Some(cluster) => {
                let place = ["-d", &cluster.url(), "-D", copy];
                cluster.run("pg_basebackup", &[&place[..], &["-c", "fast"]].concat());
            }
            None => drop(bursar(&["backup", copy, &self.place[0], &self.place[1]]).ok()),
        }
    }

    /// Replaces the books by their copy. No engine is running.
    fn put_copy_back(&self) {
        let copy = self.copy_path();
        match &self.cluster {
            Some(cluster) => {
                cluster.stop_server("fast").unwrap();
                replace(Path::new(&cluster.data()), &copy);
                cluster.start_server();
            }
            None => replace(Path::new(&self.place[1]), &copy),
        }
    }
}

/// Replaces the content of a directory, which may be a disk of its own.
fn replace(directory: &Path, copy: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_directory = path.is_dir() && !path.is_symlink();
        let remove = if is_directory { std::fs::remove_dir_all } else { std::fs::remove_file };
        remove(path).unwrap();
    }
    let copied = Command::new("cp").arg("-a").arg(copy.join(".")).arg(directory).status().unwrap();
    assert!(copied.success(), "the copy is put in place of the books");
}
