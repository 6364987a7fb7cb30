//! The accounts with their balances.

use std::path::Path;

use serde::Serialize;

use super::ReadArguments;
use super::books::Books;
use crate::failure::Failure;
use crate::terminal::{self, to_json};

#[derive(Debug, Serialize)]
struct AccountAnswer {
    address: String,
    gl: String,
    asset: String,
    balance: String,
    class: &'static str,
    normal: &'static str,
    liquidity: String,
    view: String,
}

pub(super) fn run(arguments: &ReadArguments, config: Option<&Path>) -> Result<(), Failure> {
    let accounts = Books::existing(&arguments.place, config)?.accounts()?;
    let answers: Vec<AccountAnswer> = accounts
        .iter()
        .map(|(address, account)| AccountAnswer {
            address: address.to_string(),
            gl: account.metadata.code.to_string(),
            asset: account.balance.currency().asset(),
            balance: account.balance.to_string(),
            class: account.metadata.class.name(),
            normal: account.metadata.side().name(),
            liquidity: account.metadata.liquidity.clone(),
            view: account.metadata.view.clone(),
        })
        .collect();
    if arguments.json {
        return terminal::say(&to_json(&answers)?);
    }
    let rows = answers
        .into_iter()
        .map(|answer| vec![answer.gl, answer.address, answer.asset, answer.balance])
        .collect();
    terminal::say(&terminal::table(&["gl", "account", "asset", "balance"], 3, rows).to_string())
}
