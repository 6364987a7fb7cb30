//! Idempotency keys with their replies.

use bursar_core::idempotency::{Key, KnownKey};
use bursar_core::ids::FlowId;
use bursar_core::turn::ReadPlan;
use tokio_postgres::types::ToSql;
use tokio_postgres::{GenericClient, Transaction};
use uuid::Uuid;

use super::copy::{self, MANY};
use super::row::{get, hash};
use super::session::Session;
use crate::StoreError;

/// The stored keys of the plan.
pub(super) async fn load(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<KnownKey>, StoreError> {
    if plan.keys.is_empty() {
        return Ok(Vec::new());
    }
    let digests: Vec<&[u8]> = plan.keys.iter().map(<[u8; 16]>::as_slice).collect();
    let sql = "SELECT scope, key, request_hash, flow, reply FROM keys WHERE digest = ANY($1)";
    let known = |row| {
        let key = Key::new(get(row, 0)?, get(row, 1)?);
        let flow = FlowId::from_uuid(get(row, 3)?);
        Ok(KnownKey::stored(key, hash(row, 2)?, flow, get(row, 4)?))
    };
    session.query(sql, &[&digests]).await?.iter().map(known).collect()
}

/// In the order of their digests, so that two turns with the same keys cannot deadlock.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    keys: &[KnownKey],
) -> Result<(), StoreError> {
    let mut keys: Vec<_> = keys.iter().map(|known| (known.key.digest(), known)).collect();
    keys.sort_unstable_by_key(|(digest, _)| *digest);
    if keys.len() >= MANY {
        return copy::keys(session, keys.into_iter().map(|(_, known)| known)).await;
    }
    let digests: Vec<&[u8]> = keys.iter().map(|(digest, _)| digest.as_slice()).collect();
    let scopes: Vec<&str> = keys.iter().map(|(_, known)| known.key.scope()).collect();
    let texts: Vec<&str> = keys.iter().map(|(_, known)| known.key.value()).collect();
    let hashes: Vec<&[u8]> = keys.iter().map(|(_, known)| known.request_hash.as_slice()).collect();
    let flows: Vec<Uuid> = keys.iter().map(|(_, known)| known.flow.uuid()).collect();
    let replies: Vec<&str> = keys.iter().map(|(_, known)| known.text.as_str()).collect();
    let sql = "INSERT INTO keys (digest, scope, key, request_hash, flow, reply)
               SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::text[])";
    let values: [&(dyn ToSql + Sync); 6] = [&digests, &scopes, &texts, &hashes, &flows, &replies];
    session.write(sql, &values, keys.len()).await
}
