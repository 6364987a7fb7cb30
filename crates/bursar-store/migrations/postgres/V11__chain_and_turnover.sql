-- The hash chain, version 2: the digests of the transactions, events and audit entries of a commit are stored with it, so
-- that each of these may be archived and the chain is still verified. Earlier commits keep the links of version 1.

-- In the order in which a turn takes them: a turn of a running process ends first, and no deadlock is possible.
LOCK TABLE head, accounts, commits IN ACCESS EXCLUSIVE MODE;

ALTER TABLE commits ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
-- 32 bytes each: transactions, events, audit entries. None in version 1.
ALTER TABLE commits ADD COLUMN digests BYTEA;
-- What is in an archive: 1 transactions, 2 events, 4 audit entries.
ALTER TABLE commits ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;

-- A process of an earlier version would go on with links of version 1. It does not find this column, and cannot commit.
ALTER TABLE head RENAME COLUMN hash TO link;

-- The sum of all postings to an account. What has left it follows from its balance: a trial balance needs no posting.
ALTER TABLE accounts ADD COLUMN received BIGINT NOT NULL DEFAULT 0;

-- As V10 for the other columns.
ALTER TABLE commits ALTER COLUMN version SET STATISTICS 10, ALTER COLUMN digests SET STATISTICS 10,
    ALTER COLUMN archived SET STATISTICS 10;
ALTER TABLE accounts ALTER COLUMN received SET STATISTICS 10;

SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
UPDATE accounts a SET received = least(p.received, 9223372036854775807)
FROM (SELECT destination, currency, sum(amount) AS received FROM postings
      WHERE destination <> 'world' GROUP BY destination, currency) p
WHERE p.destination = a.address AND p.currency = a.currency;
