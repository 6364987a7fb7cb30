-- Payouts that wait to be sent wait in a queue of their channel, rank and merchant. The rank is 1, or 2 if the payout was
-- scheduled.

-- A state that cannot be decoded must not stop the migration.
CREATE FUNCTION pg_temp.rank_of(state TEXT) RETURNS SMALLINT LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN state::json #>> '{flow,terms,scheduled_at}' IS NULL THEN 1 ELSE 2 END;
EXCEPTION WHEN OTHERS THEN
    RETURN 1;
END $$;

CREATE TEMPORARY TABLE waiting ON COMMIT DROP AS
SELECT d.lane AS old_lane, d.due_at, d.flow, 'submit:payout:' || substr(d.lane, length('submit:') + 1) AS grp, f.merchant,
       pg_temp.rank_of(f.state) AS rank
FROM due d JOIN flows f ON f.id = d.flow WHERE d.lane >= 'submit:' AND d.lane < 'submit;';

UPDATE due SET lane = w.grp || ':' || w.rank || ':' || w.merchant
FROM waiting w WHERE due.lane = w.old_lane AND due.due_at = w.due_at AND due.flow = w.flow;

-- What is known about each queue that is not empty: how many wait, where the first is, and the merchant's turn. A queue without a turn
-- (pass) is asleep. Times are microseconds.
CREATE TABLE queues (
    grp TEXT COLLATE "C" NOT NULL,
    merchant TEXT COLLATE "C" NOT NULL,
    rank SMALLINT NOT NULL,
    waiting BIGINT NOT NULL,
    first_due BIGINT NOT NULL,
    first_flow UUID NOT NULL,
    parked_until BIGINT,
    ready_at BIGINT NOT NULL,
    pass BIGINT,
    weight INTEGER NOT NULL,
    limit_milli INTEGER,
    PRIMARY KEY (grp, merchant, rank)
) WITH (fillfactor = 50);
CREATE INDEX queues_awake ON queues (grp, rank, pass, merchant) WHERE pass IS NOT NULL;
CREATE INDEX queues_asleep ON queues (grp, rank, ready_at, merchant) WHERE pass IS NULL;

INSERT INTO queues (grp, merchant, rank, waiting, first_due, first_flow, ready_at, weight)
SELECT grp, merchant, rank, count(*), min(due_at), (array_agg(flow ORDER BY due_at, flow))[1], min(due_at), 100
FROM waiting GROUP BY grp, merchant, rank;

-- What dispatch did, a few seconds a row.
CREATE TABLE dispatch_audit_log (
    cycle_at BIGINT NOT NULL,
    item_type TEXT NOT NULL,
    channel TEXT NOT NULL,
    since BIGINT NOT NULL,
    claimed BIGINT NOT NULL,
    dispatched BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    recovered BIGINT NOT NULL,
    expired BIGINT NOT NULL,
    rate_milli INTEGER,
    reason TEXT NOT NULL,
    PRIMARY KEY (cycle_at, item_type, channel)
);

-- A process of an earlier version knows no queues, and cannot commit any more.
ALTER TABLE head RENAME COLUMN last_hash TO end_hash;
