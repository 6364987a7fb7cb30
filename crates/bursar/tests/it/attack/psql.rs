//! A session of another program on the same PostgreSQL server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An open session; dropping it ends it, and rolls its transaction back.
pub(super) struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// None if the server has no connection left.
    pub(super) fn open(url: &str) -> Option<Self> {
        let mut command = Command::new("psql");
        command.args(["-X", "-q", "-At", "-d", url]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut session = Self { child, input, output: BufReader::new(output) };
        session.run("").then_some(session)
    }

    /// Runs statements to their end. False if the session is over.
    pub(super) fn run(&mut self, statements: &str) -> bool {
        let written = writeln!(self.input, "{statements}\n\\echo done");
        let mut line = String::new();
        while written.is_ok() && self.output.read_line(&mut line).is_ok_and(|length| length > 0) {
            if line.trim() == "done" {
                return true;
            }
            line.clear();
        }
        false
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
