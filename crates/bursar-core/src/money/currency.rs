//! ISO 4217 currencies with their number of decimals.

use std::fmt;
use std::str::FromStr;

/// A currency that has minor units, by its three-letter code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    code: [u8; 3],
    decimals: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a currency: use a three-letter ISO 4217 code such as PKR")]
pub struct CurrencyError {
    text: String,
}

impl Currency {
    pub fn code(&self) -> &str {
        // Only ASCII codes are ever stored.
        std::str::from_utf8(&self.code).unwrap_or_default()
    }

    /// Number of digits behind the decimal point: 2 for PKR, 3 for IQD, 0 for JPY.
    pub const fn decimals(self) -> u8 {
        self.decimals
    }

    /// The name of the currency's minor unit in the ledger and in Numscript, such as `PKR/2`.
    pub fn asset(self) -> String {
        format!("{}/{}", self.code(), self.decimals)
    }

    /// Reads `PKR/2`. A scale other than the currency's own is a different asset, which Bursar does not use.
    pub fn from_asset(asset: &str) -> Option<Self> {
        let (code, decimals) = asset.split_once('/')?;
        let currency: Self = code.parse().ok()?;
        (decimals.parse() == Ok(currency.decimals)).then_some(currency)
    }
}

impl FromStr for Currency {
    type Err = CurrencyError;

    fn from_str(text: &str) -> Result<Self, CurrencyError> {
        let error = || CurrencyError { text: text.to_owned() };
        let code: [u8; 3] = text.as_bytes().try_into().map_err(|_| error())?;
        // Metals and accounting units have no minor unit and cannot be paid out.
        let exponent =
            iso_currency::Currency::from_code(text).and_then(iso_currency::Currency::exponent);
        let decimals =
            exponent.and_then(|exponent| u8::try_from(exponent).ok()).ok_or_else(error)?;
        Ok(Self { code, decimals })
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
