//! Ids depend on their inputs only, sort by time and read back.

use jiff::Timestamp;

use super::{BooksId, FirstReferences, KeyRange, Seed, TransactionId, next_reference};

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
    let first = references(1).of_key(&[7; 16]);
    insta::assert_snapshot!(format!(
        "{first}\n{}\n{}",
        next_reference(&first, 2),
        next_reference(&first, 3)
    ));
    assert_eq!(first, references(1).of_key(&[7; 16]));
    for other in [
        references(2).of_key(&[7; 16]),
        references(1).of_key(&[8; 16]),
        next_reference(&first, 2),
        next_reference(&first, 3),
    ] {
        assert_ne!(first, other);
        let uuid = uuid::Uuid::parse_str(&other).unwrap();
        assert_eq!((uuid.get_version_num(), uuid.get_variant()), (8, uuid::Variant::RFC4122));
    }
}

/// Every bit of a key but the last six is in its reference, and found from it.
#[test]
fn a_first_reference_leads_back_to_its_key() {
    let key = u128::from_be_bytes([0xa5; 16]);
    let known = references(1).keys(&references(1).of_key(&key.to_be_bytes())).unwrap();
    assert!(known.first() <= key.to_be_bytes() && key.to_be_bytes() <= known.last());
    let size = u128::from_be_bytes(known.last()) - u128::from_be_bytes(known.first()) + 1;
    assert_eq!(size, u128::from(KeyRange::SIZE));
    for bit in 0..128 {
        let other = (key ^ (1 << bit)).to_be_bytes();
        let found = references(1).keys(&references(1).of_key(&other)).unwrap();
        assert!(found.contains(&other));
        assert_eq!((found == known, known.contains(&other)), (bit < 6, bit < 6), "bit {bit}");
    }
}

#[test]
fn other_texts_lead_to_no_key() {
    let reference = references(1).of_key(&[0xa5; 16]);
    assert!(references(1).keys(&reference).is_some());
    let mut version_7 = reference.clone();
    version_7.replace_range(14..15, "7");
    let mut variant = reference.clone();
    variant.replace_range(19..20, "c");
    let simple = reference.replace('-', "");
    for other in ["", "r1", &reference.to_uppercase(), &simple, &version_7, &variant] {
        assert_eq!(references(1).keys(other), None, "{other}");
    }
}

fn references(books: u64) -> FirstReferences {
    FirstReferences::of(BooksId::new(at(1_794_000_000_000), &Seed::from(books), 0))
}
