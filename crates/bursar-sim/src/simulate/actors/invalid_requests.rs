//! Invalid requests, one of each kind: none of them may change anything.

use std::collections::BTreeMap;

use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::idempotency::Key;
use bursar_core::ids::{PayoutId, Seed, TransactionId};
use bursar_core::ledger::{LedgerEvent, Post, REVERT};
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{
    Beneficiary, Callback, Cancel, Cancellation, ClientMetadata, Create, NewPayout,
};
use bursar_core::registry::{Change, Registration, Role};
use bursar_core::turn::{Answer, Body};

use crate::simulate::dice::Dice;
use crate::simulate::scene::{Actor, DAY, Event, HOUR, Scene, time_at};

#[derive(Debug)]
pub(crate) struct InvalidRequests {
    me: usize,
    dice: Dice,
    bodies: Vec<Body>,
}

impl InvalidRequests {
    pub(crate) fn new(seed: u64) -> Self {
        let bodies = [payouts(), payins_and_posts(), records(), disputes()].concat();
        // The purpose of the dice keeps its first name: another one would change every seed.
        Self { me: 0, dice: Dice::new(seed, "blunders"), bodies }
    }
}

impl Actor for InvalidRequests {
    fn begin(&mut self, me: usize, scene: &mut Scene) {
        self.me = me;
        let first = self.bodies.len().saturating_sub(disputes().len());
        let last = DAY.saturating_mul(scene.settings.options.days).saturating_sub(HOUR);
        for what in 0..first {
            if self.dice.chance(120) {
                let what = u64::try_from(what).unwrap_or_default();
                scene.after(self.dice.between(HOUR, last), Event::Act { actor: me, what });
            }
        }
        // A dispute runs from its beginning.
        if self.dice.chance(200) {
            let what = u64::try_from(first).unwrap_or_default();
            scene.after(self.dice.between(HOUR, last), Event::Act { actor: me, what });
        }
    }

    fn act(&mut self, what: u64, scene: &mut Scene) {
        let body = usize::try_from(what).ok().and_then(|what| self.bodies.get(what));
        if let Some(body) = body {
            scene.ask(self.me, what, body.clone());
        }
    }

    fn answered(&mut self, tag: u64, _: &Answer, scene: &mut Scene) {
        let next = tag.saturating_add(1);
        let first = self.bodies.len().saturating_sub(disputes().len());
        if usize::try_from(tag).is_ok_and(|tag| tag >= first) {
            scene.after(HOUR, Event::Act { actor: self.me, what: next });
        }
    }
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// Payouts that are rejected, each for its own reason.
fn payouts() -> Vec<Body> {
    let good = NewPayout {
        merchant: text("m1"),
        channel: text("wallet"),
        currency: text("PKR"),
        amount: text("5.00"),
        beneficiary: Beneficiary {
            name: text("A. Khan"),
            account: None,
            msisdn: Some(text("923001234567")),
            bank: None,
        },
        scheduled_at: None,
        beneficiary_id: None,
        remarks: ClientMetadata::default(),
    };
    let unreachable = Beneficiary { msisdn: None, ..good.beneficiary.clone() };
    let remarks = ClientMetadata { trace_id: Some("x".repeat(129)), ..ClientMetadata::default() };
    let unnamed = ClientMetadata { external_id: Some(String::new()), ..ClientMetadata::default() };
    let bad = [
        NewPayout { amount: text("1e3"), ..good.clone() },
        NewPayout { amount: text("-5"), ..good.clone() },
        NewPayout { currency: text("XYZ"), ..good.clone() },
        NewPayout { currency: text("IQD"), ..good.clone() },
        NewPayout { channel: text("pigeon"), ..good.clone() },
        NewPayout { beneficiary: unreachable, ..good.clone() },
        NewPayout { merchant: text("unknown"), ..good.clone() },
        NewPayout { remarks, ..good.clone() },
        NewPayout { remarks: unnamed, ..good.clone() },
    ];
    let create = |(payout, number): (NewPayout, u32)| -> Body {
        let key = Key::new(text("invalid"), format!("invalid-{number}"));
        Create { key, payout, actor: None, workflow: None }.into()
    };
    let mut bodies: Vec<Body> = bad.into_iter().zip(0..).map(create).collect();
    let key = Key::new(text("invalid"), text("with space"));
    bodies.push(Create { key, payout: good, actor: None, workflow: None }.into());
    let id = PayoutId::new(time_at(0), &Seed::from(1), 1);
    let cancellation = Cancellation { id, expected_version: None, actor: text("careless") };
    let key = Key::new(text("invalid"), text("cancel"));
    bodies.push(Cancel { key: key.clone(), cancellation: cancellation.clone() }.into());
    let cancellation = Cancellation { actor: String::new(), ..cancellation };
    bodies.push(Cancel { key, cancellation }.into());
    let evidence = Evidence::new(Source::Callback, Verdict::Paid);
    let (channel, reference) = (text("wallet"), text("never-sent"));
    bodies.push(Callback { channel, reference, evidence }.into());
    bodies
}

fn post(name: &str, reference: &str, values: &[(&str, &str)]) -> Body {
    let variables = values.iter().map(|(name, value)| (text(name), text(value)));
    let variables: BTreeMap<String, String> = variables.collect();
    let (name, reference) = (text(name), text(reference));
    let event = LedgerEvent { name, reference, variables, effective_at: None };
    Post { actor: Some(text("careless")), event }.into()
}

fn payins_and_posts() -> Vec<Body> {
    let payin = NewPayIn {
        key: None,
        actor: None,
        merchant: text("m1"),
        provider: text("easypay"),
        reference: text("invalid"),
        currency: text("PKR"),
        amount: text("5.00"),
        said: ProviderStatus::Completed,
        event: text("e1"),
    };
    let credit = |amount| [("merchantId", "m1"), ("currency", "PKR"), ("amount", amount)];
    let id = TransactionId::new(time_at(0), &Seed::from(1), 1).to_string();
    let flow = PayoutId::new(time_at(0), &Seed::from(1), 1).to_string();
    let parts = [
        ("merchantId", "m1"),
        ("bankId", "main"),
        ("currency", "PKR"),
        ("gross", "1.00"),
        ("fee", "2.00"),
        ("vat", "0.00"),
    ];
    let swap = [
        ("merchantId", "m1"),
        ("sellCurrency", "PKR"),
        ("buyCurrency", "PKR"),
        ("sell", "1.00"),
        ("buy", "1.00"),
        ("margin", "0.00"),
    ];
    let settle = [
        ("merchantId", "m1"),
        ("bankId", "main"),
        ("currency", "PKR"),
        ("amount", "1.00"),
        ("fee", "0.00"),
        ("vat", "0.00"),
    ];
    vec![
        NewPayIn { reference: String::new(), ..payin.clone() }.into(),
        NewPayIn { currency: text("USD"), ..payin }.into(),
        post("NO_SUCH_EVENT", "b1", &[]),
        post("ADJUSTMENT_CREDIT", "b2", &[]),
        post("ADJUSTMENT_CREDIT", "b3", &[&credit("1.00")[..], &[("colour", "red")]].concat()),
        post("ADJUSTMENT_CREDIT", "b4", &credit("-1.00")),
        post("ADJUSTMENT_CREDIT", "b5", &credit("0.00")),
        post("ADJUSTMENT_CREDIT", "b6", &credit("92233720368547758.07")),
        post("PAYIN_COLLECTION", "b7", &parts),
        post("FX_CONVERSION", "b8", &swap),
        post("PAYOUT_SETTLE", &flow, &settle),
        post("CHARGEBACK_WON", "b9", &credit("1.00")),
        post("CHARGEBACK_HOLD", "b10#2", &credit("1.00")),
        post(REVERT, &id, &[]),
    ]
}

fn records() -> Vec<Body> {
    let register = |change| Body::from(Registration { actor: text("careless"), change });
    let open = |id: &str, name: &str| Change::OpenMerchant { id: text(id), name: text(name) };
    let key = Change::IssueKey {
        name: text("key"),
        person: text("key"),
        made_by: Vec::new(),
        is_setup: false,
        role: Role::Merchant,
        merchant: None,
        digest: [7; 32],
    };
    let alter = Change::AlterMerchant { id: text("unknown"), name: None, status: None };
    let reason = "x".repeat(1_001);
    vec![
        register(open("m1", "Another name")),
        register(open("a-b", "Shop")),
        register(open("m9", " ")),
        register(key),
        register(alter),
        FreezeChange {
            scope: Scope::Global,
            by: Signature::new("careless", false),
            action: FreezeAction::Unfreeze { reason },
        }
        .into(),
    ]
}

/// A dispute that is won, and invalid requests on the way. In the end nothing is held and nothing has moved.
fn disputes() -> Vec<Body> {
    let values =
        |merchant, amount| [("merchantId", merchant), ("currency", "PKR"), ("amount", amount)];
    let own = values("m1", "3.00");
    let lost = [&own[..], &[("bankId", "main"), ("fee", "0.00"), ("vat", "0.00")]].concat();
    vec![
        post("CHARGEBACK_HOLD", "dispute", &own),
        post("CHARGEBACK_WON", "dispute", &values("m1", "2.00")),
        post("CHARGEBACK_WON", "dispute", &values("m2", "3.00")),
        post("CHARGEBACK_WON", "dispute", &own),
        post("CHARGEBACK_LOST", "dispute", &lost),
    ]
}
