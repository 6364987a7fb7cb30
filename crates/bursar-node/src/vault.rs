//! The keys that secrets are sealed with: from the environment, or from a file beside the books.

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

/// `k2:<base64>,k1:…`: the first seals, all open.
const VARIABLE: &str = "BURSAR_SECRET_KEYS";
/// Made where there is a directory for the books, so that one process alone needs no set-up.
const FILE: &str = "secret-keys";

/// How many endpoints are read at once.
const PAGE: u32 = 500;

/// What the environment says.
pub fn named() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|keys| !keys.is_empty())
}

/// A key of 32 random bytes, as it is written. It is named by its time: one that is made later, for other books or after
/// this one was lost, is not taken for it.
pub fn fresh() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|_| Failure::new("this machine gives no randomness. Nothing was started"))?;
    let name = Timestamp::now().strftime("k%Y%m%d-%H%M%S");
    Ok(format!("{name}:{}\n", Keyring::spell(&bytes)))
}

/// The keys, if there are any. A directory without keys gets some, unless something in it was sealed with others.
pub async fn open(
    location: &Location,
    store: &mut AnyStore,
    named: Option<String>,
) -> Result<Option<Arc<Vault>>, Failure> {
    let text = match (named, location) {
        (Some(text), _) => Some(text),
        (None, Location::Directory(directory)) => from_file(&directory.join(FILE), store).await?,
        (None, Location::Database(_)) => None,
    };
    let vault = text.map(|text| parse(&text)).transpose()?;
    let Sealed { secrets, unreadable } = sealed(store).await?;
    for id in &unreadable {
        tracing::error!(id, "this endpoint cannot be read: what is told to it waits");
    }
    let opens = |endpoint: EndpointId, sealed: &str| {
        vault.as_ref().is_some_and(|vault| vault.open_secret(endpoint, sealed).is_ok())
    };
    // What cannot be read was sealed as well.
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
    // Whole or not at all, and readable for its owner alone.
    let unfinished = path.with_extension("unfinished");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    if let Some(directory) = path.parent() {
        std::fs::File::open(directory)?.sync_all()?;
    }
    Ok(Some(text))
}

/// Every secret that was sealed, and whose it is; and the endpoints that cannot be read.
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
