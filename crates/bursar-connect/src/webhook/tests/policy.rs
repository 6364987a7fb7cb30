//! URLs and addresses that the policy refuses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::{any, prop_assert, proptest};

use crate::webhook::{Policy, RefusedUrl};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn policy(allow: &[&str], own: &[&str]) -> Policy {
    Policy::new(&names(allow), &names(own)).unwrap()
}

fn refused(url: &str) -> RefusedUrl {
    policy(&[], &[]).check(url).map(|place| format!("{url} became {place:?}")).unwrap_err()
}

#[test]
fn a_public_url_is_parsed() {
    for (url, host, port) in [
        ("https://Merchant.Example/hooks?token=1", "merchant.example", 443),
        ("https://merchant.example.:8443/", "merchant.example", 8443),
        ("https://93.184.216.34", "93.184.216.34", 443),
        ("https://[2606:2800:220:1::1]/", "2606:2800:220:1::1", 443),
        ("https://[::ffff:93.184.216.34]/", "93.184.216.34", 443),
        ("https://bücher.example/", "xn--bcher-kva.example", 443),
    ] {
        let place = policy(&[], &[]).check(url).unwrap();
        assert_eq!((place.host.as_str(), place.port), (host, port), "{url}");
        assert!(place.is_secure && !place.is_allowed, "{url}");
        assert_eq!(place.address.is_some(), host.parse::<IpAddr>().is_ok(), "{url}");
    }
}

/// A1: one address has many spellings.
#[test]
fn every_spelling_of_an_inner_address_is_refused() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "127.0.0.1.",
        "0",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "%31%32%37.0.0.1",
    ] {
        let error = refused(&format!("https://{host}/"));
        assert!(matches!(error, RefusedUrl::Address(_)), "{host}: {error}");
    }
}

/// A2 and A3: metadata services, and every way to write IPv4 as IPv6.
#[test]
fn inner_addresses_of_both_kinds_are_refused() {
    for host in [
        "169.254.169.254",
        "2852039166",
        "100.100.100.200",
        "168.63.129.16",
        "2822734096",
        "0xa8.0x3f.0x81.0x10",
        "0250.077.0201.020",
        "168.63.129.16.",
        "0.0.0.0",
        "100.64.0.1",
        "192.0.0.8",
        "198.18.0.1",
        "[::ffff:168.63.129.16]",
        "[64:ff9b::a83f:8110]",
        "[2002:a83f:8110::]",
        "[2606:2800:220:1:0:5efe:10.0.0.1]",
        "[2606:2800:220:1:200:5efe:a9fe:a9fe]",
        "[2606:2800:220:1:100:5efe:7f00:1]",
        "[2606:2800:220:1:300:5efe:7f00:1]",
        "192.168.1.1",
        "255.255.255.255",
        "[fd00:ec2::254]",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2001:0:7f00:1::]",
        "[2002:7f00:1::]",
        "[2001:db8::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[fc00::1]",
        "[ff02::1]",
        "[3fff::1]",
        "[5f00::1]",
    ] {
        let error = refused(&format!("https://{host}/"));
        assert!(matches!(error, RefusedUrl::Address(_)), "{host}: {error}");
    }
}

/// A4: in other schemes an address is read as a name.
#[test]
fn only_https_is_sent_to() {
    for url in [
        "http://merchant.example/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "ftp://merchant.example/",
        "unix:/run/x",
        "data:text/plain,x",
        "javascript:alert(1)",
        "ws://merchant.example",
        "http:127.0.0.1",
        "http:/127.0.0.1",
        "http:///127.0.0.1/",
    ] {
        assert_eq!(refused(url), RefusedUrl::Scheme, "{url}");
    }
}

/// A5: forms that a browser accepts.
#[test]
fn odd_forms_lead_to_the_same_address() {
    for url in ["https:127.0.0.1", "https:/127.0.0.1", "https:///127.0.0.1/"] {
        assert!(matches!(refused(url), RefusedUrl::Address(_)), "{url}");
    }
    for url in [
        r"https://127.0.0.1\@good.com",
        r"https://good.com\@127.0.0.1",
        r"https:\\good.com",
        r"http:\\127.0.0.1",
        r"https:/\good.com/",
        r"https://good.com\.evil.com/",
        r"https://good.com/a\b",
    ] {
        assert_eq!(refused(url), RefusedUrl::Backslash, "{url}");
        let allowed = policy(&["good.com", "127.0.0.1"], &[]);
        assert_eq!(allowed.check(url).unwrap_err(), RefusedUrl::Backslash, "{url}");
    }
    for url in [
        "",
        "merchant.example",
        "https://",
        "https://.",
        "https://mer\nchant.example",
        " https://merchant.example",
        "https://merchant.example/\tx",
        "https://a b/",
        "https://merchant.example:99999/",
        "https://[::1",
    ] {
        assert!(matches!(refused(url), RefusedUrl::Unreadable(_)), "{url}");
    }
}

/// A6: a password in a URL ends up in logs.
#[test]
fn a_url_with_a_password_is_refused_without_showing_it() {
    for url in [
        "https://user:sesame@merchant.example/",
        "https://sesame@merchant.example/",
        "https://:sesame@merchant.example/",
        "https://sesame@127.0.0.1/",
    ] {
        let error = refused(url);
        assert_eq!(error, RefusedUrl::User, "{url}");
        assert!(!error.to_string().contains("sesame"));
    }
    let error = refused("https://good.com:sesame@127.0.0.1:x/");
    assert!(!format!("{error} {error:?}").contains("sesame"), "{error:?}");
    let allowed = policy(&["merchant.example"], &[]);
    assert_eq!(allowed.check("https://a@merchant.example/").unwrap_err(), RefusedUrl::User);
}

/// A7: a webhook must not reach a mail server.
#[test]
fn only_the_ports_of_webhooks_are_sent_to() {
    for port in [0, 22, 25, 80, 6379, 8080, 65_535] {
        let url = format!("https://merchant.example:{port}/");
        assert_eq!(refused(&url), RefusedUrl::Port(port));
    }
}

#[test]
fn fragments_and_endless_urls_are_refused() {
    assert_eq!(refused("https://merchant.example/#x"), RefusedUrl::Fragment);
    assert_eq!(refused(&format!("https://m.example/{}", "x".repeat(2_048))), RefusedUrl::TooLong);
}

/// A14: a webhook about a webhook about a webhook.
#[test]
fn own_names_are_refused_unless_allowed() {
    let own = &["API.bursar.example", "198.41.0.4"];
    for url in
        ["https://api.bursar.example/", "https://Api.Bursar.Example.:8443/", "https://198.41.0.4/"]
    {
        let error = policy(&[], own).check(url).unwrap_err();
        assert!(matches!(error, RefusedUrl::Own(_)), "{url}: {error}");
    }
    assert!(policy(&[], own).check("https://merchant.example/").is_ok());
    assert!(policy(&["api.bursar.example"], own).check("https://api.bursar.example/").is_ok());
}

#[test]
fn an_allowed_host_may_be_anything_on_the_ports_that_are_allowed() {
    let policy = policy(&["LOCALHOST", "127.0.0.1:8080", "[::1]:9", "fd00::1", "dev.svc."], &[]);
    for url in [
        "http://localhost:1234/hook",
        "http://dev.svc/",
        "https://localhost/",
        "http://127.0.0.1:8080",
        "http://2130706433:8080",
        "http://[::1]:9/",
        "http://[fd00::1]/",
    ] {
        assert!(policy.check(url).unwrap().is_allowed, "{url}");
    }
    for url in ["http://127.0.0.1:8081", "http://[::1]:10", "http://x.localhost/", "http://svc/"] {
        assert_eq!(policy.check(url).unwrap_err(), RefusedUrl::Scheme, "{url}");
    }
}

#[test]
fn an_unreadable_list_of_hosts_is_refused() {
    for entry in
        ["", " ", "*", "*.example", "https://x.example", "a b", "x:99999", ":80", "x:", "."]
    {
        let error = Policy::new(&names(&[entry]), &[]).unwrap_err();
        assert_eq!(error.entry, entry);
        assert!(Policy::new(&[], &names(&[entry])).is_err(), "{entry}");
    }
    assert!(Policy::new(&[], &names(&["x:80"])).is_err(), "own names have no port");
}

#[test]
fn the_borders_of_the_public_internet_are_where_they_should_be() {
    for (address, is_public) in [
        ("1.0.0.0", true),
        ("0.255.255.255", false),
        ("9.255.255.255", true),
        ("11.0.0.0", true),
        ("100.63.255.255", true),
        ("100.127.255.255", false),
        ("100.128.0.0", true),
        ("126.255.255.255", true),
        ("168.63.129.15", true),
        ("168.63.129.17", true),
        ("2606::5ffe:a00:1", true),
        ("2606::400:5efe:a00:1", true),
        ("128.0.0.0", true),
        ("172.15.255.255", true),
        ("172.31.255.255", false),
        ("172.32.0.0", true),
        ("192.0.1.0", true),
        ("198.17.255.255", true),
        ("198.19.255.255", false),
        ("198.20.0.0", true),
        ("223.255.255.255", true),
        ("1fff::", false),
        ("2000::", true),
        ("2001:1ff:ffff::", false),
        ("2001:200::", true),
        ("2001:db7::", true),
        ("2001:db9::", true),
        ("2003::", true),
        ("3fff:fff:ffff::", false),
        ("3fff:1000::", true),
        ("4000::", false),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(Policy::check_address(address).is_ok(), is_public, "{address}");
    }
}

fn is_inner(address: Ipv4Addr) -> bool {
    address.is_private() || address.is_loopback() || address.is_link_local()
}

/// One of the inner addresses, as often as not.
fn inner(seed: u32, which: u8) -> Ipv4Addr {
    let [_, b, c, d] = seed.to_be_bytes();
    match which % 5 {
        0 => Ipv4Addr::new(10, b, c, d),
        1 => Ipv4Addr::new(127, b, c, d),
        2 => Ipv4Addr::new(169, 254, c, d),
        3 => Ipv4Addr::new(172, 16 | (b & 15), c, d),
        _ => Ipv4Addr::new(192, 168, c, d),
    }
}

/// Every known way to carry an IPv4 address inside an IPv6 one.
fn embeddings(address: Ipv4Addr) -> [Ipv6Addr; 8] {
    let bits = u128::from(u32::from(address));
    let at = |prefix: u128, shift: u32| Ipv6Addr::from(prefix | (bits << shift));
    [
        address.to_ipv6_mapped(),
        at(0, 0),
        at(0x0064_ff9b << 96, 0),
        at(0x0064_ff9b_0001 << 80, 0),
        at(0x2002 << 112, 80),
        at(0x2001 << 112, 0),
        at(0x2606 << 112 | 0x5efe << 32, 0),
        at(0x2606 << 112 | 0x0200_5efe << 32, 0),
    ]
}

proptest! {
    #[test]
    fn no_embedding_of_an_inner_address_is_public(seed in any::<u32>(), which in any::<u8>()) {
        let address = inner(seed, which);
        prop_assert!(is_inner(address));
        prop_assert!(Policy::check_address(address.into()).is_err());
        for v6 in embeddings(address) {
            prop_assert!(Policy::check_address(v6.into()).is_err(), "{v6}");
            let url = format!("https://[{v6}]/");
            prop_assert!(policy(&[], &[]).check(&url).is_err(), "{url}");
        }
        let number = u32::from(address);
        for host in [format!("{number}"), format!("{number:#x}"), format!("0{number:o}")] {
            let url = format!("https://{host}/");
            prop_assert!(policy(&[], &[]).check(&url).is_err(), "{url}");
        }
    }

    #[test]
    fn no_public_address_is_inner_for_the_standard_library(bits in any::<u32>()) {
        let address = Ipv4Addr::from(bits);
        let is_special = is_inner(address) || address.is_multicast() || address.is_broadcast();
        let is_special = is_special || address.is_documentation() || address.is_unspecified();
        prop_assert!(!(is_special && Policy::check_address(address.into()).is_ok()), "{address}");
    }

    #[test]
    fn no_text_makes_the_check_panic(text in ".{0,80}", path in "[ -~]{0,40}") {
        for url in [text.clone(), format!("https://{text}"), format!("https://10.1.2.3{path}")] {
            if let Ok(place) = policy(&[], &[]).check(&url) {
                prop_assert!(place.is_secure && [443, 8443].contains(&place.port));
                prop_assert!(place.address.is_none_or(|it| Policy::check_address(it).is_ok()));
            }
        }
    }
}
