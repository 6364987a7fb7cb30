//! What must always hold: each rule with a sentence, and with what it would mean for the money if it did not.

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

// Those with an I are about payouts, and known by these names in its design; K is for evidence, P for pay-ins, R for
// reservations, D for deliveries; L says that there is always a way on, and W that looking at small worlds is enough.
rules! {
    I1: "A hold ends at most once: settled or released.",
        "The same money is booked out, or given back, twice.";
    I2: "At most one attempt may be paid at any time.",
        "Two attempts are out at once, and the channel may pay both.";
    I3: "The beneficiary is paid at most once.",
        "The money was sent twice, and the second payment is ours to lose.";
    I4: "Money is settled only if it was paid.",
        "The merchant was charged for a payment that nobody got.";
    I5: "Money is given back only if it was not paid and will not be.",
        "The merchant has the money back, and the beneficiary gets it all the same.";
    I6: "Each correction is booked at most once.",
        "Money that came back once is given to the merchant twice.";
    I7: "Money is on hold exactly as long as it is not over.",
        "The merchant's money is out of reach for ever, or free while it is being paid out.";
    I8: "Only what was saved is sent, and only with money on hold.",
        "Money leaves that nobody has put aside.";
    I9: "A channel gets a reference once, unless it promises to pay it once.",
        "A channel that pays whatever it gets pays twice.";
    I10: "Only corrections leave an end.",
        "What the merchant was told is over is not, and is booked again.";
    I13: "Evidence gives the same knowledge in any order, however often it is said.",
        "Whether money is settled or given back depends on which message came last.";
    I14: "What was sent is not cancelled, and what was cancelled is not sent.",
        "The merchant has the money back, and the channel may still pay.";
    I15: "After a freeze nothing new is sent.",
        "Somebody pulled the brake, and money left all the same.";
    I16: "Every change of status or case is told once, and nothing else is.",
        "The merchant does not know what became of the money, or is told twice.";
    I17: "What somebody decided without having seen the latest has no effect.",
        "Money moves on a decision about something that is no longer so.";
    C1: "What contradicts the books once money has moved becomes a case.",
        "Money is lost or owed, and nobody is looking for it.";
    C2: "Money is given to the merchant as returned only if it came back.",
        "The merchant has money that the channel has kept, or paid to the beneficiary.";
    K1: "What was once said to be paid is known for ever.",
        "An attempt that was paid is taken for one that may be sent again.";
    P1: "A pay-in is booked at most once.",
        "The merchant is credited twice for one payment of a customer.";
    P2: "A pay-in is booked as soon as, and only if, its provider says that it was paid.",
        "A customer's money is missing from the books, or in them without having come.";
    P3: "What was booked stays booked, and a word against it is seen by somebody.",
        "Money is taken from a merchant on a provider's word, or nobody asks who is right.";
    R1: "Reserved money comes back early only if somebody asks.",
        "Money that was promised to somebody is spent elsewhere.";
    D1: "A delivery is DELIVERED only if its receiver has taken it.",
        "None is moved; but the merchant is thought to know of money of which it was never told.";
    D2: "What is known to be taken is sent again only if somebody asks.",
        "None is moved; but a merchant who is told twice may act twice.";
    D3: "A dead letter has had every attempt of its schedule, or cannot be sent.",
        "None is moved; but the merchant is not told of money of which it could have been.";
    D4: "Only what is for an endpoint that is off is cancelled.",
        "None is moved; but the merchant is not told, although it wants to be.";
    D5: "A round has no more attempts than its schedule.",
        "None is moved; but a merchant who is in trouble gets more of it.";
    D6: "Nothing is sent to an endpoint that is off, or is left alone but for a try.",
        "None is moved; but somebody is told who must not be, or cannot listen.";
    D7: "What is not over is looked at again in time, and what is over without success can be found.",
        "None is moved; but the merchant waits for ever, and nobody knows.";
    D8: "What is on its way is not sent again before it is given up.",
        "None is moved; but a merchant who is told twice may act twice.";
    L1: "Every state can reach an end.",
        "The merchant's money may stay on hold for ever.";
    W1: "What the small worlds leave out makes no difference.",
        "Nothing for the money; but what is said about the other worlds is worth nothing.";
}
