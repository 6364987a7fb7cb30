-- The ledger. Times are microseconds since 1970, ids are the 16 bytes of a UUID, amounts are minor units.

-- Every line of a chart that an account was ever opened under.
CREATE TABLE chart_lines (
    line INTEGER PRIMARY KEY,
    gl INTEGER NOT NULL,
    name TEXT NOT NULL,
    class TEXT NOT NULL,
    address TEXT NOT NULL,
    liquidity TEXT NOT NULL,
    view TEXT NOT NULL,
    UNIQUE (gl, name, class, address, liquidity, view)
) STRICT;

CREATE TABLE accounts (
    address TEXT NOT NULL,
    currency TEXT NOT NULL,
    balance INTEGER NOT NULL,
    version INTEGER NOT NULL,
    line INTEGER NOT NULL REFERENCES chart_lines (line),
    PRIMARY KEY (address, currency)
) STRICT, WITHOUT ROWID;

CREATE TABLE commits (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- One row: the end of the chain.
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    time INTEGER,
    hash BLOB NOT NULL
) STRICT;

INSERT INTO head (one, seq, time, hash) VALUES (1, 0, NULL, zeroblob(32));

-- A row names its commit by id: the number of a commit is known only when it is the last of the chain.
CREATE TABLE transactions (
    id BLOB PRIMARY KEY,
    commit_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    event TEXT NOT NULL,
    reference TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    rulebook_hash BLOB NOT NULL,
    effective_at INTEGER NOT NULL,
    reverts BLOB,
    UNIQUE (event, reference),
    UNIQUE (commit_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE postings (
    tx BLOB NOT NULL,
    n INTEGER NOT NULL,
    source TEXT NOT NULL,
    destination TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tx, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE holds (
    gl INTEGER NOT NULL,
    reference TEXT NOT NULL,
    account TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    ended_by BLOB,
    PRIMARY KEY (gl, reference)
) STRICT, WITHOUT ROWID;
