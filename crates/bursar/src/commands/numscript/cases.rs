//! A file of cases in, one answer a line out, in the same order.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use bursar_core::numscript::Mode;

use super::case::{Answer, Case};
use crate::failure::Failure;

pub(super) fn run(path: &Path, mode: Mode) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| Failure::reading(path, &error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    for (line, number) in BufReader::new(file).lines().zip(1_u64..) {
        let line = line.map_err(|error| Failure::reading(path, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = answer(&line, mode).map_err(|reason| {
            Failure::new(format!(
                "{}:{number}: {reason}. The lines before it were answered; correct this one and run again",
                path.display()
            ))
        })?;
        serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

fn answer(line: &str, mode: Mode) -> Result<Answer, String> {
    let case: Case = serde_json::from_str(line).map_err(|error| error.to_string())?;
    case.run(mode)
}
