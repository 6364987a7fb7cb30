//! TLS to the server, with the meaning that the modes have in libpq.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::StoreError;

/// `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    /// Clear text if TLS is not possible.
    Prefer,
    /// TLS. With a root certificate the server's certificate is verified, but not its name.
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        match text {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            other => Err(StoreError::Unavailable(format!(
                "sslmode={other} is not known: use disable, prefer, require, verify-ca or verify-full"
            ))),
        }
    }
}

/// The parameters of TLS.
#[derive(Debug, Clone)]
pub(super) struct Tls {
    pub(super) mode: Mode,
    /// `sslrootcert`: a file, or `system`.
    pub(super) root: Option<PathBuf>,
    /// `sslcert`
    pub(super) certificate: Option<PathBuf>,
    /// `sslkey`; without it the key is in the file of the certificate.
    pub(super) key: Option<PathBuf>,
}

impl Tls {
    /// Reads the files: a certificate that was renewed counts from the next connection.
    pub(super) fn connector(&self) -> Result<Connector, StoreError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = self.verifier(&provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let key = self.key.as_ref().unwrap_or(file);
                builder
                    .with_client_auth_cert(certificates("sslcert", file)?, private_key(key)?)
                    .map_err(|error| unreadable("sslcert", file, &error))?
            }
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Connector { config: Arc::new(config), progress: Arc::default() })
    }

    fn verifier(&self, provider: &CryptoProvider) -> Result<Verifier, StoreError> {
        let algorithms = provider.signature_verification_algorithms;
        let checks_name = self.mode == Mode::VerifyFull;
        let known = match &self.root {
            None => {
                return Ok(Verifier { roots: None, known: Vec::new(), checks_name, algorithms });
            }
            Some(root) if root.as_os_str() == "system" => {
                rustls_native_certs::load_native_certs().certs
            }
            Some(root) => certificates("sslrootcert", root)?,
        };
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(known.iter().cloned());
        if added == 0 {
            let root = self.root.as_deref().unwrap_or(Path::new("system"));
            return Err(unreadable("sslrootcert", root, &"there is no usable certificate in it"));
        }
        Ok(Verifier { roots: Some(roots), known, checks_name, algorithms })
    }
}

fn unusable(reason: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("TLS to PostgreSQL cannot be used: {reason}"))
}

fn unreadable(parameter: &str, file: &Path, reason: &dyn std::fmt::Display) -> StoreError {
    unusable(&format!("{parameter}={}: {reason}", file.display()))
}

fn certificates(parameter: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let text = std::fs::read(file).map_err(|error| unreadable(parameter, file, &error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(unreadable(parameter, file, &"there is no certificate in it"))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(parameter, file, &error)),
    }
}

/// As libpq, refuses a key that other users of the machine can read.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    let failed = |error: io::Error| unreadable("sslkey", file, &error);
    let found = std::fs::metadata(file).map_err(failed)?;
    // A key of root may be read by its group, which this process may belong to.
    let forbidden = if found.uid() == 0 { 0o027 } else { 0o077 };
    if found.mode() & forbidden != 0 {
        let reason = "other users can read it: set its mode to 0600 (0640 if root owns it)";
        return Err(unreadable("sslkey", file, &reason));
    }
    let text = std::fs::read(file).map_err(failed)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| unreadable("sslkey", file, &error))
}

/// Checks the certificate of the server as far as the mode asks for it.
#[derive(Debug)]
struct Verifier {
    /// None: any certificate is accepted, and only listeners are kept out.
    roots: Option<RootCertStore>,
    /// The same as they are written.
    known: Vec<CertificateDer<'static>>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// A server that signed its own certificate, which the client has as root: for OpenSSL that is a chain of one. Its
    /// validity was checked before this error.
    fn is_root_itself(&self, certificate: &CertificateDer<'_>, error: &Error) -> bool {
        self.known.contains(certificate) && format!("{error:?}").contains("CaUsedAsEndEntity")
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        let signed = verify_server_cert_signed_by_trust_anchor(
            &certificate,
            roots,
            intermediates,
            now,
            algorithms,
        );
        match signed {
            Err(error) if self.is_root_itself(end_entity, &error) => {}
            signed => signed?,
        }
        if self.checks_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Makes TLS connections for the driver, and knows how far the last one came.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    config: Arc<ClientConfig>,
    progress: Arc<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    was_tried: AtomicBool,
    is_encrypted: AtomicBool,
}

impl Connector {
    pub(super) fn is_encrypted(&self) -> bool {
        self.progress.is_encrypted.load(Ordering::Relaxed)
    }

    /// The server offered TLS, and there was no agreement.
    pub(super) fn has_failed(&self) -> bool {
        self.progress.was_tried.load(Ordering::Relaxed) && !self.is_encrypted()
    }
}

/// One connection to be made.
pub(super) struct Handshake {
    connector: Connector,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        self.progress.was_tried.store(false, Ordering::Relaxed);
        self.progress.is_encrypted.store(false, Ordering::Relaxed);
        Ok(Handshake { connector: self.clone(), host: host.to_owned() })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let Connector { config, progress } = self.connector;
        Box::pin(async move {
            progress.was_tried.store(true, Ordering::Relaxed);
            let name = ServerName::try_from(self.host)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            let stream = TlsConnector::from(config).connect(name, stream).await?;
            progress.is_encrypted.store(true, Ordering::Relaxed);
            Ok(Encrypted(stream))
        })
    }
}

/// An encrypted connection.
#[derive(Debug)]
pub(super) struct Encrypted<S>(TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
