//! A private PostgreSQL: its own data, its own socket, gone when the test is over.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::Scratch;

pub(crate) struct Cluster {
    scratch: Scratch,
    bin: PathBuf,
    /// What the server finds in its environment.
    variables: Vec<(String, String)>,
}

impl Cluster {
    /// Starts a server that nobody else uses. Missing binaries are a failure: `./test` installs them.
    pub(crate) fn start() -> Self {
        Self::start_in(Scratch::new(), Vec::new())
    }

    /// The same in a directory whose `data` may be a disk of its own, with these variables in its environment.
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
        cluster.start_server();
        cluster
    }

    pub(crate) fn start_server(&self) {
        // After a crash it syncs its files all at once: on a slow disk one by one takes a minute.
        let options = format!(
            "-k {} -c listen_addresses='' -c shared_buffers=64MB -c recovery_init_sync_method=syncfs",
            self.scratch.path().display()
        );
        let log = self.scratch.path().join("log").display().to_string();
        self.run("pg_ctl", &["-D", &self.data(), "-o", &options, "-l", &log, "-w", "start"]);
    }

    /// Ends every process of the server at once, as a crash would.
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

    /// Makes a database and returns its URL.
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

    /// A program of the server's, as the user who owns it; what it complains about, if it fails.
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
        let complaint = || String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(()).ok_or_else(complaint)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be down already.
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
