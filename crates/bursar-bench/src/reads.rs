//! Reads of operators beside many live payouts: their cost must not depend on the number of payouts.
//!
//! A server in this process answers requests over a socket, one at a time. CPU time is that of this process and of the
//! PostgreSQL processes of this machine, less that of a request which reads nothing.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bursar_connect::Guard;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{Callback, Create, NewPayout};
use bursar_core::rules::Rules;
use bursar_engine::SystemClock;
use bursar_node::failure::Failure;
use bursar_node::node::{Calls, serve};
use bursar_node::terminal;
use bursar_server::{AlertLimits, HttpLimits, Settings, WebhookSettings, key_digest};
use bursar_store::{Location, Store};
use clap::Args;
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};

use super::http::{Pays, exchange, sender};
use super::payouts::{Merchants, Payouts, in_flight_max, request, rules, runtime};
use super::process::start_node;
use super::sleeping::{self, When};
use super::store_args::{self, Directory, Kind, StoreArgs};
use super::summary::{self, Figure, Floor};
use crate::baseline::Baseline;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) place: StoreArgs,
    /// Number of live payouts; compared with a hundredth of them
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    pub(super) count: u32,
}

const PURPOSES: [&str; 2] = ["few", "many"];
const KEY: &str = "bench";
/// Stuck payouts, and pay-ins: older than all other payouts.
const RARE: u32 = 10;
/// Requests of each kind that are not measured.
const WARM: u32 = 5;
/// Requests of each kind are repeated for so long: other tasks of the server use a small part of the time, in bursts.
const LASTS: Duration = Duration::from_secs(2);
/// The maximum of CPU time, in microseconds.
const LONGEST: u128 = 10_000;

/// Name, path, and a part of the body that shows that it was read.
const READS: [(&str, &str, &str); 6] = [
    ("metrics", "/metrics", "bursar_flows_live"),
    ("overview", "/v1/overview", "SCHEDULED"),
    ("stuck", "/v1/payouts?status=STUCK", "\"STUCK\""),
    ("trial_balance", "/v1/ledger/trial-balance", "currency"),
    ("rare_kind", "/v1/payins", "\"pi_"),
    (MERCHANT, "/v1/payouts?merchant_id=m1&limit=10", "\"po_"),
];
/// A page of one merchant's payouts, which are far apart in the file: reported without a ceiling, because how many pages a
/// look-up reads depends on the size of the file.
const MERCHANT: &str = "merchant";
/// Reads nothing.
const NOTHING: &str = "/healthz";

/// Microseconds of one request.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    cpu: u128,
    wall: u128,
}

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let (runtime, rules) = (runtime()?, rules(in_flight_max(sleeping::BATCH))?);
        let [few, many] = runtime.block_on(async {
            match self.place.store {
                Kind::Memory => Err(Failure::new(
                    "a server reads books on disk. Nothing was measured; name a store on disk",
                )),
                Kind::Sqlite => {
                    let directory = Directory::new(self.place.data.as_deref());
                    let mut books = directory.books(PURPOSES)?;
                    self.fill(&mut books, &rules).await?;
                    // Only one process may open a data directory.
                    drop(books);
                    measure(PURPOSES.map(|purpose| directory.location(purpose)), &rules).await
                }
                Kind::Postgres => {
                    let url = self.place.url();
                    let mut books = store_args::databases(url, PURPOSES).await?;
                    let filled = self.fill(&mut books, &rules).await;
                    let places = books.each_ref().map(|books| books.location(url));
                    let measured = match filled {
                        Ok(()) => measure(places, &rules).await,
                        Err(failure) => Err(failure),
                    };
                    store_args::remove(books).await?;
                    measured
                }
            }
        })?;
        self.report(&few, &many)
    }

    async fn fill<B: Baseline>(&self, books: &mut [B; 2], rules: &Rules) -> Result<(), Failure> {
        let [few, many] = books;
        let hundredth = self.count.div_ceil(100);
        sleeping::fill(few, rules, hundredth, When::InAYear, rare).await?;
        sleeping::fill(many, rules, self.count, When::InAYear, rare).await?;
        Ok(())
    }

    fn report(&self, few: &Costs, many: &Costs) -> Result<Vec<Figure>, Failure> {
        let store = self.place.store.name();
        let mut figures = Vec::new();
        for (name, ..) in READS {
            let cost = |costs: &Costs| costs.get(name).copied().unwrap_or_default();
            let (few, many) = (cost(few), cost(many));
            let at_most = |percent| Some(Floor::AtMost(percent)).filter(|_| name != MERCHANT);
            terminal::say(&format!(
                "{name} on {store}: {} µs of CPU ({} µs in all) beside {} live payouts, {} µs ({} µs) beside a hundredth of them",
                many.cpu, many.wall, self.count, few.cpu, few.wall
            ))?;
            figures.push(Figure {
                name: format!("reads.{name}.{store}"),
                value: many.cpu,
                unit: "µs",
                limit: few.cpu,
                floor: at_most(150),
            });
            figures.push(Figure {
                name: format!("reads.{name}.{store}.longest"),
                value: many.cpu,
                unit: "µs",
                limit: LONGEST,
                floor: at_most(100),
            });
        }
        summary::say_each(&figures)?;
        Ok(figures)
    }
}

/// Pay-ins, and stuck payouts: the channel refuses the first attempt and then reports that it has paid it.
async fn rare(store: &mut impl Store, rules: &Rules) -> Result<(), Failure> {
    let mut payouts = Payouts::new(Merchants::Uniform, 7);
    for number in 0..RARE {
        // Each request has a number of its own.
        let mut numbers = (u64::from(number).saturating_mul(4)..).map(|number| !number ^ 1 << 40);
        let mut numbered = |body| (numbers.next().unwrap_or_default(), body);
        let reference = format!("payin-{number}");
        let payin = NewPayIn {
            key: None,
            actor: None,
            merchant: "m1".to_owned(),
            provider: "bench".to_owned(),
            reference: reference.clone(),
            currency: "PKR".to_owned(),
            amount: "10.00".to_owned(),
            said: ProviderStatus::Completed,
            event: reference,
        };
        request(store, rules, numbered(payin.into())).await?;
        let (key, payout) = payouts.next(1).pop().ok_or_else(|| Failure::new("no payout"))?;
        let payout = NewPayout { merchant: "m1".to_owned(), ..payout };
        let channel = payout.channel.clone();
        let created = Create { key, payout, actor: None, workflow: None };
        let reference = request(store, rules, numbered(created.into())).await?;
        for verdict in [Verdict::NotPaid { is_retryable: true }, Verdict::Paid] {
            let (channel, reference) = (channel.clone(), reference.clone());
            let evidence = Evidence::new(Source::Callback, verdict);
            let callback = Callback { channel, reference, evidence };
            request(store, rules, numbered(callback.into())).await?;
        }
    }
    Ok(())
}

type Costs = BTreeMap<&'static str, Cost>;

async fn measure(places: [Location; 2], rules: &Rules) -> Result<[Costs; 2], Failure> {
    let [few, many] = places;
    Ok([cost_of_reads(&few, rules).await?, cost_of_reads(&many, rules).await?])
}

/// Serves the books and measures every read.
async fn cost_of_reads(location: &Location, rules: &Rules) -> Result<Costs, Failure> {
    let (sender, clock) = (sender()?, Arc::new(SystemClock::default()));
    let calls = Calls {
        channels: Arc::new(Pays),
        sender: Arc::clone(&sender),
        keys: None,
        guard: Guard::default(),
    };
    let rules = Arc::new(rules.clone());
    let node = start_node(location, Arc::clone(&rules), calls, clock).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let settings = Settings {
        admin_key: Some(key_digest(KEY)),
        rate_limit_per_s: 0,
        http: HttpLimits::default(),
        callbacks: BTreeMap::new(),
        alerts: AlertLimits::default(),
        has_test_clock: false,
        answer_timeout: Duration::from_mins(1),
        webhooks: WebhookSettings { brand: "Bursar".to_owned(), sender, vault: None },
    };
    let host = node.host();
    let serving = tokio::spawn(serve(
        listener,
        host,
        location.clone(),
        rules,
        settings,
        std::future::pending(),
    ));
    let mut costs = Costs::new();
    let base = repeated(address, NOTHING, "").await?;
    for (name, path, part) in READS {
        let Cost { cpu, wall } = repeated(address, path, part).await?;
        costs.insert(name, Cost { cpu: cpu.saturating_sub(base.cpu), wall });
    }
    serving.abort();
    node.stop();
    Ok(costs)
}

/// The mean cost of a request.
async fn repeated(address: SocketAddr, path: &str, part: &str) -> Result<Cost, Failure> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    for _ in 0..WARM {
        let body = get(&mut stream, path).await?;
        if !body.contains(part) {
            return Err(Failure::new(format!("{path} shows no {part}: nothing was measured")));
        }
    }
    let (began, cpu) = (Instant::now(), cpu_time());
    let mut requests: u128 = 0;
    while began.elapsed() < LASTS {
        get(&mut stream, path).await?;
        requests = requests.saturating_add(1);
    }
    let (wall, cpu) = (began.elapsed(), cpu_time().saturating_sub(cpu));
    let each = |time: Duration| time.as_micros().checked_div(requests).unwrap_or_default();
    Ok(Cost { cpu: each(cpu), wall: each(wall) })
}

async fn get(stream: &mut BufReader<TcpStream>, path: &str) -> Result<String, Failure> {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\n\r\n");
    let (status, body) = exchange(stream, &request).await?;
    if status.contains(" 200 ") { Ok(body) } else { Err(Failure::new(format!("{path}: {body}"))) }
}

/// CPU time of this process and of the PostgreSQL processes of this machine.
fn cpu_time() -> Duration {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let postgres = processes.filter(|process| {
        fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim() == "postgres")
    });
    let own = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = postgres.chain(own.map(|entry| entry.path())).map(|process| {
        let times = fs::read_to_string(process.join("schedstat")).unwrap_or_default();
        times.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
    });
    Duration::from_nanos(nanoseconds.fold(0, u64::saturating_add))
}
