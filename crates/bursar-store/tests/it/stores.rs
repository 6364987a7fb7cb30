//! Runs a suite on every store: `on_every_store!` makes one module per store, with one test per suite.

use bursar_core::ids::BooksId;
use bursar_store::Identity;
use jiff::Timestamp;

/// A suite is an `async fn` of the calling module that takes a store.
macro_rules! on_every_store {
    ($($suite:ident,)*) => {
        mod memory {
            use bursar_store::Memory;

            use crate::workload::block_on;

            $(#[test]
            fn $suite() {
                block_on(super::$suite(Memory::default()));
            })*
        }

        mod sqlite {
            use bursar_store::Sqlite;

            use crate::scratch::Scratch;
            use crate::stores::books;
            use crate::workload::block_on;

            $(#[test]
            fn $suite() {
                let scratch = Scratch::new();
                block_on(super::$suite(Sqlite::make(scratch.path(), &books()).unwrap()));
            })*
        }

        mod postgres {
            use bursar_store::Postgres;

            use crate::cluster::Cluster;
            use crate::stores::books;
            use crate::workload::block_on;

            $(#[test]
            fn $suite() {
                let cluster = Cluster::start();
                block_on(async {
                    let store = Postgres::make(&cluster.url(), &books()).await;
                    super::$suite(store.unwrap()).await;
                });
            })*
        }
    };
}

pub(crate) use on_every_store;

/// The identity of books in tests.
pub(crate) fn books() -> Identity {
    Identity { id: BooksId::NONE, made_at: Timestamp::UNIX_EPOCH, clock: None }
}
