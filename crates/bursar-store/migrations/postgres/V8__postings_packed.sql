-- A transaction has its postings with it, in order: a list of source, destination, currency and amount for each. They are
-- always wanted together, and a row and three entries of indexes for each cost more than anything else about it.

-- Everything is read: not one row after the other by its index. Nobody may be in the middle of a report.
SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;
LOCK TABLE transactions, postings IN ACCESS EXCLUSIVE MODE;

-- A posting without its transaction would be gone without a word.
DO $$
BEGIN
    IF EXISTS (SELECT FROM postings p LEFT JOIN transactions t ON t.id = p.tx WHERE t.id IS NULL) THEN
        RAISE EXCEPTION 'there are postings without a transaction: nothing was changed; run ''bursar ledger verify'' of the version before';
    END IF;
END $$;

ALTER TABLE transactions ADD COLUMN postings TEXT NOT NULL DEFAULT '[]';

UPDATE transactions t SET postings = p.postings
FROM (SELECT tx, json_agg(json_build_array(source, destination, currency, amount) ORDER BY n)::text AS postings
      FROM postings GROUP BY tx) p
WHERE p.tx = t.id;

ALTER TABLE transactions ALTER COLUMN postings DROP DEFAULT;

-- Which transactions of a commit moved an account: a statement is read by it.
CREATE TABLE entries (
    account TEXT COLLATE "C" NOT NULL,
    commit_id UUID NOT NULL,
    places INTEGER[] NOT NULL,
    PRIMARY KEY (account, commit_id)
);

INSERT INTO entries (account, commit_id, places)
SELECT p.account, t.commit_id, array_agg(DISTINCT t.n::integer)
FROM (SELECT source AS account, tx FROM postings UNION SELECT destination, tx FROM postings) p
JOIN transactions t ON t.id = p.tx
WHERE p.account <> 'world'
GROUP BY p.account, t.commit_id;

DROP TABLE postings;

-- For people who look: one row for each posting.
CREATE VIEW postings AS
SELECT t.id AS tx, p.place - 1 AS n, p.posting ->> 0 AS source, p.posting ->> 1 AS destination,
       p.posting ->> 2 AS currency, (p.posting ->> 3)::bigint AS amount
FROM transactions t CROSS JOIN LATERAL json_array_elements(t.postings::json) WITH ORDINALITY AS p (posting, place);

ANALYZE transactions, entries;
