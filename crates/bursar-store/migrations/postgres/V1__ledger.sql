-- The ledger. Times are microseconds since 1970, amounts are minor units.

-- Every line of a chart that an account was ever opened under.
CREATE TABLE chart_lines (
    line BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    gl BIGINT NOT NULL,
    name TEXT NOT NULL,
    class TEXT NOT NULL,
    address TEXT NOT NULL,
    liquidity TEXT NOT NULL,
    view TEXT NOT NULL,
    UNIQUE (gl, name, class, address, liquidity, view)
);

CREATE TABLE accounts (
    address TEXT NOT NULL,
    currency TEXT NOT NULL,
    balance BIGINT NOT NULL,
    version BIGINT NOT NULL,
    line BIGINT NOT NULL REFERENCES chart_lines (line),
    PRIMARY KEY (address, currency)
);

CREATE TABLE commits (
    seq BIGINT PRIMARY KEY,
    id UUID NOT NULL UNIQUE,
    time BIGINT NOT NULL,
    hash BYTEA NOT NULL
);

-- One row: the end of the chain. Whoever saves takes it last, which gives all commits one order.
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq BIGINT NOT NULL,
    time BIGINT,
    hash BYTEA NOT NULL
);

INSERT INTO head (one, seq, time, hash) VALUES (1, 0, NULL, decode(repeat('00', 32), 'hex'));

-- A row names its commit by id: the number of a commit is known only when it is the last of the chain.
CREATE TABLE transactions (
    id UUID PRIMARY KEY,
    commit_id UUID NOT NULL,
    n BIGINT NOT NULL,
    event TEXT NOT NULL,
    reference TEXT NOT NULL,
    request_hash BYTEA NOT NULL,
    rulebook_hash BYTEA NOT NULL,
    effective_at BIGINT NOT NULL,
    reverts UUID,
    UNIQUE (event, reference),
    UNIQUE (commit_id, n)
);

CREATE TABLE postings (
    tx UUID NOT NULL,
    n BIGINT NOT NULL,
    source TEXT NOT NULL,
    destination TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tx, n)
);

CREATE TABLE holds (
    gl BIGINT NOT NULL,
    reference TEXT NOT NULL,
    account TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    ended_by UUID,
    PRIMARY KEY (gl, reference)
);
