//! Registry records and freezes.

use bursar_core::dispatch::Rate;
use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{Freeze, Scope};
use bursar_core::ids::{DeliveryId, EndpointId, Seed};
use bursar_core::payouts::Beneficiary;
use bursar_core::registry::{
    Alert, Anchor, ApiKey, BeneficiaryRecord, Content, DispatchShare, Merchant, MerchantStatus,
    Role,
};
use bursar_core::webhooks::{
    Breaker, Endpoint, EventFilter, Health, PAYLOAD_VERSION, Secret, Settings, Status,
};

use crate::adapter::stored::{at, json, record};

/// Kind and text of every record.
pub(super) fn texts() -> Vec<(&'static str, String)> {
    let merchants = merchants().into_iter().map(Content::Merchant);
    let beneficiaries = beneficiaries().into_iter().map(Content::Beneficiary);
    let keys = keys().into_iter().map(Content::ApiKey);
    let alerts = [(true, "12 payouts are stuck"), (false, "")]
        .map(|(is_raised, detail)| Content::Alert(Alert { is_raised, detail: detail.to_owned() }));
    let endpoints = endpoints().into_iter().map(|it| Content::Endpoint(Box::new(it)));
    let anchor = Anchor { sequence: 7, hash: "00ff".to_owned() };
    let anchors = std::iter::once(Content::Anchor(anchor));
    let all =
        merchants.chain(beneficiaries).chain(keys).chain(alerts).chain(endpoints).chain(anchors);
    all.map(|content| record(&content)).collect()
}

/// Scopes and freezes in their stored form.
pub(super) fn freezes() -> (Vec<String>, Vec<String>) {
    let scopes =
        [Scope::Global, Scope::Channel("wallet".to_owned()), Scope::Merchant("m1".to_owned())];
    let freeze = Freeze {
        reason: "a “leak”".to_owned(),
        actor: "ops/key_1".to_owned(),
        since: at(3),
        lifted_by: None,
    };
    let lifted = |is_approver| Freeze {
        lifted_by: Some(Signature::new("ops2", is_approver)),
        ..freeze.clone()
    };
    let freezes = [freeze.clone(), lifted(false), lifted(true)];
    (scopes.iter().map(json).collect(), freezes.iter().map(json).collect())
}

fn merchants() -> Vec<Merchant> {
    let filter = |seed: u64, types: &[&str]| EventFilter {
        endpoint: EndpointId::new(at(0), &Seed::from(seed), 0),
        event_types: types.iter().map(|kind| (*kind).to_owned()).collect(),
        version: PAYLOAD_VERSION.to_owned(),
    };
    let merchant = |status, event_filters| Merchant {
        name: "Zoë's Shop".to_owned(),
        status,
        event_filters,
        dispatch: DispatchShare::default(),
    };
    vec![
        merchant(MerchantStatus::Open, Vec::new()),
        merchant(MerchantStatus::Closed, Vec::new()),
        merchant(
            MerchantStatus::Open,
            vec![filter(1, &["*"]), filter(2, &["payin.success", "payout.*"])],
        ),
        Merchant {
            dispatch: DispatchShare {
                weight: 300,
                rate_per_s: [("wallet".to_owned(), Rate::from_milli(2_500))].into(),
            },
            ..merchant(MerchantStatus::Open, Vec::new())
        },
    ]
}

fn beneficiaries() -> Vec<BeneficiaryRecord> {
    let text = |text: &str| Some(text.to_owned());
    let beneficiary = |account, msisdn, bank| BeneficiaryRecord {
        merchant: "m1".to_owned(),
        details: Beneficiary { name: "A. Khan".to_owned(), account, msisdn, bank },
    };
    vec![
        beneficiary(None, text("923001234567"), None),
        beneficiary(text("PK36SCBL0000001123456702"), None, None),
        beneficiary(text("PK36SCBL0000001123456702"), None, text("SCBL")),
    ]
}

fn keys() -> Vec<ApiKey> {
    let key = |role, merchant: Option<&str>| ApiKey {
        name: "till 7".to_owned(),
        person: None,
        made_by: vec![],
        role,
        merchant: merchant.map(str::to_owned),
        digest: "00ff".repeat(16),
        revoked_at: None,
    };
    let mut keys: Vec<ApiKey> =
        Role::ALL.map(|role| key(role, (role == Role::Merchant).then_some("m1"))).into();
    keys.push(ApiKey { revoked_at: Some(at(7)), ..key(Role::Admin, None) });
    keys
}

fn endpoints() -> Vec<Endpoint> {
    let endpoint = Endpoint {
        merchant: "m1".to_owned(),
        settings: Settings {
            url: "https://merchant.example/hooks".to_owned(),
            event_types: ["payin.success".to_owned(), "payout.*".to_owned()].into(),
            version: PAYLOAD_VERSION.to_owned(),
            header_names: Vec::new(),
            headers: None,
            concurrency: 32,
            rate_limit: None,
        },
        status: Status::Enabled,
        secrets: vec![Secret { sealed: "v1.sealed".to_owned(), until: None }],
        event_sequence: 0,
        health: Health::default(),
    };
    let headed = Settings {
        header_names: vec!["X-One".to_owned(), "X-Two".to_owned()],
        headers: Some("v1.headers".to_owned()),
        rate_limit: Some(10),
        ..endpoint.settings.clone()
    };
    let old = Secret { sealed: "v1.old".to_owned(), until: Some(at(60)) };
    let secrets = vec![endpoint.secrets[0].clone(), old];
    let failed = [6, 7].map(|seed| DeliveryId::new(at(0), &Seed::from(seed), 0)).into();
    let failing = Health { failing_since: Some(at(1)), failed, breaker: None };
    let breaker = |is_probing| Health {
        failing_since: Some(at(1)),
        breaker: Some(Breaker { until: at(61), times: 2, is_probing }),
        ..Health::default()
    };
    let disabled = Status::Disabled { reason: "it answered 410 Gone".to_owned(), at: at(8) };
    let health = |health| Endpoint { health, ..endpoint.clone() };
    vec![
        endpoint.clone(),
        Endpoint { settings: headed, secrets, event_sequence: 9, ..endpoint.clone() },
        Endpoint { status: disabled, event_sequence: 1, ..endpoint.clone() },
        Endpoint { status: Status::Deleted, secrets: Vec::new(), ..endpoint.clone() },
        health(failing),
        health(breaker(false)),
        health(breaker(true)),
    ]
}
