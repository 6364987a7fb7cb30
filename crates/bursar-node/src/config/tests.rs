//! Accepted and rejected configurations.

use std::time::Duration;

use bursar_server::HttpLimits;

use super::{Config, DEFAULTS, merge, override_with, parse};

fn read(file: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let mut tree = parse(DEFAULTS, "defaults").map_err(|failure| failure.to_string())?;
    merge(&mut tree, parse(file, "test.toml").map_err(|failure| failure.to_string())?);
    for (name, value) in variables {
        override_with(&mut tree, name, value).map_err(|failure| failure.to_string())?;
    }
    tree.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

#[test]
fn the_defaults_are_five_markets() {
    let markets = read("", &[]).unwrap().markets().unwrap();
    let names: Vec<_> =
        markets.iter().map(|market| format!("{}/{}", market.name, market.currency)).collect();
    assert_eq!(names, ["BD/BDT", "EG/EGP", "IQ/IQD", "NP/NPR", "PK/PKR"]);
}

#[test]
fn a_file_changes_only_what_it_names() {
    let config = read("[fees.PK]\npayin_basis_points = 100\n", &[]).unwrap();
    assert_eq!(config.fees["PK"].payin_basis_points, 100);
    assert_eq!(config.fees["PK"].vat_basis_points, 1_600);
}

#[test]
fn variables_override_the_file_and_leave_others_alone() {
    let variables = [
        ("BURSAR_DEFAULT_BANK_ID", "hbl"),
        ("BURSAR_FEES__PK__PAYIN_BASIS_POINTS", "7"),
        ("BURSAR_SHARED", "../shared"),
    ];
    let config = read("default_bank_id = \"ubl\"\n", &variables).unwrap();
    assert_eq!(config.default_bank_id, "hbl");
    assert_eq!(config.fees["PK"].payin_basis_points, 7);
}

#[test]
fn unknown_keys_and_wrong_amounts_are_errors() {
    assert!(read("bank = \"x\"\n", &[]).unwrap_err().contains("unknown field `bank`"));
    assert!(read("[ledger]\nchrt = \"x\"\n", &[]).unwrap_err().contains("unknown field `chrt`"));
    assert!(
        read("", &[("BURSAR_LEDGER__CHRT", "x")]).unwrap_err().contains("unknown field `chrt`")
    );
    assert!(
        read("", &[("BURSAR_FEES__PK__VAT_BASIS_POINTS", "much")])
            .unwrap_err()
            .contains("invalid type")
    );
    assert!(read("[fees\n", &[]).unwrap_err().contains("test.toml is not TOML"));
    let config = read("[fees.PK]\npayin_flat = \"0.001\"\n", &[]).unwrap();
    assert!(
        read("", &[("BURSAR_LEDGER__CHART__X", "1")]).unwrap_err().contains("names a key below")
    );
    for wrong in ["payin_flat = \"-5.00\"", "vat_basis_points = 20000"] {
        let config = read(&format!("[fees.PK]\n{wrong}\n"), &[]).unwrap();
        assert!(config.markets().is_err(), "{wrong}");
    }
    assert!(read("default_bank_id = \"a:b\"\n", &[]).unwrap().default_bank_id().is_err());
    let failure = config.markets().unwrap_err().to_string();
    assert!(
        failure.contains("fees.PK.payin_flat: `0.001` has 3 decimals, but PKR has 2"),
        "{failure}"
    );
}

#[test]
fn the_limits_of_connections_have_defaults_and_bounds() {
    let limits = read("", &[]).unwrap().http_limits().unwrap();
    let usual = HttpLimits::default();
    let timeouts = |limits: &HttpLimits| {
        let HttpLimits { header_timeout, body_timeout, body_grace, idle_timeout, .. } = *limits;
        [header_timeout, body_timeout, body_grace, idle_timeout, limits.drain_timeout]
    };
    assert_eq!(timeouts(&limits), timeouts(&usual));
    assert_eq!(limits.body_bytes_per_s_min, usual.body_bytes_per_s_min);
    assert_eq!(limits.wrong_keys_per_minute, usual.wrong_keys_per_minute);
    assert!(limits.connections_per_address < limits.connections_max);
    let shorter = read("", &[("BURSAR_HTTP__HEADER_TIMEOUT_S", "0.5")]).unwrap();
    let expected = Duration::from_millis(500);
    assert_eq!(shorter.http_limits().unwrap().header_timeout, expected);
    for wrong in ["header_timeout_s = 0", "idle_timeout_s = -1", "body_bytes_per_s_min = 0"] {
        let failure = read(&format!("[http]\n{wrong}\n"), &[]).unwrap().http_limits();
        assert!(failure.is_err(), "{wrong}");
    }
    let long = read("[http]\ndrain_timeout_s = 100\n", &[]).unwrap().http_limits();
    let failure = long.unwrap_err().to_string();
    assert!(failure.contains("http.drain_timeout_s must be 0.01 to 15 seconds"), "{failure}");
}
