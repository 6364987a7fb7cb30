//! The processes of the demo: the engine and its API on SQLite, and hostile providers, each on its own socket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bursar_connect::Secret;
use bursar_connect::simulator::{self, Options, Profile, ServeOptions, Telling};
use bursar_core::flow::host::Hosting;
use bursar_core::four_eyes::{Action, ApprovalRule};
use bursar_core::registry::hexadecimal;
use bursar_node::books::{BooksOptions, make};
use bursar_node::client::{ApiError, ApiRequest, ApiResponse, Client};
use bursar_node::cluster_args::TempCluster;
use bursar_node::config::{ChannelConfig, Config, WebhooksConfig};
use bursar_node::failure::Failure;
use bursar_node::node::{Node, serve};
use bursar_node::rulebook::load_rulebook;
use bursar_server::{Settings, WebhookSettings, key_digest};
use bursar_store::{ClockKind, Location};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The channels, and whether each deduplicates by reference.
const CHANNELS: [(&str, bool); 2] = [("bank_transfer", true), ("mobile_wallet", false)];
pub(super) const CHANNEL_NAMES: [&str; 2] = ["bank_transfer", "mobile_wallet"];

/// In whole units of the currency: about every fourth stuck payout needs two decisions.
pub(super) const FOUR_EYES_ABOVE: i64 = 775;

/// Time limit of a webhook request.
pub(super) const WEBHOOK_TIMEOUT_S: u32 = 2;

/// How long `close` waits for requests and effects in flight.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Setup {
    pub(super) url: String,
    pub(super) admin_key: String,
    pub(super) providers: Vec<Provider>,
    /// The name in the headers of webhooks.
    pub(super) brand: String,
    node: Node,
    closing: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// The test interface of a provider.
pub(super) struct Provider {
    pub(super) name: &'static str,
    client: Client,
}

impl Provider {
    pub(super) async fn calm(&self) -> Result<(), Failure> {
        let request = ApiRequest::post("/_profile", json!({"profile": Profile::Calm.name()}));
        self.client.send(&request).await.map(drop).map_err(ApiError::failure)
    }

    pub(super) async fn books(&self) -> Result<ApiResponse, Failure> {
        self.client.send(&ApiRequest::get("/_books")).await.map_err(ApiError::failure)
    }
}

impl Setup {
    pub(super) async fn open(
        mut config: Config,
        directory: &Path,
        seed: u64,
        cluster: Option<&mut TempCluster>,
    ) -> Result<Self, Failure> {
        let (listener, address) = listen().await?;
        let url = format!("http://{address}");
        let secret = fresh_secret()?;
        let (closing, is_closing) = watch::channel(false);
        let (mut providers, mut channels) = (Vec::new(), BTreeMap::new());
        for (name, is_idempotent) in CHANNELS {
            let (socket, address) = listen().await?;
            let options = Options { seed, profile: Profile::Hostile, is_idempotent };
            let callbacks = format!("{url}/v1/providers/{name}/callbacks");
            let telling = Telling::new(&callbacks, Secret::new(&secret))
                .map_err(|error| Failure::new(error.to_string()))?;
            let options = ServeOptions { options, telling: Some(telling) };
            tokio::spawn(simulator::serve(socket, options, closed(is_closing.clone())));
            let provider = format!("http://{address}");
            let channel = channel(&config, &provider, &secret, is_idempotent)?;
            channels.insert(name.to_owned(), channel);
            providers.push(Provider { name, client: Client::new(&provider, None)? });
        }
        // The demo must not reach configured channels.
        config.channels = channels;
        config.providers = BTreeMap::new();
        config.review.four_eyes_above = FOUR_EYES_ABOVE.to_string();
        use_local_webhooks(&mut config.webhooks);
        let mut rules = config.rules(load_rulebook(config.chart_path().as_deref())?)?;
        // No circuit breaker: deliveries to a receiver that is down must be dead-lettered within a minute.
        rules.deliveries.breaker_after = usize::MAX;
        // Pay-ins of providers and payouts of merchants come from one driver with the key of an admin.
        for action in [Action::RecordPayIn, Action::CreatePayout] {
            rules.approvals.insert(action, ApprovalRule::ALONE);
        }
        if cluster.is_some() {
            rules.hosting = Hosting::Temporal(config.temporal.naming());
        }
        let rules = Arc::new(rules);
        let connections = config.connections(&rules)?;
        let location = Location::Directory(directory.to_owned());
        let sender = config.webhooks.sender()?;
        let outside = (connections, Arc::clone(&sender));
        make(&location, Some(ClockKind::Real)).await?;
        let books = BooksOptions::unwatched(ClockKind::Real);
        let node = Node::start(&location, Arc::clone(&rules), outside, books).await?;
        if let Some(cluster) = cluster {
            cluster.start_worker(&node, &location, &rules).await?;
        }
        let admin_key = fresh_secret()?;
        let settings = Settings {
            admin_key: Some(key_digest(&admin_key)),
            // Few keys send all requests of the demo.
            rate_limit_per_s: 0,
            http: config.http_limits()?,
            callbacks: config.callbacks()?,
            alerts: config.alert_limits()?,
            has_test_clock: false,
            answer_timeout: config.answer_timeout(),
            webhooks: WebhookSettings {
                brand: config.webhooks.brand.clone(),
                sender,
                vault: node.vault.clone(),
            },
        };
        let brand = config.webhooks.brand;
        let stopped = closed(is_closing);
        let serving = serve(listener, node.host(), location, rules, settings, stopped);
        let serving = tokio::spawn(serving);
        Ok(Self { url, admin_key, providers, brand, node, closing, serving })
    }

    pub(super) fn client(&self, key: &str) -> Result<Client, Failure> {
        Client::new(&self.url, Some(&Secret::new(key)))
    }

    /// Completes when the demo ends.
    pub(super) fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        closed(self.closing.subscribe())
    }

    /// Stops the API, the worker of a cluster, and the engine.
    pub(super) async fn close(self, cluster: Option<TempCluster>) -> Result<(), Failure> {
        let Self { mut node, closing, serving, .. } = self;
        closing.send_replace(true);
        // Open connections are not waited for.
        drop(tokio::time::timeout(DRAIN, serving).await);
        if let Some(cluster) = cluster {
            cluster.close().await;
        }
        node.stop();
        if tokio::time::timeout(DRAIN, &mut node.ended).await.is_err() {
            return Ok(());
        }
        node.join()
    }
}

async fn closed(mut is_closing: watch::Receiver<bool>) {
    drop(is_closing.wait_for(|closing| *closing).await);
}

pub(super) async fn listen() -> Result<(TcpListener, SocketAddr), Failure> {
    let cannot = |error| Failure::new(format!("cannot listen on 127.0.0.1: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    Ok((listener, address))
}

/// Restricts webhooks to receivers on this machine, with a short retry schedule.
fn use_local_webhooks(webhooks: &mut WebhooksConfig) {
    webhooks.retry_schedule_s = vec![1, 1, 2, 2];
    webhooks.timeout_s = WEBHOOK_TIMEOUT_S;
    webhooks.allow_hosts = vec!["127.0.0.1".to_owned()];
    webhooks.own_hosts = Vec::new();
    webhooks.nameservers = Vec::new();
}

/// An HTTP channel with short timeouts.
fn channel(
    config: &Config,
    url: &str,
    secret: &str,
    is_idempotent: bool,
) -> Result<ChannelConfig, Failure> {
    let currencies = config.markets()?;
    let currencies: Vec<String> =
        currencies.iter().map(|market| format!("\"{}\"", market.currency)).collect();
    let text = format!(
        "kind = \"http\"
        url = \"{url}\"
        currencies = [{}]
        callback_secret = \"{secret}\"
        submit_is_idempotent = {is_idempotent}
        not_found_is_final = {is_idempotent}
        visibility_window_s = 6
        concurrency = 128
        submit_timeout_s = 2
        query_timeout_s = 1
        first_retry_s = 0.2
        last_retry_s = 1
        requery_schedule_s = [1, 1, 1, 2, 2, 2]
        poll_interval_s = 1
        poll_deadline_s = 8",
        currencies.join(", ")
    );
    toml::from_str(&text)
        .map_err(|error| Failure::new(format!("the demo cannot be set up: {error}")))
}

/// A random secret.
fn fresh_secret() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("this machine gives no randomness: {error}")))?;
    Ok(hexadecimal(&bytes))
}
