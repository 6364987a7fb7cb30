-- Scheduled payouts wait where they are sent from, and payouts that are being sent wait for the end of their lease in lanes of
-- their own, by channel.

UPDATE due SET lane = 'submit:' || substr(lane, length('schedule:') + 1)
WHERE lane >= 'schedule:' AND lane < 'schedule;';

-- A state that cannot be decoded must not stop the migration.
CREATE FUNCTION pg_temp.flow_of(state TEXT) RETURNS JSON LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN state::json -> 'flow';
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- Not those that wait for a question after a restore.
UPDATE due SET lane = 'lease:' || (f.flow #>> '{terms,channel}')
FROM (SELECT id, pg_temp.flow_of(state) AS flow FROM flows WHERE kind = 'payout' AND status = 'SUBMITTING' OFFSET 0) f
WHERE f.id = due.flow AND due.lane = 'payout' AND f.flow #>> '{terms,channel}' IS NOT NULL
    AND f.flow #> '{recheck,stage,asking}' IS NULL AND f.flow #> '{recheck,stage,unproven}' IS NULL;

-- A process of an earlier version would put payouts into the lanes of before, and cannot commit any more.
ALTER TABLE head RENAME COLUMN chain_hash TO last_hash;
