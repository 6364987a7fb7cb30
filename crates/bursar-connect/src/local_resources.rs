//! Faults of this machine, which say nothing about the other side.

use std::io;

/// Whether this machine has run out of files, ports or memory.
pub(crate) fn is_ours(error: &io::Error) -> bool {
    // Too many open files, in this process or in all of them; the same number everywhere but not a kind of its own.
    const NO_FILES: [i32; 2] = [24, 23];
    error.raw_os_error().is_some_and(|code| NO_FILES.contains(&code))
        || matches!(
            error.kind(),
            io::ErrorKind::AddrNotAvailable
                | io::ErrorKind::AddrInUse
                | io::ErrorKind::NetworkDown
                | io::ErrorKind::OutOfMemory
        )
}
