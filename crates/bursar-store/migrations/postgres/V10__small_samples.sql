-- What autovacuum looks at when it analyses a table: a tenth of the usual sample. The texts are long, and to look at so many
-- cost the server more than vacuuming did; turns are planned for any values, and reports look into indexes.
DO $$
DECLARE
    found RECORD;
BEGIN
    FOR found IN
        SELECT attrelid::regclass AS relation, attname AS name FROM pg_attribute
        WHERE attnum > 0 AND NOT attisdropped
          AND attrelid = ANY ('{accounts,attempts,audit,commits,due,entries,events,flows,holds,keys,registry,transactions}'::regclass[])
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 10', found.relation, found.name);
    END LOOP;
END $$;
