//! How the open files of the process are shared between connections, channels, webhooks and books.

use bursar_engine::Limits;

/// Kept back for books, their readers, logs, listeners, and sockets that are being closed.
const KEPT_BACK: u32 = 96;
/// More connections than this are of no use to one process.
const CONNECTIONS_MAX: u32 = 4_096;
/// Assumed where the limit cannot be read.
const USUAL_LIMIT: u32 = 1_024;

/// The limit of open files, where the system tells it.
fn open_files_max() -> Option<u32> {
    let known = std::fs::read_to_string("/proc/self/limits").ok()?;
    parse(&known)
}

fn parse(limits: &str) -> Option<u32> {
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match files.split_whitespace().next()? {
        "unlimited" => Some(u32::MAX),
        number => number.parse().ok(),
    }
}

/// Limits concurrent deliveries to half of the open-file limit.
pub(crate) fn engine_limits() -> Limits {
    let limits = Limits::default();
    let most = open_files_max().map_or(limits.deliveries_max, |files| (files >> 1).max(1));
    Limits { deliveries_max: limits.deliveries_max.min(most), ..limits }
}

/// The number of connections of the API, beside submissions of this concurrency.
pub(crate) fn connections_max(submissions: u32) -> usize {
    let files = open_files_max().unwrap_or(USUAL_LIMIT);
    let found = share(files, engine_limits().deliveries_max, submissions);
    usize::try_from(found).unwrap_or(usize::MAX)
}

/// What deliveries, submissions and books leave, and at least a quarter of all.
fn share(files: u32, deliveries: u32, submissions: u32) -> u32 {
    let kept = KEPT_BACK.saturating_add(deliveries).saturating_add(submissions);
    files.saturating_sub(kept).max(files >> 2).clamp(1, CONNECTIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::{parse, share};

    #[test]
    fn the_limit_is_read_as_linux_writes_it() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n";
        assert_eq!(parse(text), Some(1_024));
        assert_eq!(parse("Max open files  unlimited unlimited files\n"), Some(u32::MAX));
        assert_eq!(parse(""), None);
    }

    #[test]
    fn connections_leave_files_to_books_channels_and_webhooks() {
        assert_eq!(share(1_024, 512, 64), 352);
        assert_eq!(share(1_024, 512, 10_000), 256);
        assert_eq!(share(1 << 20, 2_048, 64), 4_096);
        assert_eq!(share(1, 1, 0), 1);
    }
}
