//! The JSON forms of a program's inputs and of its outcome.

use std::collections::BTreeMap;

use bursar_core::numscript::amount::Amount;
use bursar_core::numscript::{Error, Feature, Features, Inputs, Mode, Outcome, Program, Snapshot};
use serde::{Deserialize, Serialize};

/// One line of a case file. What it expects is not read here.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) script: String,
    #[serde(default, rename = "featureFlags")]
    pub(super) feature_flags: Vec<String>,
    #[serde(default)]
    pub(super) vars: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) balances: Vec<Balance>,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Balance {
    account: String,
    asset: String,
    /// Minor units as text, because some exceed what a JSON number can carry.
    amount: String,
    #[serde(default)]
    color: String,
}

/// What a run of a case answers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Done {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        postings: Vec<PostingAnswer>,
        #[serde(rename = "txMetadata")]
        tx_metadata: BTreeMap<String, String>,
        #[serde(rename = "accountsMetadata")]
        accounts_metadata: BTreeMap<String, BTreeMap<String, String>>,
    },
    Failed {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
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
    pub(super) fn run(self, mode: Mode) -> Result<Answer, String> {
        let features = features(&self.feature_flags)?;
        let snapshot = snapshot(&self.balances, &self.metadata)?;
        let outcome = Program::new(&self.script, features, mode)
            .and_then(|program| program.run(&Inputs::Text(&self.vars), &snapshot));
        Ok(Answer::new(Some(self.id), outcome))
    }
}

impl Answer {
    pub(super) fn new(id: Option<String>, outcome: Result<Outcome, Box<Error>>) -> Self {
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
            Err(error) => Self::Failed {
                id,
                error: ErrorAnswer { kind: error.kind.name(), message: error.to_string() },
            },
        }
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
    balances: &[Balance],
    metadata: &BTreeMap<String, BTreeMap<String, String>>,
) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot::default();
    for balance in balances {
        let amount: Amount = balance.amount.parse().map_err(|error| {
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

fn features(names: &[String]) -> Result<Features, String> {
    names
        .iter()
        .map(|name| Feature::from_name(name).ok_or_else(|| format!("there is no feature `{name}`")))
        .collect()
}
