-- Flows are wide: a payout with its evidence, a delivery with its body. Kept in the order of their keys, a row above a
-- quarter of a page would be read whole whenever its key is compared. In rows of their own only the short keys are.

CREATE TABLE flows_by_row (
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    merchant TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

INSERT INTO flows_by_row (id, kind, merchant, status, version, sequence, state, created_at, updated_at)
SELECT id, kind, merchant, status, version, sequence, state, created_at, updated_at FROM flows ORDER BY id;

DROP TABLE flows;
ALTER TABLE flows_by_row RENAME TO flows;
