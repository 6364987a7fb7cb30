//! The README: every command runs in one shell, in the order of the page.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bursar::state_home;
use crate::cluster::Cluster;
use crate::scratch::Scratch;

const README: &str = include_str!("../../../../README.md");

/// The blocks that are not run, with what each needs. Everything else is run.
const NOT_RUN: [(&str, &str); 4] = [
    ("Try", "Rust 1.95 or newer, a C compiler and make"),
    ("Serve", "Rust 1.95 or newer, a C compiler and make"),
    (
        "Workflows on a Temporal cluster",
        "Rust, the database of the block above and the command temporal",
    ),
    (
        "Develop",
        "root, or sudo without a password: installs PostgreSQL, Node.js and Python packages, and mounts small disks",
    ),
];

/// Requirements of a block that this test provides.
const POSTGRES: &str = "PostgreSQL and an empty database; put its URL here";
const DATABASE: &str = "postgres://localhost/bursar";

/// Ports of the processes on the page.
const PORTS: [&str; 5] = ["7001", "8080", "8081", "8082", "9000"];

/// Longer than any machine takes, and shorter than the test runner waits.
const TIMEOUT_S: &str = "280";

/// A fenced block of the page.
struct Block {
    heading: &'static str,
    language: &'static str,
    text: &'static str,
}

impl Block {
    /// Its requirements, from its first line.
    fn needs(&self) -> Option<&'static str> {
        self.text.lines().next()?.strip_prefix("# needs ")
    }
}

fn blocks() -> Vec<Block> {
    let (mut found, mut heading, mut rest) = (Vec::new(), "", README);
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if line.starts_with('#') {
            heading = line.trim_start_matches(['#', ' ']);
        } else if let Some(language) = line.strip_prefix("```") {
            let (text, after) = rest.split_once("\n```\n").unwrap();
            found.push(Block { heading, language, text });
            rest = after;
        }
    }
    assert!(found.len() > 10, "the README has its commands in fenced blocks");
    found
}

fn shell_blocks() -> Vec<Block> {
    blocks().into_iter().filter(|block| block.language == "sh").collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files of `examples/`, by name.
fn examples() -> Vec<(String, String)> {
    let files = std::fs::read_dir(root().join("examples")).unwrap().map(|file| file.unwrap());
    let files = files.filter(|file| file.file_type().unwrap().is_file());
    let named = files.map(|file| file.file_name().into_string().unwrap());
    let mut named: Vec<String> = named.collect();
    named.sort();
    let read = |name: &String| std::fs::read_to_string(root().join("examples").join(name)).unwrap();
    named.iter().map(|name| (name.clone(), read(name))).collect()
}

/// A port that is free now in place of each one that the page names.
struct Ports(Vec<(&'static str, String)>);

impl Ports {
    fn free() -> Self {
        // All of them are held until all are known, so that they differ.
        let held = PORTS.map(|named| (named, TcpListener::bind("127.0.0.1:0").unwrap()));
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
        Self(held.iter().map(|(named, listener)| (*named, port(listener))).collect())
    }

    fn put_into(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (named, free)| text.replace(named, free))
    }
}

/// Stops at the first command that fails, shows each, and leaves no process behind.
const HEAD: &str = "set -euxo pipefail\ntrap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\n";

/// Runs a script in a directory that has the examples, and gives what it printed.
fn run(script: &str, ports: &Ports, scratch: &Scratch) -> String {
    let folder = scratch.path().join("examples");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in examples() {
        std::fs::write(folder.join(name), ports.put_into(&text)).unwrap();
    }
    let script = scratch.file("readme.sh", &format!("{HEAD}{}", ports.put_into(script)));
    let binary = Path::new(env!("CARGO_BIN_EXE_bursar")).parent().unwrap().to_owned();
    let paths = std::env::var_os("PATH").unwrap();
    let paths = std::iter::once(binary).chain(std::env::split_paths(&paths));
    // Files and no pipes: a pipe would stay open for as long as a process of the page lives.
    let [out, err] = ["out", "err"].map(|name| scratch.path().join(name));
    let status = Command::new("timeout")
        .args(["--kill-after=5", TIMEOUT_S, "bash", &script])
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("XDG_STATE_HOME", state_home())
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .status()
        .unwrap();
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let (out, err) = (read(out), read(err));
    assert!(status.success(), "{status} in {}\n{out}\n{err}", scratch.path().display());
    out
}

#[test]
fn every_command_of_the_readme_runs_in_its_order() {
    let cluster = Cluster::start();
    let (mut script, mut not_run) = (Vec::new(), Vec::new());
    for block in shell_blocks() {
        match block.needs() {
            None => script.push(block.text.to_owned()),
            Some(POSTGRES) => {
                assert!(block.text.contains(DATABASE), "{}", block.text);
                script.push(block.text.replace(DATABASE, &cluster.new_database("readme")));
            }
            Some(needs) => not_run.push((block.heading, needs)),
        }
    }
    assert_eq!(not_run, NOT_RUN, "a block is run unless this test names it");
    let scratch = Scratch::new();
    let out = run(&script.join("\n"), &Ports::free(), &scratch);
    for (words, count) in [
        // What the prose says about fees, and what is left.
        ("\"fee\":\"290.00\",\"vat\":\"46.40\"", 1),
        ("\"fee\":\"15.00\",\"vat\":\"2.40\"", 1),
        ("8146.20", 1),
        ("\"times_paid\":1", 1),
        ("receiving on http://127.0.0.1:", 1),
        ("verified: payin.success", 1),
        ("8 posted, 0 had been posted before, 0 refused", 2),
        ("\ndrift=0\n", 2),
        ("transaction: why = rent", 1),
        ("\"kind\":\"MissingFunds\"", 1),
        ("14 promises kept, trial balance = 0", 1),
        ("name=payouts ", 1),
    ] {
        let found = out.matches(words).count();
        assert!(found >= count, "{words} is there {found} times: {out}");
    }
    assert!(README.contains("14 promises\nkept, trial balance = 0"), "as the demo says it");
    for name in ["books", "copy", "ledger", "state"] {
        assert!(!scratch.path().join(name).exists(), "the last block tidies up");
    }
}

/// A command of the page, with the remark behind it.
struct Line {
    words: Vec<String>,
    remark: String,
}

/// The commands of `bursar` in a block, also inside of others.
fn commands(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        let line =
            line.strip_prefix("$ ").unwrap_or(line).replace("cargo run --release --", "bursar");
        let (code, mut remark) = line.split_once(" # ").unwrap_or((&line, ""));
        for part in code.split(['|', '&', ';', '(', ')']) {
            let words = part.split_whitespace().skip_while(|word| *word == "until");
            let words: Vec<String> = words.map(str::to_owned).collect();
            if words.first().is_some_and(|word| word == "bursar") {
                // It is about the first of them.
                let remark = std::mem::take(&mut remark).to_owned();
                found.push(Line { words: words[1..].to_vec(), remark });
            }
        }
    }
    found
}

fn help(path: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bursar")).args(path).arg("--help").output();
    let output = output.unwrap();
    assert!(output.status.success(), "bursar {} is no command", path.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// Remarks count as well, and so do blocks that are not run.
#[test]
fn every_option_and_command_that_the_readme_names_exists() {
    let (mut options, mut others) = (0, 0);
    let lines = blocks().into_iter().flat_map(|block| commands(block.text));
    for Line { words, remark } in lines {
        let is_name =
            |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let path = words.iter().map(String::as_str);
        let path: Vec<&str> =
            path.take_while(|word| is_name(word) && !word.starts_with('-')).collect();
        let shown = help(&path);
        let named = words.iter().map(String::as_str).chain(remark.split_whitespace());
        for option in named.filter(|word| word.starts_with("--")) {
            let option = option.trim_end_matches([',', ';', '.', ':']);
            let is_there = shown.split_whitespace().any(|word| {
                word.trim_end_matches([',', ']']).split(['=', '[']).next() == Some(option)
            });
            assert!(is_there, "bursar {} has no {option}: {shown}", path.join(" "));
            options += 1;
        }
        let Some(also) = remark.strip_prefix("also ") else { continue };
        let (_, above) = path.split_last().unwrap();
        let shown = help(above);
        for name in also.split(';').next().unwrap().split(", ") {
            let is_there = shown.lines().any(|line| line.split_whitespace().next() == Some(name));
            assert!(is_there, "bursar {} has no {name}: {shown}", above.join(" "));
            others += 1;
        }
    }
    assert!(options > 60 && others > 30, "{options} options, {others} other commands");
}

#[test]
fn what_the_readme_shows_is_what_is_printed() {
    let shown: Vec<Block> =
        blocks().into_iter().filter(|block| block.language == "console").collect();
    let [block] = &shown[..] else { panic!("{} blocks show an output", shown.len()) };
    let (command, expected) = block.text.split_once('\n').unwrap();
    let words: Vec<&str> = command.strip_prefix("$ bursar ").unwrap().split(' ').collect();
    let binary =
        Command::new(env!("CARGO_BIN_EXE_bursar")).args(words).current_dir(root()).output();
    let output = binary.unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap().trim_end(), expected);
}

#[test]
fn every_example_is_in_the_readme() {
    let examples = examples();
    assert_eq!(examples.len(), 9, "{examples:?}");
    for (name, _) in examples {
        assert!(README.contains(&format!("examples/{name}")), "{name}");
    }
    for word in README.split(['`', ' ', '\n', '"', ':']) {
        if let Some(name) = word.strip_prefix("examples/").filter(|name| !name.is_empty()) {
            assert!(root().join("examples").join(name).exists(), "examples/{name} is not there");
        }
    }
}
