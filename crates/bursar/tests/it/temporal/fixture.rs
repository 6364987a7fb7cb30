//! Fixture of the Temporal tests: books, API and provider, and a cluster with workers.

use bursar_temporal::{ClusterOptions, Secure};
use serde_json::{Value, json};

use crate::caller::{Caller, until};
use crate::cluster::Cluster;
use crate::dev_server::DevServer;
use crate::process::Process;
use crate::scratch::Scratch;

/// Fields are dropped in order: clients before servers.
pub(super) struct Fixture {
    pub(super) api: Caller,
    pub(super) server: Option<Process>,
    pub(super) workers: Vec<Process>,
    pub(super) temporal: Option<DevServer>,
    pub(super) books: Cluster,
    file: String,
    _scratch: Scratch,
}

/// A channel with short query intervals and an early give-up.
pub(super) const QUICK: &str = r"
submit_timeout_s = 2
query_timeout_s = 2
requery_schedule_s = [1, 1]
poll_interval_s = 1
poll_deadline_s = 20
first_retry_s = 0.5
last_retry_s = 1
";

/// The encryption keys of every process.
const KEYS: &str = "k1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

impl Fixture {
    /// The API and the embedded engine, on PostgreSQL.
    pub(super) fn embedded(provider: &str, channel: &str) -> Self {
        Self::open(None, provider, channel)
    }

    /// The API, a cluster and this many workers.
    pub(super) fn on_temporal(provider: &str, channel: &str, workers: usize) -> Self {
        let mut fixture = Self::open(Some(&[]), provider, channel);
        for _ in 0..workers {
            fixture.hire();
        }
        fixture
    }

    /// On a cluster with these settings, or without one.
    pub(super) fn open(cluster: Option<&[&str]>, provider: &str, channel: &str) -> Self {
        let (books, scratch) = (Cluster::start(), Scratch::new());
        let temporal = cluster.map(|settings| DevServer::start_with(scratch.path(), settings));
        let config = format!(
            "[webhooks]\nallow_hosts = [\"127.0.0.1\"]\nretry_schedule_s = [1, 1, 60, 60, 60, 60, 60]\n[channels.wallet]\nkind = \"http\"\nurl = \"http://{provider}\"\ncurrencies = [\"PKR\"]\n{channel}"
        );
        let file = scratch.file("bursar.toml", &config);
        let api = Caller::new("127.0.0.1:1", None);
        let (server, workers) = (None, Vec::new());
        let mut fixture = Self { api, server, workers, temporal, books, file, _scratch: scratch };
        fixture.serve();
        fixture
    }

    pub(super) fn start(&self, arguments: &[&str]) -> Process {
        let (url, address) =
            (self.books.url(), self.temporal.as_ref().map(|it| it.address.clone()));
        let mut all = arguments.to_vec();
        all.extend(["--database-url", &url, "--config", &self.file]);
        if let Some(address) = &address {
            all.extend(["--engine", "temporal", "--temporal", address]);
        }
        Process::start(&all, &[("BURSAR_ADMIN_KEY", "operator"), ("BURSAR_SECRET_KEYS", KEYS)])
    }

    pub(super) fn serve(&mut self) {
        let server = self.start(&["serve", "--init", "--listen", "127.0.0.1:0"]);
        self.api = Caller::new(&server.address, Some("operator"));
        self.server = Some(server);
    }

    /// Starts one more worker.
    pub(super) fn hire(&mut self) {
        let worker = self.start(&["worker"]);
        self.workers.push(worker);
    }

    pub(super) fn temporal(&self) -> &DevServer {
        self.temporal.as_ref().unwrap()
    }

    /// Replays the history: a worker of this version must be able to take over at any point. Stored under the name if
    /// `BURSAR_RECORD_HISTORIES` is set.
    pub(super) fn assert_replays(&self, workflow: &str, name: &str) {
        let options = ClusterOptions {
            address: self.temporal().address.clone(),
            namespace: "default".to_owned(),
            secure: Secure::default(),
            identity: "test".to_owned(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let history = runtime.block_on(async {
            let cluster = bursar_temporal::Cluster::connect(&options).await.unwrap();
            let history = bursar_temporal::record(&cluster, workflow).await.unwrap();
            bursar_temporal::replay(&history).await.unwrap();
            history
        });
        if std::env::var_os("BURSAR_RECORD_HISTORIES").is_some() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bursar-temporal/histories");
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(format!("{folder}/{name}.json"), history).unwrap();
        }
    }

    /// A funded merchant with a beneficiary.
    pub(super) fn merchant(&self, id: &str) -> String {
        self.api.post("/v1/merchants", &json!({ "id": id, "name": "Shop" })).is(201);
        let payin = json!({ "merchant_id": id, "provider": "easy", "reference": id, "amount": "1000000", "currency": "PKR" });
        self.api.post("/v1/payins", &payin).is(201);
        let payee = json!({ "merchant_id": id, "name": "A. Khan", "msisdn": ACCOUNT });
        let added = self.api.post("/v1/beneficiaries", &payee).is(201);
        added["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn pay(&self, key: &str, merchant: &str, amount: &str) -> String {
        let body = json!({ "merchant_id": merchant, "beneficiary": { "name": "A. Khan", "msisdn": ACCOUNT },
            "amount": amount, "currency": "PKR", "channel": "wallet" });
        let made = self.api.move_money(key, "/v1/payouts", &body).is(201);
        made["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn payout(&self, id: &str) -> Value {
        self.api.get(&format!("/v1/payouts/{id}")).is(200)
    }

    /// Waits until a payout has this status.
    pub(super) fn until(&self, id: &str, status: &str) -> Value {
        until(&format!("{id} is {status}"), || {
            Some(self.payout(id)).filter(|payout| payout["status"] == status)
        })
    }

    /// Waits until a workflow has ended; returns its status.
    pub(super) fn ended(&self, workflow: &str) -> String {
        until(&format!("{workflow} has ended"), || {
            Some(self.temporal().status(workflow)).filter(|status| status != "RUNNING")
        })
    }

    /// Sends a decision as a signal.
    pub(super) fn signal(&self, workflow: &str, decision: &Value) {
        let name = ["workflow", "signal", "-w", workflow, "--name", "manual-resolve"];
        self.temporal().cli(&[&name[..], &["--input", &decision.to_string()]].concat());
    }

    /// The number of payouts with this status, at most 500.
    pub(super) fn count(&self, status: &str) -> usize {
        let page = self.api.get(&format!("/v1/payouts?limit=500&status={status}")).is(200);
        page["data"].as_array().unwrap().len()
    }
}

/// A simulated provider with this profile.
pub(super) fn provider(profile: &str) -> Process {
    Process::start(&["simulate-channel", "--listen", "127.0.0.1:0", "--profile", profile], &[])
}

/// The beneficiary's number; only the provider may receive it.
pub(super) const ACCOUNT: &str = "923001234567";
