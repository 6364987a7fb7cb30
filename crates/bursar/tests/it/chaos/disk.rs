//! Faulty disks: one that can be filled, and one with slow writes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system, mounted at the data directory, that can be filled on demand.
pub(super) struct Disk {
    path: PathBuf,
}

/// More than any run needs; tmpfs uses memory only for written data.
const ROOM: &str = "size=6g";

impl Disk {
    pub(super) fn mount(path: &Path) -> Self {
        std::fs::create_dir_all(path).unwrap();
        let disk = Self { path: path.to_owned() };
        let mounted = disk.try_mount(&["-t", "tmpfs", "-o", ROOM, "tmpfs"]);
        if let Err(complaint) = mounted {
            panic!(
                "a full disk needs a disk of its own, and mounting one needs root (or sudo without a password): {complaint}"
            );
        }
        // PostgreSQL runs as an unprivileged user.
        let owner =
            if is_root() { "postgres".to_owned() } else { word(Command::new("id").arg("-un")) };
        as_root("chown", &[&owner, &disk.path.display().to_string()]).unwrap();
        disk
    }

    /// Shrinks the file system to its current content. A concurrent write makes the remount fail, which is retried.
    pub(super) fn fill(&self) {
        for _ in 0..1_000 {
            let format = ["-f", "-c", "%S %b %f"];
            let numbers = word(Command::new("stat").args(format).arg(&self.path));
            let numbers: Vec<u64> =
                numbers.split(' ').map(|number| number.parse().unwrap()).collect();
            let used = numbers[0] * (numbers[1] - numbers[2]);
            if self.try_mount(&["-o", &format!("remount,size={used}")]).is_ok() {
                return;
            }
        }
        panic!("{} cannot be made full", self.path.display());
    }

    pub(super) fn free(&self) {
        self.try_mount(&["-o", &format!("remount,{ROOM}")]).unwrap();
    }

    fn try_mount(&self, arguments: &[&str]) -> Result<(), String> {
        let path = self.path.display().to_string();
        as_root("mount", &[arguments, &[&path]].concat())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let path = self.path.display().to_string();
        if std::thread::panicking() {
            // Its content is copied out for inspection.
            drop(as_root("cp", &["-a", &path, &format!("{path}.kept")]));
        }
        drop(as_root("umount", &["--lazy", &path]));
    }
}

/// Delays syncs and writes of every process that was started with its variables.
pub(super) struct SlowDisk {
    library: PathBuf,
    mark: PathBuf,
}

impl SlowDisk {
    pub(super) fn build(folder: &Path) -> Self {
        let (library, mark) = (folder.join("slow_disk.so"), folder.join("slow"));
        let source = folder.join("slow_disk.c");
        std::fs::write(&source, include_str!("slow_disk.c")).unwrap();
        let built = Command::new("gcc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status()
            .expect("a slow disk is made with gcc: install it");
        assert!(built.success());
        Self { library, mark }
    }

    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![
            ("LD_PRELOAD".to_owned(), text(&self.library)),
            ("BURSAR_SLOW_DISK".to_owned(), text(&self.mark)),
        ]
    }

    pub(super) fn slow_down(&self) {
        std::fs::write(&self.mark, "").unwrap();
    }

    pub(super) fn recover(&self) {
        std::fs::remove_file(&self.mark).unwrap();
    }
}

fn is_root() -> bool {
    word(Command::new("id").arg("-u")) == "0"
}

fn as_root(program: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = if is_root() {
        Command::new(program)
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", program]);
        command
    };
    let output = command.args(arguments).output().map_err(|error| error.to_string())?;
    let complaint = || String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or_else(complaint)
}

fn word(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
