//! The answer to a connection for which there is no room.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::problem::{MEDIA_TYPE, Problem};

/// Refused sockets that stay open for a moment.
const LINGERING_MAX: usize = 16;
/// How long a refused client has to read the answer. A socket that is closed with unread data loses what was written.
const LINGER: Duration = Duration::from_millis(500);

/// Refused connections whose clients read the answer.
#[derive(Default)]
pub(super) struct Refusals(JoinSet<()>);

impl Refusals {
    /// Answers without waiting for a request, and closes.
    pub(super) fn refuse(&mut self, socket: TcpStream) {
        while self.0.try_join_next().is_some() {}
        // A new socket has room for the answer; the client may be gone.
        drop(socket.try_write(response().as_bytes()));
        if self.0.len() < LINGERING_MAX {
            self.0.spawn(async { drop(timeout(LINGER, read_out(socket)).await) });
        }
    }
}

/// Reads until the client closes.
async fn read_out(mut socket: TcpStream) {
    let mut ignored = [0; 1_024];
    if socket.shutdown().await.is_ok() {
        while socket.read(&mut ignored).await.is_ok_and(|length| length > 0) {}
    }
}

fn response() -> String {
    let detail =
        "too many connections are open: nothing was done. Close some, or try again in a moment";
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail);
    let body = serde_json::to_string(&problem).unwrap_or_default();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {MEDIA_TYPE}\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
