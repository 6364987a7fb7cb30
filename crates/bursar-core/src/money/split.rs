//! Splits of an amount that neither lose nor create a unit.

use super::{Money, MoneyError};

impl Money {
    /// Splits by weight. Each part is rounded towards zero; the units left over go to the parts with the largest
    /// remainders, the earlier part first where they are equal. The parts add up to the whole.
    pub fn split(self, weights: &[u32]) -> Result<Vec<Self>, MoneyError> {
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        if total == 0 {
            return Err(MoneyError::NoWeights);
        }
        let total = i128::from(total);
        let sign = if self.minor < 0 { -1 } else { 1 };
        let whole = i128::from(self.minor).saturating_mul(sign);
        let mut left = whole;
        let mut parts: Vec<(i128, i128)> = Vec::with_capacity(weights.len());
        for weight in weights {
            let product = whole.saturating_mul(i128::from(*weight));
            let part = product.checked_div(total).unwrap_or_default();
            let remainder = product.checked_rem(total).unwrap_or_default();
            left = left.saturating_sub(part);
            parts.push((part, remainder));
        }
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|index| {
            std::cmp::Reverse(parts.get(*index).map(|(_, remainder)| *remainder))
        });
        for index in order {
            if left == 0 {
                break;
            }
            if let Some((part, _)) = parts.get_mut(index) {
                *part = part.saturating_add(1);
                left = left.saturating_sub(1);
            }
        }
        parts
            .into_iter()
            .map(|(part, _)| {
                let minor =
                    i64::try_from(part.saturating_mul(sign)).map_err(|_| MoneyError::Overflow)?;
                Ok(Self { minor, ..self })
            })
            .collect()
    }
}
