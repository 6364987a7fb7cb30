//! The processes of a run: starts and restarts the engines, the database and the Temporal server.

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::disk::{Disk, SlowDisk};
use super::fault::Fault;
use super::load::KEY;
use super::temporal::SECRET_KEYS;
use crate::caller::until;
use crate::cluster::Cluster;
use crate::dev_server::DevServer;
use crate::process::{Process, free_port};
use crate::scratch::Scratch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
    /// PostgreSQL, and workers on a Temporal cluster.
    Temporal,
}

/// Fields are dropped in order: engines before the stores that they write to.
pub(super) struct Processes {
    pub(super) engines: Vec<Engine>,
    pub(super) temporal: Option<DevServer>,
    pub(super) cluster: Option<Cluster>,
    pub(super) disk: Option<Disk>,
    pub(super) slow_disk: Option<SlowDisk>,
    /// The store arguments of `bursar`.
    pub(super) place: Vec<String>,
    scratch: Scratch,
}

/// A server or worker process, running or not.
pub(super) struct Engine {
    pub(super) name: String,
    pub(super) serves: bool,
    pub(super) address: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    log: PathBuf,
    pub(super) process: Option<Process>,
    pub(super) is_stopped: bool,
}

impl Processes {
    /// Creates the stores that the faults need. No engine is started.
    pub(super) fn build(store: Store, faults: &[Fault]) -> Self {
        let scratch = Scratch::new();
        let slow_disk = faults.contains(&Fault::DiskSlow).then(|| SlowDisk::build(scratch.path()));
        let variables = slow_disk.as_ref().map(SlowDisk::variables).unwrap_or_default();
        let path = scratch.path().join("disk");
        let disk = faults.contains(&Fault::DiskFull).then(|| Disk::mount(&path));
        let (cluster, place) = match store {
            Store::Sqlite => {
                let books = path.join("books").display().to_string();
                (None, vec!["--data".to_owned(), books])
            }
            Store::Postgres | Store::Temporal => {
                let own = Scratch::new();
                if disk.is_some() {
                    symlink(&path, own.path().join("data")).unwrap();
                }
                let cluster = Cluster::start_in(own, variables.clone());
                let url = cluster.url();
                (Some(cluster), vec!["--database-url".to_owned(), url])
            }
        };
        let temporal = (store == Store::Temporal).then(|| DevServer::start(scratch.path()));
        let names: &[&str] = match store {
            Store::Sqlite => &["engine"],
            Store::Postgres => &["engine 1", "engine 2"],
            Store::Temporal => &["server", "worker 1", "worker 2"],
        };
        let engine = |name: &&str| Engine {
            name: (*name).to_owned(),
            serves: !name.starts_with("worker"),
            address: format!("127.0.0.1:{}", free_port()),
            arguments: [cluster_arguments(temporal.as_ref()), place.clone()].concat(),
            variables: variables.clone(),
            log: scratch.path().join(format!("{name}.log")),
            process: None,
            is_stopped: false,
        };
        let engines = names.iter().map(engine).collect();
        Self { engines, temporal, cluster, disk, slow_disk, place, scratch }
    }

    /// Paths of data and logs, printed on failure.
    pub(super) fn paths(&self) -> String {
        let own = self.scratch.path().display();
        match &self.cluster {
            Some(cluster) => format!("{own} and PostgreSQL's in {}", cluster.url()),
            None => own.to_string(),
        }
    }

    /// A path beside the data, on a disk that is never full.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(super) fn open(&mut self, config: &str) {
        let file = self.scratch.file("bursar.toml", config);
        for engine in &mut self.engines {
            engine.arguments.extend(["--config".to_owned(), file.clone()]);
            engine.start();
        }
    }

    pub(super) fn fill_disk(&self) {
        if self.cluster.is_none() {
            // The WAL has preallocated space: it is truncated first.
            let books = rusqlite::Connection::open(Path::new(&self.place[1]).join("bursar.sqlite"));
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            let is_busy = || books.as_ref().unwrap().query_row(sql, (), |row| row.get(0));
            until("the log is emptied", || (is_busy() == Ok(false)).then_some(()));
        }
        self.disk.as_ref().unwrap().fill();
    }

    /// Frees space. A PostgreSQL server that ended is restarted, as a supervisor does.
    pub(super) fn free_disk(&self) {
        self.disk.as_ref().unwrap().free();
        if let Some(cluster) = &self.cluster
            && cluster.try_run("pg_ctl", &["-D", &cluster.data(), "status"]).is_err()
        {
            println!("            PostgreSQL went down and is started");
            cluster.start_server();
        }
    }

    /// An engine that exits by itself is a failure.
    pub(super) fn assert_all_live(&mut self) {
        for engine in &mut self.engines {
            let ended = engine.process.as_mut().and_then(Process::ended);
            assert!(ended.is_none(), "{} has ended by itself: {ended:?}", engine.name);
        }
    }
}

/// The engine arguments of `bursar`.
fn cluster_arguments(temporal: Option<&DevServer>) -> Vec<String> {
    let address = temporal.map(|temporal| temporal.address.as_str());
    let arguments = address.map(|address| ["--engine", "temporal", "--temporal", address]);
    arguments.into_iter().flatten().map(str::to_owned).collect()
}

impl Engine {
    /// Starts the process as a supervisor does: with retries while the database is down.
    pub(super) fn start(&mut self) {
        for _ in 0..100 {
            self.process = self.try_start();
            if self.process.is_some() {
                return;
            }
            thread::sleep(Duration::from_millis(300));
        }
        panic!("{} cannot be started: its log says why", self.name);
    }

    pub(super) fn try_start(&self) -> Option<Process> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let mut arguments = if self.serves {
            vec!["serve", "--init", "--listen", &self.address]
        } else {
            vec!["worker"]
        };
        arguments.extend(self.arguments.iter().map(String::as_str));
        let mut variables = vec![("BURSAR_ADMIN_KEY", KEY), ("BURSAR_LOG", "info")];
        variables.push(("BURSAR_SECRET_KEYS", SECRET_KEYS));
        variables
            .extend(self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Process::try_start(&arguments, &variables, Stdio::from(log))
    }

    pub(super) fn is_awake(&self) -> bool {
        self.process.is_some() && !self.is_stopped
    }

    pub(super) fn take(&mut self) -> Process {
        self.is_stopped = false;
        self.process.take().unwrap()
    }

    pub(super) fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }
}
