//! The same over TLS: who is at the other end is made sure of before a byte of the request is sent.

use std::sync::Arc;

use bursar_connect::{BadSettings, HttpChannel, HttpSettings, Roots};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::effects::{class, http, later, submit};
use crate::script::{Act, Server, answer};

const COMPLETED: &str = r#"{"status":"completed","clientCorrelationId":"a"}"#;

/// A server with a certificate made out to `localhost`: its port, and the certificate.
async fn secure_server() -> (u16, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(socket).await else { continue };
            let mut request = vec![0; 4_096];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            let length = COMPLETED.len();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{COMPLETED}");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    (port, cert.pem().into_bytes())
}

#[tokio::test]
async fn only_a_server_that_proves_its_name_gets_the_request() {
    let (port, certificate) = secure_server().await;
    let (_, stranger) = secure_server().await;
    let settings = |host: &str, roots: &[u8]| HttpSettings {
        roots: Roots::Pem(roots.to_vec()),
        ..HttpSettings::new(format!("https://{host}:{port}"))
    };
    for (host, roots, expected) in [
        ("localhost", &certificate, "paid"),
        ("localhost", &stranger, "not sent"),
        ("127.0.0.1", &certificate, "not sent"),
    ] {
        let outcome = submit(&http(settings(host, roots)), "a", later()).await;
        assert_eq!(class(&outcome), expected, "{host}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_gets_no_request() {
    let (_, certificate) = secure_server().await;
    for acts in [
        vec![Act::ReadSome, answer(200, COMPLETED), Act::Stay],
        vec![Act::Reset],
        vec![],
        // Never answers the greeting; the lease ends meanwhile.
        vec![Act::ReadSome, Act::Hang],
    ] {
        let server = Server::new(vec![acts]).await;
        let url = server.url.replace("http://127.0.0.1", "https://localhost");
        let settings =
            HttpSettings { roots: Roots::Pem(certificate.clone()), ..HttpSettings::new(url) };
        let outcome = submit(&http(settings), "a", later()).await;
        assert_eq!(class(&outcome), "not sent", "{outcome:?}");
        assert_eq!(server.seen(super::script::Seen::requests), 0);
    }
}

#[test]
fn a_channel_that_trusts_nobody_is_refused() {
    for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let roots = Roots::Pem(pem.as_bytes().to_vec());
        let settings = HttpSettings { roots, ..HttpSettings::new("https://pay.example") };
        assert!(matches!(HttpChannel::new(settings), Err(BadSettings::Roots(_))), "{pem}");
    }
}
