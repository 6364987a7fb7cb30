//! Breadth-first search of everything that can happen in a small world: the first story that breaks a rule is a
//! shortest one.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;

use super::rule::Rule;

/// A machine with the world around it. Both are values: a world is everything that matters at one moment.
pub(super) trait Model {
    type World: Copy + Eq + Hash;
    type Happening: Copy;

    fn start(&self) -> Self::World;
    /// Everything that may happen next, with the world afterwards or the rule that is broken.
    fn next(&self, world: &Self::World) -> Nexts<Self::Happening, Self::World>;
    fn is_over(&self, world: &Self::World) -> bool;
    /// The statuses before and after, if something was over and is not what it was.
    fn correction(&self, before: &Self::World, after: &Self::World) -> Option<Correction>;
    /// What happens, in a sentence.
    fn narrate(&self, world: &Self::World, happening: &Self::Happening) -> String;
    /// The rules that every step is checked against.
    fn rules(&self) -> Vec<Rule>;
}

pub(super) type Nexts<H, W> = Vec<(H, Result<W, Broken>)>;

/// A status that is an end, and the one that it was corrected to.
pub type Correction = (&'static str, &'static str);

/// What must never happen, and has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub rule: Rule,
    pub what: String,
}

impl Broken {
    pub(super) fn new(rule: Rule, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explored {
    pub states: usize,
    pub edges: usize,
    /// How many happenings the farthest state is away from the start.
    pub depth: usize,
    /// The ways out of an end that were found.
    pub corrections: BTreeSet<Correction>,
}

/// Happenings that lead to what must never happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    pub sentences: Vec<String>,
    pub broken: Broken,
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, sentence) in (1..).zip(&self.sentences) {
            writeln!(f, "{number:2}. {sentence}")?;
        }
        let Broken { rule, what } = &self.broken;
        writeln!(f, "{} is broken: {what}.", rule.name())?;
        writeln!(f, "    The rule: {}", rule.sentence())?;
        write!(f, "    The money: {}", rule.meaning())
    }
}

/// More than this does not fit into the memory of a small machine.
const STATES_MAX: usize = 2_000_000;

/// A world that was found: where it was found from, and how far away.
struct Found<W> {
    world: W,
    from: usize,
    depth: usize,
}

pub(super) fn explore<M: Model>(model: &M) -> Result<Explored, Story> {
    let start = model.start();
    let mut numbers = HashMap::from([(start, 0)]);
    let mut found = vec![Found { world: start, from: 0, depth: 0 }];
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut corrections = BTreeSet::new();
    let mut number = 0;
    while let Some(&Found { world, depth, .. }) = found.get(number) {
        for (happening, next) in model.next(&world) {
            let next = match next {
                Ok(next) => next,
                Err(broken) => {
                    let mut sentences = sentences(model, &found, number);
                    sentences.push(model.narrate(&world, &happening));
                    return Err(Story { sentences, broken });
                }
            };
            if next == world {
                continue;
            }
            corrections.extend(model.correction(&world, &next));
            let known = *numbers.entry(next).or_insert_with(|| {
                found.push(Found { world: next, from: number, depth: depth.saturating_add(1) });
                found.len().saturating_sub(1)
            });
            edges.push((number, known));
        }
        if found.len() > STATES_MAX {
            let what = format!("more than {STATES_MAX} states: make the world smaller");
            return Err(Story { sentences: Vec::new(), broken: Broken::new(Rule::L1, what) });
        }
        number = number.saturating_add(1);
    }
    all_can_end(model, &found, &edges)?;
    let depth = found.last().map_or(0, |last| last.depth);
    Ok(Explored { states: found.len(), edges: edges.len(), depth, corrections })
}

/// How this world came about.
fn sentences<M: Model>(model: &M, found: &[Found<M::World>], mut number: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    while let Some(Found { world, from, depth: 1.. }) = found.get(number) {
        let before = found.get(*from).map(|before| before.world);
        sentences.extend(before.and_then(|before| {
            let mut nexts = model.next(&before).into_iter();
            let (happening, _) = nexts.find(|(_, next)| next.as_ref() == Ok(world))?;
            Some(model.narrate(&before, &happening))
        }));
        number = *from;
    }
    sentences.reverse();
    sentences
}

/// From every world there is a way to an end.
fn all_can_end<M: Model>(
    model: &M,
    found: &[Found<M::World>],
    edges: &[(usize, usize)],
) -> Result<(), Story> {
    let mut can_end: Vec<bool> = found.iter().map(|found| model.is_over(&found.world)).collect();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        // Ends are found late: from the back, most of it is done in one pass.
        for (from, to) in edges.iter().rev() {
            let leads_to_end = can_end.get(*to).copied().unwrap_or_default();
            if let Some(known) = can_end.get_mut(*from).filter(|known| !**known && leads_to_end) {
                *known = true;
                has_changed = true;
            }
        }
    }
    match can_end.iter().position(|can_end| !can_end) {
        None => Ok(()),
        Some(number) => {
            let what = "from here nothing leads to an end, whatever happens";
            let sentences = sentences(model, found, number);
            Err(Story { sentences, broken: Broken::new(Rule::L1, what) })
        }
    }
}
