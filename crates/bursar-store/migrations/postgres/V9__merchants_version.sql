-- How often any merchant was made or changed. Whoever finds it as it was need not look at each merchant again.

ALTER TABLE head ADD COLUMN merchants_version BIGINT NOT NULL DEFAULT 0;

-- Whoever does not count must not commit: a process of an earlier version does not find this column, and cannot.
ALTER TABLE head RENAME COLUMN control_version TO switches_version;
