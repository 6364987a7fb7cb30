-- How often any merchant was made or changed. Whoever finds it as it was need not look at each merchant again.

ALTER TABLE head ADD COLUMN merchants_version BIGINT NOT NULL DEFAULT 0;
