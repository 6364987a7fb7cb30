//! One enormous payment leaves no room in the accounts of its currency for all others.

use serde_json::json;

use crate::api::actions::order;
use crate::api::server::Server;

#[test]
fn an_enormous_payment_blocks_a_currency() {
    let server = Server::with("[limits.largest_in]\nIQD = \"500.000\"\n", &[]);
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let payin = |amount: &str, currency: &str| {
        let reference = format!("r-{amount}-{currency}");
        let body = json!({"merchant_id": "m1", "provider": "easypay", "reference": reference, "amount": amount, "currency": currency});
        admin.post("/v1/payins", &body)
    };
    for (amount, currency) in
        [("1000000000.01", "PKR"), ("92233720368547758.07", "PKR"), ("500.001", "IQD")]
    {
        assert_eq!(payin(amount, currency).is(422)["code"], "amount_too_large", "{amount}");
    }
    let rejected = admin.pay("k", &order("m1", "calm", "1000000000.01")).is(422);
    assert_eq!(rejected["code"], "amount_too_large", "{rejected}");
    payin("1000000000.00", "PKR").is(201);
    payin("500.000", "IQD").is(201);
    admin.books_hold();
}
