//! Everything that goes wrong in this world, by name. How often is for the swarm to say, and each is counted.

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
    CrashAfterSave, "crash-after-save", 25, "the process dies behind the commit, before anybody is answered";
    CrashAfterAnswers, "crash-after-answers", 40, "the process dies behind the answers, before an effect is run";
    CrashAfterSend, "crash-after-send", 80, "the process dies with a submission on its way";
    CrashBeforeReport, "crash-before-report", 50, "the process dies with an outcome that is not saved";
    ProcessLost, "process-lost", 400, "a second process dies and never comes back";
    StoreUnavailable, "store-unavailable", 30, "the store is not there";
    StoreConflict, "store-conflict", 80, "another writer was faster";
    CommitUnknownSaved, "commit-unknown-saved", 40, "the commit was saved and nobody said so";
    CommitUnknownLost, "commit-unknown-lost", 30, "the commit was not saved and nobody said so";
    CommitUnknownLate, "commit-unknown-late", 40, "the commit is saved after it was looked up in vain";
    LookupFails, "lookup-fails", 300, "whether a commit was saved cannot be looked up";
    StoreSlow, "store-slow", 300, "a turn stands still between load and save, and others go on";
    InboxFull, "inbox-full", 500, "a process takes two requests at once and turns the rest away";
    StartLate, "start-late", 300, "an effect is started late, perhaps behind its lease";
    ConnectFails, "connect-fails", 250, "the channel cannot be reached: not a byte was sent";
    TransitSlow, "transit-slow", 200, "a submission is on its way for long";
    AnswerLost, "answer-lost", 400, "the channel's answer to a submission is lost";
    AnswerLate, "answer-late", 200, "the channel's answer to a submission comes too late";
    QueryFails, "query-fails", 300, "a question gets no answer that means anything";
    QueryLate, "query-late", 100, "the answer to a question comes too late";
    Hidden, "hidden", 800, "the channel has it and does not find it yet";
    SaysDuplicate, "says-duplicate", 100, "the channel says that it has this reference already";
    CallbackEarly, "callback-early", 400, "a callback overtakes the answer";
    CallbackLost, "callback-lost", 800, "a callback is lost";
    CallbackTwice, "callback-twice", 300, "a callback comes again, in other bytes";
    CallbackLate, "callback-late", 300, "a callback comes hours late";
    CallbackStale, "callback-stale", 400, "a callback says what is no longer the last word";
    Returns, "returns", 250, "what was paid comes back later";
    Flips, "flips", 500, "what had failed is paid after all, by a channel that never promised otherwise";
    ParcelLost, "parcel-lost", 150, "what is mailed to an endpoint is lost on its way";
    ParcelTwice, "parcel-twice", 150, "what is mailed to an endpoint arrives twice";
    ParcelAnswerLost, "parcel-answer-lost", 150, "the answer of an endpoint is lost";
    ParcelAnswerLate, "parcel-answer-late", 150, "the answer of an endpoint comes late, perhaps behind the lease";
    MailReportLate, "mail-report-late", 120, "a process stands still with what an endpoint said, and reports it behind the lease";
    ParcelUnsendable, "parcel-unsendable", 20, "what is to be mailed cannot be signed";
    ParcelUnsent, "parcel-unsent", 60, "a process has no files or ports left to mail with";
    CrashAfterParcel, "crash-after-parcel", 20, "the process dies with mail on its way";
    CrashBeforeMailReport, "crash-before-mail-report", 20, "the process dies with what an endpoint said, and has not saved it";
    ClockJump, "clock-jump", 200, "the wall clock is set, and set right again soon";
    ClockSkew, "clock-skew", 700, "processes start with clocks that are a little apart";
}

impl Fault {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }
}
