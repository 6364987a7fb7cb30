//! The faults of this world, by name. The swarm draws their strength, and each strike is counted.

/// One line makes a fault: its name, how often in a thousand at most, and what it means.
macro_rules! faults {
    ($($fault:ident, $name:literal, $most:literal, $meaning:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = $meaning] $fault,)*
        }

        impl Fault {
            pub const ALL: &[Self] = &[$(Self::$fault,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$fault => $name,)*
                }
            }

            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$fault => $meaning,)*
                }
            }

            /// Per thousand chances, when a seed has it at its strongest.
            pub(crate) const fn most(self) -> u32 {
                match self {
                    $(Self::$fault => $most,)*
                }
            }
        }
    };
}

faults! {
    CrashBeforeLoad, "crash-before-load", 12, "the process dies with a turn that has read nothing";
    CrashBeforeSave, "crash-before-save", 25, "the process dies between load and save";
    CrashAfterSave, "crash-after-save", 25, "the process dies behind the commit, before a caller is answered";
    CrashAfterAnswers, "crash-after-answers", 40, "the process dies behind the answers, before an effect is run";
    CrashAfterSend, "crash-after-send", 80, "the process dies with a submission on its way";
    CrashBeforeReport, "crash-before-report", 50, "the process dies with an outcome that is not saved";
    ProcessLost, "process-lost", 400, "a second process dies and never comes back";
    StoreUnavailable, "store-unavailable", 30, "the store is unavailable";
    StoreConflict, "store-conflict", 80, "another writer was faster";
    CommitUnknownSaved, "commit-unknown-saved", 40, "the commit was saved, and its outcome is unknown";
    CommitUnknownLost, "commit-unknown-lost", 30, "the commit was not saved, and its outcome is unknown";
    CommitUnknownLate, "commit-unknown-late", 40, "the commit is saved after a lookup that did not find it";
    LookupFails, "lookup-fails", 300, "whether a commit was saved cannot be looked up";
    StoreSlow, "store-slow", 300, "a turn pauses between load and save, and others go on";
    InboxFull, "inbox-full", 500, "a process takes two requests at once and rejects the rest as busy";
    StartLate, "start-late", 300, "an effect is started late, perhaps behind its lease";
    NoFiles, "no-files", 250, "a process has no files or ports left for a call to a channel: not a byte was sent";
    ConnectFails, "connect-fails", 250, "the channel cannot be reached: not a byte was sent";
    TransitSlow, "transit-slow", 200, "a submission is on its way for long";
    AnswerLost, "answer-lost", 400, "the channel's answer to a submission is lost";
    AnswerLate, "answer-late", 200, "the channel's answer to a submission comes too late";
    QueryFails, "query-fails", 300, "a query gets no usable answer";
    QueryLate, "query-late", 100, "the answer to a query comes too late";
    Hidden, "hidden", 800, "the channel has it and does not show it yet";
    SaysDuplicate, "says-duplicate", 100, "the channel says that it has this reference already";
    CallbackEarly, "callback-early", 400, "a callback overtakes the answer";
    CallbackLost, "callback-lost", 800, "a callback is lost";
    CallbackTwice, "callback-twice", 300, "a callback comes again, in other bytes";
    CallbackLate, "callback-late", 300, "a callback comes hours late";
    CallbackStale, "callback-stale", 400, "a callback reports an older state";
    PaysOther, "pays-other", 200, "the channel pays another amount than was asked for";
    Returns, "returns", 250, "a paid payout is returned later";
    Flips, "flips", 500, "a failed payout is paid after all, by a channel that does not promise otherwise";
    WebhookLost, "webhook-lost", 150, "a call to an endpoint is lost on its way";
    WebhookTwice, "webhook-twice", 150, "a call to an endpoint arrives twice";
    WebhookAnswerLost, "webhook-answer-lost", 150, "the answer of an endpoint is lost";
    WebhookAnswerLate, "webhook-answer-late", 150, "the answer of an endpoint comes late, perhaps behind the lease";
    WebhookReportLate, "webhook-report-late", 120, "a process pauses with the answer of an endpoint, and reports it behind the lease";
    WebhookUnsendable, "webhook-unsendable", 20, "a call to an endpoint cannot be signed";
    WebhookUnsent, "webhook-unsent", 60, "a process has no files or ports left for a call to an endpoint";
    CrashAfterWebhook, "crash-after-webhook", 20, "the process dies with a call to an endpoint on its way";
    CrashBeforeWebhookReport, "crash-before-webhook-report", 20, "the process dies with the answer of an endpoint that is not saved";
    ClockJump, "clock-jump", 200, "the wall clock is set, and set right again soon";
    ClockSkew, "clock-skew", 700, "processes start with clocks that are a little apart";
}

/// The dice of these faults keep the names that the faults had first, so that a seed draws what it always drew.
const RENAMED: [(Fault, &str); 9] = [
    (Fault::WebhookLost, "parcel-lost"),
    (Fault::WebhookTwice, "parcel-twice"),
    (Fault::WebhookAnswerLost, "parcel-answer-lost"),
    (Fault::WebhookAnswerLate, "parcel-answer-late"),
    (Fault::WebhookReportLate, "mail-report-late"),
    (Fault::WebhookUnsendable, "parcel-unsendable"),
    (Fault::WebhookUnsent, "parcel-unsent"),
    (Fault::CrashAfterWebhook, "crash-after-parcel"),
    (Fault::CrashBeforeWebhookReport, "crash-before-mail-report"),
];

impl Fault {
    /// The purpose of its dice.
    pub(crate) fn dice(self) -> &'static str {
        let renamed = RENAMED.iter().find(|(fault, _)| *fault == self);
        renamed.map_or(self.name(), |(_, purpose)| purpose)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }
}
