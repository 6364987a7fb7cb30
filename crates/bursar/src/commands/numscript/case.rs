//! JSON forms of a program's inputs and outcome.

use std::collections::BTreeMap;
use std::fmt;

use bursar_core::numscript::amount::Amount;
use bursar_core::numscript::{
    Error, ErrorKind, Feature, Features, Inputs, Mode, Outcome, Program, Snapshot,
};
use serde::{Deserialize, Serialize};

/// One line of a case file. Expectations are not read here.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) id: serde_json::Value,
    pub(super) script: String,
    #[serde(default, rename = "featureFlags")]
    pub(super) feature_flags: Option<Vec<String>>,
    #[serde(default)]
    pub(super) vars: Option<Variables>,
    #[serde(default)]
    pub(super) balances: Option<Balances>,
    #[serde(default)]
    pub(super) metadata: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// Variables by name.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Variables(BTreeMap<String, Text>);

/// Balances as rows, or as a map of maps where no colour is needed.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "balances are an array of {account, asset, amount, color} or an object {account: {asset: amount}}"
)]
pub(super) enum Balances {
    Rows(Vec<Balance>),
    Map(BTreeMap<String, BTreeMap<String, Text>>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Balance {
    account: String,
    asset: String,
    amount: Text,
    #[serde(default)]
    color: String,
}

/// A text, or a whole number that JSON can carry exactly.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "write it as text in double quotes, or as a whole number")]
pub(super) enum Text {
    Text(String),
    Number(i64),
}

impl Variables {
    pub(super) fn into_texts(self) -> BTreeMap<String, String> {
        self.0.into_iter().map(|(name, value)| (name, value.to_string())).collect()
    }
}

impl Balances {
    fn into_rows(self) -> Vec<Balance> {
        match self {
            Self::Rows(rows) => rows,
            Self::Map(accounts) => accounts
                .into_iter()
                .flat_map(|(account, assets)| {
                    assets.into_iter().map(move |(asset, amount)| Balance {
                        account: account.clone(),
                        asset,
                        amount,
                        color: String::new(),
                    })
                })
                .collect(),
        }
    }
}

impl Default for Balances {
    fn default() -> Self {
        Self::Rows(Vec::new())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// The outcome of a case.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Done {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<serde_json::Value>,
        postings: Vec<PostingAnswer>,
        #[serde(rename = "txMetadata")]
        tx_metadata: BTreeMap<String, String>,
        #[serde(rename = "accountsMetadata")]
        accounts_metadata: BTreeMap<String, BTreeMap<String, String>>,
    },
    Failed {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<serde_json::Value>,
        error: ErrorAnswer,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct PostingAnswer {
    pub(super) source: String,
    pub(super) destination: String,
    pub(super) asset: String,
    pub(super) amount: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) color: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ErrorAnswer {
    kind: &'static str,
    message: String,
}

impl Case {
    pub(super) fn run(self, features: Features, mode: Mode) -> Answer {
        let id = Some(self.id);
        let flags = self.feature_flags.unwrap_or_default();
        let features = match parse_features(&flags) {
            Ok(named) => features.union(named),
            Err(kind) => return Answer::failed(id, kind.name(), kind.to_string()),
        };
        let metadata = self.metadata.unwrap_or_default();
        let snapshot = match snapshot(self.balances.unwrap_or_default(), &metadata) {
            Ok(snapshot) => snapshot,
            Err(reason) => return Answer::failed(id, BAD_CASE, reason),
        };
        let vars = self.vars.unwrap_or_default().into_texts();
        let outcome = Program::new(&self.script, features, mode)
            .and_then(|program| program.run(&Inputs::Text(&vars), &snapshot));
        Answer::new(id, outcome)
    }
}

/// The error kind of a line that is not a case; every other kind is an error of the program.
pub(super) const BAD_CASE: &str = "BadCase";

impl Answer {
    pub(super) fn new(id: Option<serde_json::Value>, outcome: Result<Outcome, Box<Error>>) -> Self {
        match outcome {
            Ok(outcome) => Self::Done {
                id,
                postings: outcome.postings.iter().map(PostingAnswer::new).collect(),
                tx_metadata: outcome
                    .tx_metadata
                    .into_iter()
                    .map(|(key, value)| (key.to_string(), value.to_string()))
                    .collect(),
                accounts_metadata: outcome
                    .accounts_metadata
                    .into_iter()
                    .map(|(account, entries)| {
                        let entries =
                            entries.into_iter().map(|(key, value)| (key.to_string(), value));
                        (account.to_string(), entries.collect())
                    })
                    .collect(),
            },
            Err(error) => Self::failed(id, error.kind.name(), error.to_string()),
        }
    }

    pub(super) fn failed(
        id: Option<serde_json::Value>,
        kind: &'static str,
        message: String,
    ) -> Self {
        Self::Failed { id, error: ErrorAnswer { kind, message } }
    }

    pub(super) fn is_bad_case(&self) -> bool {
        matches!(self, Self::Failed { error, .. } if error.kind == BAD_CASE)
    }
}

impl PostingAnswer {
    fn new(posting: &bursar_core::numscript::Posting) -> Self {
        Self {
            source: posting.source.to_string(),
            destination: posting.destination.to_string(),
            asset: posting.asset.to_string(),
            amount: posting.amount.to_string(),
            color: posting.color.to_string(),
        }
    }
}

pub(super) fn snapshot(
    balances: Balances,
    metadata: &BTreeMap<String, BTreeMap<String, String>>,
) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot::default();
    for balance in balances.into_rows() {
        let amount: Amount = balance.amount.to_string().parse().map_err(|error| {
            format!("the balance of {} is `{}`: {error}", balance.account, balance.amount)
        })?;
        snapshot.set_balance(&balance.account, &balance.asset, &balance.color, amount);
    }
    for (account, entries) in metadata {
        for (key, value) in entries {
            snapshot.set_metadata(account, key, value);
        }
    }
    Ok(snapshot)
}

fn parse_features(names: &[String]) -> Result<Features, ErrorKind> {
    names
        .iter()
        .map(|name| {
            Feature::from_name(name).ok_or_else(|| ErrorKind::InvalidFeature { name: name.clone() })
        })
        .collect()
}
