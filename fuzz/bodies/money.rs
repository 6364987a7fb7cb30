//! Amounts: what is read is written the same way, and no unit is lost or made when it is split.

use bursar_core::money::{Currency, Money};

/// Two decimals, none, three, four, and one that has no minor units at all.
const CODES: [&str; 5] = ["PKR", "JPY", "KWD", "CLF", "XAU"];

/// The first byte is the currency, the next eight are an amount; the rest is read as a decimal and as weights.
pub(crate) fn run(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(currency) = CODES[usize::from(*first) % CODES.len()].parse::<Currency>() else { return };
    if let Some((bytes, rest)) = rest.split_first_chunk() {
        examine(Money::from_minor(i64::from_le_bytes(*bytes), currency), rest);
    }
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match Money::parse(text, currency) {
        Ok(money) => examine(money, rest),
        Err(error) => {
            assert!(error.to_string().len() < 400, "an error is short, whatever was sent");
        }
    }
}

fn examine(money: Money, weights: &[u8]) {
    assert_eq!(
        Money::parse(&money.decimal(), money.currency()),
        Ok(money),
        "read as it is written"
    );
    if let Ok(negated) = money.checked_neg() {
        assert_eq!(negated.checked_add(money), Ok(Money::from_minor(0, money.currency())));
    }
    if let Ok(part) = money.basis_points(3_333) {
        assert!(part.minor().unsigned_abs() <= money.minor().unsigned_abs());
    }
    let chunks = weights.chunks_exact(4).take(64);
    let weights: Vec<u32> =
        chunks.map(|chunk| u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])).collect();
    if let Ok(parts) = money.split(&weights) {
        let sum: i128 = parts.iter().map(|part| i128::from(part.minor())).sum();
        assert_eq!(sum, i128::from(money.minor()), "{money} by {weights:?}");
        let is_within =
            |part: &Money| part.is_negative() == money.is_negative() || part.minor() == 0;
        assert!(parts.iter().all(is_within), "{money} by {weights:?}: {parts:?}");
    }
}
