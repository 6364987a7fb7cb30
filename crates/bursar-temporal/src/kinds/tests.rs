//! The table of kinds.

use bursar_core::flow::KINDS;
use bursar_core::ids::{DeliveryId, PayInId, PayoutId, Seed};
use jiff::Timestamp;

use super::{AnyKind, of_name};

#[test]
fn every_kind_with_an_outbox_has_a_workflow() {
    for kind in KINDS {
        let workflow = AnyKind::ALL.iter().find(|it| it.info() == kind);
        assert_eq!(workflow.is_some(), kind.outbox.is_some(), "{}", kind.name);
    }
}

#[test]
fn a_flow_name_says_its_kind() {
    let seed = Seed::from(1);
    let payout = PayoutId::new(Timestamp::UNIX_EPOCH, &seed, 0);
    assert_eq!(of_name(&payout.to_string()), Some((AnyKind::Payout, payout.into())));
    let delivery = DeliveryId::new(Timestamp::UNIX_EPOCH, &seed, 0);
    assert_eq!(of_name(&delivery.to_string()), Some((AnyKind::Delivery, delivery.into())));
    let pay_in = PayInId::new(Timestamp::UNIX_EPOCH, &seed, 0).to_string();
    for other in [pay_in.as_str(), "", "po", "po_", "po_1", "dlv_x", "payout"] {
        assert_eq!(of_name(other), None, "{other}");
    }
}
