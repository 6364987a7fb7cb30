//! A PostgreSQL server with TLS, and an authority of the test's own that signs certificates.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use crate::cluster::Cluster;
use crate::scratch::Scratch;

/// A certificate and its key, as PEM.
pub(super) struct Certificate {
    pub(super) pem: String,
    pub(super) key: String,
}

pub(super) struct Authority {
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for `localhost`, valid until the given year.
    pub(super) fn server(&self, until: i32) -> Certificate {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "localhost");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_after = date_time_ymd(until, 1, 1);
        self.sign(&params)
    }

    pub(super) fn client(&self, user: &str) -> Certificate {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let pem = params.signed_by(&key, &self.issuer).unwrap().pem();
        Certificate { pem, key: key.serialize_pem() }
    }
}

/// A certificate for `localhost` that signed itself, as an authority does.
pub(super) fn self_signed() -> Certificate {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    Certificate { pem, key: key.serialize_pem() }
}

pub(super) struct Server {
    cluster: Cluster,
    pub(super) port: u16,
    files: Scratch,
    /// How often the settings were changed.
    changes: u32,
}

impl Server {
    /// Without TLS.
    pub(super) fn start() -> Self {
        let cluster = Cluster::start();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let files = Scratch::new();
        // The HOME of `psql`.
        std::fs::create_dir(files.path().join("home")).unwrap();
        let mut server = Self { cluster, port, files, changes: 0 };
        server.append(&format!("listen_addresses = '127.0.0.1'\nport = {port}\n"));
        server.cluster.stop_server("fast").unwrap();
        server.cluster.start_server();
        server.reload("", "host all all 127.0.0.1/32 trust");
        server
    }

    /// Writes a file that only its owner can read, and returns its path.
    pub(super) fn file(&self, name: &str, text: &str) -> String {
        let path = self.files.file(name, text);
        set_mode(&path, 0o600);
        path
    }

    /// The server has this certificate, trusts clients of this authority, and lets in by these rules.
    pub(super) fn with_tls(&mut self, own: &Certificate, clients: &Authority, rules: &str) {
        let data = self.cluster.data();
        for (name, text) in
            [("server.crt", &own.pem), ("server.key", &own.key), ("clients.crt", &clients.pem)]
        {
            let path = format!("{data}/{name}");
            std::fs::write(&path, text).unwrap();
            set_mode(&path, 0o600);
            let like = format!("--reference={data}");
            assert!(Command::new("chown").args([&like, &path]).status().unwrap().success());
        }
        self.reload("ssl = on\nssl_ca_file = 'clients.crt'\n", rules);
    }

    pub(super) fn without_tls(&mut self) {
        self.reload("ssl = off\n", "host all all 127.0.0.1/32 trust");
    }

    fn append(&self, settings: &str) {
        let path = format!("{}/postgresql.conf", self.cluster.data());
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str(settings);
        std::fs::write(path, text).unwrap();
    }

    /// Changes settings and rules, and waits until new connections have them.
    fn reload(&mut self, settings: &str, rules: &str) {
        self.changes += 1;
        let data = self.cluster.data();
        let change = self.changes;
        self.append(&format!("{settings}\nbursar.change = '{change}'\n"));
        let mut text = "local all all trust\n".to_owned();
        writeln!(text, "{rules}").unwrap();
        std::fs::write(format!("{data}/pg_hba.conf"), text).unwrap();
        self.cluster.run("pg_ctl", &["-D", &data, "reload"]);
        let local = format!("{} user=bursar dbname=postgres", self.socket());
        let shown = || self.psql(&local, "SHOW bursar.change").ok();
        while shown() != Some(change.to_string()) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The parameters of the socket.
    pub(super) fn socket(&self) -> String {
        let url = self.cluster.url();
        let host = url.split_whitespace().next().unwrap();
        format!("{host} port={}", self.port)
    }

    /// Runs a statement through libpq.
    pub(super) fn psql(&self, parameters: &str, statement: &str) -> Result<String, String> {
        let mut command = Command::new("psql");
        command.args(["-X", "-At", "-c", statement, parameters]);
        command.env("HOME", self.files.path().join("home"));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

pub(super) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
