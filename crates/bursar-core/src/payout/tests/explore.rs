//! Everything that can happen to a small payout, breadth first.

use std::collections::{BTreeMap, VecDeque};

use super::world::{Happening, StepFn, World};
use super::*;

pub(super) struct Explored {
    pub(super) worlds: usize,
    pub(super) happenings: usize,
}

/// A story that ends with what must never happen.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) end: String,
    pub(super) steps: Vec<String>,
}

/// Two tries, two attempts, two questions.
pub(super) fn small(channel: Channel) -> Channel {
    let clocks = Clocks {
        tries_max: 2,
        attempts_max: 2,
        requeries: vec![SignedDuration::from_secs(5); 2],
        ..channel.clocks
    };
    Channel { clocks, visibility_window: SignedDuration::ZERO, ..channel }
}

pub(super) fn explore(channel: &Channel, step: StepFn) -> Result<Explored, Story> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut worlds: Vec<(World, Option<(usize, Happening)>)> = Vec::new();
    let mut before: Vec<Vec<usize>> = Vec::new();
    let mut queue = VecDeque::new();
    let mut happenings = 0;
    known.insert(format!("{:?}", World::new()), 0);
    worlds.push((World::new(), None));
    before.push(Vec::new());
    queue.push_back(0);
    while let Some(index) = queue.pop_front() {
        let world = worlds[index].0.clone();
        for happening in world.happenings(channel) {
            happenings += 1;
            let next = match world.after(&happening, channel, step) {
                Ok(next) if next == world => continue,
                Ok(next) => next,
                Err(end) => return Err(story(&worlds, index, &happening, end)),
            };
            let number = *known.entry(format!("{next:?}")).or_insert_with(|| {
                worlds.push((next, Some((index, happening.clone()))));
                before.push(Vec::new());
                queue.push_back(worlds.len() - 1);
                worlds.len() - 1
            });
            before[number].push(index);
        }
    }
    all_can_end(&worlds, &before)?;
    Ok(Explored { worlds: worlds.len(), happenings })
}

fn story(
    worlds: &[(World, Option<(usize, Happening)>)],
    mut index: usize,
    last: &Happening,
    end: String,
) -> Story {
    let mut steps = vec![format!("{last:?}")];
    while let Some((parent, happening)) = &worlds[index].1 {
        steps.push(format!("{happening:?}"));
        index = *parent;
    }
    steps.reverse();
    Story { end, steps }
}

/// From every world there is a way to an end.
fn all_can_end(
    worlds: &[(World, Option<(usize, Happening)>)],
    before: &[Vec<usize>],
) -> Result<(), Story> {
    let mut can_end: Vec<bool> = worlds.iter().map(|(world, _)| world.is_over()).collect();
    let mut queue: Vec<usize> = (0..worlds.len()).filter(|index| can_end[*index]).collect();
    while let Some(index) = queue.pop() {
        for parent in &before[index] {
            if !can_end[*parent] {
                can_end[*parent] = true;
                queue.push(*parent);
            }
        }
    }
    match can_end.iter().position(|can_end| !can_end) {
        None => Ok(()),
        Some(index) => {
            let end = format!("no way to an end from {:?}", worlds[index].0);
            Err(Story { end, steps: Vec::new() })
        }
    }
}

fn nothing_is_lost_or_doubled(channel: &Channel) {
    let explored = explore(channel, step).unwrap_or_else(|story| panic!("{story:#?}"));
    assert!(explored.worlds > 1_000, "{} worlds, {}", explored.worlds, explored.happenings);
}

#[test]
fn nothing_that_can_happen_loses_or_doubles_money() {
    nothing_is_lost_or_doubled(&small(channel()));
}

#[test]
fn nor_does_it_where_not_found_is_final() {
    nothing_is_lost_or_doubled(&Channel { not_found_is_final: true, ..small(channel()) });
}

/// One attempt: its two tries may both be on their way.
#[test]
fn nor_does_it_where_a_reference_may_be_sent_again() {
    let channel = small(channel());
    let clocks = Clocks { attempts_max: 1, ..channel.clocks };
    nothing_is_lost_or_doubled(&Channel { submit_is_idempotent: true, clocks, ..channel });
}
