//! A claim in PostgreSQL reads by index, however many queues and flows wait.

use bursar_store::Postgres;
use tokio_postgres::{Client, NoTls};

use super::{claim, desk_of, pay};
use crate::cluster::Cluster;
use crate::workload::{block_on, rules};

/// Queues of other merchants in the same group: half of them asleep, half awake in a lower rank. Due rows of other
/// lanes.
const MANY: &str = "
    INSERT INTO queues (grp, merchant, rank, waiting, first_due, first_flow, pass, weight)
    SELECT 'submit:payout:wallet', 'x' || n, CASE WHEN n % 2 = 0 THEN 3 ELSE 1 END, 1, 4000000000000000,
           gen_random_uuid(),
           CASE WHEN n % 2 = 0 THEN n END, 100 FROM generate_series(1, 20000) AS n;
    INSERT INTO due (lane, due_at, flow)
    SELECT 'submit:payout:wallet:1:x' || n % 20000, 4000000000000000, gen_random_uuid() FROM generate_series(1, 100000) AS n;
    ANALYZE queues; ANALYZE due;";

/// How often each index was used, and each table was read as a whole.
async fn scans(client: &Client) -> Vec<(String, i64)> {
    let sql = "SELECT indexrelname::text, idx_scan FROM pg_stat_user_indexes
                   WHERE indexrelname IN ('queues_awake', 'queues_asleep', 'due_pkey')
               UNION ALL
               SELECT relname::text, seq_scan FROM pg_stat_user_tables WHERE relname IN ('due', 'queues')
               ORDER BY 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[test]
fn a_claim_reads_by_index() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        let store = Postgres::open(&cluster.url()).await.unwrap();
        let mut desk = desk_of(&rules, store, &["m1", "m2"]).await;
        pay(&mut desk, "m1", 0..9).await;
        pay(&mut desk, "m2", 0..9).await;
        drop(desk);
        let (client, connection) = tokio_postgres::connect(&cluster.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(MANY).await.unwrap();
        client.batch_execute("SELECT pg_stat_force_next_flush()").await.unwrap();
        let before = scans(&client).await;
        let mut desk =
            crate::desk::Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 1);
        desk.now += jiff::SignedDuration::from_mins(10);
        for _ in 0..3 {
            assert_eq!(claim(&mut desk, 4, 0).await.len(), 4);
        }
        // A connection that ends reports what it has counted.
        drop(desk);
        let is_reported = async || {
            let more = scans(&client).await;
            let more =
                more.iter().zip(&before).map(|((name, now), (_, then))| (name.clone(), now - then));
            let more: Vec<(String, i64)> = more.collect();
            (more[1].1 > 0).then_some(more)
        };
        let mut more = None;
        for _ in 0..100 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            more = is_reported().await;
            if more.is_some() {
                break;
            }
        }
        let more = more.unwrap();
        let names: Vec<&str> = more.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["due", "due_pkey", "queues", "queues_asleep", "queues_awake"]);
        let counts: Vec<i64> = more.iter().map(|(_, count)| *count).collect();
        assert_eq!((counts[0], counts[2]), (0, 0), "{more:?}");
        assert!(counts[1] > 0 && counts[3] > 0 && counts[4] > 0, "{more:?}");
    });
}
