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
    ready_at BIGINT NOT NULL GENERATED ALWAYS AS (greatest(first_due, parked_until)) STORED,
    pass BIGINT,
    weight INTEGER NOT NULL,
    limit_milli INTEGER,
    PRIMARY KEY (grp, merchant, rank)
) WITH (fillfactor = 50);
CREATE INDEX queues_awake ON queues (grp, rank, pass, merchant) WHERE pass IS NOT NULL;
CREATE INDEX queues_asleep ON queues (grp, rank, ready_at, merchant) WHERE pass IS NULL;

INSERT INTO queues (grp, merchant, rank, waiting, first_due, first_flow, weight)
SELECT grp, merchant, rank, count(*), min(due_at), (array_agg(flow ORDER BY due_at, flow))[1], 100
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

-- The names of the dispatcher's tables for people. Times are timestamps. The context has no account or telephone number.
CREATE VIEW exec_rate_config AS
SELECT split_part(id, '.', 1) AS item_type, split_part(id, '.', 2) AS channel,
       coalesce((content::json ->> 'enabled')::boolean, true) AS enabled,
       (content::json ->> 'rate_per_s')::numeric AS rate_per_s,
       (content::json ->> 'contract_per_s')::numeric AS contract_per_s,
       (content::json ->> 'burst')::integer AS burst,
       (content::json ->> 'batch_size')::integer AS batch_size,
       (content::json ->> 'max_concurrency')::integer AS max_concurrency,
       (content::json ->> 'jitter_ms')::integer AS jitter_ms,
       content::json -> 'windows' AS windows, version
FROM registry WHERE kind = 'dispatch_config';

CREATE VIEW payment_exec_queue AS
SELECT f.kind AS item_type, f.id AS item_id, f.merchant,
       CASE WHEN d.lane LIKE 'submit:%' THEN (ARRAY['urgent', 'interactive', 'scheduled', 'bulk'])[split_part(d.lane, ':', 4)::integer + 1] END AS lane,
       to_timestamp(d.due_at / 1000000.0) AS scheduled_exec_time,
       CASE WHEN d.lane LIKE 'submit:%' THEN 'READY' WHEN d.lane IS NULL THEN 'DONE' ELSE 'DISPATCHED' END AS queue_status,
       f.status AS payment_status, f.version AS claim_epoch, to_timestamp(f.updated_at / 1000000.0) AS updated_at
FROM flows f LEFT JOIN due d ON d.flow = f.id WHERE f.kind = 'payout';

CREATE VIEW payment_exec_context AS
SELECT kind AS item_type, id AS item_id,
       (state::jsonb #> '{flow,terms}') #- '{beneficiary,account}' #- '{beneficiary,msisdn}' AS context_json
FROM flows WHERE kind = 'payout';

-- A process of an earlier version knows no queues, and cannot commit any more.
ALTER TABLE head RENAME COLUMN last_hash TO end_hash;
