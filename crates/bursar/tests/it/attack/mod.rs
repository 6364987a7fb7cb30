//! What a hostile channel or client, a restored backup or a machine without resources must not be able to do. Each test is named by
//! what it tries.

mod approval_matrix;
mod clear_text;
mod connections;
mod files;
mod full_server;
mod held_locks;
mod large_amounts;
mod one_person;
mod open_connection;
mod own_faults;
mod promoted_replica;
mod provider;
mod psql;
mod reported_amounts;
mod reported_payins;
mod restored_backup;
mod slow_clients;
mod vanished_books;
mod wrong_keys;
