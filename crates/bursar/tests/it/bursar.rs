//! Runs the binary and reads what it says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a run of the binary left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `bursar` with these arguments in an empty directory of its own.
pub(crate) fn bursar(arguments: &[&str]) -> Run {
    bursar_with(arguments, &[])
}

pub(crate) fn bursar_with(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let scratch = Scratch::new();
    let output = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(&scratch.0)
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    /// Output and exit code of a run that must succeed.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The complaint of a run that must fail.
    pub(crate) fn refused(self) -> String {
        assert_ne!(self.code, 0, "it should have failed: {}", self.stdout);
        assert!(!self.stderr.is_empty(), "a failure says why");
        self.stderr
    }
}

/// A directory that is gone when the test is over.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bursar-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
