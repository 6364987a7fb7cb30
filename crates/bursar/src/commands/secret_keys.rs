//! `bursar secret-keys`: the keys that encrypt endpoint secrets.

use std::collections::BTreeMap;
use std::path::Path;

use bursar_connect::webhook::{CannotOpen, Vault};
use bursar_core::ids::EndpointId;
use bursar_core::ledger::Admission;
use bursar_core::registry::{Change, Content, Kind, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::{Request, TurnInput};
use bursar_core::webhooks::{Endpoint, EndpointChange};
use bursar_node::config::Config;
use bursar_node::failure::Failure;
use bursar_node::node::fresh_seed;
use bursar_node::rulebook::load_rulebook;
use bursar_node::{terminal, vault};
use bursar_store::{AnyStore, Browse as _, turn};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use tokio::runtime::Builder;

use super::ledger::StoreArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Encrypt every endpoint secret again with the first of `BURSAR_SECRET_KEYS`
    ///
    /// Put the new key before the old ones, run this command, and remove the old ones afterwards. With a data directory,
    /// stop the server first.
    Rotate(Rotate),
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    #[command(flatten)]
    store: StoreArguments,
}

impl Command {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let Self::Rotate(Rotate { store }) = self;
        let config = Config::load(config)?;
        let rules = Rules::from(load_rulebook(config.chart_path().as_deref())?);
        let location = store.location()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut store = location.open().await?;
            let vault = vault::open(&location, &mut store, vault::from_environment()).await?;
            let Some(vault) = vault else {
                return Err(Failure::new(
                    "there are no keys: nothing was changed. Set BURSAR_SECRET_KEYS, the new key first",
                ));
            };
            let count = rotate(&mut store, &rules, &vault).await?;
            terminal::say(&format!("{count} endpoints were sealed anew; once every server seals with the new key, older ones are not needed"))
        })
    }
}

async fn rotate(store: &mut AnyStore, rules: &Rules, vault: &Vault) -> Result<u32, Failure> {
    let (mut count, mut before) = (0_u32, None::<String>);
    loop {
        let page = store.records(Kind::Endpoint, None, before.as_deref(), 500).await?;
        if let Some(id) = page.unreadable.first() {
            return Err(Failure::new(format!(
                "{id} is kept in a form that this version cannot read, and its secrets stay sealed as they are: keep the older keys. {count} endpoints before it were sealed anew. Run the version that wrote it, or look at its row"
            )));
        }
        let Some(last) = page.records.last() else { return Ok(count) };
        before = Some(last.id.clone());
        for record in page.records {
            let (Content::Endpoint(endpoint), Ok(id)) = (record.content, record.id.parse()) else {
                continue;
            };
            if let Some(change) = resealed(vault, id, &endpoint)? {
                save(store, rules, Change::Endpoint { id, merchant: endpoint.merchant, change })
                    .await?;
                count = count.saturating_add(1);
            }
        }
    }
}

/// The change that encrypts an endpoint's secrets again; none if all use the current key.
fn resealed(
    vault: &Vault,
    id: EndpointId,
    endpoint: &Endpoint,
) -> Result<Option<EndpointChange>, Failure> {
    let secrets = endpoint.secrets.iter().map(|secret| secret.sealed.as_str());
    let headers = endpoint.settings.headers.as_deref();
    if secrets.clone().chain(headers).all(|sealed| vault.is_current(sealed)) {
        return Ok(None);
    }
    let failed = |error: CannotOpen| {
        Failure::new(format!("{id}: {error}. Those before it were sealed anew"))
    };
    let mut anew = BTreeMap::new();
    for sealed in secrets {
        let newer = vault.reseal_secret(id, sealed, nonce()?).map_err(failed)?;
        anew.insert(sealed.to_owned(), newer);
    }
    if let Some(sealed) = headers {
        let newer = vault.reseal_headers(id, sealed, nonce()?).map_err(failed)?;
        anew.insert(sealed.to_owned(), newer);
    }
    Ok(Some(EndpointChange::Reseal { anew }))
}

async fn save(store: &mut AnyStore, rules: &Rules, change: Change) -> Result<(), Failure> {
    let body = Registration { actor: "bursar secret-keys rotate".to_owned(), change }.into();
    let admission = Admission::new(Timestamp::now(), fresh_seed()?);
    let request = [Request { admission, body }];
    let commit = turn(store, &TurnInput::new(rules, &request)).await?;
    match commit.answers.into_iter().next() {
        Some(Err(rejection)) => Err(Failure::new(rejection.to_string())),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn nonce() -> Result<[u8; 12], Failure> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)
        .map_err(|_| Failure::new("this machine gives no randomness. Nothing was changed"))?;
    Ok(bytes)
}
