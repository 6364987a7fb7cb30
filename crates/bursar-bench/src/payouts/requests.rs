//! Payouts of many merchants, or of one, through one channel, in a pseudo-random, reproducible order.

use std::collections::BTreeMap;

use bursar_core::idempotency::Key;
use bursar_core::ids::Seed;
use bursar_core::ledger::pricing::Tariff;
use bursar_core::ledger::{Admission, LedgerEvent, Post};
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::payouts::{Beneficiary, ClientMetadata, NewPayout};
use bursar_core::registry::{Change, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::{Body, Request};
use bursar_node::failure::Failure;
use bursar_node::rulebook::load_rulebook;
use jiff::{SignedDuration, Timestamp};

use crate::measure::mix;

pub(super) const CHANNEL: &str = "wallet";
const CURRENCY: &str = "PKR";
const MERCHANTS: u64 = 1_000;
const AMOUNT: &str = "100.00";
/// The initial funds of a merchant: enough for any number of payouts.
const OPENING: &str = "10000000000.00";

/// The merchants that pay.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Merchants {
    /// 1,000 merchants, uniformly distributed.
    Uniform,
    /// One merchant has all payouts.
    Hot,
}

impl Merchants {
    pub(super) const fn count(self) -> u64 {
        match self {
            Self::Uniform => MERCHANTS,
            Self::Hot => 1,
        }
    }
}

/// A caller that creates payouts. Its number keeps its idempotency keys apart from those of other callers.
#[derive(Debug)]
pub(crate) struct Payouts {
    merchants: Merchants,
    number: u64,
    made: u64,
}

impl Payouts {
    pub(crate) fn new(merchants: Merchants, number: u64) -> Self {
        Self { merchants, number, made: 0 }
    }

    /// The next requests.
    pub(crate) fn next(&mut self, count: u32) -> Vec<(Key, NewPayout)> {
        (0..count)
            .map(|_| {
                self.made = self.made.saturating_add(1);
                self.payout()
            })
            .collect()
    }

    fn payout(&self) -> (Key, NewPayout) {
        let chance = mix(mix(self.made) ^ self.number);
        let merchant = mix(chance).checked_rem(self.merchants.count()).unwrap_or_default();
        // Keys are chosen by callers, so they are unordered.
        let key = Key::new(format!("m{merchant}"), format!("{chance:016x}-{}", self.made));
        let beneficiary = Beneficiary {
            name: "Amina Khan".to_owned(),
            account: None,
            msisdn: Some(format!(
                "923{:09}",
                chance.checked_rem(1_000_000_000).unwrap_or_default()
            )),
            bank: None,
        };
        let payout = NewPayout {
            merchant: format!("m{merchant}"),
            channel: CHANNEL.to_owned(),
            currency: CURRENCY.to_owned(),
            amount: AMOUNT.to_owned(),
            beneficiary,
            scheduled_at: None,
            beneficiary_id: None,
            remarks: ClientMetadata::default(),
        };
        (key, payout)
    }
}

/// The bundled rulebook, one channel and a tariff.
pub(crate) fn rules(in_flight: u32) -> Result<Rules, Failure> {
    let currency = CURRENCY.parse().map_err(|error| Failure::new(format!("{error}")))?;
    let channel = Channel {
        name: CHANNEL.to_owned(),
        currencies: [currency].into(),
        bank: "main".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: false,
        visibility_window: SignedDuration::from_secs(30),
        failed_is_final: true,
        reports_amount: ReportsAmount::default(),
        concurrency: in_flight,
        // While one variant is measured, payouts of the others are in flight.
        clocks: Clocks {
            submit_timeout: SignedDuration::from_hours(24),
            ..Clocks::of("mobile_wallet")
        },
    };
    let tariff = Tariff::new("2.00", 50, 1_600, currency)
        .map_err(|error| Failure::new(error.to_string()))?;
    Ok(Rules {
        channels: [(channel.name.clone(), channel)].into(),
        payout_tariffs: [(currency, tariff)].into(),
        ..Rules::from(load_rulebook(None)?)
    })
}

/// Requests that create and fund every merchant.
pub(crate) fn registrations_and_openings() -> impl Iterator<Item = Body> {
    let merchants = Merchants::Uniform;
    let requests = registrations(merchants).into_iter().chain(openings(merchants));
    requests.map(|request| request.body)
}

/// Requests that create every merchant.
pub(super) fn registrations(merchants: Merchants) -> Vec<Request> {
    let register = |merchant: u64| {
        let (id, name) = (format!("m{merchant}"), format!("Shop {merchant}"));
        let change = Change::OpenMerchant { id, name };
        Registration { actor: "bench".to_owned(), change }.into()
    };
    (0..merchants.count()).map(|merchant| admitted(merchant, register(merchant))).collect()
}

/// Requests that fund every merchant.
pub(super) fn openings(merchants: Merchants) -> Vec<Request> {
    let post = |merchant: u64| {
        let variables: BTreeMap<String, String> = [
            ("merchantId", format!("m{merchant}")),
            ("currency", CURRENCY.to_owned()),
            ("amount", OPENING.to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let (name, reference) = ("ADJUSTMENT_CREDIT".to_owned(), format!("opening-{merchant}"));
        let event = LedgerEvent { name, reference, variables, effective_at: None };
        Post { event, actor: None }.into()
    };
    (0..merchants.count()).map(|merchant| admitted(!merchant, post(merchant))).collect()
}

pub(super) fn admitted(number: u64, body: Body) -> Request {
    Request { admission: Admission::new(Timestamp::now(), Seed::from(mix(number))), body }
}
