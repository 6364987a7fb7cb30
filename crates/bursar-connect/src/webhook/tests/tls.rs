//! A15: certificates are verified, and both versions of HTTP are supported.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::dns::{Dns, reply};
use super::server::{Act, Server, answer, certificate, names, send, settings, word};
use crate::http::Roots;
use crate::webhook::connect::Dial;
use crate::webhook::{Class, Policy, Sender, Settings};

const HOST: &str = "hooks.merchant.example";

/// A body that never ends, and counts the bytes that were read.
struct Endless(Arc<AtomicUsize>);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.fetch_add(16_384, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 16_384])))))
    }
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    versions: Mutex<Vec<Version>>,
    said: Arc<AtomicUsize>,
}

struct Secure {
    port: u16,
    pem: Vec<u8>,
    seen: Arc<Seen>,
}

/// A server that answers 200 with an endless body, with a certificate for this name.
async fn secure(host: &str, protocols: &[&str], not_after: i32) -> Secure {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(names(&[host])).unwrap();
    params.not_before = date_time_ymd(2_000, 1, 1);
    params.not_after = date_time_ymd(not_after, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let remembered = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            remembered.connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(acceptor.clone(), socket, Arc::clone(&remembered)));
        }
    });
    Secure { port, pem: certificate.pem().into_bytes(), seen }
}

async fn serve(acceptor: TlsAcceptor, socket: TcpStream, seen: Arc<Seen>) {
    let Ok(stream) = acceptor.accept(socket).await else { return };
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            seen.versions.lock().unwrap().push(request.version());
            Ok::<_, Infallible>(Response::new(Endless(Arc::clone(&seen.said))))
        }
    });
    let io = TokioIo::new(stream);
    // The client decides how a connection ends.
    let _ended = if is_h2 {
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        builder.serve_connection(io, service).await.is_ok()
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(io, service).await.is_ok()
    };
}

/// A sender for which every name has a public address, and every address is dialled at this port.
async fn sender(port: u16, roots: &[u8]) -> (Sender, Dns) {
    let dns = Dns::new(vec![reply(60, &["93.184.216.34"])]).await;
    let dial: Dial = Arc::new(move |_| Box::pin(TcpStream::connect(("127.0.0.1", port))));
    let settings = Settings {
        nameservers: vec![dns.address],
        policy: Policy::default(),
        roots: Roots::Pem(roots.to_vec()),
        ..settings()
    };
    (Sender::with_dial(settings, dial).unwrap(), dns)
}

#[tokio::test]
async fn both_versions_of_http_work_and_neither_body_is_read_to_the_end() {
    for (protocols, version) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let server = secure(HOST, protocols, 2_100).await;
        let (sender, _dns) = sender(server.port, &server.pem).await;
        for _ in 0..2 {
            let sent = send(&sender, &format!("https://{HOST}/in")).await;
            let answered = sent.result.unwrap();
            assert_eq!((answered.status, answered.body.len()), (200, 4_096));
            assert!(answered.is_cut);
        }
        assert_eq!(*server.seen.versions.lock().unwrap(), [version, version]);
        let said = server.seen.said.load(Ordering::Relaxed);
        assert!(said < 16 * 1024 * 1024, "{said} bytes were taken");
        // A request that was cut short ends its connection, or its stream of a shared one.
        let expected = if version == Version::HTTP_2 { 1 } else { 2 };
        assert_eq!(server.seen.connections.load(Ordering::Relaxed), expected);
    }
}

#[tokio::test]
async fn only_a_server_that_proves_its_name_gets_the_request() {
    let good = secure(HOST, &["h2", "http/1.1"], 2_100).await;
    let other = secure("other.example", &["h2"], 2_100).await;
    let expired = secure(HOST, &["h2"], 2_020).await;
    let own = good.pem.clone();
    for (name, server, roots, expected) in [
        ("right", &good, &own, Ok(200)),
        ("wrong name", &other, &other.pem, Err(Class::Tls)),
        ("expired", &expired, &expired.pem, Err(Class::Tls)),
        ("without a trusted root", &good, &certificate(), Err(Class::Tls)),
    ] {
        let (sender, _dns) = sender(server.port, roots).await;
        let before = server.seen.versions.lock().unwrap().len();
        let sent = send(&sender, &format!("https://{HOST}/in")).await;
        assert_eq!(word(&sent), expected, "{name}: {sent:?}");
        let requests = server.seen.versions.lock().unwrap().len() - before;
        assert_eq!(requests, usize::from(expected.is_ok()), "{name}");
    }
}

/// The server hello of TLS 1.0.
fn greeting() -> Vec<u8> {
    let body = [&[3, 1][..], &[7; 32], &[0, 0xc0, 0x13, 0]].concat();
    let length = u8::try_from(body.len()).unwrap();
    [&[22, 3, 1, 0, length + 4, 2, 0, 0, length][..], &body].concat()
}

#[tokio::test]
async fn old_versions_of_tls_and_servers_without_it_get_nothing() {
    let alert = vec![21, 3, 1, 0, 2, 2, 70];
    for said in
        [greeting(), alert, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec(), vec![]]
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (sender, _dns) = sender(listener.local_addr().unwrap().port(), &certificate()).await;
        let server = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut hello = vec![0; 16_384];
            let count = socket.read(&mut hello).await.unwrap();
            socket.write_all(&said).await.unwrap();
            socket.shutdown().await.unwrap();
            let mut rest = Vec::new();
            let more = socket.read_to_end(&mut rest).await.unwrap_or_default();
            (count, more)
        };
        let url = format!("https://{HOST}/");
        let (sent, (hello, more)) = tokio::join!(send(&sender, &url), server);
        assert_eq!(word(&sent), Err(Class::Tls), "{said:?}: {sent:?}");
        assert!(hello > 100 && more < 100, "after its greeting the client says goodbye at most");
    }
}

#[tokio::test]
async fn a_handshake_without_an_answer_is_a_timeout() {
    let server = Server::new(vec![vec![Act::Hang], vec![Act::Read, answer(200, "")]]).await;
    let (sender, _dns) = sender(server.port, &certificate()).await;
    assert_eq!(word(&send(&sender, &format!("https://{HOST}/")).await), Err(Class::Timeout));
    assert_eq!(server.seen(super::server::Seen::requests), 0);
    server.ended(1).await;
}
