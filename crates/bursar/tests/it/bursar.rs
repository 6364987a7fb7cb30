//! Runs the binary and reads its output.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::scratch::Scratch;

/// The output of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The state directory of this test and its processes: witnesses of earlier tests must not know their paths.
pub(crate) fn state_home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let name = format!("state/{}-{since}", std::process::id());
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
    })
}

/// Runs `bursar` with these arguments in an empty directory.
pub(crate) fn bursar(arguments: &[&str]) -> Run {
    bursar_with(arguments, &[])
}

pub(crate) fn bursar_with(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let scratch = Scratch::new();
    let output = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(arguments)
        .env("XDG_STATE_HOME", state_home())
        .envs(variables.iter().copied())
        .current_dir(scratch.path())
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

    /// The error of a run that must fail.
    pub(crate) fn refused(self) -> String {
        assert_ne!(self.code, 0, "it should have failed: {}", self.stdout);
        assert!(!self.stderr.is_empty(), "a failure says why");
        self.stderr
    }
}
