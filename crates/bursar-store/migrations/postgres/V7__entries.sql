-- Which transactions moved an account: a statement is read by it. Transactions are filed in slices, each sorted by account
-- and appended as a whole: an order by account alone would have a page written for every account that moves, again and
-- again. What came behind the last slice is looked through instead.

-- Commits up to this one, and behind the slice before.
CREATE TABLE slices (
    seq BIGINT PRIMARY KEY
);

CREATE TABLE entries (
    slice BIGINT NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (slice, account, seq, n)
);

DROP INDEX postings_by_source;
DROP INDEX postings_by_destination;
