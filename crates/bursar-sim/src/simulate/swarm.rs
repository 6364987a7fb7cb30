//! What a seed draws: the strength of each fault, the channels, the number of processes, the limits.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::dispatch::{AtCutOff, Rate, Settings as Dispatch, Window, dispatch_id};
use bursar_core::four_eyes::{Action, ApprovalRule};
use bursar_core::ledger::pricing::Tariff;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::money::Currency;
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::rules::Rules;
use bursar_core::webhooks::delivery::RetryPolicy;
use bursar_engine::Limits;
use jiff::SignedDuration;

use super::dice::Dice;
use super::fault::Fault;
use super::injected_bugs::InjectedBug;

/// The options of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub seed: u64,
    pub payouts: u64,
    pub days: u64,
    /// Those that may strike; the seed draws among them.
    pub faults: BTreeSet<Fault>,
    pub store: StoreChoice,
    /// How many processes; drawn by default.
    pub processes: Option<u64>,
    pub injected_bug: Option<InjectedBug>,
    /// Whether the lines of the trace are kept.
    pub is_traced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreChoice {
    Memory,
    Sqlite,
    /// One or the other, as the seed says.
    Mixed,
}

impl Options {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            payouts: 10,
            days: 2,
            faults: Fault::ALL.iter().copied().collect(),
            store: StoreChoice::Mixed,
            processes: None,
            injected_bug: None,
            is_traced: false,
        }
    }
}

/// What the seed draws for the options.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) is_sqlite: bool,
    pub(crate) processes: usize,
    pub(crate) strengths: BTreeMap<Fault, u32>,
    pub(crate) limits: Limits,
    /// How many endpoints a merchant has, at most.
    pub(crate) endpoints: u64,
    /// Whether staff needs two people for what one may not do alone; in the other worlds one person suffices.
    pub(crate) is_guarded: bool,
}

/// What the markets of this world charge: flat fee in minor units, basis points, and VAT on both.
pub(crate) const PAYOUT_PRICE: Price = Price { flat: 150, points: 75, vat_points: 1_600 };
pub(crate) const PAYIN_PRICE: Price = Price { flat: 100, points: 290, vat_points: 500 };
/// Above this many units two people decide.
pub(crate) const FOUR_EYES_ABOVE: i64 = 1_000;
pub(crate) const CURRENCIES: [&str; 2] = ["PKR", "IQD"];
const CHANNELS: [&str; 3] = ["wallet", "bank", "agents"];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Price {
    pub(crate) flat: i64,
    pub(crate) points: u32,
    pub(crate) vat_points: u32,
}

impl Settings {
    pub(crate) fn new(options: &Options) -> Self {
        let mut dice = Dice::new(options.seed, "swarm");
        let draws_sqlite = dice.chance(400);
        let draws_two = dice.chance(600);
        let is_sqlite = match options.store {
            StoreChoice::Memory => false,
            StoreChoice::Sqlite => true,
            StoreChoice::Mixed => draws_sqlite,
        };
        let needs_two = options.injected_bug.is_some_and(InjectedBug::needs_two);
        let is_sqlite = is_sqlite && !needs_two;
        // One SQLite file has one process.
        let drawn = if draws_two && !draws_sqlite { 2 } else { 1 };
        let wanted = if needs_two { 2 } else { options.processes.unwrap_or(drawn) };
        let wanted = if is_sqlite { 1 } else { wanted };
        // A third of the faults is off, a third weak, a third as strong as it gets.
        let strength = |fault: &Fault| {
            let share = Dice::new(options.seed, fault.dice()).below(3);
            let per_mille = u64::from(fault.most()).saturating_mul(share).checked_div(2);
            let per_mille = u32::try_from(per_mille.unwrap_or_default()).unwrap_or_default();
            (*fault, per_mille)
        };
        let strengths = options.faults.iter().map(strength).filter(|(_, often)| *often > 0);
        let strengths: BTreeMap<Fault, u32> = strengths.collect();
        let is_small = strengths.contains_key(&Fault::InboxFull) && dice.chance(500);
        let limits = Limits {
            inbox_max: if is_small { 2 } else { 10_000 },
            batch_max: usize::try_from(dice.between(1, 12)).unwrap_or(1),
            ..Limits::default()
        };
        let often = [(8, 0), (6, 1), (4, 2), (2, 3)];
        let endpoints = Dice::new(options.seed, "endpoints").weigh(&often).unwrap_or_default();
        Self {
            options: options.clone(),
            is_sqlite,
            processes: usize::try_from(wanted).unwrap_or(1),
            strengths,
            limits,
            endpoints,
            is_guarded: Dice::new(options.seed, "guarded").chance(500),
        }
    }

    /// The rules of this world: channels of every kind, and prices.
    pub(crate) fn rules(&self, rulebook: Rulebook) -> Result<Rules, String> {
        let mut dice = Dice::new(self.options.seed, "rules");
        let approvals = self.approvals();
        let mut rules =
            Rules { four_eyes_above: FOUR_EYES_ABOVE, approvals, ..Rules::from(rulebook) };
        for code in CURRENCIES {
            let currency: Currency = code.parse().map_err(|error| format!("{error}"))?;
            let tariff = |price: Price| {
                let flat = bursar_core::money::decimal(price.flat.into(), currency);
                Tariff::new(&flat, price.points, price.vat_points, currency)
                    .map_err(|error| error.to_string())
            };
            rules.payout_tariffs.insert(currency, tariff(PAYOUT_PRICE)?);
            rules.payin_tariffs.insert(currency, tariff(PAYIN_PRICE)?);
        }
        rules.deliveries = retry_policy(&mut Dice::new(self.options.seed, "schedule"));
        for name in CHANNELS {
            let channel = channel(name, &mut dice)?;
            if let Some(settings) =
                dispatch(&mut Dice::new(self.options.seed, &format!("dispatch {name}")))
            {
                rules.dispatch.insert(dispatch_id("payout", name), settings);
            }
            rules.channels.insert(name.to_owned(), channel);
        }
        Ok(rules)
    }

    /// As shipped; some worlds want three people for a posting by hand, or let an admin post in an emergency.
    fn approvals(&self) -> BTreeMap<Action, ApprovalRule> {
        if !self.is_guarded {
            return Action::ALL.map(|action| (action, ApprovalRule::ALONE)).into();
        }
        let mut dice = Dice::new(self.options.seed, "approvals");
        let mut rules: BTreeMap<Action, ApprovalRule> =
            Action::ALL.map(|action| (action, action.usual())).into();
        let quorum = if dice.chance(300) { 3 } else { 2 };
        rules.insert(
            Action::Post,
            ApprovalRule { above: None, quorum, break_glass: dice.chance(300) },
        );
        rules
    }
}

/// Half of the channels are limited: a few payouts an hour, one or two at once, or only in the afternoon.
fn dispatch(dice: &mut Dice) -> Option<Dispatch> {
    if dice.chance(500) {
        return None;
    }
    let has_rate = dice.chance(700);
    let milli = u32::try_from(dice.between(1, 30)).unwrap_or(1);
    let burst = u32::try_from(dice.between(1, 3)).unwrap_or(1);
    let most = u32::try_from(dice.between(1, 4)).unwrap_or(1);
    let at_cut_off = match dice.below(3) {
        0 => AtCutOff::Hold,
        1 => AtCutOff::Expire,
        _ => AtCutOff::SendAnyway,
    };
    let window = dice.chance(300).then(|| Window {
        days: Vec::new(),
        open: "06:00".to_owned(),
        close: "20:00".to_owned(),
        zone: "Asia/Karachi".to_owned(),
    });
    Some(Dispatch {
        rate_per_s: has_rate.then(|| Rate::from_milli(milli)),
        burst: Some(burst),
        max_concurrency: Some(most),
        windows: Some(window.into_iter().collect()),
        at_cut_off: Some(at_cut_off),
        ..Dispatch::default()
    })
}

/// The shipped policy, or a shorter one that ends within days.
fn retry_policy(dice: &mut Dice) -> RetryPolicy {
    let shipped = RetryPolicy::default();
    if dice.chance(250) {
        return shipped;
    }
    let mut minutes =
        |longest| SignedDuration::from_mins(i64::try_from(dice.between(1, longest)).unwrap_or(1));
    let pauses = [5, 30, 180, 600].map(&mut minutes);
    let (breaker_pause, disable_after) = (minutes(10), minutes(48 * 60));
    RetryPolicy {
        pauses: pauses.into_iter().take(usize::try_from(dice.between(1, 4)).unwrap_or(4)).collect(),
        breaker_after: usize::try_from(dice.between(2, 6)).unwrap_or(2),
        breaker_pause,
        disable_after,
        ..shipped
    }
}

fn channel(name: &str, dice: &mut Dice) -> Result<Channel, String> {
    let seconds = |number: u64| SignedDuration::from_secs(i64::try_from(number).unwrap_or(60));
    let first: Currency = "PKR".parse().map_err(|error| format!("{error}"))?;
    let second: Currency = "IQD".parse().map_err(|error| format!("{error}"))?;
    let kind = dice.pick(&["mobile_wallet", "bank_transfer", "agent_network"]);
    let clocks = Clocks::of(kind.copied().unwrap_or("mobile_wallet"));
    // Some channels are queried a few times, some all the time.
    let (count, longest) = if dice.chance(250) { (24, 5) } else { (dice.between(2, 6), 240) };
    let clocks = Clocks {
        requeries: (0..count).map(|_| seconds(dice.between(2, longest))).collect(),
        tries_max: u32::try_from(dice.between(1, 4)).unwrap_or(1),
        attempts_max: u32::try_from(dice.between(1, 3)).unwrap_or(1),
        poll_interval: seconds(dice.between(15, 90)),
        poll_deadline: seconds(dice.between(120, 900)),
        ..clocks
    };
    Ok(Channel {
        name: name.to_owned(),
        currencies: if name == "bank" { [first, second].into() } else { [first].into() },
        bank: name.to_owned(),
        submit_is_idempotent: dice.chance(350),
        not_found_is_final: dice.chance(500),
        visibility_window: seconds(dice.between(5, 60)),
        failed_is_final: dice.chance(650),
        reports_amount: ReportsAmount::default(),
        concurrency: u32::try_from(dice.between(1, 6)).unwrap_or(1),
        clocks,
    })
}
