//! Payouts over HTTP: another process sends requests over 256 connections, compared with direct calls of the same engine.
//!
//! Both variants are timed from the first request until every payout is final, with a channel that pays at once.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bursar_connect::Guard;
use bursar_connect::webhook::{Sender, Settings as SenderSettings};
use bursar_core::flow::{self, Call, Effect};
use bursar_core::idempotency::Key;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::{
    Answer, Beneficiary, ClientMetadata, Create, Event, NewPayout, Order, Outcome,
};
use bursar_core::registry::{Change, Registration};
use bursar_core::rules::Rules;
use bursar_engine::{Outside, Running, SystemClock};
use bursar_node::failure::Failure;
use bursar_node::node::{Calls, serve};
use bursar_node::terminal;
use bursar_server::{AlertLimits, Host, HttpLimits, Settings, WebhookSettings, key_digest};
use bursar_store::{Browse as _, Location};
use clap::Args;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::process::start_node;

/// Concurrent connections, and concurrent callers of the engine.
const CALLERS: u32 = 256;
const MERCHANTS: u32 = 1_000;
const KEY: &str = "bench";

/// Payouts a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub(super) own: u64,
    pub(super) http: u64,
}

/// A channel that pays at once.
pub(super) struct Pays;

impl Outside for Pays {
    fn run(&self, effect: Effect, _: tokio::time::Instant) -> Running {
        let Effect { attempt, lease_until, .. } = effect;
        let provider_reference = None;
        let Call::Payout(call) = &effect.call else {
            return Box::pin(std::future::ready(effect.lost("only payouts are made here")));
        };
        let event = match call.order {
            Order::Submit { r#try, .. } => Event::Submitted {
                attempt,
                r#try,
                outcome: Outcome::Paid { provider_reference, reported: None },
            },
            Order::Query => Event::Queried {
                attempt,
                lease_until,
                answer: Answer::Paid { provider_reference, reported: None },
            },
        };
        Box::pin(std::future::ready(flow::Outcome::Payout(event)))
    }
}

/// No webhook is sent here.
pub(super) fn sender() -> Result<Arc<Sender>, Failure> {
    let sender = Sender::new(SenderSettings::default());
    Ok(Arc::new(sender.map_err(|error| Failure::new(error.to_string()))?))
}

/// `rules` name a channel `wallet` that pays PKR.
pub(super) fn run(location: &Location, rules: &Rules, count: u32) -> Result<Figures, Failure> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(race(location, Arc::new(rules.clone()), count))
}

async fn race(location: &Location, rules: Arc<Rules>, count: u32) -> Result<Figures, Failure> {
    let (sender, clock) = (sender()?, Arc::new(SystemClock::default()));
    let calls = Calls {
        channels: Arc::new(Pays),
        sender: Arc::clone(&sender),
        keys: None,
        guard: Guard::default(),
    };
    let node = start_node(location, Arc::clone(&rules), calls, clock).await?;
    let submit = node.host();
    prepare(submit.as_ref(), count).await?;
    let own = {
        let started = Instant::now();
        ask_directly(&submit, count).await?;
        finished(location, started, count).await?
    };
    let http = {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let settings = Settings {
            admin_key: Some(key_digest(KEY)),
            rate_limit_per_s: 0,
            http: HttpLimits::default(),
            callbacks: std::collections::BTreeMap::new(),
            alerts: AlertLimits::default(),
            has_test_clock: false,
            answer_timeout: Duration::from_mins(1),
            webhooks: WebhookSettings { brand: "Bursar".to_owned(), sender, vault: None },
        };
        let serving = tokio::spawn(serve(
            listener,
            submit,
            location.clone(),
            rules,
            settings,
            std::future::pending(),
        ));
        let client = Client::start(address, count).await?;
        let started = Instant::now();
        client.run().await?;
        let rate = finished(location, started, count).await?;
        serving.abort();
        rate
    };
    node.stop();
    Ok(Figures { own, http })
}

/// Merchants with funds for both variants.
pub(super) async fn prepare(submit: &dyn Host, count: u32) -> Result<(), Failure> {
    let mut asked = Vec::new();
    for number in 0..MERCHANTS.min(count) {
        let id = format!("m{number}");
        let change = Change::OpenMerchant { id: id.clone(), name: id.clone() };
        asked.push(Registration { actor: "bench".to_owned(), change }.into());
        asked.push(
            NewPayIn {
                key: None,
                actor: None,
                merchant: id.clone(),
                provider: "bench".to_owned(),
                reference: id.clone(),
                currency: "PKR".to_owned(),
                amount: "1000000000.00".to_owned(),
                said: ProviderStatus::Completed,
                event: id,
            }
            .into(),
        );
    }
    for body in asked {
        answered(submit.ask(body).await)?;
    }
    Ok(())
}

pub(super) fn answered<T>(
    answer: Result<Result<T, bursar_core::rejection::Rejection>, bursar_server::Unanswered>,
) -> Result<T, Failure> {
    match answer {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(rejection)) => Err(Failure::new(rejection.to_string())),
        Err(unanswered) => Err(Failure::new(format!("{unanswered:?}"))),
    }
}

pub(super) fn merchant(number: u32) -> String {
    format!("m{}", number.checked_rem(MERCHANTS).unwrap_or_default())
}

/// The payout numbers of one caller.
fn share(caller: u32, count: u32) -> impl Iterator<Item = u32> {
    let step = usize::try_from(CALLERS).unwrap_or(usize::MAX);
    (caller..count).step_by(step)
}

pub(super) async fn ask_directly(submit: &Arc<dyn Host>, count: u32) -> Result<(), Failure> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let submit = Arc::clone(submit);
        callers.spawn(async move {
            for number in share(caller, count) {
                let text = |text: &str| text.to_owned();
                let beneficiary = Beneficiary {
                    name: text("A. Khan"),
                    account: None,
                    msisdn: Some(text("923001234567")),
                    bank: None,
                };
                let payout = NewPayout {
                    merchant: merchant(number),
                    channel: text("wallet"),
                    currency: text("PKR"),
                    amount: text("10.00"),
                    beneficiary,
                    scheduled_at: None,
                    beneficiary_id: None,
                    remarks: ClientMetadata::default(),
                };
                let key = Key::new(text("own"), number.to_string());
                answered(
                    submit.ask(Create { key, payout, actor: None, workflow: None }.into()).await,
                )?;
            }
            Ok::<(), Failure>(())
        });
    }
    all(callers).await
}

pub(super) async fn all(mut callers: JoinSet<Result<(), Failure>>) -> Result<(), Failure> {
    while let Some(done) = callers.join_next().await {
        done.map_err(|error| Failure::new(format!("a caller failed: {error}")))??;
    }
    Ok(())
}

/// Waits until nothing is in flight, and returns the rate.
async fn finished(location: &Location, started: Instant, count: u32) -> Result<u64, Failure> {
    until_final(location).await?;
    let micros = started.elapsed().as_micros().max(1);
    let rate = u128::from(count).saturating_mul(1_000_000).checked_div(micros);
    Ok(u64::try_from(rate.unwrap_or_default()).unwrap_or(u64::MAX))
}

/// Waits until nothing is in flight.
pub(super) async fn until_final(location: &Location) -> Result<(), Failure> {
    let mut reader = location.reader().await?;
    while !reader.live().await?.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// The client process.
struct Client(tokio::process::Child);

impl Client {
    /// Starts the process, which waits for a start signal.
    async fn start(address: SocketAddr, count: u32) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "http-client", "--address", &address.to_string()])
            .args(["--count", &count.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut ready = String::new();
        if let Some(output) = &mut child.stdout {
            BufReader::new(output).read_line(&mut ready).await?;
        }
        Ok(Self(child))
    }

    async fn run(mut self) -> Result<(), Failure> {
        if let Some(mut input) = self.0.stdin.take() {
            input.write_all(b"go\n").await?;
        }
        if self.0.wait().await?.success() {
            return Ok(());
        }
        Err(Failure::new("the client that asks over HTTP has failed. Nothing was measured"))
    }
}

/// `bench http-client`: the client process.
#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    count: u32,
}

impl ClientArguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let Self { address, count } = self;
            let mut connections = Vec::new();
            for _ in 0..CALLERS {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                connections.push(stream);
            }
            terminal::say("ready")?;
            BufReader::new(tokio::io::stdin()).read_line(&mut String::new()).await?;
            let mut callers = JoinSet::new();
            for (caller, stream) in (0..CALLERS).zip(connections) {
                callers.spawn(post_all(stream, caller, count));
            }
            all(callers).await
        })
    }
}

async fn post_all(stream: TcpStream, caller: u32, count: u32) -> Result<(), Failure> {
    let mut stream = BufReader::new(stream);
    for number in share(caller, count) {
        post(&mut stream, number).await?;
    }
    Ok(())
}

/// Creates one payout over a kept-alive connection.
async fn post(stream: &mut BufReader<TcpStream>, number: u32) -> Result<(), Failure> {
    let body = format!(
        r#"{{"merchant_id":"{}","beneficiary":{{"name":"A. Khan","msisdn":"923001234567"}},"amount":"10.00","currency":"PKR","channel":"wallet"}}"#,
        merchant(number)
    );
    let request = format!(
        "POST /v1/payouts HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\nidempotency-key: {number}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, body) = exchange(stream, &request).await?;
    if status.contains(" 201 ") { Ok(()) } else { Err(Failure::new(format!("{status} {body}"))) }
}

/// Sends a request over a kept-alive connection. Returns the status line and the body of its response.
pub(super) async fn exchange(
    stream: &mut BufReader<TcpStream>,
    request: &str,
) -> Result<(String, String), Failure> {
    stream.write_all(request.as_bytes()).await?;
    let mut status = String::new();
    stream.read_line(&mut status).await?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(("content-length", value)) = line.trim().split_once(": ") {
            length = value.parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((status.trim().to_owned(), String::from_utf8_lossy(&body).into_owned()))
}
