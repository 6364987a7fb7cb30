//! A connection on which a test sends what it likes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::api::server::{ADMIN_KEY, Server};
use crate::caller::Answer;

pub(super) struct OpenConnection(TcpStream);

/// A server that neither answers nor closes fails the test.
const PATIENCE: Duration = Duration::from_mins(1);

const CONTINUE: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl OpenConnection {
    pub(super) fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    pub(super) fn sending(server: &Server, text: &str) -> Self {
        let mut connection = Self::new(server);
        assert!(connection.send(text));
        connection
    }

    /// With a valid key, and a body of which the first bytes are sent once the server waits for it.
    pub(super) fn with_half_a_body(server: &Server, half: &str, length: usize) -> Self {
        let mut connection = Self::sending(
            server,
            &format!(
                "POST /v1/merchants HTTP/1.1\r\nhost: bursar\r\nauthorization: Bearer {ADMIN_KEY}\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
            ),
        );
        let mut line = [0; CONTINUE.len()];
        connection.0.read_exact(&mut line).unwrap();
        assert_eq!(&line, CONTINUE);
        assert!(connection.send(half));
        connection
    }

    /// False if the server has closed the connection.
    pub(super) fn send(&mut self, text: &str) -> bool {
        self.0.write_all(text.as_bytes()).is_ok()
    }

    /// All that the server sends until it closes; a reset is an end too.
    pub(super) fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let ended = self.0.read_to_end(&mut bytes);
        let is_open = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!is_open, "the server closes the connection");
        String::from_utf8(bytes).unwrap()
    }

    /// One response; the connection stays open.
    pub(super) fn answer(&mut self) -> Answer {
        let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
        loop {
            let length = self.0.read(&mut part).unwrap();
            assert!(length > 0, "an answer, and no end: {}", String::from_utf8_lossy(&bytes));
            bytes.extend(&part[..length]);
            if let Some(answer) = Answer::read(std::str::from_utf8(&bytes).unwrap(), true) {
                return answer;
            }
        }
    }
}
