//! Postings packed into their transactions in PostgreSQL, and the account index.

use bursar_store::{Postgres, Query as _, StoreError, Walk as _};

use crate::cluster::Cluster;
use crate::workload::{block_on, rules, run, some_steps};

/// Runs a statement beside the store.
fn sql(cluster: &Cluster, url: &str, sql: &str) {
    cluster.run("psql", &["-d", url, "-v", "ON_ERROR_STOP=1", "-c", sql]);
}

/// Restores the tables of schema version 7, but for the digests of the chain: they are kept, and put back by `RELINK`.
const UNPACK: &str = "
    CREATE TABLE kept AS SELECT * FROM postings;
    DROP VIEW postings;
    DROP TABLE entries;
    ALTER TABLE transactions DROP COLUMN postings;
    CREATE TABLE postings (
        tx UUID NOT NULL,
        n BIGINT NOT NULL,
        source TEXT COLLATE \"C\" NOT NULL,
        destination TEXT COLLATE \"C\" NOT NULL,
        currency TEXT NOT NULL,
        amount BIGINT NOT NULL CHECK (amount > 0),
        PRIMARY KEY (tx, n)
    );
    CREATE INDEX postings_by_source ON postings (source, tx) WHERE source <> 'world';
    CREATE INDEX postings_by_destination ON postings (destination, tx) WHERE destination <> 'world';
    INSERT INTO postings SELECT * FROM kept;
    DROP TABLE kept;
    ALTER TABLE head DROP COLUMN merchants_version;
    ALTER TABLE head RENAME COLUMN switches_version TO control_version;
    ALTER TABLE head RENAME COLUMN end_hash TO hash;
    UPDATE due SET lane = 'submit:' || split_part(lane, ':', 3) WHERE lane LIKE 'submit:%';
    DROP VIEW exec_rate_config; DROP VIEW payment_exec_queue; DROP VIEW payment_exec_context; DROP TABLE dispatch_audit_log;
    DROP TABLE queues;
    DROP TABLE tallies, reviews, labels, closings, closed_accounts;
    DROP INDEX flows_by_kind, flows_by_merchant;
    ALTER TABLE flows DROP COLUMN parent;
    ALTER TABLE commits RENAME COLUMN digests TO kept;
    ALTER TABLE commits DROP COLUMN version, DROP COLUMN archived;
    ALTER TABLE accounts DROP COLUMN received;
    DROP TABLE books;
    DELETE FROM refinery_schema_history WHERE version > 7;";

const RELINK: &str = "UPDATE commits SET version = 2, digests = kept";

#[test]
fn opening_old_books_packs_their_postings() {
    let cluster = Cluster::start();
    let rules = rules();
    let url = cluster.new_database("old");
    // Old books have no cases of pay-ins.
    let steps = some_steps().into_iter().filter(|step| step.name() != "payin");
    let steps: Vec<_> = steps.collect();
    let before = run(&mut block_on(Postgres::open(&url)).unwrap(), &rules, &steps, &[3]);
    assert!(before.end.postings > 20, "{:?}", before.end);
    sql(&cluster, &url, UNPACK);
    let refused = block_on(Postgres::reader(&url)).unwrap_err().to_string();
    assert!(refused.contains("schema version 7"), "a report migrates nothing: {refused}");
    sql(&cluster, &url, "INSERT INTO postings VALUES (gen_random_uuid(), 0, 'a', 'b', 'PKR', 1)");
    let error = block_on(Postgres::open(&url)).unwrap_err().to_string();
    assert!(error.contains("postings without a transaction"), "{error}");
    sql(&cluster, &url, "DELETE FROM postings WHERE source = 'a'");
    let mut store = block_on(Postgres::open(&url)).unwrap();
    sql(&cluster, &url, RELINK);
    block_on(async {
        assert_eq!(store.history(0, 1_000).await.unwrap(), before.history);
        assert_eq!(store.accounts().await.unwrap(), before.accounts);
        assert_eq!(store.end().await.unwrap(), before.end);
        let report = store.verify(&rules.rulebook).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    });
}

/// No constraint of the database keeps the index consistent with the postings.
#[test]
fn entries_that_were_changed_are_found() {
    let changes = [
        "DELETE FROM entries WHERE account = (SELECT max(account) FROM entries)",
        "UPDATE entries SET account = account || 'x' WHERE account = (SELECT min(account) FROM entries)",
        "UPDATE entries SET places = places || 77 WHERE account = (SELECT min(account) FROM entries)",
        "INSERT INTO entries VALUES ('unknown', gen_random_uuid(), ARRAY[0])",
    ];
    let cluster = Cluster::start();
    let rules = rules();
    for (change, number) in changes.iter().zip(0..) {
        let name = format!("books{number}");
        let url = cluster.new_database(&name);
        let mut store = block_on(Postgres::open(&url)).unwrap();
        run(&mut store, &rules, &some_steps(), &[3]);
        sql(&cluster, &url, change);
        let found = block_on(store.verify(&rules.rulebook)).unwrap().differences;
        assert!(
            matches!(&found[..], [one] if one.contains("statements are wrong")),
            "{change}: {found:?}"
        );
    }
}

/// A changed posting breaks the hash chain and the balances.
#[test]
fn a_posting_that_was_changed_is_found() {
    let cluster = Cluster::start();
    let rules = rules();
    let url = cluster.new_database("books");
    let mut store = block_on(Postgres::open(&url)).unwrap();
    run(&mut store, &rules, &some_steps(), &[3]);
    let change =
        "UPDATE transactions SET postings = jsonb_set(postings::jsonb, '{0,3}', '99999999')::text
                  WHERE id = (SELECT min(id::text)::uuid FROM transactions)";
    sql(&cluster, &url, change);
    let found = block_on(store.verify(&rules.rulebook)).unwrap().differences;
    assert!(found.iter().any(|one| one.contains("do not have their digest")), "{found:?}");
    assert!(found.iter().any(|one| one.contains("its postings add up to")), "{found:?}");
}

/// The error is `Corrupt` and names the transaction: a retry would not help.
#[test]
fn postings_that_are_no_array_are_corrupt() {
    let cluster = Cluster::start();
    let rules = rules();
    let url = cluster.new_database("books");
    let mut store = block_on(Postgres::open(&url)).unwrap();
    run(&mut store, &rules, &some_steps(), &[3]);
    sql(&cluster, &url, "UPDATE transactions SET postings = left(postings, 9) WHERE n = 0");
    let error = block_on(store.verify(&rules.rulebook)).unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt(reason) if reason.contains("the postings of tx_")),
        "{error}"
    );
}
