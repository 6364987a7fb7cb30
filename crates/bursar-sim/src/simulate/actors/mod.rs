//! Everybody who asks for something. A new actor is a file here and a line in `all`.

mod blunders;
mod house;
mod mail;
mod merchants;
mod operators;
mod providers;

use super::scene::Actor;

/// Merchants that there are; the last one is closed now and then.
pub(crate) const MERCHANTS: [&str; 4] = ["m1", "m2", "m3", "m4"];

pub(crate) fn all(seed: u64) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(house::House::new(seed)),
        Box::new(providers::Providers::new(seed)),
        Box::new(merchants::Merchants::new(seed)),
        Box::new(operators::Operators::new(seed)),
        Box::new(blunders::Blunders::new(seed)),
        Box::new(mail::Post::new(seed)),
    ]
}
