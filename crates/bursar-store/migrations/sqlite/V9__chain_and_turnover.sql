-- The hash chain, version 2: the digests of the transactions, events and audit entries of a commit are stored with it, so
-- that each of these may be archived and the chain is still verified. Earlier commits keep the links of version 1.

ALTER TABLE commits ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
-- 32 bytes each: transactions, events, audit entries. None in version 1.
ALTER TABLE commits ADD COLUMN digests BLOB;
-- What is in an archive: 1 transactions, 2 events, 4 audit entries.
ALTER TABLE commits ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;

-- The same name as in PostgreSQL.
ALTER TABLE head RENAME COLUMN hash TO link;

-- The sum of all postings to an account. What has left it follows from its balance: a trial balance needs no posting.
ALTER TABLE accounts ADD COLUMN received INTEGER NOT NULL DEFAULT 0;

-- In two halves: a sum above the largest integer would be an error.
UPDATE accounts SET received = p.received
FROM (SELECT destination, currency,
             CASE WHEN high + (low >> 32) > 2147483647 THEN 9223372036854775807 ELSE (high << 32) + low END AS received
      FROM (SELECT destination, currency, sum(amount >> 32) AS high, sum(amount & 4294967295) AS low
            FROM postings WHERE destination <> 'world' GROUP BY destination, currency)) p
WHERE p.destination = accounts.address AND p.currency = accounts.currency;
