-- Merchants, beneficiaries and keys: small records that people keep.

CREATE TABLE registry (
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    merchant text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    content text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE INDEX registry_by_merchant ON registry (kind, merchant, id);
