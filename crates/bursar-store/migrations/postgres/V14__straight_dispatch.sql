-- Scheduled payouts wait where they are sent from, and payouts that are being sent wait for the end of their lease in lanes of
-- their own, by channel.

UPDATE due SET lane = 'submit:' || substr(lane, length('schedule:') + 1)
WHERE lane >= 'schedule:' AND lane < 'schedule;';
UPDATE due SET lane = 'lease:' || (f.state::json #>> '{flow,terms,channel}')
FROM flows f WHERE f.id = due.flow AND due.lane = 'payout' AND f.kind = 'payout' AND f.status = 'SUBMITTING'
    AND f.state::json #> '{flow,recheck}' IS NULL;

-- A process of an earlier version would put payouts into the lanes of before, and cannot commit any more.
ALTER TABLE head RENAME COLUMN chain_hash TO last_hash;
