//! A private PostgreSQL server with its own data directory and socket. Dropping it stops the server.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::Scratch;

pub(crate) struct Cluster {
    scratch: Scratch,
    bin: PathBuf,
    /// The environment variables of the server.
    variables: Vec<(String, String)>,
}

impl Cluster {
    /// Starts a server for one test. Missing binaries are a failure: `./test` installs them.
    pub(crate) fn start() -> Self {
        Self::start_in(Scratch::new(), Vec::new())
    }

    /// Same, in a directory whose `data` may be a separate disk, with these environment variables.
    pub(crate) fn start_in(scratch: Scratch, variables: Vec<(String, String)>) -> Self {
        let bin = binaries().expect(
            "no PostgreSQL server under /usr/lib/postgresql: run ./test, which installs it",
        );
        let cluster = Self { scratch, bin, variables };
        if is_root() {
            // The server refuses to run as root.
            let owned =
                Command::new("chown").arg("postgres").arg(cluster.scratch.path()).status().unwrap();
            assert!(owned.success(), "the data directory could not be given to the postgres user");
        }
        let data = cluster.data();
        cluster.run(
            "initdb",
            &["-D", &data, "-A", "trust", "-U", "bursar", "--no-sync", "-E", "UTF8"],
        );
        // In the file, so that a test may append other settings: the last one counts.
        let settings =
            std::fs::OpenOptions::new().append(true).open(format!("{data}/postgresql.conf"));
        writeln!(settings.unwrap(), "listen_addresses = ''").unwrap();
        cluster.start_server();
        cluster
    }

    pub(crate) fn start_server(&self) {
        // After a crash the server syncs its file system at once: syncing file by file takes a minute on a slow disk.
        let options = format!(
            "-k {} -c shared_buffers=64MB -c recovery_init_sync_method=syncfs",
            self.scratch.path().display()
        );
        let log = self.scratch.path().join("log").display().to_string();
        self.run("pg_ctl", &["-D", &self.data(), "-o", &options, "-l", &log, "-w", "start"]);
    }

    /// Ends all processes of the server at once, like a crash.
    pub(crate) fn crash(&self) {
        self.stop_server("immediate").unwrap();
    }

    /// `fast` for a shutdown, `immediate` for a crash.
    pub(crate) fn stop_server(&self, mode: &str) -> Result<(), String> {
        self.try_run("pg_ctl", &["-D", &self.data(), "-m", mode, "-w", "stop"])
    }

    pub(crate) fn url(&self) -> String {
        format!("host={} user=bursar dbname=postgres", self.scratch.path().display())
    }

    /// Creates a database and returns its URL.
    pub(crate) fn new_database(&self, name: &str) -> String {
        let socket = self.scratch.path().display().to_string();
        self.run("createdb", &["-h", &socket, "-U", "bursar", name]);
        self.url().replace("dbname=postgres", &format!("dbname={name}"))
    }

    pub(crate) fn data(&self) -> String {
        self.scratch.path().join("data").display().to_string()
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str]) {
        self.try_run(program, arguments).unwrap();
    }

    /// Runs a program of the server as the user that owns it. The error is the program's standard error.
    pub(crate) fn try_run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let program = self.bin.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.args(arguments).current_dir(self.scratch.path()).output().unwrap();
        let error = || String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(()).ok_or_else(error)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A failure means that the server is down already.
        drop(self.stop_server("immediate"));
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| {
        use std::os::unix::fs::MetadataExt as _;
        metadata.uid() == 0
    })
}

/// The newest installed server.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir(Path::new("/usr/lib/postgresql")).ok()?;
    let mut found: Vec<PathBuf> = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    found.sort();
    found.pop()
}
