-- Keys compare byte by byte, as in every other store: faster than in any language, and in the same order everywhere.

ALTER TABLE accounts
    ALTER COLUMN address TYPE TEXT COLLATE "C",
    ALTER COLUMN currency TYPE TEXT COLLATE "C";
ALTER TABLE transactions
    ALTER COLUMN event TYPE TEXT COLLATE "C",
    ALTER COLUMN reference TYPE TEXT COLLATE "C";
ALTER TABLE postings
    ALTER COLUMN source TYPE TEXT COLLATE "C",
    ALTER COLUMN destination TYPE TEXT COLLATE "C";
ALTER TABLE holds ALTER COLUMN reference TYPE TEXT COLLATE "C";
ALTER TABLE due ALTER COLUMN lane TYPE TEXT COLLATE "C";
ALTER TABLE attempts
    ALTER COLUMN channel TYPE TEXT COLLATE "C",
    ALTER COLUMN reference TYPE TEXT COLLATE "C";
ALTER TABLE events ALTER COLUMN resource TYPE TEXT COLLATE "C";
ALTER TABLE freezes ALTER COLUMN scope TYPE TEXT COLLATE "C";

-- Every row of these changes soon after it came. With room beside it, the new version stays on its page and no index has
-- to learn where it went.
ALTER TABLE accounts SET (fillfactor = 50);
ALTER TABLE flows SET (fillfactor = 50);
ALTER TABLE holds SET (fillfactor = 50);
