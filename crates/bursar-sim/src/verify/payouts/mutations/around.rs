//! Mistakes around the machine of payouts: by processes, channels and operators.

use super::{Mistake, Plant, mistake};
use crate::verify::payouts::Operators;

pub(super) const MISTAKES: [Mistake; 4] = [
    mistake(
        "save-after-send",
        "A submission is saved after it was sent.",
        Plant::World(|profile| profile.sends_before_saving = true),
    ),
    mistake(
        "lease-ignored",
        "A process sends after its lease has ended.",
        Plant::World(|profile| profile.sends_after_lease = true),
    ),
    Mistake {
        name: "channel-flips",
        sentence: "A channel that promised that what failed stays failed pays it all the same.",
        plant: Plant::World(|profile| profile.flips = true),
        residual: Some(
            "No machine can prevent this: the money was given back on the channel's own word. When the channel says so, \
             the payout becomes LATE_SUCCESS, the merchant owes the money and a case is open. Declare failed_is_final = \
             false for such a channel, and nothing is attempted twice without an operator.",
        ),
    },
    Mistake {
        name: "person-errs",
        sentence: "One operator alone decides what is not true.",
        plant: Plant::World(|profile| profile.operators = Operators::Wrong),
        residual: Some(
            "No machine can prevent this: an operator who may decide was wrong. It is seen as soon as the channel says \
             otherwise, and a case is open. Above the limit of [review] two people must agree.",
        ),
    },
];
