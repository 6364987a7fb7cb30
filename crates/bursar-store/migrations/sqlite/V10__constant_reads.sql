-- Reads whose cost does not depend on the number of flows: tallies, the flows that wait for a person, lists by kind,
-- merchant and parent.

-- The same name as in PostgreSQL.
ALTER TABLE head RENAME COLUMN link TO chain_hash;

-- Counts and sums of flows by name. A commit adds its net changes.
CREATE TABLE tallies (
    name TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    entered INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The flows that wait for a person.
CREATE TABLE reviews (
    flow BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    merchant TEXT NOT NULL,
    reason TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reviews_by_time ON reviews (since, flow);
CREATE INDEX reviews_by_reason ON reviews (kind, reason, since, flow);
CREATE INDEX reviews_by_merchant ON reviews (merchant, kind, reason, since, flow);

-- The accounts as of a commit: a row for each that moved since the closing before. The row in closings comes last.
CREATE TABLE closings (
    seq INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    time INTEGER NOT NULL,
    earliest INTEGER,
    latest INTEGER
) STRICT;
CREATE TABLE closed_accounts (
    address TEXT NOT NULL,
    currency TEXT NOT NULL,
    seq INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (address, currency, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX closed_accounts_by_seq ON closed_accounts (seq);

-- Texts that a caller gave a flow, such as a trace id. Several flows may have the same.
CREATE TABLE labels (
    label TEXT NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (label, flow)
) STRICT, WITHOUT ROWID;

-- What a flow belongs to. It never changes.
ALTER TABLE flows ADD COLUMN parent BLOB;
UPDATE flows SET parent = unhex(substr(json_extract(state, '$.flow.terms.endpoint'), 4))
WHERE kind = 'delivery' AND json_valid(state);
CREATE INDEX flows_by_kind ON flows (kind, id);
CREATE INDEX flows_by_merchant ON flows (merchant, kind, id);
CREATE INDEX flows_by_parent ON flows (parent, id) WHERE parent IS NOT NULL;

-- In two halves: a sum above the largest integer would be an error.
INSERT INTO tallies (name, count, minor, entered)
SELECT name, count(*),
       CASE WHEN sum(minor >> 32) + (sum(minor & 4294967295) >> 32) > 2147483647 THEN 9223372036854775807
            ELSE (sum(minor >> 32) << 32) + sum(minor & 4294967295) END,
       count(*)
FROM (SELECT 'flow/' || kind || '/' || status || '/' || ifnull(json_extract(state, '$.flow.terms.funds.currency'), '')
             || '/' || coalesce(json_extract(state, '$.flow.terms.channel'), json_extract(state, '$.flow.terms.provider'), '')
             AS name,
             ifnull(json_extract(state, '$.flow.terms.funds.amount'), 0) AS minor
      FROM (SELECT kind, status, CASE WHEN json_valid(state) THEN state ELSE '{}' END AS state FROM flows))
GROUP BY name;

INSERT INTO reviews (flow, kind, merchant, reason, since)
SELECT id, kind, merchant, CASE status WHEN 'STUCK' THEN 'stuck' ELSE 'case' END, updated_at
FROM flows WHERE kind = 'payout' AND json_valid(state)
    AND (status = 'STUCK'
         OR (status IN ('SUCCESS', 'FAILED', 'CANCELLED', 'RETURNED', 'LATE_SUCCESS')
             AND json_extract(state, '$.flow.case') IS NOT NULL));

INSERT INTO tallies (name, count, minor, entered)
SELECT 'review/' || r.kind || '/' || r.reason, count(*),
       CASE WHEN sum(amount >> 32) + (sum(amount & 4294967295) >> 32) > 2147483647 THEN 9223372036854775807
            ELSE (sum(amount >> 32) << 32) + sum(amount & 4294967295) END,
       count(*)
FROM reviews r JOIN (SELECT id, json_extract(state, '$.flow.terms.funds.amount') AS amount
                     FROM flows WHERE kind = 'payout' AND json_valid(state)) f ON f.id = r.flow
GROUP BY r.kind, r.reason;

INSERT INTO labels (label, flow)
SELECT json_extract(state, '$.flow.terms.remarks.trace_id'), id FROM flows
WHERE kind = 'payout' AND json_valid(state) AND json_extract(state, '$.flow.terms.remarks.trace_id') IS NOT NULL;
