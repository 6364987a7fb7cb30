//! Why a request was refused. A rejection is an answer: nothing was changed, and the message says what to do next.

use jiff::Timestamp;

use crate::chart::GlCode;
use crate::ids::TransactionId;
use crate::journal::JournalError;
use crate::money::{Currency, CurrencyError, Money, MoneyError};
use crate::numscript::Name;
use crate::registry::Kind;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("there is no event `{event}`: nothing was posted. The events are {}", known.join(", "))]
    UnknownEvent { event: String, known: Vec<String> },
    #[error("{event} lacks {}: nothing was posted. Add what is missing to its variables", names.join(" and "))]
    MissingVariables { event: Name, names: Vec<String> },
    #[error("{event} has no variable `{name}`: nothing was posted. It takes {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownVariable { event: Name, name: String, known: Vec<String> },
    #[error("{name} `{value}` cannot be part of an account address: nothing was posted. Use 1 to 64 letters, digits and `_`{}", if *.hyphen { " or `-`" } else { "" })]
    BadIdentifier { name: Name, value: String, hyphen: bool },
    #[error(
        "the reference must have 1 to 255 visible characters: nothing was posted. Name the event by the id that its sender gave it"
    )]
    BadReference,
    #[error("{name}: {error}. Nothing was posted")]
    BadCurrency { name: Name, error: CurrencyError },
    #[error("{name}: {error}. Nothing was posted")]
    BadAmount { name: Name, error: MoneyError },
    #[error(
        "{name} is {amount}: nothing was posted. Amounts are zero or more; the event says which way the money goes"
    )]
    NegativeAmount { name: Name, amount: Money },
    #[error("the parts of {event} exceed its whole by {excess} {}: nothing was posted. Check fee and VAT against the amount they are taken from", excess.currency())]
    PartsExceedWhole { event: Name, excess: Money },
    #[error("{account} can give {available} {}, {needed} is needed: nothing was posted. Fund the account or lower the amount, then post again", needed.currency())]
    MissingFunds { account: Name, needed: Money, available: Money },
    #[error(
        "{event} `{reference}` was posted before with other values: nothing was posted. Use a new reference for a new event, or send the same values again"
    )]
    ReferenceReused { event: Name, reference: String },
    #[error(
        "{event} `{reference}` was posted and taken back by {by}: nothing was posted. If it must hold again, post it under a new reference; a hold that was opened again is ended as `{reference}#2`"
    )]
    TakenBack { event: Name, reference: String, by: TransactionId },
    #[error(
        "`{reference}` would name an epoch of another hold: nothing was posted. Open a hold under a reference that does not end in # and a number"
    )]
    EpochInReference { reference: String },
    #[error("{event} converts {currency} into itself: nothing was posted. Name two currencies")]
    SameCurrency { event: Name, currency: Currency },
    #[error(
        "there is no open hold `{reference}` on {code}: nothing was posted. Reserve it first, or check the reference"
    )]
    HoldNotFound { code: GlCode, reference: String },
    #[error(
        "the hold `{reference}` on {code} was ended by {by}: nothing was posted. A hold ends once; look at that transaction"
    )]
    HoldEnded { code: GlCode, reference: String, by: TransactionId },
    #[error("the hold `{reference}` on {code} is {held} {} and would end with {asked}: nothing was posted. Settle or release exactly what was reserved", held.currency())]
    HoldMismatch { code: GlCode, reference: String, held: Money, asked: Money },
    #[error(
        "the hold `{reference}` on {code} belongs to {owner}, not {claimed}: nothing was posted. Check merchant and currency"
    )]
    HoldOfAnother { code: GlCode, reference: String, owner: Name, claimed: Name },
    #[error(
        "there is no transaction `{reference}` to revert: nothing was posted. Give the id of a posted transaction"
    )]
    UnknownTransaction { reference: String },
    #[error(
        "{id} is itself a revert: nothing was posted. Post the original event again under a new reference"
    )]
    RevertOfRevert { id: TransactionId },
    #[error(
        "a balance of {account} would be beyond what an account can hold: nothing was posted. Split the amount"
    )]
    BalanceTooLarge { account: Name },
    #[error(
        "{error}: nothing was posted. The template and the chart do not fit together; run `bursar check`"
    )]
    NotDoubleEntry { error: JournalError },
    #[error(
        "all amounts of {event} are zero: nothing was posted. Post it when there is money to move"
    )]
    NothingMoves { event: Name },
    #[error(
        "`{name}` belongs to a flow: nothing was posted. Settle or release the flow itself, so that it knows"
    )]
    BelongsToFlow { name: String },
    #[error(
        "{id} is kept in a form that this version cannot read: nothing was changed, and its money stays where it is. Run the version that wrote it, or look at its row"
    )]
    Unreadable { id: String },
    #[error("there is no `{id}`: nothing was changed. Check the id")]
    UnknownFlow { id: String },
    #[error("`{id}` is {status}: nothing was changed. Its money has moved and does not move again")]
    FlowEnded { id: String, status: &'static str },
    #[error(
        "`{id}` is at version {found}, you decided on version {expected}: nothing was changed. Look at it again, then decide"
    )]
    StaleVersion { id: String, expected: u64, found: u64 },
    #[error(
        "it would expire at {expires_at}, which has passed: nothing was reserved. Give a time that is still to come"
    )]
    ExpiresInThePast { expires_at: Timestamp },
    #[error(
        "scope and idempotency key have 1 to 255 visible ASCII characters: nothing was done. Send such a key"
    )]
    BadKey,
    #[error(
        "the idempotency key `{key}` was used for another request: nothing was done. Use a new key for a new request"
    )]
    KeyReused { key: String },
    #[error("whoever decides must be named in 1 to 64 characters: nothing was changed. Name them")]
    BadActor,
    #[error("a note has at most {most} characters: nothing was changed. Shorten it")]
    BadNote { most: usize },
    #[error("there is no channel `{channel}`: nothing was reserved. {}", channels(known))]
    UnknownChannel { channel: String, known: Vec<String> },
    #[error("{channel} does not pay {currency}: nothing was reserved. Choose another channel")]
    CurrencyOfChannel { channel: String, currency: Currency },
    #[error("{amount} {} is nothing to pay: nothing was reserved. Send an amount above zero", amount.currency())]
    NothingToPay { amount: Money },
    #[error(
        "a beneficiary has a name and either an account or a telephone number of 6 to 15 digits: nothing was reserved. Correct it"
    )]
    BadBeneficiary,
    #[error(
        "there is no merchant `{merchant}`: nothing was done. Make the merchant first, or check the id"
    )]
    UnknownMerchant { merchant: String },
    #[error(
        "the merchant `{merchant}` is closed: nothing was done. Open the merchant again before anything new begins"
    )]
    MerchantClosed { merchant: String },
    #[error("there is no {kind} `{id}`: nothing was changed. Check the id")]
    UnknownRecord { kind: Kind, id: String },
    #[error(
        "there is another {kind} `{id}` already: nothing was changed. Choose another id, or change the one that is there"
    )]
    RecordExists { kind: Kind, id: String },
    #[error(
        "a name has 1 to 128 characters, none of them control characters, and no spaces around it: nothing was changed. Correct it"
    )]
    BadName,
    #[error(
        "a key of a merchant names its merchant, and no other key names one: nothing was changed. Correct role or merchant"
    )]
    BadScope,
    #[error(
        "{actor} and whoever decided before may not approve: nothing was changed. One of the two must be an approver"
    )]
    ApproverNeeded { actor: String },
    #[error(
        "no market takes {currency}: nothing was booked. Configure its fees, or check the currency"
    )]
    UnknownMarket { currency: Currency },
    #[error(
        "metadata has at most 20 entries of 64 and 500 bytes, a trace id 128: nothing was reserved. Shorten them"
    )]
    BadRemarks,
    #[error("no attempt has the reference `{reference}`: nothing was changed. Check it")]
    UnknownReference { reference: String },
    #[error(
        "the payout is {status}: nothing was changed. It can be cancelled only before anything was sent"
    )]
    NotCancellable { status: &'static str },
    #[error(
        "the payout is {status}, not STUCK: nothing was changed. Only a stuck payout is decided by hand"
    )]
    NotStuck { status: &'static str },
    #[error(
        "{actor} has proposed this already: nothing was changed. A second person must decide the same"
    )]
    SecondPersonNeeded { actor: String },
    #[error(
        "after {attempts} attempts, or because there is evidence that it was paid, there is no new attempt: nothing was changed. Confirm what happened instead"
    )]
    NoNewAttempt { attempts: usize },
    #[error("this is not how an endpoint is set up: {why}. Nothing was changed; correct it")]
    BadEndpoint { why: &'static str },
    #[error(
        "the merchant has {most} endpoints that are on: nothing was changed. Delete or disable one first"
    )]
    TooManyEndpoints { most: usize },
    #[error(
        "the endpoint `{id}` is {status}: nothing is sent to it. Enable it first, or choose another"
    )]
    CalledOff { id: String, status: &'static str },
    #[error("the template of {event} failed: {reason}. Nothing was posted; run `bursar check`")]
    TemplateFailed { event: Name, reason: String },
}

/// What there is to choose from.
fn channels(known: &[String]) -> String {
    if known.is_empty() {
        return "No channel is configured: add [channels.NAME] to the configuration".to_owned();
    }
    format!("The channels are {}", known.join(", "))
}

impl Rejection {
    /// The stable name, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownEvent { .. } => "unknown_event",
            Self::MissingVariables { .. } => "missing_variables",
            Self::UnknownVariable { .. } => "unknown_variable",
            Self::BadIdentifier { .. } => "bad_identifier",
            Self::BadReference => "bad_reference",
            Self::BadCurrency { .. } => "bad_currency",
            Self::BadAmount { .. } => "bad_amount",
            Self::NegativeAmount { .. } => "negative_amount",
            Self::PartsExceedWhole { .. } => "parts_exceed_whole",
            Self::MissingFunds { .. } => "missing_funds",
            Self::ReferenceReused { .. } => "reference_reused",
            Self::TakenBack { .. } => "taken_back",
            Self::EpochInReference { .. } => "epoch_in_reference",
            Self::SameCurrency { .. } => "same_currency",
            Self::HoldNotFound { .. } => "hold_not_found",
            Self::HoldEnded { .. } => "hold_ended",
            Self::HoldMismatch { .. } => "hold_mismatch",
            Self::HoldOfAnother { .. } => "hold_of_another",
            Self::UnknownTransaction { .. } => "unknown_transaction",
            Self::RevertOfRevert { .. } => "revert_of_revert",
            Self::BalanceTooLarge { .. } => "balance_too_large",
            Self::NotDoubleEntry { .. } => "not_double_entry",
            Self::NothingMoves { .. } => "nothing_moves",
            Self::BelongsToFlow { .. } => "belongs_to_flow",
            Self::Unreadable { .. } => "unreadable",
            Self::UnknownFlow { .. } => "unknown_flow",
            Self::FlowEnded { .. } => "flow_ended",
            Self::StaleVersion { .. } => "stale_version",
            Self::ExpiresInThePast { .. } => "expires_in_the_past",
            Self::BadKey => "bad_key",
            Self::KeyReused { .. } => "idempotency_mismatch",
            Self::BadActor => "bad_actor",
            Self::BadNote { .. } => "bad_note",
            Self::UnknownChannel { .. } => "unknown_channel",
            Self::CurrencyOfChannel { .. } => "currency_of_channel",
            Self::NothingToPay { .. } => "nothing_to_pay",
            Self::BadBeneficiary => "bad_beneficiary",
            Self::UnknownMerchant { .. } => "unknown_merchant",
            Self::MerchantClosed { .. } => "merchant_closed",
            Self::UnknownRecord { .. } => "not_found",
            Self::RecordExists { .. } => "already_exists",
            Self::BadName => "bad_name",
            Self::BadRemarks => "bad_remarks",
            Self::UnknownMarket { .. } => "unknown_market",
            Self::BadScope => "bad_scope",
            Self::ApproverNeeded { .. } => "approver_needed",
            Self::UnknownReference { .. } => "unknown_reference",
            Self::NotCancellable { .. } => "not_cancellable",
            Self::NotStuck { .. } => "not_stuck",
            Self::SecondPersonNeeded { .. } => "second_person_needed",
            Self::NoNewAttempt { .. } => "no_new_attempt",
            Self::BadEndpoint { .. } => "bad_endpoint",
            Self::TooManyEndpoints { .. } => "too_many_endpoints",
            Self::CalledOff { .. } => "endpoint_off",
            Self::TemplateFailed { .. } => "template_failed",
        }
    }
}
