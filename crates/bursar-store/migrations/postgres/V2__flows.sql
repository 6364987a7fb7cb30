-- Flows: state machines that wait for one thing each, what was answered about them, and what was told and done.

CREATE TABLE flows (
    id UUID PRIMARY KEY,
    kind TEXT NOT NULL,
    merchant TEXT NOT NULL,
    status TEXT NOT NULL,
    version BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- The one thing that each live flow waits for: small, whatever the history.
CREATE TABLE due (
    lane TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    flow UUID NOT NULL,
    PRIMARY KEY (lane, due_at, flow)
);

-- A short digest is what the index holds.
CREATE TABLE keys (
    digest BYTEA NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash BYTEA NOT NULL,
    flow UUID NOT NULL,
    reply TEXT NOT NULL
);

-- Which flow a channel speaks about when it names a reference.
CREATE TABLE attempts (
    channel TEXT NOT NULL,
    reference TEXT NOT NULL,
    flow UUID NOT NULL,
    PRIMARY KEY (channel, reference)
);

CREATE TABLE events (
    commit_id UUID NOT NULL,
    n BIGINT NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    resource TEXT NOT NULL,
    merchant TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    time BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (commit_id, n),
    UNIQUE (resource, sequence)
);

CREATE TABLE audit (
    commit_id UUID NOT NULL,
    n BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    note TEXT NOT NULL,
    time BIGINT NOT NULL,
    PRIMARY KEY (commit_id, n)
);
