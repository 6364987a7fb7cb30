-- Scheduled payouts wait where they are sent from, and payouts that are being sent wait for the end of their lease in lanes of
-- their own, by channel.

UPDATE due SET lane = 'submit:' || substr(lane, length('schedule:') + 1)
WHERE lane >= 'schedule:' AND lane < 'schedule;';

-- Not those that wait for a question after a restore.
UPDATE due SET lane = 'lease:' || json_extract(f.state, '$.flow.terms.channel')
FROM flows f
WHERE f.id = due.flow AND due.lane = 'payout' AND f.kind = 'payout' AND f.status = 'SUBMITTING'
    AND CASE WHEN json_valid(f.state) THEN json_extract(f.state, '$.flow.terms.channel') IS NOT NULL
        AND json_extract(f.state, '$.flow.recheck.stage.asking') IS NULL
        AND json_extract(f.state, '$.flow.recheck.stage.unproven') IS NULL ELSE 0 END;

-- The same name as in PostgreSQL.
ALTER TABLE head RENAME COLUMN chain_hash TO last_hash;
