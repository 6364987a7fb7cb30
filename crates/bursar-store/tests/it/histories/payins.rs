//! Reports of providers, some of them with other values under a known reference, and the end of their cases.

use bursar_core::ids::PayInId;
use bursar_core::payins::{CloseCase, NewPayIn, ProviderStatus};

use super::requests::{key, text};
use super::world::World;

/// A report of a provider about one of few pay-ins.
pub(super) fn report(world: &mut World) -> NewPayIn {
    let statuses = [
        ("pending", ProviderStatus::Pending),
        ("completed", ProviderStatus::Completed),
        ("failed", ProviderStatus::Failed),
    ];
    let (event, status) = world.dice.pick(&statuses);
    let number = world.dice.below(world.admitted.max(8).div_euclid(4) + 1);
    NewPayIn {
        key: world.dice.chance(20).then(|| key(world, "payin")),
        actor: world.dice.chance(40).then(|| text("ops")),
        merchant: format!("m{}", number % 3),
        provider: text("easy"),
        reference: format!("r{number}"),
        currency: text("PKR"),
        amount: text(match world.dice.below(20) {
            0 => "0",
            1 => "13",
            2 => "12.505",
            _ => "12.5",
        }),
        said: status,
        event: text(event),
    }
}

/// Mostly of a pay-in that has changed after it was created, because one with a case has.
pub(super) fn close_case(world: &mut World) -> CloseCase {
    let (key, (id, version)) = (key(world, "close"), world.some_payin());
    CloseCase {
        key,
        id: PayInId::from_uuid(id.uuid()),
        evidence: text("the provider has corrected it"),
        expected_version: if world.dice.chance(10) { version + 1 } else { version },
        actor: format!("ops{}", world.dice.below(3)),
    }
}
