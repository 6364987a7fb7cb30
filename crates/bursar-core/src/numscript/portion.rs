//! Exact shares, and the division of an amount among them.

use std::fmt;

use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{One as _, Signed as _, Zero as _};

use super::amount::Amount;
use super::{Mode, limits};

/// A rational number in lowest terms with a positive denominator.
#[derive(Clone, PartialEq, Eq)]
pub struct Portion {
    numerator: BigInt,
    denominator: BigInt,
}

/// Why a text is not a portion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PortionError {
    #[error("it is neither a percentage like `12.5%` nor a fraction like `1/8`")]
    Format,
    #[error("it is not between 0 and 1")]
    OutOfRange,
}

/// One line of an allotment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Share {
    Portion(Portion),
    Remaining,
}

/// Why an amount cannot be divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AllotError {
    /// The shares do not add up to the whole.
    Sum(Portion),
    /// The common denominator is beyond the limit.
    TooFine,
}

impl Portion {
    /// `None` if the denominator is zero.
    pub fn new(numerator: BigInt, denominator: BigInt) -> Option<Self> {
        if denominator.is_zero() {
            return None;
        }
        let divisor = numerator.gcd(&denominator);
        let sign = denominator.signum();
        Some(Self {
            numerator: numerator / &divisor * &sign,
            denominator: denominator / divisor * sign,
        })
    }

    /// `digits` as a percentage with `decimals` of them behind the point.
    pub fn from_percentage(digits: &Amount, decimals: u32) -> Option<Self> {
        let exponent = decimals.checked_add(2)?;
        Self::new(digits.to_big(), BigInt::from(10).pow(exponent))
    }

    /// A portion given as text in a variable: `12.5%` or `1/8`, between 0 and 1.
    pub fn parse(text: &str) -> Result<Self, PortionError> {
        let portion = match text.strip_suffix('%') {
            Some(percentage) => Self::parse_percentage(percentage),
            None => Self::parse_fraction(text),
        };
        let portion = portion.ok_or(PortionError::Format)?;
        if portion.numerator > portion.denominator {
            return Err(PortionError::OutOfRange);
        }
        Ok(portion)
    }

    /// The text of a percentage without its sign, as it stands in a program or a variable.
    pub(super) fn parse_percentage(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let point_without_decimals = text.contains('.') && decimals.is_empty();
        if point_without_decimals || whole.is_empty() || !is_digits(decimals) || !is_digits(whole) {
            return None;
        }
        let digits = format!("{whole}{decimals}").parse().ok()?;
        Self::from_percentage(&digits, u32::try_from(decimals.len()).ok()?)
    }

    /// At most one blank stands on each side of the stroke.
    fn parse_fraction(text: &str) -> Option<Self> {
        let (numerator, denominator) = text.split_once('/')?;
        let numerator = numerator.strip_suffix(is_blank).unwrap_or(numerator);
        let denominator = denominator.strip_prefix(is_blank).unwrap_or(denominator);
        if !is_digits(numerator) || !is_digits(denominator) {
            return None;
        }
        Self::new(
            numerator.parse::<Amount>().ok()?.to_big(),
            denominator.parse::<Amount>().ok()?.to_big(),
        )
    }

    /// Size for the resource limits.
    pub(super) fn bits(&self) -> u64 {
        self.numerator.bits().max(self.denominator.bits())
    }

    fn is_within_limits(&self) -> bool {
        self.bits() <= limits::SHARE_BITS_MAX
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl fmt::Debug for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Divides `total`: each part is its share rounded down, and the units left over go one each to the first parts.
///
/// The parts always add up to `total`.
pub(super) fn allot(
    total: &Amount,
    shares: &[Share],
    mode: Mode,
) -> Result<Vec<Amount>, AllotError> {
    let weights = weigh(shares, mode)?;
    let total_big = total.to_big();
    let mut parts = Vec::with_capacity(shares.len());
    let mut left = total_big.clone();
    for (weight, denominator) in &weights {
        let part = (&total_big * weight).div_floor(denominator);
        left -= &part;
        parts.push(part);
    }
    for (part, (weight, _)) in parts.iter_mut().zip(&weights) {
        if !left.is_positive() {
            break;
        }
        if mode == Mode::Safe && weight.is_zero() {
            continue;
        }
        *part += 1;
        left -= 1;
    }
    Ok(parts.into_iter().map(Amount::from_big).collect())
}

/// Each share as numerator and denominator, with `remaining` resolved.
fn weigh(shares: &[Share], mode: Mode) -> Result<Vec<(BigInt, BigInt)>, AllotError> {
    let common = common_denominator(shares)?;
    let mut sum = BigInt::zero();
    let mut remaining = 0_usize;
    let mut improper = false;
    for share in shares {
        match share {
            Share::Portion(portion) => {
                sum += &portion.numerator * (&common / &portion.denominator);
                improper |= portion.numerator.is_negative();
            }
            Share::Remaining => remaining = remaining.saturating_add(1),
        }
    }
    let fits = match mode {
        Mode::Safe if remaining > 0 => !improper && remaining == 1 && sum <= common,
        Mode::Safe => !improper && sum == common,
        Mode::Compat => remaining > 0 || sum == common,
    };
    if !fits {
        return Err(AllotError::Sum(reduced_or_rough(sum, common)));
    }
    let rest = (&common - sum, common);
    Ok(shares
        .iter()
        .map(|share| match share {
            Share::Portion(portion) => (portion.numerator.clone(), portion.denominator.clone()),
            Share::Remaining => {
                remaining = remaining.saturating_sub(1);
                // Only compat lets a second `remaining` through: the last one has it all.
                if remaining == 0 { rest.clone() } else { (BigInt::zero(), BigInt::one()) }
            }
        })
        .collect())
}

fn common_denominator(shares: &[Share]) -> Result<BigInt, AllotError> {
    let mut common = BigInt::one();
    for share in shares {
        let Share::Portion(portion) = share else { continue };
        if !portion.is_within_limits() {
            return Err(AllotError::TooFine);
        }
        // Reduced first: a common divisor with a long number is otherwise slow to find.
        let rest = &common % &portion.denominator;
        common *= &portion.denominator / rest.gcd(&portion.denominator);
        if common.bits() > limits::COMMON_DENOMINATOR_BITS_MAX {
            return Err(AllotError::TooFine);
        }
    }
    Ok(common)
}

/// The sum for a message. Reducing a fraction of many thousand bits is not worth its time.
fn reduced_or_rough(sum: BigInt, common: BigInt) -> Portion {
    if common.bits() <= limits::SHARE_BITS_MAX {
        let fallback = Portion { numerator: sum.clone(), denominator: BigInt::one() };
        Portion::new(sum, common).unwrap_or(fallback)
    } else {
        Portion { numerator: sum / common, denominator: BigInt::one() }
    }
}

const fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
