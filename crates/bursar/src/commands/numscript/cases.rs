//! Runs a file of cases and prints one outcome per line, in order. A line that is not a case gets an error outcome.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use bursar_node::failure::Failure;

use super::Language;
use super::case::{Answer, BAD_CASE, Case};

pub(super) fn run(path: &Path, language: &Language) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| Failure::reading(path, &error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut bad: Vec<u64> = Vec::new();
    for (line, number) in BufReader::new(file).lines().zip(1_u64..) {
        let line = line.map_err(|error| Failure::reading(path, &error))?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Case>(line) {
            Ok(case) => case.run(language.features(), language.mode()),
            Err(error) => {
                Answer::failed(Some(serde_json::Value::Null), BAD_CASE, error.to_string())
            }
        };
        if answer.is_bad_case() {
            bad.push(number);
        }
        serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    match bad.as_slice() {
        [] => Ok(()),
        [first, rest @ ..] => Err(Failure::new(format!(
            "{}:{first}: this line and {} more are not cases. Everything else was answered; correct them and run again",
            path.display(),
            rest.len()
        ))),
    }
}
