-- Reads whose cost does not depend on the number of flows: tallies, the flows that wait for a person, lists by kind,
-- merchant and parent.

-- In the order in which a turn takes them: a turn of a running process ends first, and no deadlock is possible.
LOCK TABLE flows, head IN ACCESS EXCLUSIVE MODE;
-- A process of an earlier version would commit without tallies. It does not find this column, and cannot commit.
ALTER TABLE head RENAME COLUMN link TO chain_hash;

-- Counts and sums of flows by name. A commit adds its net changes while it holds the lock of the head.
CREATE TABLE tallies (
    name TEXT COLLATE "C" PRIMARY KEY,
    count BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    entered BIGINT NOT NULL
) WITH (fillfactor = 50);

-- The flows that wait for a person.
CREATE TABLE reviews (
    flow UUID PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    merchant TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL
);
CREATE INDEX reviews_by_time ON reviews (since, flow);
CREATE INDEX reviews_by_reason ON reviews (kind, reason, since, flow);
CREATE INDEX reviews_by_merchant ON reviews (merchant, kind, reason, since, flow);

-- A state that cannot be decoded must not stop the migration.
CREATE FUNCTION pg_temp.parsed(state TEXT) RETURNS JSON LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN state::json -> 'flow';
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- The accounts as of a commit: a row for each that moved since the closing before. The row in closings comes last.
CREATE TABLE closings (
    seq BIGINT PRIMARY KEY,
    hash BYTEA NOT NULL,
    time BIGINT NOT NULL,
    earliest BIGINT,
    latest BIGINT
);
CREATE TABLE closed_accounts (
    address TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    balance BIGINT NOT NULL,
    received BIGINT NOT NULL,
    PRIMARY KEY (address, currency, seq)
);
CREATE INDEX closed_accounts_by_seq ON closed_accounts (seq);

-- Texts that a caller gave a flow, such as a trace id. Several flows may have the same.
CREATE TABLE labels (
    label TEXT COLLATE "C" NOT NULL,
    flow UUID NOT NULL,
    PRIMARY KEY (label, flow)
);

-- What a flow belongs to. None of the columns of these indexes ever changes, so that an update needs no index entry.
ALTER TABLE flows ADD COLUMN parent UUID;
ALTER TABLE flows ALTER COLUMN parent SET STATISTICS 10;
UPDATE flows SET parent = substr(pg_temp.parsed(state) #>> '{terms,endpoint}', 4)::uuid WHERE kind = 'delivery';
CREATE INDEX flows_by_kind ON flows (kind COLLATE "C", id);
CREATE INDEX flows_by_merchant ON flows (merchant COLLATE "C", kind COLLATE "C", id);
CREATE INDEX flows_by_parent ON flows (parent, id) WHERE parent IS NOT NULL;

INSERT INTO tallies (name, count, minor, entered)
SELECT name, count(*), least(sum(minor), 9223372036854775807), count(*)
FROM (SELECT concat('flow/', f.kind, '/', f.status, '/', s.flow #>> '{terms,funds,currency}', '/',
                    coalesce(s.flow #>> '{terms,channel}', s.flow #>> '{terms,provider}')) AS name,
             coalesce((s.flow #>> '{terms,funds,amount}')::bigint, 0) AS minor
      FROM flows f CROSS JOIN LATERAL (SELECT pg_temp.parsed(f.state) AS flow OFFSET 0) s) f
GROUP BY name;

INSERT INTO reviews (flow, kind, merchant, reason, since)
SELECT f.id, f.kind, f.merchant, CASE f.status WHEN 'STUCK' THEN 'stuck' ELSE 'case' END, f.updated_at
FROM flows f WHERE f.kind = 'payout'
    AND (f.status = 'STUCK'
         OR (f.status IN ('SUCCESS', 'FAILED', 'CANCELLED', 'RETURNED', 'LATE_SUCCESS')
             AND f.state LIKE '%"case":"%' AND pg_temp.parsed(f.state) ->> 'case' IS NOT NULL));

INSERT INTO tallies (name, count, minor, entered)
SELECT concat('review/', r.kind, '/', r.reason), count(*),
       least(coalesce(sum((pg_temp.parsed(f.state) #>> '{terms,funds,amount}')::bigint), 0), 9223372036854775807), count(*)
FROM reviews r JOIN flows f ON f.id = r.flow GROUP BY r.kind, r.reason;

INSERT INTO labels (label, flow)
SELECT trace_id, id FROM (SELECT id, pg_temp.parsed(state) #>> '{terms,remarks,trace_id}' AS trace_id
                          FROM flows WHERE kind = 'payout' AND state LIKE '%"trace_id":"%') f
WHERE trace_id IS NOT NULL;
