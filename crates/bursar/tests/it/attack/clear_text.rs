//! Statements and rows go to a database on another machine in clear text: the server says so when it starts.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::process::Stdio;

use crate::bursar::bursar;
use crate::cluster::Cluster;
use crate::process::{Process, free_port};
use crate::scratch::Scratch;

/// What a server on these books logs until it listens.
fn log_of(url: &str) -> String {
    let scratch = Scratch::new();
    let path = scratch.path().join("log");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--database-url", url];
    let keys = [("BURSAR_SECRET_KEYS", "k1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")];
    let log = Stdio::from(File::create(&path).unwrap());
    let started = Process::try_start(&arguments, &keys, log);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(started.is_some(), "{text}");
    text
}

#[test]
fn the_database_is_reached_in_clear_text() {
    let (cluster, port) = (Cluster::start(), free_port());
    let settings = format!("{}/postgresql.conf", cluster.data());
    let settings = OpenOptions::new().append(true).open(settings);
    writeln!(settings.unwrap(), "listen_addresses = '127.0.0.1'\nport = {port}").unwrap();
    cluster.stop_server("fast").unwrap();
    cluster.start_server();
    let url = |host: &str| format!("host={host} port={port} user=bursar dbname=postgres");
    bursar(&["init", "--database-url", &url("127.0.0.1")]).ok();
    let warning = "goes to another machine in clear text";
    // This machine answers under 0.0.0.0 too, which is not one of its own addresses.
    let far = log_of(&url("0.0.0.0"));
    assert!(far.contains(warning) && far.contains("sslmode=verify-full"), "{far}");
    let near = log_of(&url("127.0.0.1"));
    assert!(!near.contains(warning), "{near}");
}
