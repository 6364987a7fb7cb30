//! The data directory of the demo: temporary, or kept with `--data`.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use bursar_node::failure::Failure;

pub(super) struct DataDirectory {
    pub(super) path: PathBuf,
    pub(super) is_kept: bool,
}

impl DataDirectory {
    pub(super) fn new(data: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(path) = data else {
            let name = format!("bursar-demo-{}", std::process::id());
            let mut path = std::env::temp_dir().join(&name);
            // A demo that was killed may have left its directory behind.
            for number in 1_u32.. {
                match fs::create_dir(&path) {
                    Ok(()) => break,
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        path.set_file_name(format!("{name}-{number}"));
                    }
                    Err(error) => {
                        return Err(Failure::new(format!(
                            "cannot make {}: {error}. Nothing was done",
                            path.display()
                        )));
                    }
                }
            }
            return Ok(Self { path, is_kept: false });
        };
        // The demo must not write to real books.
        if path.exists() {
            return Err(Failure::new(format!(
                "{} is there already: nothing was done. Name a directory that the demo can make",
                path.display()
            )));
        }
        Ok(Self { path, is_kept: true })
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}
