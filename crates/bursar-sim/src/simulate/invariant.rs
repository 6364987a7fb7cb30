//! What must hold, by name. Each is counted whenever it is looked at, and the first that does not hold ends a run.

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
    ReleasedIsNotPaid, "released-is-not-paid", "what is released was not paid and cannot be";
    OneLiveAttempt, "one-live-attempt", "a payout has at most one attempt that may be paid";
    FrozenIsNotSent, "frozen-is-not-sent", "nothing is planned to be sent after the commit of a freeze";
    ListedTransition, "listed-transition", "a flow goes only where the diagram has an arrow";
    DecidedOnLatest, "decided-on-latest", "a commit changes a flow as it was saved last";
    EventsWithoutGap, "events-without-gap", "every change of a status is told, and what is told about a resource is numbered without a gap";
    Balanced, "balanced", "debits equal credits in every currency, and balances follow from postings";
    NotBelowZero, "not-below-zero", "no merchant pays out what it does not have";
    AnswerIsSaved, "answer-is-saved", "what was answered is in the books";
    BooksSurvive, "books-survive", "after a crash the books are as they were saved";
    SameKeySameReply, "same-key-same-reply", "the same request under a key gets the same reply, another none";
    RightPrice, "right-price", "fee and VAT are what the tariff says";
    TwoPeople, "two-people", "above the limit two people decide";
    EveryEventIsMailed, "every-event-is-mailed", "who is subscribed when something is told has one delivery of it, with its bytes, in the same commit";
    MailIsFromAnEvent, "mail-is-from-an-event", "a delivery begins with what was told";
    MailIsSaved, "mail-is-saved", "a receiver gets only what was saved as about to be sent";
    SameBytes, "same-bytes", "a receiver gets the same bytes each time";
    DeliveredIsTaken, "delivered-is-taken", "what is DELIVERED was answered with 2xx";
    TakenIsNotMailed, "taken-is-not-mailed", "what is known to be taken is not sent again, unless somebody asks";
    OverIsOver, "over-is-over", "a delivery that is over begins again only if somebody asks";
    TriedWithinSchedule, "tried-within-schedule", "a round of attempts has no more than its schedule";
    DeadWasTried, "dead-was-tried", "a dead letter has had every attempt of its schedule";
    CancelledIsOff, "cancelled-is-off", "what is cancelled was for an endpoint that is off";
    OffIsNotMailed, "off-is-not-mailed", "nothing is planned for an endpoint that was off when it was decided";
    MailWithinConcurrency, "mail-within-concurrency", "no process sends more to an endpoint at once than it takes";
    NobodyWaits, "nobody-waits", "in the end no process waits for what never comes back";
    EverybodyAnswered, "everybody-answered", "in the end everybody who asked was answered";
    EveryFlowEnds, "every-flow-ends", "in the end nothing is under way and nothing is on hold";
    LedgerIsWorld, "ledger-is-world", "in the end the ledger says what the channels did";
    MerchantsHave, "merchants-have", "in the end every merchant has what came in less what went out";
    Verified, "verified", "the books verify: balances, holds, flows and hashes follow from what was appended";
    BooksReadable, "books-readable", "the books can be read and trusted";
    NoPanic, "no-panic", "nothing panics";
}

/// What did not hold, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub invariant: Invariant,
    /// The flow that it is about, by its short name, if it is about one.
    pub about: String,
    pub what: String,
}
