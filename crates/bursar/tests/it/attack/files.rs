//! Another user of the machine reads the books.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::api::server::Server;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn assert_private(directory: &Path) {
    assert_eq!(mode(directory), 0o700, "{}", directory.display());
    let files: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 2, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn another_user_reads_the_data_directory() {
    let mut server = Server::new();
    server.admin().merchant("m1", "10.00");
    let data = server.data();
    assert_private(Path::new(&data));
    server.kill();
    // As a version before would have left it.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    for file in fs::read_dir(&data).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o644)).unwrap();
    }
    server.start();
    server.admin().merchant("m2", "10.00");
    assert_private(Path::new(&data));
}
