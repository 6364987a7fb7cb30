//! Callbacks of channels and providers: the real routes, with valid, wrong and random signatures. No input makes the server
//! fail, and no unsigned input reaches the host.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use axum::body::Body as Bytes;
use axum::http::{HeaderValue, Request as HttpRequest};
use bursar_connect::webhook::{self, Sender};
use bursar_connect::{ErrorMap, Secret, callback};
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body, ReadSet, Request, TurnInput, apply};
use bursar_server::{
    AlertLimits, App, CallbackSettings, Host, HostStats, HttpLimits, Settings, Submitted,
    Unanswered, WebhookSettings,
};
use bursar_store::Location;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use jiff::{SignedDuration, Timestamp};

/// Decides on empty books, and counts.
struct Desk {
    rules: Arc<Rules>,
    asked: Arc<AtomicUsize>,
}

impl Host for Desk {
    fn ask(&self, body: Body) -> Submitted<'_, Answer> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let admission = Admission::new(Timestamp::UNIX_EPOCH, Seed::from(1));
        let requests = [Request { admission, body }];
        let batch = TurnInput::new(&self.rules, &requests);
        let answer = apply(&batch, ReadSet::default()).answers.pop();
        let failed = || Unanswered::Failed("nothing was answered".to_owned());
        Box::pin(std::future::ready(answer.ok_or_else(failed)))
    }

    fn stats(&self) -> HostStats {
        HostStats::default()
    }

    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn advance(&self, _: u64) -> Submitted<'_, Timestamp> {
        Box::pin(std::future::ready(Err(Unanswered::Stopping)))
    }
}

struct Server {
    router: axum::Router,
    asked: Arc<AtomicUsize>,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let channel = Channel {
        name: "wallet".to_owned(),
        currencies: ["PKR".parse().unwrap()].into(),
        bank: "main".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: false,
        visibility_window: SignedDuration::from_secs(30),
        failed_is_final: true,
        reports_amount: ReportsAmount::default(),
        concurrency: 16,
        clocks: Clocks::of("wallet"),
    };
    let channels = BTreeMap::from([("wallet".to_owned(), channel)]);
    let rules = Arc::new(Rules { channels, ..Rules::from(Rulebook::bundled().unwrap()) });
    let told = || CallbackSettings { secret: Secret::new("s"), errors: ErrorMap::default() };
    let settings = Settings {
        admin_key: None,
        rate_limit_per_s: 0,
        http: HttpLimits::default(),
        callbacks: ["wallet", "easy"].map(|name| (name.to_owned(), told())).into(),
        alerts: AlertLimits::default(),
        has_test_clock: false,
        answer_timeout: std::time::Duration::from_secs(5),
        webhooks: WebhookSettings {
            brand: "Bursar".to_owned(),
            sender: Arc::new(Sender::new(webhook::Settings::default()).unwrap()),
            vault: None,
        },
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let desk = Desk { rules: Arc::clone(&rules), asked: Arc::clone(&asked) };
    let nowhere = Location::Directory("/nonexistent".into());
    let app = App::new(Arc::new(desk), nowhere, rules, settings);
    Server { router: bursar_server::router(&app), asked }
});

/// The first byte says who speaks and how it is signed. A made-up signature is the first line of the rest.
pub(crate) fn run(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let who = if first & 1 == 0 { "wallet" } else { "easy" };
    let is_signed = first & 2 == 0;
    let (signature, body) = if is_signed {
        (callback::sign(&Secret::new("s"), rest).into_bytes(), rest)
    } else {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        (rest[..end].to_vec(), rest.get(end + 1..).unwrap_or_default())
    };
    let Ok(header) = HeaderValue::from_bytes(&signature) else { return };
    let request = HttpRequest::post(format!("/v1/providers/{who}/callbacks"))
        .header(callback::SIGNATURE_HEADER, header)
        .body(Bytes::from(body.to_vec()))
        .unwrap();
    let before = SERVER.asked.load(Ordering::Relaxed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answer = TowerToHyperService::new(SERVER.router.clone()).call(request);
    let status = runtime.block_on(answer).unwrap().status();
    assert!(status.as_u16() < 500, "{status}: nothing that is sent makes the server fail");
    let signature = String::from_utf8_lossy(&signature);
    if !callback::verify(&Secret::new("s"), &signature, body) {
        assert_eq!(status, 401, "what is not signed is not believed");
        assert_eq!(SERVER.asked.load(Ordering::Relaxed), before, "nor does it reach the host");
    }
}
