//! Random requests, valid and invalid, over few merchants and references, so that requests collide.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Due, Effect, Flow};
use bursar_core::freezes::Control;
use bursar_core::ids::{FlowId, Seed};
use bursar_core::ledger::pricing::Tariff;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::verify::End;
use bursar_core::ledger::{
    self, Account, Admission, Hold, HoldKey, LedgerEvent, Posted, Transaction,
};
use bursar_core::numscript::Name;
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::registry::{Change, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body, Commit, Reply, Request, SavedCommit, TurnInput};
use bursar_store::{Browse, Query, Store, Walk as _, turn};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Builder, Runtime};

use crate::browse::{Lists, read_lists};
use crate::payout_steps;

#[derive(Debug, Clone)]
pub(crate) struct Step {
    kind: usize,
    merchant: u8,
    reference: u8,
    amount: u32,
}

impl Step {
    pub(crate) fn name(&self) -> &'static str {
        KINDS.iter().chain(&payout_steps::KINDS).nth(self.kind).unwrap()
    }

    /// A step as a line: its name and three numbers.
    pub(crate) fn parse(line: &str) -> Self {
        let parts: Vec<&str> = line.split(' ').collect();
        let [name, merchant, reference, amount] = parts[..] else { panic!("{line}") };
        let kind = KINDS.iter().chain(&payout_steps::KINDS).position(|known| *known == name);
        Self {
            kind: kind.unwrap_or_else(|| panic!("{name} is no step")),
            merchant: merchant.parse().unwrap(),
            reference: reference.parse().unwrap(),
            amount: amount.parse().unwrap(),
        }
    }

    pub(crate) fn is_revert(&self) -> bool {
        self.name() == "REVERT"
    }
}

/// The start time of every workload.
const START: i64 = 1_794_700_800;

/// Followed by the steps of `payout_steps`.
const KINDS: [&str; 12] = [
    "PAYIN_COLLECTION",
    "PAYIN_COLLECTION",
    "ADJUSTMENT_CREDIT",
    "PAYOUT_RESERVE",
    "PAYOUT_RESERVE",
    "PAYOUT_SETTLE",
    "PAYOUT_RELEASE",
    "REFUND",
    "CHARGEBACK_HOLD",
    "CHARGEBACK_WON",
    "NO_SUCH_EVENT",
    "REVERT",
];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kinds = KINDS.len() + payout_steps::KINDS.len();
    let step = (0..kinds, 0..3_u8, 0..8_u8, prop::sample::select(vec![0_u32, 1, 100, 100, 2_500]));
    let step = step.prop_map(|(kind, merchant, reference, amount)| Step {
        kind,
        merchant,
        reference,
        amount,
    });
    prop::collection::vec(step, 1..160)
}

/// The final content of a store, and its answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) answers: Vec<Answer>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) accounts: Vec<(Name, Account)>,
    pub(crate) holds: Vec<(HoldKey, Hold)>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) due: Vec<(Due, FlowId)>,
    pub(crate) control: Control,
    pub(crate) feed: Vec<(Cursor, FeedEvent)>,
    pub(crate) of_one: Vec<(Cursor, Transaction)>,
    pub(crate) history: Vec<SavedCommit>,
    pub(crate) end: End,
    pub(crate) lists: Lists,
}

/// A fixed sample.
pub(crate) fn some_steps() -> Vec<Step> {
    let mut runner = TestRunner::deterministic();
    let samples = std::iter::repeat_with(|| steps().new_tree(&mut runner).unwrap().current());
    samples.take(100).find(|steps| steps.len() > 60).unwrap()
}

/// The bundled rulebook and one channel.
pub(crate) fn rules() -> Rules {
    let pkr = "PKR".parse().unwrap();
    let channel = Channel {
        name: "wallet".to_owned(),
        currencies: [pkr].into(),
        bank: "b1".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: false,
        visibility_window: SignedDuration::from_secs(30),
        failed_is_final: true,
        reports_amount: ReportsAmount::default(),
        concurrency: 64,
        clocks: Clocks::of("mobile_wallet"),
    };
    Rules {
        channels: [(channel.name.clone(), channel)].into(),
        payout_tariffs: [(pkr, Tariff::new("0.50", 0, 1_000, pkr).unwrap())].into(),
        ..Rules::from(Rulebook::bundled().unwrap())
    }
}

/// One runtime for the whole test: a connection works only in the runtime that opened it.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime =
        RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build().unwrap());
    runtime.block_on(future)
}

/// Runs all futures concurrently on one thread.
pub(crate) async fn concurrently<T>(
    all: impl IntoIterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let mut pending: Vec<_> = all.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (future, result) in &mut pending {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *result = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, result)| result).collect()
}

/// Runs the steps in batches of these sizes, which repeat.
pub(crate) fn run(
    store: &mut (impl Store + Browse),
    rules: &Rules,
    steps: &[Step],
    batches: &[usize],
) -> Books {
    block_on(async {
        let mut answers = Vec::new();
        let mut effects = Vec::new();
        let mut past = Past::default();
        let merchants = ["m0", "m1"].map(|id| open_merchant(id, 1_000_000));
        turn(store, &TurnInput::new(rules, &merchants)).await.unwrap();
        let mut rest = steps;
        let mut sizes = batches.iter().cycle();
        let mut admitted = 0;
        while !rest.is_empty() {
            let size = (*sizes.next().unwrap()).min(rest.len());
            let (now, later) = rest.split_at(size);
            rest = later;
            let requests: Vec<Request> = now
                .iter()
                .map(|step| {
                    admitted += 1;
                    request(step, rules, admitted, &mut past)
                })
                .collect();
            let commit: Commit = turn(store, &TurnInput::new(rules, &requests)).await.unwrap();
            for answer in &commit.answers {
                if let Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(id)))) = answer {
                    past.posted.push(id.to_string());
                }
            }
            answers.extend(commit.answers);
            effects.extend(commit.effects);
        }
        Books {
            answers,
            effects,
            accounts: store.accounts().await.unwrap(),
            holds: store.holds().await.unwrap(),
            flows: store.flows(None, u32::MAX).await.unwrap(),
            due: store.due().await.unwrap(),
            control: store.control().await.unwrap(),
            feed: feed(store).await,
            of_one: of_one(store).await,
            history: store.history(0, u32::MAX).await.unwrap(),
            end: store.end().await.unwrap(),
            lists: read_lists(store).await,
        }
    })
}

/// The whole feed, in pages of three.
async fn feed(store: &mut impl Query) -> Vec<(Cursor, FeedEvent)> {
    let mut events: Vec<(Cursor, FeedEvent)> = Vec::new();
    loop {
        let after = events.last().map(|(cursor, _)| *cursor).unwrap_or_default();
        let page = store.events(after, 3).await.unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

/// The transactions of one merchant's accounts, in pages of three.
async fn of_one(store: &mut impl Query) -> Vec<(Cursor, Transaction)> {
    let addresses = ["merchants:m1:available:PKR".into(), "holds:payout:m1:PKR".into()];
    let mut found: Vec<(Cursor, Transaction)> = Vec::new();
    loop {
        let after = found.last().map(|(cursor, _)| *cursor).unwrap_or_default();
        let page = store.transactions_of(&addresses, after, 3).await.unwrap();
        if page.is_empty() {
            return found;
        }
        found.extend(page);
    }
}

/// Ids from earlier steps: posted transactions, and requested payouts and pay-ins.
#[derive(Default)]
struct Past {
    posted: Vec<String>,
    flows: payout_steps::Known,
}

fn request(step: &Step, rules: &Rules, admitted: u32, past: &mut Past) -> Request {
    // Five seconds per step, so that leases expire within a workload.
    let now = Timestamp::from_second(START + i64::from(admitted) * 5).unwrap();
    let admission = Admission::new(now, Seed::from(u64::from(admitted)));
    let name = step.name();
    let body = match name {
        _ if payout_steps::KINDS.contains(&name) => {
            let numbers = (step.merchant, step.reference, step.amount);
            payout_steps::body(name, numbers, &admission, &mut past.flows)
        }
        _ => post_of(step_event(name, step, rules, &past.posted)),
    };
    Request { admission, body }
}

fn step_event(name: &str, step: &Step, rules: &Rules, posted: &[String]) -> LedgerEvent {
    let mut reference = format!("r{}", step.reference);
    let mut variables = BTreeMap::new();
    if name == "REVERT" {
        // A step knows only the ids of earlier batches.
        let index = usize::from(step.reference) % posted.len().max(1);
        reference = posted.get(index).cloned().unwrap_or(reference);
    } else if let Ok(rule) = rules.rulebook.rule(name) {
        for variable in rule.variables() {
            let value = match variable.as_str() {
                "merchantId" => format!("m{}", step.merchant),
                "bankId" => "b1".to_owned(),
                "currency" => "PKR".to_owned(),
                "fee" | "vat" => "0.01".to_owned(),
                "gross" => (step.amount * 10).to_string(),
                _ => step.amount.to_string(),
            };
            variables.insert(variable.clone(), value);
        }
    }
    LedgerEvent { name: name.to_owned(), reference, variables, effective_at: None }
}

/// A pay-in of 100.00 for one merchant at one bank.
pub(crate) fn payin(writer: u32, number: u32) -> Request {
    let pairs = [
        ("merchantId", "m1"),
        ("bankId", "b1"),
        ("currency", "PKR"),
        ("gross", "100"),
        ("fee", "1"),
        ("vat", "0.1"),
    ];
    let event = LedgerEvent {
        name: "PAYIN_COLLECTION".to_owned(),
        reference: format!("r{writer}-{number}"),
        variables: pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        effective_at: None,
    };
    let now = Timestamp::from_second(START).unwrap();
    let seed = Seed::from(u64::from(writer) << 32 | u64::from(number));
    Request { admission: Admission { now, seed }, body: post_of(event) }
}

fn post_of(event: LedgerEvent) -> Body {
    ledger::Post { event, actor: None }.into()
}

/// Registers a merchant.
pub(crate) fn registration(id: &str) -> Registration {
    let change = Change::OpenMerchant { id: id.to_owned(), name: format!("Shop {id}") };
    Registration { actor: "ops".to_owned(), change }
}

pub(crate) fn open_merchant(id: &str, number: u64) -> Request {
    let seed = Seed::from(number).child(["merchant", id]);
    let admission = Admission::new(crate::desk::START, seed);
    Request { admission, body: registration(id).into() }
}

/// An event about one merchant: a payout of 10.00, a pay-in of 1.00, a start of 250.00.
pub(crate) fn event(rules: &Rules, name: &str, reference: &str) -> LedgerEvent {
    let amount = if name == "ADJUSTMENT_CREDIT" { "250" } else { "10" };
    let value = |variable: &str| match variable {
        "merchantId" => "m1",
        "bankId" => "b1",
        "currency" => "PKR",
        "fee" | "vat" => "0",
        "gross" => "1",
        _ => amount,
    };
    let variables = rules.rulebook.rule(name).unwrap().variables().iter();
    let variables =
        variables.map(|variable| (variable.clone(), value(variable).to_owned())).collect();
    let (name, reference) = (name.to_owned(), reference.to_owned());
    LedgerEvent { name, reference, variables, effective_at: None }
}

pub(crate) fn post(rules: &Rules, name: &str, reference: &str, number: u32) -> Request {
    let now = Timestamp::from_second(START).unwrap();
    Request {
        admission: Admission { now, seed: Seed::from(u64::from(number)) },
        body: post_of(event(rules, name, reference)),
    }
}
