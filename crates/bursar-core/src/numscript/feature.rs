//! The experimental features, each off until the caller or the program's header turns it on.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    OverdraftFunction,
    GetAssetFunction,
    GetAmountFunction,
    OneOf,
    AccountInterpolation,
    MidScriptFunctionCall,
    AssetColors,
    AssetScaling,
}

impl Feature {
    pub const ALL: [Self; 8] = [
        Self::OverdraftFunction,
        Self::GetAssetFunction,
        Self::GetAmountFunction,
        Self::OneOf,
        Self::AccountInterpolation,
        Self::MidScriptFunctionCall,
        Self::AssetColors,
        Self::AssetScaling,
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::OverdraftFunction => "experimental-overdraft-function",
            Self::GetAssetFunction => "experimental-get-asset-function",
            Self::GetAmountFunction => "experimental-get-amount-function",
            Self::OneOf => "experimental-oneof",
            Self::AccountInterpolation => "experimental-account-interpolation",
            Self::MidScriptFunctionCall => "experimental-mid-script-function-call",
            Self::AssetColors => "experimental-asset-colors",
            Self::AssetScaling => "experimental-asset-scaling",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::OverdraftFunction => 1,
            Self::GetAssetFunction => 1 << 1,
            Self::GetAmountFunction => 1 << 2,
            Self::OneOf => 1 << 3,
            Self::AccountInterpolation => 1 << 4,
            Self::MidScriptFunctionCall => 1 << 5,
            Self::AssetColors => 1 << 6,
            Self::AssetScaling => 1 << 7,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u8);

impl Features {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u8::MAX);

    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | feature.bit())
    }

    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        features.into_iter().fold(Self::NONE, Self::with)
    }
}
