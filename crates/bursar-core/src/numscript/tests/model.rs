//! Random programs as trees, so that a property knows what each one may do.

use std::collections::BTreeMap;
use std::fmt;

use proptest::prelude::*;

const ACCOUNTS: [&str; 3] = ["a", "b", "c"];
const ASSETS: [&str; 2] = ["USD/2", "EUR"];
const COLORS: [&str; 2] = ["", "RED"];

/// Account, asset, colour.
pub(super) type Key = (&'static str, &'static str, &'static str);

#[derive(Debug, Clone)]
pub(super) struct Balance {
    pub(super) key: Key,
    pub(super) amount: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Program(pub(super) Vec<Statement>);

#[derive(Debug, Clone)]
pub(super) enum Statement {
    /// No amount means all.
    Send {
        asset: &'static str,
        amount: Option<i64>,
        source: Source,
        destination: Destination,
    },
    Save {
        asset: &'static str,
        amount: Option<i64>,
        account: &'static str,
    },
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    Account { account: &'static str, color: &'static str, overdraft: Overdraft },
    List(Vec<Source>),
    OneOf(Vec<Source>),
    Max(i64, Box<Source>),
    Allotment(Vec<Source>, Weights),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Overdraft {
    None,
    UpTo(i64),
    Unbounded,
}

#[derive(Debug, Clone)]
pub(super) enum Destination {
    Account(&'static str),
    Allotment(Vec<Target>, Weights),
    InOrder(Vec<(i64, Target)>, Box<Target>),
    OneOf(Vec<(i64, Target)>, Box<Target>),
}

/// `None` is `kept`.
pub(super) type Target = Option<Destination>;

/// Shares by weight; the last may be written as `remaining`.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    weights: Vec<u32>,
    has_remaining: bool,
}

impl Weights {
    /// One weight for each line; they repeat if there are more lines.
    pub(super) fn of(&self, count: usize) -> Vec<u32> {
        self.weights.iter().copied().cycle().take(count).collect()
    }

    fn texts(&self, count: usize) -> Vec<String> {
        let weights = self.of(count);
        let sum: u32 = weights.iter().sum();
        let mut texts: Vec<String> =
            weights.iter().map(|weight| format!("{weight}/{sum}")).collect();
        if self.has_remaining {
            texts.pop();
            texts.push("remaining".to_owned());
        }
        texts
    }
}

fn weights() -> impl Strategy<Value = Weights> {
    (prop::collection::vec(1_u32..9, 1..4), any::<bool>())
        .prop_map(|(weights, has_remaining)| Weights { weights, has_remaining })
}

fn account() -> impl Strategy<Value = &'static str> {
    prop_oneof![2 => Just("world"), 3 => prop::sample::select(&ACCOUNTS[..])]
}

fn source() -> impl Strategy<Value = Source> {
    let overdraft = prop_oneof![
        5 => Just(Overdraft::None),
        2 => (-5_i64..60).prop_map(Overdraft::UpTo),
        1 => Just(Overdraft::Unbounded),
    ];
    let color = prop_oneof![3 => Just(""), 1 => Just("RED")];
    let leaf = (account(), color, overdraft)
        .prop_map(|(account, color, overdraft)| Source::Account { account, color, overdraft });
    leaf.prop_recursive(3, 12, 4, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => some.clone().prop_map(Source::List),
            2 => some.clone().prop_map(Source::OneOf),
            2 => (-5_i64..80, inner).prop_map(|(cap, source)| Source::Max(cap, Box::new(source))),
            1 => (some, weights()).prop_map(|(sources, weights)| Source::Allotment(sources, weights)),
        ]
    })
}

fn destination() -> impl Strategy<Value = Destination> {
    account().prop_map(Destination::Account).prop_recursive(3, 12, 4, |inner| {
        let target = prop_oneof![1 => Just(None), 4 => inner.prop_map(Some)];
        let capped = prop::collection::vec((-5_i64..60, target.clone()), 0..3);
        let rest = target.clone().prop_map(Box::new);
        prop_oneof![
            (prop::collection::vec(target, 1..4), weights())
                .prop_map(|(to, weights)| Destination::Allotment(to, weights)),
            (capped.clone(), rest.clone())
                .prop_map(|(capped, rest)| Destination::InOrder(capped, rest)),
            (capped, rest).prop_map(|(capped, rest)| Destination::OneOf(capped, rest)),
        ]
    })
}

fn statement() -> impl Strategy<Value = Statement> {
    let asset = || prop_oneof![4 => Just(ASSETS[0]), 1 => Just(ASSETS[1])];
    let amount = || prop_oneof![6 => (0_i64..90).prop_map(Some), 1 => Just(None)];
    let send = (asset(), amount(), source(), destination()).prop_map(
        |(asset, amount, source, destination)| Statement::Send {
            asset,
            amount,
            source,
            destination,
        },
    );
    let save = (asset(), amount(), account())
        .prop_map(|(asset, amount, account)| Statement::Save { asset, amount, account });
    prop_oneof![3 => send, 1 => save]
}

pub(super) fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(statement(), 1..6).prop_map(Program)
}

/// A balance for every account, asset and colour.
pub(super) fn balances() -> impl Strategy<Value = Vec<Balance>> {
    let mut keys = Vec::new();
    for account in ACCOUNTS {
        for asset in ASSETS {
            keys.extend(COLORS.map(|color| (account, asset, color)));
        }
    }
    prop::collection::vec(-60_i64..200, keys.len()).prop_map(move |amounts| {
        keys.iter().zip(amounts).map(|(key, amount)| Balance { key: *key, amount }).collect()
    })
}

/// How far each balance may be overdrawn; `None` is without limit.
pub(super) fn floors(program: &Program) -> BTreeMap<Key, Option<i64>> {
    let mut floors = BTreeMap::new();
    for statement in &program.0 {
        if let Statement::Send { asset, source, .. } = statement {
            lower(source, asset, &mut floors);
        }
    }
    floors
}

fn lower(source: &Source, asset: &'static str, floors: &mut BTreeMap<Key, Option<i64>>) {
    match source {
        Source::Account { account, color, overdraft } => {
            let floor = floors.entry((*account, asset, *color)).or_insert(Some(0));
            match overdraft {
                Overdraft::None => {}
                Overdraft::UpTo(limit) => *floor = floor.map(|floor| floor.max(*limit)),
                Overdraft::Unbounded => *floor = None,
            }
        }
        Source::List(sources) | Source::OneOf(sources) | Source::Allotment(sources, _) => {
            for source in sources {
                lower(source, asset, floors);
            }
        }
        Source::Max(_, source) => lower(source, asset, floors),
    }
}

impl Program {
    /// The sum of all sends of each asset; `None` if one of them sends everything.
    pub(super) fn sent(&self) -> BTreeMap<&'static str, Option<i64>> {
        let mut sums = BTreeMap::new();
        for statement in &self.0 {
            if let Statement::Send { asset, amount, .. } = statement {
                let sum = sums.entry(*asset).or_insert(Some(0));
                *sum = sum.zip(*amount).map(|(sum, amount): (i64, i64)| sum + amount);
            }
        }
        sums
    }

    pub(super) fn without_saves(mut self) -> Self {
        self.0.retain(|statement| matches!(statement, Statement::Send { .. }));
        self
    }

    pub(super) fn keeps(&self) -> bool {
        self.to_string().contains("kept")
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for statement in &self.0 {
            match statement {
                Statement::Send { asset, amount, source, destination } => {
                    let sent = sent_text(asset, *amount);
                    let source = source_text(source, asset);
                    let destination = destination_text(destination, asset);
                    writeln!(f, "send {sent} ( source = {source} destination = {destination} )")?;
                }
                Statement::Save { asset, amount, account } => {
                    writeln!(f, "save {} from @{account}", sent_text(asset, *amount))?;
                }
            }
        }
        Ok(())
    }
}

fn sent_text(asset: &str, amount: Option<i64>) -> String {
    amount.map_or_else(|| format!("[{asset} *]"), |amount| format!("[{asset} {amount}]"))
}

fn source_text(source: &Source, asset: &str) -> String {
    let all = |sources: &[Source]| {
        sources.iter().map(|source| source_text(source, asset)).collect::<Vec<_>>()
    };
    match source {
        Source::Account { account, color, overdraft } => {
            let color = if color.is_empty() { String::new() } else { format!(" \\ \"{color}\"") };
            let overdraft = match overdraft {
                Overdraft::None => String::new(),
                Overdraft::UpTo(limit) => format!(" allowing overdraft up to [{asset} {limit}]"),
                Overdraft::Unbounded => " allowing unbounded overdraft".to_owned(),
            };
            format!("@{account}{color}{overdraft}")
        }
        Source::List(sources) => format!("{{ {} }}", all(sources).join(" ")),
        Source::OneOf(sources) => format!("oneof {{ {} }}", all(sources).join(" ")),
        Source::Max(cap, source) => {
            format!("max [{asset} {cap}] from {}", source_text(source, asset))
        }
        Source::Allotment(sources, weights) => {
            let shares = weights.texts(sources.len()).into_iter().zip(all(sources));
            let lines: Vec<_> =
                shares.map(|(share, source)| format!("{share} from {source}")).collect();
            format!("{{ {} }}", lines.join(" "))
        }
    }
}

fn destination_text(destination: &Destination, asset: &str) -> String {
    let clauses = |capped: &[(i64, Target)], rest: &Target| {
        let mut lines: Vec<_> = capped
            .iter()
            .map(|(cap, target)| format!("max [{asset} {cap}] {}", target_text(target, asset)))
            .collect();
        lines.push(format!("remaining {}", target_text(rest, asset)));
        lines.join(" ")
    };
    match destination {
        Destination::Account(account) => format!("@{account}"),
        Destination::InOrder(capped, rest) => format!("{{ {} }}", clauses(capped, rest)),
        Destination::OneOf(capped, rest) => format!("oneof {{ {} }}", clauses(capped, rest)),
        Destination::Allotment(targets, weights) => {
            let shares = weights.texts(targets.len()).into_iter().zip(targets);
            let lines: Vec<_> = shares
                .map(|(share, target)| format!("{share} {}", target_text(target, asset)))
                .collect();
            format!("{{ {} }}", lines.join(" "))
        }
    }
}

fn target_text(target: &Target, asset: &str) -> String {
    target.as_ref().map_or_else(
        || "kept".to_owned(),
        |destination| format!("to {}", destination_text(destination, asset)),
    )
}
