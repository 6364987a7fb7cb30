//! Payouts of many merchants, or of one, through one channel, in an order that looks like chance and is always the same.

use std::collections::BTreeMap;

use bursar_core::channel::{Channel, Clocks};
use bursar_core::idempotency::Key;
use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, Event};
use bursar_core::payout::{Beneficiary, NewPayout, Remarks};
use bursar_core::pricing::Tariff;
use bursar_core::registry::{Change, Registration};
use bursar_core::request::{Body, Request};
use bursar_core::rules::Rules;
use bursar_node::failure::Failure;
use bursar_node::rulebook::load_rulebook;
use jiff::{SignedDuration, Timestamp};

use crate::measure::mix;

pub(super) const CHANNEL: &str = "wallet";
const CURRENCY: &str = "PKR";
const MERCHANTS: u64 = 1_000;
const AMOUNT: &str = "100.00";
/// What a merchant has to begin with: enough for any number of payouts.
const OPENING: &str = "10000000000.00";

/// Who is paid from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Merchants {
    /// 1,000 of them, each as likely as the others.
    Uniform,
    /// One has all payouts.
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

/// Who asks for payouts. The number tells several of them apart, so that no two use the same key.
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

    /// The next payouts to be asked for.
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
        // Whoever asks names it, so keys come in no order.
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
            remarks: Remarks::default(),
        };
        (key, payout)
    }
}

/// The bundled rulebook, one channel that pays whatever it is given, and a price.
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

/// Every merchant is there and has money, for whoever asks one after the other.
pub(crate) fn registrations_and_openings() -> impl Iterator<Item = Body> {
    let merchants = Merchants::Uniform;
    let requests = registrations(merchants).into_iter().chain(openings(merchants));
    requests.map(|request| request.body)
}

/// Every merchant is there.
pub(super) fn registrations(merchants: Merchants) -> Vec<Request> {
    let register = |merchant: u64| {
        let (id, name) = (format!("m{merchant}"), format!("Shop {merchant}"));
        let change = Change::OpenMerchant { id, name };
        Body::Register(Registration { actor: "bench".to_owned(), change })
    };
    (0..merchants.count()).map(|merchant| admitted(merchant, register(merchant))).collect()
}

/// Every merchant gets what there is to be paid from.
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
        Body::Post(Event { name, reference, variables, effective_at: None })
    };
    (0..merchants.count()).map(|merchant| admitted(!merchant, post(merchant))).collect()
}

fn admitted(number: u64, body: Body) -> Request {
    Request { admission: Admission::new(Timestamp::now(), Seed::from(mix(number))), body }
}
