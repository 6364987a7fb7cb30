//! Books that cannot be written: a full disk, a disk that turned read-only, another process, a server that is down.

use std::process::Command;

use crate::cluster::Cluster;
use crate::ledger::{import_begun, ledger, make, payins, trial_balance};
use crate::scratch::Scratch;

/// Runs a script with a temporary small disk at `$disk`. `$bursar` is the binary.
fn with_disk(scratch: &Scratch, script: &str) -> String {
    let disk = scratch.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-euc", script])
        .env("disk", &disk)
        .env("bursar", env!("CARGO_BIN_EXE_bursar"))
        .env("events", scratch.file("events.ndjson", &payins(5_000)))
        .output()
        .expect("`unshare` of util-linux makes a disk for this test: install it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace(&disk.display().to_string(), "[disk]")
}

#[test]
fn a_full_disk_keeps_what_was_answered_and_nothing_else() {
    let output = with_disk(
        &Scratch::new(),
        "mount -t tmpfs -o size=2m tmpfs $disk
         $bursar init --data $disk/books > $disk/made
         $bursar ledger import $events --batch 200 --data $disk/books 2>&1 && exit 1
         $bursar ledger verify --data $disk/books
         mount -o remount,size=100m $disk
         $bursar ledger import $events --batch 200 --data $disk/books
         $bursar ledger trial-balance --json --data $disk/books
         $bursar ledger verify --data $disk/books",
    );
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains("disk is full. Nothing was saved; put that right"), "{output}");
    assert!(lines[0].contains("events of the file were posted before that"), "{output}");
    assert!(lines[2].starts_with("ok: "), "{output}");
    let (posted, rest) = lines[3].split_once(" posted, ").unwrap();
    let before = rest.split_once(' ').unwrap().0;
    let (posted, before): (u32, u32) = (posted.parse().unwrap(), before.parse().unwrap());
    assert!(before > 0 && posted > 0 && before + posted == 5_000, "{output}");
    assert!(
        lines[0].contains(&format!(" {before} events")),
        "what it said was saved is what was saved"
    );

    let scratch = Scratch::new();
    let whole = scratch.path().join("whole").display().to_string();
    make(&whole);
    ledger(&["import", &scratch.file("events.ndjson", &payins(5_000))], &whole).ok();
    let found: serde_json::Value = serde_json::from_str(lines[4]).unwrap();
    assert_eq!(found, trial_balance(&whole));
    assert!(lines[6].starts_with("ok: "), "{output}");
}

#[test]
fn a_disk_that_turned_read_only_is_named() {
    let output = with_disk(
        &Scratch::new(),
        "mount -t tmpfs tmpfs $disk
         head -n 100 $events > $disk/some
         $bursar init --data $disk/books > $disk/made
         $bursar ledger import $disk/some --data $disk/books
         mount -o remount,ro $disk
         $bursar ledger import $events --data $disk/books 2>&1 && exit 1
         $bursar ledger trial-balance --data $disk/books 2>&1 && exit 1
         mount -o remount,rw $disk
         $bursar ledger verify --data $disk/books",
    );
    insta::assert_snapshot!(output);
}

#[test]
fn a_second_process_on_one_data_directory_is_refused() {
    let scratch = Scratch::new();
    let data = scratch.path().join("data").display().to_string();
    let lines = payins(200);
    make(&data);
    let mut first = import_begun(&lines, 200, &data);
    let file = scratch.file("events.ndjson", &lines);
    // The first process waits for more lines. Once it has opened its books, other processes are rejected.
    while !scratch.path().join("data/bursar.sqlite-wal").exists() {
        assert!(first.try_wait().unwrap().is_none(), "it waits for more lines");
        std::thread::yield_now();
    }
    let refusal = ledger(&["import", &file], &data).refused();
    assert!(refusal.contains("another process uses"), "{refusal}");
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    let counts = ledger(&["import", &file], &data).ok();
    assert_eq!(counts, "0 posted, 200 had been posted before, 0 refused\n");
}

#[test]
fn a_server_that_is_away_is_named() {
    let cluster = Cluster::start();
    let url = cluster.url();
    let scratch = Scratch::new();
    let file = scratch.file("events.ndjson", &payins(10));
    assert!(ledger(&["accounts"], &url).refused().contains("there are no books in PostgreSQL"));
    make(&url);
    ledger(&["import", &file], &url).ok();
    cluster.crash();
    for command in [&["import", &file][..], &["accounts"], &["verify"]] {
        let refusal = ledger(command, &url).refused();
        assert!(refusal.contains("PostgreSQL does not answer"), "{refusal}");
        assert!(refusal.contains("Nothing was saved; put that right and try again"), "{refusal}");
    }
    cluster.start_server();
    ledger(&["verify"], &url).ok();
    let nonsense = ledger(&["accounts"], "dbname=x port=many").refused();
    assert!(nonsense.contains("the database URL cannot be read"), "{nonsense}");
}
