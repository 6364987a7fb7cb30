//! Weights. No request sets them yet, so the record of the merchant is changed in the file.

use bursar_core::dispatch::Rank;
use bursar_store::Sqlite;

use super::{claim, desk_of, merchants, pay, queue};
use crate::desk::Desk;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

#[test]
fn the_weight_of_the_record_is_the_share() {
    let (rules, scratch) = (rules(), Scratch::new());
    block_on(async {
        let store = Sqlite::open(scratch.path()).unwrap();
        drop(desk_of(&rules, store, &["m1", "m2"]).await);
    });
    let file = rusqlite::Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
    let sql =
        "UPDATE registry SET content = json_set(content, '$.dispatch', json('{\"weight\":300}'))
               WHERE kind = 'merchant' AND id = 'm2'";
    assert_eq!(file.execute(sql, []).unwrap(), 1);
    drop(file);
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 1);
        pay(&mut desk, "m1", 0..20).await;
        pay(&mut desk, "m2", 0..20).await;
        assert_eq!(queue(&mut desk, "m1", Rank::Interactive).await.unwrap().weight, 100);
        assert_eq!(queue(&mut desk, "m2", Rank::Interactive).await.unwrap().weight, 300);
        for limit in [8, 12] {
            let sent = claim(&mut desk, limit, 0).await;
            let sent = merchants(&mut desk, &sent).await;
            let of_first = u32::try_from(sent.matches("m1").count()).unwrap();
            assert_eq!(of_first * 4, limit, "{sent}");
        }
        desk.assert_sound().await;
    });
}
