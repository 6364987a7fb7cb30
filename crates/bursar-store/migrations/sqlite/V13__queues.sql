-- Payouts that wait to be sent wait in a queue of their channel, rank and merchant. The rank is 1, or 2 if the payout was
-- scheduled.

UPDATE due SET lane = 'submit:payout:' || substr(lane, length('submit:') + 1) || ':' ||
    (SELECT CASE WHEN json_valid(f.state) AND json_extract(f.state, '$.flow.terms.scheduled_at') IS NOT NULL THEN 2 ELSE 1 END
            || ':' || f.merchant FROM flows f WHERE f.id = due.flow)
WHERE lane >= 'submit:' AND lane < 'submit;';

-- What is known about each queue that is not empty: how many wait, where the first is, and the merchant's turn. A queue without a turn
-- (pass) is asleep. Times are microseconds.
CREATE TABLE queues (
    grp TEXT NOT NULL,
    merchant TEXT NOT NULL,
    rank INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    first_due INTEGER NOT NULL,
    first_flow BLOB NOT NULL,
    parked_until INTEGER,
    ready_at INTEGER NOT NULL AS (max(first_due, ifnull(parked_until, first_due))) STORED,
    pass INTEGER,
    weight INTEGER NOT NULL,
    limit_milli INTEGER,
    PRIMARY KEY (grp, merchant, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX queues_awake ON queues (grp, rank, pass, merchant) WHERE pass IS NOT NULL;
CREATE INDEX queues_asleep ON queues (grp, rank, ready_at, merchant) WHERE pass IS NULL;

INSERT INTO queues (grp, merchant, rank, waiting, first_due, first_flow, weight)
SELECT substr(d.lane, 1, length(d.lane) - length(f.merchant) - 3), f.merchant,
       CAST(substr(d.lane, length(d.lane) - length(f.merchant) - 1, 1) AS INTEGER), count(*), min(d.due_at), X'00', 100
FROM due d JOIN flows f ON f.id = d.flow WHERE d.lane >= 'submit:' AND d.lane < 'submit;' GROUP BY d.lane;
UPDATE queues SET first_flow = (SELECT min(d.flow) FROM due d
    WHERE d.lane = queues.grp || ':' || queues.rank || ':' || queues.merchant AND d.due_at = queues.first_due);

-- What dispatch did, a few seconds a row.
CREATE TABLE dispatch_audit_log (
    cycle_at INTEGER NOT NULL,
    item_type TEXT NOT NULL,
    channel TEXT NOT NULL,
    since INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    dispatched INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    rate_milli INTEGER,
    reason TEXT NOT NULL,
    PRIMARY KEY (cycle_at, item_type, channel)
) STRICT, WITHOUT ROWID;

-- The names of the dispatcher's tables for people. Times are in UTC. The context has no account or telephone number.
CREATE VIEW exec_rate_config AS
SELECT substr(id, 1, instr(id, '.') - 1) AS item_type, substr(id, instr(id, '.') + 1) AS channel,
       coalesce(json_extract(content, '$.enabled'), 1) AS enabled,
       json_extract(content, '$.rate_per_s') AS rate_per_s,
       json_extract(content, '$.contract_per_s') AS contract_per_s,
       json_extract(content, '$.burst') AS burst,
       json_extract(content, '$.batch_size') AS batch_size,
       json_extract(content, '$.max_concurrency') AS max_concurrency,
       json_extract(content, '$.jitter_ms') AS jitter_ms,
       json_extract(content, '$.windows') AS windows, version
FROM registry WHERE kind = 'dispatch_config';

CREATE VIEW payment_exec_queue AS
SELECT f.kind AS item_type, f.id AS item_id, f.merchant,
       CASE substr(d.lane, length(d.lane) - length(f.merchant) - 1, 1) || substr(d.lane, 1, 7)
           WHEN '0submit:' THEN 'urgent' WHEN '1submit:' THEN 'interactive' WHEN '2submit:' THEN 'scheduled'
           WHEN '3submit:' THEN 'bulk' END AS lane,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at / 1000000.0, 'unixepoch') AS scheduled_exec_time,
       CASE WHEN substr(d.lane, 1, 7) = 'submit:' THEN 'READY' WHEN d.lane IS NULL THEN 'DONE' ELSE 'DISPATCHED' END AS queue_status,
       f.status AS payment_status, f.version AS claim_epoch,
       strftime('%Y-%m-%dT%H:%M:%fZ', f.updated_at / 1000000.0, 'unixepoch') AS updated_at
FROM flows f LEFT JOIN due d ON d.flow = f.id WHERE f.kind = 'payout';

CREATE VIEW payment_exec_context AS
SELECT kind AS item_type, id AS item_id,
       json_remove(json_extract(state, '$.flow.terms'), '$.beneficiary.account', '$.beneficiary.msisdn') AS context_json
FROM flows WHERE kind = 'payout';

-- A process of an earlier version knows no queues, and cannot commit any more.
ALTER TABLE head RENAME COLUMN last_hash TO end_hash;
