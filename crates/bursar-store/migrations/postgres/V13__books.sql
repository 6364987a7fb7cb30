-- The books themselves: an id that every copy of them shares, and their last restore.
CREATE TABLE books (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id UUID NOT NULL,
    made_at BIGINT NOT NULL,
    -- `real` or `test`, from the first start on.
    clock TEXT,
    -- The server that wrote them last: its system identifier and the timeline of its write-ahead log.
    server TEXT,
    restore TEXT
);
-- Books from before: two migrations of one backup must agree on the id.
INSERT INTO books (one, id, made_at)
SELECT 1, encode(substring(hash FROM 1 FOR 16), 'hex')::uuid, time FROM commits WHERE seq = 1;
