//! The rules that must always hold, each with a sentence and with what it means for the money if it is broken.

macro_rules! rules {
    ($($name:ident: $sentence:literal, $meaning:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($name,)*
        }

        impl Rule {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The rule itself.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)*
                }
            }

            /// What it means for the money when the rule is broken.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning,)*
                }
            }
        }
    };
}

// Those with an I are about payouts, and known by these names in its design; K is for evidence, P for pay-ins, A for
// approvals, D for deliveries; L says that there is always a way on, and W that looking at small worlds is enough.
rules! {
    I1: "A hold ends at most once: settled or released.",
        "The same money is booked out, or given back, twice.";
    I2: "At most one attempt may be paid at any time.",
        "Two attempts are out at once, and the channel may pay both.";
    I3: "The beneficiary is paid at most once.",
        "The money was sent twice, and the second payment is ours to lose.";
    I4: "Money is settled only if it was paid.",
        "The merchant was charged for a payment that was never made.";
    I5: "Money is given back only if it was not paid and will not be.",
        "The merchant has the money back, and the beneficiary gets it all the same.";
    I6: "Each correction is booked at most once.",
        "Money that came back once is given to the merchant twice.";
    I7: "Money is on hold exactly as long as it is not over.",
        "The merchant's money is out of reach for ever, or free while it is being paid out.";
    I8: "Only what was saved is sent, and only with money on hold.",
        "Money leaves that is not on hold.";
    I9: "A channel gets a reference once, unless it promises to pay it once.",
        "A channel that pays whatever it gets pays twice.";
    I10: "Only corrections leave an end.",
        "A payout that was reported as final is not, and is booked again.";
    I13: "Evidence gives the same knowledge in any order, however often it is repeated.",
        "Whether money is settled or given back depends on which message came last.";
    I14: "What was sent is not cancelled, and what was cancelled is not sent.",
        "The merchant has the money back, and the channel may still pay.";
    I15: "After a freeze nothing new is sent.",
        "An operator froze the channel, and money left all the same.";
    I16: "Every change of status or case emits one event, and nothing else does.",
        "The merchant does not know what became of the money, or is notified twice.";
    I17: "A decision about an older version has no effect.",
        "Money moves on a decision about something that is no longer so.";
    I18: "What was paid in another amount is settled or given back only by a person.",
        "The merchant is charged for money that the beneficiary did not get, or the other way round.";
    I19: "What this machine could not send does not fail.",
        "The merchant is told that a payout failed, and the channel was never asked.";
    C1: "What contradicts the books once money has moved becomes a case.",
        "Money is lost or owed, and no operator is alerted.";
    C2: "Money is given to the merchant as returned only if it came back.",
        "The merchant has money that the channel has kept, or paid to the beneficiary.";
    K1: "Evidence that it was paid is never lost.",
        "An attempt that was paid is taken for one that may be sent again.";
    P1: "A pay-in is booked at most once.",
        "The merchant is credited twice for one payment of a customer.";
    P2: "A pay-in is booked as soon as, and only if, its provider says that it was paid.",
        "A customer's money is missing from the books, or in them without having come.";
    P3: "What was booked stays booked, and a denial makes it CONTRADICTED.",
        "Money is taken from a merchant on a provider's word, or no operator checks who is right.";
    P4: "A report of another amount books nothing, and an operator sees it until the case is closed.",
        "The provider has another amount than the books, and no operator asks which is right.";
    A1: "A proposal is approved by as many different people as it needs, none of whom made the key of another.",
        "One person moves money that two must agree to.";
    A2: "An approved proposal is done once, and no other is done.",
        "Money moves twice on one approval, or moves without one.";
    A3: "A proposal is not approved after it has expired.",
        "Money moves on what a person wanted long ago.";
    D1: "A delivery is DELIVERED only if its receiver has accepted it.",
        "None is moved; but the merchant is thought to know of money of which it was never notified.";
    D2: "A delivery that is known to be accepted is sent again only after a replay.",
        "None is moved; but a merchant that is notified twice may act twice.";
    D3: "A dead letter has had every attempt of its retry policy, or cannot be sent.",
        "None is moved; but the merchant is not notified although it could have been.";
    D4: "Only deliveries to a disabled endpoint are cancelled.",
        "None is moved; but the merchant is not notified, although it is subscribed.";
    D5: "A round has no more attempts than its retry policy.",
        "None is moved; but an endpoint in trouble gets more load.";
    D6: "Nothing is sent to a disabled endpoint, or to one with an open breaker but for a probe.",
        "None is moved; but an endpoint is called that must not be, or cannot answer.";
    D7: "An unfinished delivery is claimed again in time, and one that ended without success can be listed.",
        "None is moved; but the merchant waits for ever, without an alert.";
    D8: "An attempt in flight is not sent again before it is given up.",
        "None is moved; but a merchant that is notified twice may act twice.";
    L1: "Every state can reach an end.",
        "The merchant's money may stay on hold for ever.";
    W1: "What the small worlds leave out makes no difference.",
        "Nothing for the money; but what is said about the other worlds is worth nothing.";
}
