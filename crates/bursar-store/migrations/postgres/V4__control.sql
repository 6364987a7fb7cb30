-- The switches that people throw. Whoever sends anything relies on their version.

CREATE TABLE freezes (
    scope TEXT PRIMARY KEY,
    details TEXT NOT NULL
);

ALTER TABLE head ADD COLUMN control_version BIGINT NOT NULL DEFAULT 0;
