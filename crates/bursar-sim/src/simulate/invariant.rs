//! The invariants, by name. Each check is counted, and the first that fails ends a run.

/// One line makes an invariant: its name and what it says.
macro_rules! invariants {
    ($($invariant:ident, $name:literal, $meaning:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Invariant {
            $(#[doc = $meaning] $invariant,)*
        }

        impl Invariant {
            pub const ALL: &[Self] = &[$(Self::$invariant,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$invariant => $name,)*
                }
            }

            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$invariant => $meaning,)*
                }
            }
        }
    };
}

invariants! {
    SavedBeforeSent, "saved-before-sent", "a channel gets only what was saved as about to be sent";
    SentOnce, "sent-once", "a reference arrives once, unless the channel pays it once whatever arrives";
    PaidOnce, "paid-once", "a beneficiary is paid once";
    SettledIsPaid, "settled-is-paid", "what is settled was paid";
    AmountIsAsked, "amount-is-asked", "what is settled without a person was paid in the amount that was asked for";
    ReleasedIsNotPaid, "released-is-not-paid", "what is released was not paid and cannot be";
    OneLiveAttempt, "one-live-attempt", "a payout has at most one attempt that may be paid";
    FrozenIsNotSent, "frozen-is-not-sent", "nothing is planned to be sent after the commit of a freeze";
    WithinRate, "within-rate", "no window has more slots than rate and burst of its channel allow";
    WithinConcurrency, "within-concurrency", "over all processes no more are being sent through a channel than its settings allow";
    WithinWindow, "within-window", "nothing is planned to be sent outside the window of its channel, unless its settings say so";
    ListedTransition, "listed-transition", "a flow goes only where the diagram has an arrow";
    OtherAmountIsKept, "other-amount-is-kept", "a pay-in report of another amount books nothing, and its pay-in has a case with it";
    DecidedOnLatest, "decided-on-latest", "a commit changes a flow as it was saved last";
    EventsWithoutGap, "events-without-gap", "every change of a status emits an event, and the events of a resource are numbered without a gap";
    Balanced, "balanced", "debits equal credits in every currency, and balances follow from postings";
    NotBelowZero, "not-below-zero", "no merchant pays out what it does not have";
    AnswerIsSaved, "answer-is-saved", "what was answered is in the books";
    BooksSurvive, "books-survive", "after a crash the books are as they were saved";
    SameKeySameReply, "same-key-same-reply", "the same request under a key gets the same reply, another none";
    RightPrice, "right-price", "fee and VAT are what the tariff says";
    TwoPeople, "two-people", "above the limit two people decide";
    GuardedIsApproved, "guarded-is-approved", "what one person may not do alone is done in the commit of its approval";
    ApprovedByQuorum, "approved-by-quorum", "an approval is signed in time by as many different people as it needs";
    ApprovedIsDone, "approved-is-done", "what is approved is done once, in the same commit, and nothing else is said to be done";
    EveryEventIsDelivered, "every-event-is-delivered", "an endpoint whose filter matches an event has one delivery of it, with its bytes, in the same commit";
    DeliveryHasEvent, "delivery-has-event", "a delivery begins with an event";
    WebhookIsSaved, "webhook-is-saved", "a receiver gets only attempts that were saved before";
    SameBytes, "same-bytes", "a receiver gets the same bytes each time";
    DeliveredIsAccepted, "delivered-is-accepted", "a DELIVERED delivery was answered with 2xx";
    DeliveredIsNotResent, "delivered-is-not-resent", "a DELIVERED delivery is sent again only after a replay";
    OverIsOver, "over-is-over", "a finished delivery begins again only after a replay";
    TriedWithinSchedule, "tried-within-schedule", "a round has no more attempts than its retry policy";
    DeadWasTried, "dead-was-tried", "a dead letter has had every attempt of its retry policy";
    CancelledIsOff, "cancelled-is-off", "a cancelled delivery was for a disabled endpoint";
    DisabledIsNotCalled, "disabled-is-not-called", "no call is planned to an endpoint that was disabled when the turn began";
    WebhooksWithinConcurrency, "webhooks-within-concurrency", "no process has more calls to an endpoint in flight than its concurrency";
    NoProcessWaits, "no-process-waits", "in the end no process waits for what never comes back";
    EveryCallerAnswered, "every-caller-answered", "in the end every caller was answered";
    EveryFlowEnds, "every-flow-ends", "in the end nothing is under way and nothing is on hold";
    LedgerIsWorld, "ledger-is-world", "in the end the ledger says what the channels did";
    MerchantsHave, "merchants-have", "in the end every merchant has what came in less what went out";
    Verified, "verified", "the books verify: balances, holds, flows and hashes follow from what was appended";
    BooksReadable, "books-readable", "the books can be read and trusted";
    NoPanic, "no-panic", "nothing panics";
}

/// The invariant that failed, and for which flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub invariant: Invariant,
    /// The short name of the flow, if it is about one.
    pub about: String,
    pub what: String,
}
