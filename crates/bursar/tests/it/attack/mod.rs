//! What a hostile channel, a restored backup or a machine without resources must not be able to do. Each test is named by
//! what it tries.

mod files;
mod large_amounts;
mod own_faults;
mod promoted_replica;
mod provider;
mod reported_amounts;
mod reported_payins;
mod restored_backup;
mod vanished_books;
