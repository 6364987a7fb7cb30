//! What a hostile channel, a restored backup or a machine without resources must not be able to do. Each test is named by
//! what it tries.

mod files;
mod large_amounts;
mod own_faults;
mod reported_amounts;
mod reported_payins;
