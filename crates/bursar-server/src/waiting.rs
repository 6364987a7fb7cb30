//! How long one request may wait for the books: a lock or a silent database becomes an answer, not silence.

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

tokio::task_local! {
    /// What is left of the time of a request.
    static LEFT: Cell<Duration>;
}

/// A shorter wait costs nothing: a request about many rows makes many of them.
const SHORT: Duration = Duration::from_secs(1);

/// Runs a request that may wait for this long. None: as long as it takes.
pub(crate) async fn bounded<F: Future>(limit: Option<Duration>, request: F) -> F::Output {
    match limit {
        Some(limit) => LEFT.scope(Cell::new(limit), request).await,
        None => request.await,
    }
}

/// Waits within the time of the request. None if it is over. Outside a request there is no limit.
pub(crate) async fn within<F: Future>(wait: F) -> Option<F::Output> {
    let Ok(left) = LEFT.try_with(Cell::get) else { return Some(wait.await) };
    let started = Instant::now();
    let done = timeout(left, wait).await.ok();
    let took = started.elapsed();
    if took > SHORT {
        LEFT.with(|time| time.set(left.saturating_sub(took)));
    }
    done
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use super::{bounded, within};

    #[tokio::test(start_paused = true)]
    async fn all_long_waits_of_a_request_share_its_time() {
        let request = async {
            for _ in 0..100 {
                let short = tokio::time::sleep(Duration::from_millis(900));
                assert_eq!(within(short).await, Some(()));
            }
            let long = tokio::time::sleep(Duration::from_secs(3));
            assert_eq!(within(long).await, Some(()));
            let longer = tokio::time::sleep(Duration::from_secs(3));
            assert_eq!(within(longer).await, None);
            assert_eq!(within(pending::<()>()).await, None);
            within(ready(7)).await
        };
        let answer = bounded(Some(Duration::from_secs(5)), request).await;
        assert_eq!(answer, Some(7), "what is ready needs no time");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_ends_a_wait() {
        let day = || tokio::time::sleep(Duration::from_hours(24));
        assert_eq!(within(day()).await, Some(()));
        assert_eq!(bounded(None, within(day())).await, Some(()));
    }
}
