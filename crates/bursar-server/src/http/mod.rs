//! Connections of the API: how many, for how long, and which one makes room.
//!
//! A connection is *proven* once a request on it has presented a valid API key or a signed callback. When a limit is
//! reached, connections that are not proven make room first, so that callers without a key cannot lock out the others.

mod body;
mod connection;
mod listen;
mod refusal;
mod table;
mod wrong_keys;

use std::time::Duration;

pub(crate) use body::limit_body;
pub(crate) use connection::Connection;
pub(crate) use listen::ConnectionCounts;
pub use listen::serve;
pub(crate) use wrong_keys::WrongKeys;

/// The limits of connections and of requests without a valid key.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// From the first byte of a request, or the start of the connection, to the end of the header.
    pub header_timeout: Duration,
    /// From the end of the header to the end of the body.
    pub body_timeout: Duration,
    /// The minimum rate of a body applies after this time.
    pub body_grace: Duration,
    pub body_bytes_per_s_min: u32,
    /// How long a connection stays open without a request.
    pub idle_timeout: Duration,
    /// How long a stopping process waits for requests in progress.
    pub drain_timeout: Duration,
    pub connections_max: usize,
    pub connections_per_address: usize,
    /// Wrong keys of one address; 0 for no limit.
    pub wrong_keys_per_minute: u32,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_mins(2),
            body_grace: Duration::from_secs(5),
            body_bytes_per_s_min: 4_096,
            idle_timeout: Duration::from_mins(1),
            drain_timeout: Duration::from_secs(3),
            connections_max: 4_096,
            connections_per_address: 4_096,
            wrong_keys_per_minute: 60,
        }
    }
}

impl HttpLimits {
    /// The time that a transfer of this many bytes may take at the minimum rate.
    fn transfer_time(&self, bytes: u64) -> Duration {
        let rate = u64::from(self.body_bytes_per_s_min);
        let millis = bytes.saturating_mul(1_000).checked_div(rate).unwrap_or_default();
        Duration::from_millis(millis)
    }
}
