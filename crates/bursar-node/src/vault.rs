//! The keys that encrypt endpoint secrets: from the environment, or from a file in the data directory.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use bursar_connect::webhook::{Keyring, Vault};
use bursar_core::ids::EndpointId;
use bursar_core::registry::{Content, Kind};
use bursar_store::{AnyStore, Browse as _, Location};
use jiff::Timestamp;

use crate::failure::Failure;

/// `k2:<base64>,k1:…`: the first key encrypts, all keys decrypt.
const VARIABLE: &str = "BURSAR_SECRET_KEYS";
/// Created in the data directory, so that a single process needs no set-up.
const FILE: &str = "secret-keys";

/// Endpoints per read.
const PAGE: u32 = 500;

/// The keys from the environment.
pub fn from_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|keys| !keys.is_empty())
}

/// A key of 32 random bytes, in its text form. Its name is the time of its creation, so that a later key has another name.
pub fn fresh() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|_| Failure::new("this machine gives no randomness. Nothing was started"))?;
    let name = Timestamp::now().strftime("k%Y%m%d-%H%M%S");
    Ok(format!("{name}:{}\n", Keyring::spell(&bytes)))
}

/// Loads the keys. A data directory without keys gets a new one, unless its endpoints were encrypted with a missing key.
pub async fn open(
    location: &Location,
    store: &mut AnyStore,
    configured: Option<String>,
) -> Result<Option<Arc<Vault>>, Failure> {
    let text = match (configured, location) {
        (Some(text), _) => Some(text),
        (None, Location::Directory(directory)) => from_file(&directory.join(FILE), store).await?,
        (None, Location::Database(_)) => None,
    };
    let vault = text.map(|text| parse(&text)).transpose()?;
    let Sealed { secrets, unreadable } = sealed(store).await?;
    for id in &unreadable {
        tracing::error!(id, "this endpoint cannot be read: its deliveries wait");
    }
    let opens = |endpoint: EndpointId, sealed: &str| {
        vault.as_ref().is_some_and(|vault| vault.open_secret(endpoint, sealed).is_ok())
    };
    // The secrets of an unreadable endpoint are encrypted too.
    let is_locked = vault.is_none() && !unreadable.is_empty();
    if is_locked || !secrets.iter().all(|(endpoint, sealed)| opens(*endpoint, sealed)) {
        return Err(Failure::new(format!(
            "secrets of webhook endpoints were sealed with a key that is not here: nothing was started, nothing is lost. Set {VARIABLE} as it was, older keys behind newer ones"
        )));
    }
    Ok(vault.map(Arc::new))
}

fn parse(text: &str) -> Result<Vault, Failure> {
    let keys = Keyring::parse(text.trim());
    keys.map(Vault::new).map_err(|error| {
        Failure::new(format!(
            "the keys of {VARIABLE}, or of the file `{FILE}` where it is not set, cannot be used: {error}. Nothing was started"
        ))
    })
}

async fn from_file(path: &Path, store: &mut AnyStore) -> Result<Option<String>, Failure> {
    if path.exists() {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::reading(path, &error))?;
        return Ok(Some(text));
    }
    let Sealed { secrets, unreadable } = sealed(store).await?;
    if !secrets.is_empty() || !unreadable.is_empty() {
        return Ok(None);
    }
    let text = fresh()?;
    // Written atomically, readable by its owner only.
    let unfinished = path.with_extension("unfinished");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    if let Some(directory) = path.parent() {
        std::fs::File::open(directory)?.sync_all()?;
    }
    tracing::warn!(
        file = %path.display(),
        "new secret keys were written: back this file up, apart from the books. Without it webhooks cannot be signed, and Bursar does not start"
    );
    Ok(Some(text))
}

/// Every encrypted secret with its endpoint, and the endpoints that cannot be read.
#[derive(Debug, Default)]
struct Sealed {
    secrets: Vec<(EndpointId, String)>,
    unreadable: Vec<String>,
}

async fn sealed(store: &mut AnyStore) -> Result<Sealed, Failure> {
    let (mut found, mut before) = (Sealed::default(), None::<String>);
    loop {
        let page = store.records(Kind::Endpoint, None, before.as_deref(), PAGE).await?;
        let is_last = u32::try_from(page.records.len()).is_ok_and(|count| count < PAGE);
        before = page.records.last().map(|last| last.id.clone());
        found.unreadable.extend(page.unreadable);
        for record in page.records {
            if let (Content::Endpoint(endpoint), Ok(id)) = (record.content, record.id.parse()) {
                let secrets = endpoint.secrets.into_iter();
                found.secrets.extend(secrets.map(|secret| (id, secret.sealed)));
            }
        }
        if is_last {
            return Ok(found);
        }
    }
}
