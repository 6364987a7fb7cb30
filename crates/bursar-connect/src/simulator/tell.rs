//! Sends the provider's callbacks: signed, a few at a time, again if nobody is there, and then never mind.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::provider::Told;
use super::serve::Shop;
use crate::callback::{self, SIGNATURE_HEADER};
use crate::http::wire::{Limits, Wire};
use crate::http::{BadSettings, Roots, Target, Tls};
use crate::secret::Secret;

/// Callbacks that are under way at once.
const HANDS: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(5);
/// Whoever is to be told may be down for a moment.
const RESTS_MS: [u64; 4] = [100, 300, 1_000, 3_000];

/// Where callbacks go, and what they are signed with.
#[derive(Debug)]
pub struct Telling {
    wire: Wire,
    target: Target,
    secret: Secret,
}

impl Telling {
    pub fn new(url: &str, secret: Secret) -> Result<Self, BadSettings> {
        let target = Target::parse(url)?;
        let tls = target.is_secure.then(|| Tls::new(&target, &Roots::System)).transpose()?;
        Ok(Self { wire: Wire::new(target.clone(), tls, HANDS), target, secret })
    }

    async fn tell(&self, told: Told) {
        for rest in RESTS_MS {
            if self.is_heard(&told).await {
                return;
            }
            sleep(Duration::from_millis(rest)).await;
        }
        // The last try: providers give up, and whoever was not told has to ask.
        self.is_heard(&told).await;
    }

    async fn is_heard(&self, told: &Told) -> bool {
        let Target { authority, path, .. } = &self.target;
        let request = Request::post(if path.is_empty() { "/" } else { path })
            .header(HOST, authority)
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE_HEADER, callback::sign(&self.secret, &told.body))
            .body(Full::new(Bytes::from(told.body.clone())));
        let (Ok(request), Some(until)) = (request, Instant::now().checked_add(TIMEOUT)) else {
            return true;
        };
        let limits = Limits { until, lease: until };
        // Nobody is mistaken for somebody else here: the answer says no more than that it was heard.
        let heard = self.wire.exchange(request, limits, |_| true).await;
        heard.is_ok_and(|heard| heard.status < 500)
    }
}

/// Tells what there is to tell, for ever.
pub(super) async fn run(shop: Arc<Shop>, telling: Telling) {
    let telling = Arc::new(telling);
    let mut calls = JoinSet::new();
    loop {
        let (told, next_in) = shop.told();
        for told in told {
            while calls.len() >= HANDS {
                calls.join_next().await;
            }
            let telling = Arc::clone(&telling);
            calls.spawn(async move { telling.tell(told).await });
        }
        tokio::select! {
            () = shop.news.notified() => {}
            Some(_) = calls.join_next() => {}
            () = sleep(next_in.unwrap_or_default()), if next_in.is_some() => {}
        }
    }
}
