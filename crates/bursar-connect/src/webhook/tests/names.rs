//! Names that resolve to inner addresses. The sender dials a test double instead of the internet, which records the
//! addresses.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::proto::rr::Name;
use tokio::net::TcpStream;

use super::dns::{Dns, Reply, reply};
use super::server::{Act, Server, answer, names, send, settings, word};
use crate::webhook::connect::Dial;
use crate::webhook::resolve::without_search;
use crate::webhook::{Class, Policy, Sender, Sent, Settings};

const PUBLIC: &str = "93.184.216.34";
const OTHER: &str = "198.41.0.4";

type Dialled = Arc<Mutex<Vec<SocketAddr>>>;

/// A dialler that records the addresses and connects to none.
fn nowhere() -> (Dial, Dialled) {
    failing(|_| io::ErrorKind::ConnectionRefused.into())
}

/// The same with an error for each call.
fn failing(why: impl Fn(usize) -> io::Error + Send + Sync + 'static) -> (Dial, Dialled) {
    let dialled = Dialled::default();
    let remembered = Arc::clone(&dialled);
    let dial: Dial = Arc::new(move |address| {
        let mut remembered = remembered.lock().unwrap();
        remembered.push(address);
        let error = why(remembered.len());
        Box::pin(async { Err::<TcpStream, _>(error) })
    });
    (dial, dialled)
}

struct World {
    dns: Dns,
    sender: Sender,
    dialled: Dialled,
}

impl World {
    async fn new(replies: Vec<Reply>) -> Self {
        let dns = Dns::new(replies).await;
        let (dial, dialled) = nowhere();
        let nameservers = vec![dns.address];
        let settings = Settings { nameservers, policy: Policy::default(), ..settings() };
        Self { dns, sender: Sender::with_dial(settings, dial).unwrap(), dialled }
    }

    async fn send(&self) -> Sent {
        send(&self.sender, "https://hooks.merchant.example:8443/in").await
    }

    fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

/// A8: the sender connects to the address that it checked; there is no second lookup. The next attempt looks up again,
/// because the TTL of the answer is 0.
#[tokio::test]
async fn a_name_cannot_change_between_check_and_connect() {
    let world = World::new(vec![reply(0, &[PUBLIC]), reply(0, &["127.0.0.1"])]).await;
    assert_eq!(word(&world.send().await), Err(Class::Connect));
    assert_eq!(world.dns.asked().1, 1, "one lookup for one attempt");
    assert_eq!(world.dialled(), [format!("{PUBLIC}:8443")]);
    for _ in 0..3 {
        assert_eq!(word(&world.send().await), Err(Class::Refused));
    }
    assert_eq!(world.dialled().len(), 1, "127.0.0.1 was not dialled");
    assert_eq!(world.dns.asked().1, 4, "every attempt looks up");
}

/// A8 with a real connection: a server on this machine receives none.
#[tokio::test]
async fn a_name_of_an_inner_address_reaches_no_server() {
    let sink = tokio::net::TcpListener::bind("127.77.84.43:8443").await.unwrap();
    let dns = Dns::new(vec![reply(0, &["127.77.84.43"])]).await;
    let nameservers = vec![dns.address];
    let settings = Settings { nameservers, policy: Policy::default(), ..settings() };
    let sent = send(&Sender::new(settings).unwrap(), "https://hooks.merchant.example:8443/").await;
    assert_eq!(word(&sent), Err(Class::Refused));
    let no_connection = std::future::poll_fn(|context| {
        std::task::Poll::Ready(sink.poll_accept(context).is_pending())
    });
    assert!(no_connection.await, "the server got a connection");
}

/// A9: a mix of public and inner addresses is an attack.
#[tokio::test]
async fn one_inner_address_refuses_the_whole_name() {
    for addresses in [
        &[PUBLIC, "127.0.0.1"][..],
        &["10.0.0.1", PUBLIC],
        &[PUBLIC, "::1"],
        &[PUBLIC, OTHER, "1.1.1.1", "9.9.9.9", "8.8.8.8", "169.254.169.254"],
        &[PUBLIC, "::ffff:10.0.0.1"],
        &["64:ff9b::a00:1"],
        &["168.63.129.16"],
        &["2606:2800:220:1:0:5efe:a00:1"],
    ] {
        let world = World::new(vec![reply(60, addresses)]).await;
        let sent = world.send().await;
        assert_eq!(word(&sent), Err(Class::Refused), "{addresses:?}");
        assert!(world.dialled().is_empty());
        let detail = sent.result.unwrap_err().detail;
        assert_eq!(
            detail,
            "hooks.merchant.example: the name does not lead to the public internet; use a server that can be reached from there",
            "what it resolves to is not said"
        );
    }
}

#[tokio::test]
async fn all_good_addresses_are_tried_up_to_a_limit() {
    let many = [PUBLIC, OTHER, PUBLIC, "2606:2800:220:1::1", "1.1.1.1", "9.9.9.9", "8.8.8.8"];
    let world = World::new(vec![reply(60, &many)]).await;
    assert_eq!(word(&world.send().await), Err(Class::Connect));
    assert_eq!(world.dialled().len(), 4);
    let both = World::new(vec![reply(60, &["2606:2800:220:1::1", PUBLIC])]).await;
    assert_eq!(word(&both.send().await), Err(Class::Connect));
    assert_eq!(both.dialled(), [format!("{PUBLIC}:8443"), "[2606:2800:220:1::1]:8443".to_owned()]);
}

/// A lack of local resources is not a fault of the endpoint, whichever address met it.
#[tokio::test]
async fn a_machine_without_files_or_ports_says_nothing_about_the_endpoint() {
    type Made = fn() -> io::Error;
    let cases: [(Made, Class); 8] = [
        (|| io::Error::from_raw_os_error(24), Class::LocalResourceExhausted),
        (|| io::Error::from_raw_os_error(23), Class::LocalResourceExhausted),
        (|| io::ErrorKind::AddrNotAvailable.into(), Class::LocalResourceExhausted),
        (|| io::ErrorKind::AddrInUse.into(), Class::LocalResourceExhausted),
        (|| io::ErrorKind::OutOfMemory.into(), Class::LocalResourceExhausted),
        (|| io::ErrorKind::ConnectionRefused.into(), Class::Connect),
        (|| io::ErrorKind::HostUnreachable.into(), Class::Connect),
        (|| io::ErrorKind::TimedOut.into(), Class::Connect),
    ];
    for (made, expected) in cases {
        for at in [1, 2] {
            let dns = Dns::new(vec![reply(60, &[PUBLIC, OTHER])]).await;
            let refused = || io::ErrorKind::ConnectionRefused.into();
            let (dial, dialled) = failing(move |number| {
                Some(made()).filter(|_| number == at).unwrap_or_else(refused)
            });
            let settings = Settings { nameservers: vec![dns.address], ..settings() };
            let sender = Sender::with_dial(settings, dial).unwrap();
            let sent = send(&sender, "https://hooks.merchant.example:8443/in").await;
            assert_eq!(word(&sent), Err(expected), "{}", made());
            assert_eq!(dialled.lock().unwrap().len(), 2, "the other address is tried");
        }
    }
}

/// A10: an alias is followed, and its final address is checked.
#[tokio::test]
async fn an_alias_to_the_inside_is_refused() {
    let alias = Some("metadata.internal");
    let inside = Reply { alias, ..reply(60, &["169.254.169.254"]) };
    let world = World::new(vec![inside]).await;
    assert_eq!(word(&world.send().await), Err(Class::Refused));
    let outside = Reply { alias: Some("cdn.example"), ..reply(60, &[PUBLIC]) };
    let world = World::new(vec![outside]).await;
    assert_eq!(word(&world.send().await), Err(Class::Connect));
    assert_eq!(world.dialled(), [format!("{PUBLIC}:8443")]);
}

/// A10: search domains are not applied.
#[tokio::test]
async fn a_name_is_looked_up_as_it_is_written() {
    let world = World::new(vec![Reply::default()]).await;
    for url in ["https://internal.svc/", "https://internal/", "https://internal.svc./"] {
        let sent = send(&world.sender, url).await;
        assert_eq!(word(&sent), Err(Class::Dns), "{url}: {sent:?}");
    }
    assert_eq!(world.dns.asked().0, ["internal.", "internal.svc."]);
}

#[test]
fn search_domains_of_this_machine_are_dropped() {
    let ours = Name::from_ascii("cluster.local.").unwrap();
    let nameserver = NameServerConfig::udp_and_tcp("127.0.0.1".parse().unwrap());
    let system = ResolverConfig::from_parts(Some(ours.clone()), vec![ours], vec![nameserver]);
    let config = without_search(system);
    assert!(config.domain().is_none() && config.search().is_empty());
    assert_eq!(config.name_servers().len(), 1);
}

/// A14 and `localhost`, which is never looked up.
#[tokio::test]
async fn this_machine_and_this_service_are_not_sent_to() {
    let dns = Dns::new(vec![reply(60, &[PUBLIC])]).await;
    let (dial, dialled) = nowhere();
    let policy = Policy::new(&[], &names(&["api.bursar.example"])).unwrap();
    let settings = Settings { nameservers: vec![dns.address], policy, ..settings() };
    let sender = Sender::with_dial(settings, dial).unwrap();
    for url in [
        "https://localhost/",
        "https://x.localhost/",
        "https://api.bursar.example/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.0.0.1:8443/",
    ] {
        let sent = send(&sender, url).await;
        assert_eq!(word(&sent), Err(Class::Refused), "{url}: {sent:?}");
    }
    assert!(dialled.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_allowed_name_is_resolved_by_the_system() {
    let server = Server::new(vec![vec![Act::Read, answer(200, ""), Act::Stay]]).await;
    let policy = Policy::new(&[format!("localhost:{}", server.port)], &[]).unwrap();
    let sender = Sender::new(Settings { policy, ..settings() }).unwrap();
    let url = format!("http://LocalHost:{}/", server.port);
    assert_eq!(word(&send(&sender, &url).await), Ok(200));
    assert_eq!(word(&send(&sender, "http://localhost:1/").await), Err(Class::Refused));
}

#[tokio::test]
async fn a_silent_name_server_is_a_dns_failure() {
    let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (dial, dialled) = nowhere();
    let nameservers = vec![silent.local_addr().unwrap()];
    let settings = Settings { nameservers, policy: Policy::default(), ..settings() };
    let sender = Sender::with_dial(settings, dial).unwrap();
    tokio::time::pause();
    assert_eq!(word(&send(&sender, "https://merchant.example/").await), Err(Class::Dns));
    assert!(dialled.lock().unwrap().is_empty());
}
