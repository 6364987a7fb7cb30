//! Why a request was refused. A rejection is an answer: nothing was changed, and the message says what to do next.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::ids::TransactionId;
use crate::ledger::chart::GlCode;
use crate::ledger::journal::JournalError;
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
        "{amount} {} is more than one payment may be: nothing was moved. At most {largest} is taken; check the amount, or raise the limit of the currency in [limits]", amount.currency()
    )]
    AmountTooLarge { amount: Money, largest: Money },
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
    #[error(
        "the reply to the first request under the key `{key}` is kept in a form that this version cannot read: that request was carried out, and nothing was done again. Do not repeat it under another key; read {id} to see what came of it, or repeat the request on the version that stored the reply"
    )]
    UnreadableReply { key: String, id: String },
    #[error(
        "the payout is {status} and does not wait to be sent: nothing was changed. Only SCHEDULED and READY payouts of which nothing was sent can be moved"
    )]
    NotWaiting { status: &'static str },
    #[error("{reason}: nothing was changed. Correct it")]
    BadSettings { reason: String },
    #[error("there is no `{id}`: nothing was changed. Check the id")]
    UnknownFlow { id: String },
    #[error(
        "`{id}` is at version {found}, you decided on version {expected}: nothing was changed. Look at it again, then decide"
    )]
    StaleVersion { id: String, expected: u64, found: u64 },
    #[error(
        "scope and idempotency key have 1 to 255 visible ASCII characters: nothing was done. Send such a key"
    )]
    BadKey,
    #[error(
        "the idempotency key `{key}` was used for another request: nothing was done. Use a new key for a new request"
    )]
    KeyReused { key: String },
    #[error("the actor must be named in 1 to 64 characters: nothing was changed. Name the actor")]
    BadActor,
    #[error("a note has at most {most} characters: nothing was changed. Shorten it")]
    BadNote { most: usize },
    #[error("there is no channel `{channel}`: nothing was reserved. {}", channels(known))]
    UnknownChannel { channel: String, known: Vec<String> },
    #[error(
        "there is no provider `{provider}`: nothing was booked. The providers are {}; add [providers.{provider}] to the configuration if it is one",
        known.join(", ")
    )]
    UnknownProvider { provider: String, known: Vec<String> },
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
        "{actor} and the person who decided before may not approve: nothing was changed. One of the two must be an approver"
    )]
    ApproverNeeded { actor: String },
    #[error(
        "no market takes {currency}: nothing was booked. Configure its fees, or check the currency"
    )]
    UnknownMarket { currency: Currency },
    #[error(
        "metadata has at most 20 entries of 64 and 500 bytes, a trace id 128, a description 500: nothing was reserved. Shorten them"
    )]
    BadRemarks,
    #[error(
        "an external id has 1 to 128 bytes, none of them control characters: nothing was reserved. Correct it, or leave it out"
    )]
    BadExternalId,
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
        "it is {status} and has no open case: nothing was changed. Only an open case is closed"
    )]
    NoOpenCase { status: &'static str },
    #[error(
        "the books were restored, and {channel} has not said yet what became of this payout: nothing was changed, and its money stays on hold. The channel is asked now: try again in a minute; if it cannot know, load its report or end the recheck (`bursar restore status`)"
    )]
    Rechecking { channel: String },
    #[error("the books were not restored, or the recheck has ended: nothing was changed")]
    NoRestore,
    #[error(
        "a report cannot cover the time from {from} to {to}: nothing was changed. It ends after it begins, and not in the future"
    )]
    BadReport { from: Timestamp, to: Timestamp },
    #[error(
        "{actor} has proposed this already: nothing was changed. A second person must decide the same"
    )]
    SecondPersonNeeded { actor: String },
    #[error(
        "one person may not do this alone ({action}): nothing was done. Propose it, and let a second person approve it"
    )]
    ApprovalNeeded { action: &'static str },
    #[error("this needs no approval: nothing was changed. Do it directly")]
    NoApprovalNeeded,
    #[error("it was done before: nothing was done again, and there is nothing to approve")]
    DoneAlready,
    #[error(
        "the proposal is {status}, and was decided before: nothing was changed now. Look at it; if it was not done and is still needed, propose it again"
    )]
    NotProposed { status: &'static str },
    #[error(
        "{id} proposes another request: nothing was done. Look at the proposal again, then decide"
    )]
    OtherRequest { id: String },
    #[error(
        "{action} cannot be done by one person, not even in an emergency: nothing was done. Propose it without break-glass"
    )]
    NoBreakGlass { action: &'static str },
    #[error(
        "the key of {actor} or of {other} was made by the other one alone: nothing was changed. They may be one person; let a third person decide"
    )]
    CreatorInvolved { actor: String, other: String },
    #[error(
        "the admin key of the environment is no person: nothing was changed. Everyone who can read the environment has it; let two people decide with keys of their own"
    )]
    BootstrapInvolved,
    #[error(
        "the key that proposed or approved it was revoked: nothing was done. Reject it, and let another person propose it again"
    )]
    SignerRevoked,
    #[error(
        "`{name}` does not name a person: nothing was changed. Use 1 to 48 plain letters, digits and signs of ASCII without a slash, such as a login or an e-mail address: letters that look alike would make one person two"
    )]
    BadPerson { name: String },
    #[error(
        "after {attempts} attempts, or because there is evidence that it was paid, there is no new attempt: nothing was changed. Confirm what happened instead"
    )]
    NoNewAttempt { attempts: usize },
    #[error("this is not how an endpoint is set up: {why}. Nothing was changed; correct it")]
    BadEndpoint { why: Cow<'static, str> },
    #[error(
        "the merchant has {most} endpoints that are on: nothing was changed. Delete or disable one first"
    )]
    TooManyEndpoints { most: usize },
    #[error(
        "the endpoint `{id}` is {status}: nothing is sent to it. Enable it first, or choose another"
    )]
    EndpointDisabled { id: String, status: &'static str },
    #[error("the template of {event} failed: {reason}. Nothing was posted; run `bursar check`")]
    TemplateFailed { event: Name, reason: String },
}

/// The channels that the caller can choose.
fn channels(known: &[String]) -> String {
    if known.is_empty() {
        return "No channel is configured: add [channels.NAME] to the configuration".to_owned();
    }
    format!("The channels are {}", known.join(", "))
}

/// What a rejection means to a caller. An API derives its status from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request cannot be read.
    Malformed,
    /// The request is understood and cannot be accepted.
    Invalid,
    /// The role of the actor does not suffice.
    Forbidden,
    NotFound,
    /// The request contradicts the current state.
    Conflict,
    /// A fault on this side.
    Internal,
}

impl Rejection {
    /// The stable name, for programs.
    pub const fn code(&self) -> &'static str {
        self.code_and_class().0
    }

    pub const fn class(&self) -> Class {
        self.code_and_class().1
    }

    #[expect(clippy::too_many_lines, reason = "a table with a line for each rejection")]
    const fn code_and_class(&self) -> (&'static str, Class) {
        match self {
            Self::UnknownEvent { .. } => ("unknown_event", Class::Invalid),
            Self::MissingVariables { .. } => ("missing_variables", Class::Invalid),
            Self::UnknownVariable { .. } => ("unknown_variable", Class::Invalid),
            Self::BadIdentifier { .. } => ("bad_identifier", Class::Invalid),
            Self::BadReference => ("bad_reference", Class::Invalid),
            Self::BadCurrency { .. } => ("bad_currency", Class::Invalid),
            Self::BadAmount { .. } => ("bad_amount", Class::Invalid),
            Self::AmountTooLarge { .. } => ("amount_too_large", Class::Invalid),
            Self::NegativeAmount { .. } => ("negative_amount", Class::Invalid),
            Self::PartsExceedWhole { .. } => ("parts_exceed_whole", Class::Invalid),
            Self::MissingFunds { .. } => ("missing_funds", Class::Invalid),
            Self::ReferenceReused { .. } => ("reference_reused", Class::Conflict),
            Self::TakenBack { .. } => ("taken_back", Class::Conflict),
            Self::EpochInReference { .. } => ("epoch_in_reference", Class::Invalid),
            Self::SameCurrency { .. } => ("same_currency", Class::Invalid),
            Self::HoldNotFound { .. } => ("hold_not_found", Class::Invalid),
            Self::HoldEnded { .. } => ("hold_ended", Class::Conflict),
            Self::HoldMismatch { .. } => ("hold_mismatch", Class::Invalid),
            Self::HoldOfAnother { .. } => ("hold_of_another", Class::Invalid),
            Self::UnknownTransaction { .. } => ("unknown_transaction", Class::NotFound),
            Self::RevertOfRevert { .. } => ("revert_of_revert", Class::Conflict),
            Self::BalanceTooLarge { .. } => ("balance_too_large", Class::Invalid),
            Self::NotDoubleEntry { .. } => ("not_double_entry", Class::Internal),
            Self::NothingMoves { .. } => ("nothing_moves", Class::Invalid),
            Self::BelongsToFlow { .. } => ("belongs_to_flow", Class::Conflict),
            Self::Unreadable { .. } => ("unreadable", Class::Internal),
            Self::UnreadableReply { .. } => ("unreadable_reply", Class::Internal),
            Self::UnknownFlow { .. } => ("unknown_flow", Class::NotFound),
            Self::StaleVersion { .. } => ("stale_version", Class::Conflict),
            Self::NotWaiting { .. } => ("not_waiting", Class::Conflict),
            Self::BadSettings { .. } => ("bad_settings", Class::Invalid),
            Self::BadKey => ("bad_key", Class::Malformed),
            Self::KeyReused { .. } => ("idempotency_mismatch", Class::Conflict),
            Self::BadActor => ("bad_actor", Class::Invalid),
            Self::BadNote { .. } => ("bad_note", Class::Invalid),
            Self::UnknownChannel { .. } => ("unknown_channel", Class::Invalid),
            Self::UnknownProvider { .. } => ("unknown_provider", Class::Invalid),
            Self::CurrencyOfChannel { .. } => ("currency_of_channel", Class::Invalid),
            Self::NothingToPay { .. } => ("nothing_to_pay", Class::Invalid),
            Self::BadBeneficiary => ("bad_beneficiary", Class::Invalid),
            Self::UnknownMerchant { .. } => ("unknown_merchant", Class::Invalid),
            Self::MerchantClosed { .. } => ("merchant_closed", Class::Invalid),
            Self::UnknownRecord { .. } => ("not_found", Class::NotFound),
            Self::RecordExists { .. } => ("already_exists", Class::Conflict),
            Self::BadName => ("bad_name", Class::Invalid),
            Self::BadRemarks => ("bad_remarks", Class::Invalid),
            Self::BadExternalId => ("bad_external_id", Class::Invalid),
            Self::UnknownMarket { .. } => ("unknown_market", Class::Invalid),
            Self::BadScope => ("bad_scope", Class::Invalid),
            Self::ApproverNeeded { .. } => ("approver_needed", Class::Forbidden),
            Self::UnknownReference { .. } => ("unknown_reference", Class::NotFound),
            Self::NotCancellable { .. } => ("not_cancellable", Class::Conflict),
            Self::NotStuck { .. } => ("not_stuck", Class::Conflict),
            Self::NoOpenCase { .. } => ("no_open_case", Class::Conflict),
            Self::Rechecking { .. } => ("rechecking", Class::Conflict),
            Self::NoRestore => ("no_restore", Class::Conflict),
            Self::BadReport { .. } => ("bad_report", Class::Invalid),
            Self::SecondPersonNeeded { .. } => ("second_person_needed", Class::Conflict),
            Self::ApprovalNeeded { .. } => ("approval_needed", Class::Forbidden),
            Self::NoApprovalNeeded => ("no_approval_needed", Class::Invalid),
            Self::DoneAlready => ("done_already", Class::Conflict),
            Self::NotProposed { .. } => ("not_proposed", Class::Conflict),
            Self::OtherRequest { .. } => ("other_request", Class::Conflict),
            Self::NoBreakGlass { .. } => ("no_break_glass", Class::Forbidden),
            Self::CreatorInvolved { .. } => ("creator_involved", Class::Conflict),
            Self::BootstrapInvolved => ("bootstrap_involved", Class::Conflict),
            Self::SignerRevoked => ("signer_revoked", Class::Conflict),
            Self::BadPerson { .. } => ("bad_person", Class::Invalid),
            Self::NoNewAttempt { .. } => ("no_new_attempt", Class::Conflict),
            Self::BadEndpoint { .. } => ("bad_endpoint", Class::Invalid),
            Self::TooManyEndpoints { .. } => ("too_many_endpoints", Class::Conflict),
            Self::EndpointDisabled { .. } => ("endpoint_off", Class::Conflict),
            Self::TemplateFailed { .. } => ("template_failed", Class::Internal),
        }
    }
}
