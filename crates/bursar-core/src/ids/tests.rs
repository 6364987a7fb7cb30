//! Ids depend on their inputs only, sort by time and read back.

use jiff::Timestamp;

use super::{BooksId, Seed, TransactionId, first_reference, next_reference};

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap()
}

#[test]
fn the_same_time_and_seed_give_the_same_id() {
    let id = |milliseconds, seed: u64, number| {
        TransactionId::new(at(milliseconds), &seed.into(), number)
    };
    assert_eq!(id(1, 2, 3), id(1, 2, 3));
    assert_ne!(id(1, 2, 3), id(1, 2, 4));
    assert_ne!(id(1, 2, 3), id(1, 3, 3));
    assert!(id(1, 9, 9) < id(2, 0, 0));
}

#[test]
fn an_id_reads_back_as_it_was_written() {
    let id = TransactionId::new(at(1_794_000_000_000), &Seed::from(7), 0);
    assert_eq!(id.to_string(), "tx_01a1b2bb94007ddc86baf1840e1e3d6d");
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(id.uuid().get_version_num(), 7);
}

#[test]
fn other_texts_are_not_ids() {
    let text = TransactionId::new(at(0), &Seed::from(7), 0).to_string();
    for wrong in
        ["", "tx_", "po_00000000000070008000000000000000", &text[1..], &text.to_uppercase()]
    {
        assert!(wrong.parse::<TransactionId>().is_err(), "{wrong}");
    }
    insta::assert_snapshot!("nonsense".parse::<TransactionId>().unwrap_err());
}

/// The texts are fixed: a later version that computed others would send again what this one has sent.
#[test]
fn references_follow_from_the_request() {
    let books = |number| BooksId::new(at(1_794_000_000_000), &Seed::from(number), 0);
    let first = first_reference(books(1), "m1", &[7; 16]);
    insta::assert_snapshot!(format!(
        "{first}\n{}\n{}",
        next_reference(&first, 2),
        next_reference(&first, 3)
    ));
    assert_eq!(first, first_reference(books(1), "m1", &[7; 16]));
    for other in [
        first_reference(books(2), "m1", &[7; 16]),
        first_reference(books(1), "m2", &[7; 16]),
        first_reference(books(1), "m1", &[8; 16]),
        next_reference(&first, 2),
    ] {
        assert_ne!(first, other);
        assert_eq!(uuid::Uuid::parse_str(&other).unwrap().get_version_num(), 8);
    }
}
