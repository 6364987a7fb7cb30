//! `bursar serve` and `bursar simulate-channel` as processes.

use std::process::ExitStatus;

use serde_json::Value;

use crate::bursar::state_home;
use crate::caller::{Caller, until};
use crate::process::Process;
use crate::scratch::Scratch;

pub(crate) const ADMIN_KEY: &str = "the-key-of-the-house";
pub(crate) const CHANNEL_SECRET: &str = "what-the-channel-signs-with";
pub(crate) const PROVIDER_SECRET: &str = "what-the-provider-signs-with";

/// `bursar serve` with its configuration and books; killed with `kill -9` on drop.
pub(crate) struct Server {
    process: Option<Process>,
    arguments: Vec<String>,
    scratch: Scratch,
}

/// The encryption keys, for a store without a data directory.
const KEYS: &str = "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The common configuration: a calm channel, a silent channel, and a provider.
const CONFIG: &str = r#"
[api]
rate_limit_per_s = 0

[http]
wrong_keys_per_minute = 0

[review]
four_eyes_above = "1000.00"

# Approvals have tests of their own (`attack/one_person.rs`).
[[approvals]]
action = "payin.record"
quorum = 1

[[approvals]]
action = "payout.create"
quorum = 1

[[approvals]]
action = "payin.close_case"
quorum = 1

[[approvals]]
action = "ledger.post"
quorum = 1

[[approvals]]
action = "key.revoke"
quorum = 1

[webhooks]
nameservers = ["127.0.0.1:1"]

[fees.PK]
payin_basis_points = 0

[channels.calm]
kind = "sim"
profile = "calm"

[channels.silent]
kind = "sim"
profile = "silent"
submit_timeout_s = 0.05
query_timeout_s = 0.05
requery_schedule_s = [0.01, 0.01]
"#;

impl Server {
    pub(crate) fn new() -> Self {
        Self::with("", &[])
    }

    /// With more configuration and more arguments.
    pub(crate) fn with(config: &str, arguments: &[&str]) -> Self {
        Self::with_variables(config, arguments, &[])
    }

    /// The same with more environment variables.
    pub(crate) fn with_variables(
        config: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut server = Self::prepared(None, config, arguments);
        server.start_with(variables);
        server
    }

    /// With a limit of open files.
    pub(crate) fn with_files(most: u32, config: &str) -> Self {
        let mut server = Self::prepared(None, config, &[]);
        let arguments: Vec<&str> = server.arguments.iter().map(String::as_str).collect();
        let variables = [("BURSAR_ADMIN_KEY", ADMIN_KEY)];
        server.process = Some(Process::start_with_files(most, &arguments, &variables));
        server
    }

    /// With its books in PostgreSQL.
    pub(crate) fn on_postgres(url: &str, arguments: &[&str]) -> Self {
        Self::on_postgres_with(url, "", arguments)
    }

    pub(crate) fn on_postgres_with(url: &str, config: &str, arguments: &[&str]) -> Self {
        let mut server = Self::prepared(Some(url), config, arguments);
        server.start_with(&[("BURSAR_SECRET_KEYS", KEYS)]);
        server
    }

    fn prepared(url: Option<&str>, config: &str, arguments: &[&str]) -> Self {
        let scratch = Scratch::new();
        let secrets = format!(
            "[channels.calm]\ncallback_secret = \"{CHANNEL_SECRET}\"\n\
             [channels.silent]\ncallback_secret = \"{CHANNEL_SECRET}\"\n\
             [providers.easypay]\ncallback_secret = \"{PROVIDER_SECRET}\"\n"
        );
        let mut tree: toml::Table = CONFIG.parse().unwrap();
        for more in [secrets.as_str(), config] {
            merge(&mut tree, more.parse().unwrap());
        }
        let config = scratch.file("bursar.toml", &tree.to_string());
        let data = scratch.path().join("data").display().to_string();
        let books = url.map_or(["--data", &data], |url| ["--database-url", url]);
        let words = ["serve", "--init", "--listen", "127.0.0.1:0", "--config", &config];
        let words = words.iter().chain(&books).chain(arguments).map(|word| (*word).to_owned());
        Self { process: None, arguments: words.collect(), scratch }
    }

    pub(crate) fn start(&mut self) {
        self.start_with(&[]);
    }

    /// The same for books in PostgreSQL.
    pub(crate) fn start_on_postgres(&mut self) {
        self.start_with(&[("BURSAR_SECRET_KEYS", KEYS)]);
    }

    pub(crate) fn add_argument(&mut self, argument: &str) {
        self.arguments.push(argument.to_owned());
    }

    pub(crate) fn drop_argument(&mut self, argument: &str) {
        self.arguments.retain(|known| known != argument);
    }

    pub(crate) fn start_with(&mut self, variables: &[(&str, &str)]) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let variables = [&[("BURSAR_ADMIN_KEY", ADMIN_KEY)], variables].concat();
        self.process = Some(Process::start(&arguments, &variables));
    }

    /// The data directory.
    pub(crate) fn data(&self) -> String {
        self.scratch.path().join("data").display().to_string()
    }

    /// The message of a server that refuses to start.
    pub(crate) fn start_in_vain(&self) -> String {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bursar"));
        let command = command.args(&self.arguments).env("XDG_STATE_HOME", state_home());
        let ended = command.output().unwrap();
        assert!(!ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    }

    /// The content of all files in its directory except the key file.
    pub(crate) fn bytes_of_its_books(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.scratch.path().join("data")).unwrap();
        let books = files.map(|file| file.unwrap().path());
        let books = books.filter(|path| !path.ends_with("secret-keys"));
        books.flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.process.take().unwrap().kill();
    }

    /// SIGTERM.
    pub(crate) fn terminate(&self) {
        self.process.as_ref().unwrap().signal("-TERM");
    }

    /// The exit status, if it has exited.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.process.as_mut().unwrap().ended()
    }

    /// The same, once it has exited.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        until("it exits", || self.ended())
    }

    pub(crate) fn limit_files(&self, most: u32) {
        self.process.as_ref().unwrap().limit_files(most);
    }

    pub(crate) fn address(&self) -> &str {
        &self.process.as_ref().unwrap().address
    }

    pub(crate) fn admin(&self) -> Caller {
        Caller::new(self.address(), Some(ADMIN_KEY))
    }
}

fn merge(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(over)) => merge(base, over),
            (_, value) => drop(base.insert(key, value)),
        }
    }
}

/// A simulated provider with its own books.
pub(crate) struct Simulator(Process);

impl Simulator {
    /// Pays and answers at once.
    pub(crate) fn calm() -> Self {
        let arguments = ["simulate-channel", "--listen", "127.0.0.1:0", "--profile", "calm"];
        Self(Process::start(&arguments, &[]))
    }

    /// The configuration of a channel with this name.
    pub(crate) fn config(&self, name: &str) -> String {
        let url = format!("http://{}", self.0.address);
        format!("[channels.{name}]\nkind = \"http\"\nurl = \"{url}\"\ncurrencies = [\"PKR\"]\n")
    }

    /// Its paid references.
    pub(crate) fn payments(&self) -> Vec<Value> {
        let books = Caller::new(&self.0.address, None).get("/_books").is(200);
        books["payments"].as_array().unwrap().clone()
    }
}
