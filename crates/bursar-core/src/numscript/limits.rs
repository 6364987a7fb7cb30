//! The resource limits of a script. A hostile program is rejected; it cannot exhaust the stack, the memory or the time.

/// Longest program text.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of sources, destinations, parentheses and calls.
pub const DEPTH_MAX: usize = 100;
/// Longest number, in a program, a variable or a balance.
pub const DIGITS_MAX: usize = 1_000;
/// Longest account address.
pub const ADDRESS_BYTES_MAX: usize = 1_024;
/// Longest string in a variable or in metadata.
pub const STRING_BYTES_MAX: usize = 1 << 16;
/// All metadata that one run may set.
pub const METADATA_BYTES_MAX: usize = 1 << 20;
/// Nodes that one run may visit: larger than any program of the longest text needs.
pub const STEPS_MAX: u32 = 2_000_000;
/// Largest numerator or denominator of a share in an allotment.
pub const SHARE_BITS_MAX: u64 = 4_096;
/// Largest common denominator of an allotment.
pub const COMMON_DENOMINATOR_BITS_MAX: u64 = 1 << 16;
/// Largest amount that scaling makes: each conversion could otherwise add a thousand digits to the one before.
pub const SCALED_BITS_MAX: u64 = 1 << 14;
/// Largest distance between two scales that scaling converts between.
pub const SCALE_DISTANCE_MAX: u32 = 1_000;
