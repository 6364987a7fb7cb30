//! Finds the cargo profile of this build. Cargo itself tells a build script only `release` or `debug`, so the profile is read
//! from the path of `OUT_DIR`: `target/<profile>/build/…`.

use std::path::Path;

fn main() {
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    let mut folders = Path::new(&out).ancestors();
    let build = folders.find(|folder| folder.ends_with("build"));
    let folder = build.and_then(Path::parent).and_then(Path::file_name);
    let profile = match folder.and_then(|name| name.to_str()) {
        // Cargo names this folder differently from its profile.
        Some("debug") => "dev",
        Some(name) => name,
        None => "unknown",
    };
    println!("cargo::rustc-env=BURSAR_BENCH_PROFILE={profile}");
    println!("cargo::rerun-if-changed=build.rs");
}
