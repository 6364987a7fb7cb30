-- The books themselves: an id that every copy of them shares, and their last restore.
CREATE TABLE books (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id BLOB NOT NULL CHECK (length(id) = 16),
    made_at INTEGER NOT NULL,
    -- `real` or `test`, from the first start on.
    clock TEXT,
    restore TEXT
) STRICT;
-- Books from before: two migrations of one backup must agree on the id.
INSERT INTO books (one, id, made_at) SELECT 1, substr(hash, 1, 16), time FROM commits WHERE seq = 1;
