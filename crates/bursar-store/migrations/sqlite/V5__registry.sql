-- Merchants, beneficiaries and keys: small records that people keep.

CREATE TABLE registry (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    merchant TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX registry_by_merchant ON registry (kind, merchant, id);
