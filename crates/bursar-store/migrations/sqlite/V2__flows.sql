-- Flows: state machines that wait for one thing each, what was answered about them, and what was told and done.

CREATE TABLE flows (
    id BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    merchant TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The one thing that each live flow waits for: small, whatever the history.
CREATE TABLE due (
    lane TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (lane, due_at, flow)
) STRICT, WITHOUT ROWID;

-- Appended in order; only the short digest is kept in an order of its own.
CREATE TABLE keys (
    digest BLOB NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    flow BLOB NOT NULL,
    reply TEXT NOT NULL
) STRICT;

-- Which flow a channel speaks about when it names a reference.
CREATE TABLE attempts (
    channel TEXT NOT NULL,
    reference TEXT NOT NULL,
    flow BLOB NOT NULL,
    PRIMARY KEY (channel, reference)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    commit_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    resource TEXT NOT NULL,
    merchant TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    time INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (commit_id, n),
    UNIQUE (resource, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    commit_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    note TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (commit_id, n)
) STRICT, WITHOUT ROWID;
