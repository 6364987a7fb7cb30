-- Which transactions moved an account, in the order of the chain: a statement is read by it. Transactions are filed in
-- slices, sorted, so that the page of an account is written once for many of them; those behind the place where `filed`
-- stands are looked through instead.

CREATE TABLE entries (
    account TEXT NOT NULL,
    seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (account, seq, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE filed (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO filed (one, seq) VALUES (1, 0);

DROP INDEX postings_by_source;
DROP INDEX postings_by_destination;
