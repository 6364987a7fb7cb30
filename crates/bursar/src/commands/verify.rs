//! `bursar verify`: exhaustive exploration of one flow in small models, checked against the rules.

use std::collections::BTreeSet;
use std::time::Instant;

use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_sim::verify::{Counterexample, Explored, Mutation, Rule, World, mutations, worlds};
use clap::Args;
use serde_json::{Value, json};

/// Model-check payouts, pay-ins and deliveries: explore every reachable state
///
/// The state machines are the production ones. The model around them has a channel that is slow, silent, repeats itself
/// and loses answers, processes that crash between saving and sending, and operators. Every reachable state is checked
/// against the rules and must be able to reach an end. `--mutate` injects a known bug, to show that it would be found.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Inject this bug and print the counterexample; `all` for a table of all bugs, `list` for their names
    #[arg(long, value_name = "NAME")]
    mutate: Option<String>,
    /// List the bugs that can be injected
    #[arg(long, conflicts_with = "mutate")]
    mutations: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.mutate.as_deref() {
            None if self.mutations => list(self.json),
            None => explore(self.json),
            Some("list") => list(self.json),
            Some("all") => inject_all(self.json),
            Some(name) => inject(name, self.json),
        }
    }
}

fn explore(is_json: bool) -> Result<(), Failure> {
    let start = Instant::now();
    let worlds = worlds();
    let progress = terminal::progress(u64::try_from(worlds.len()).unwrap_or(u64::MAX), "worlds");
    let mut all = Vec::new();
    for world in worlds {
        let explored = world.explore().map_err(|story| {
            progress.finish_and_clear();
            Failure::Rendered(format!(
                "error: a rule is broken in the world of {}\n{story}\nDo not move money with this build: report the story",
                world.name
            ))
        })?;
        progress.inc(1);
        all.push((world, explored));
    }
    progress.finish_and_clear();
    let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    if is_json { say_json(&all, millis) } else { say_table(&all, millis) }
}

fn say_table(all: &[(World, Explored)], millis: u64) -> Result<(), Failure> {
    let rows = all.iter().map(|(world, explored)| {
        vec![
            world.name.to_owned(),
            names(world),
            explored.states.to_string(),
            explored.edges.to_string(),
            explored.depth.to_string(),
        ]
    });
    let header = ["world", "checked in every state", "states", "edges", "depth"];
    terminal::say(&terminal::table(&header, 2, rows.collect()).to_string())?;
    for rule in Rule::ALL {
        terminal::say(&format!("{:4} {}", rule.name(), rule.sentence()))?;
    }
    let corrections: Vec<String> =
        corrections(all).into_iter().map(|(from, to)| format!("{from} → {to}")).collect();
    terminal::say(&format!("ways out of an end: {}", corrections.join(", ")))?;
    terminal::say("every state can reach an end")?;
    let (states, edges) = total(all);
    terminal::say(&format!(
        "{} worlds, {states} states, {edges} edges, no rule broken, {millis} ms",
        all.len()
    ))
}

fn say_json(all: &[(World, Explored)], millis: u64) -> Result<(), Failure> {
    let rules = |rules: Vec<Rule>| -> Vec<&str> { rules.into_iter().map(Rule::name).collect() };
    let world = |(world, explored): &(World, Explored)| {
        let Explored { states, edges, depth, .. } = explored;
        let rules = rules(world.rules());
        json!({"name": world.name, "states": states, "edges": edges, "depth": depth, "rules": rules})
    };
    let sentence = |rule: &Rule| json!({"name": rule.name(), "sentence": rule.sentence()});
    let sentences: Vec<Value> = Rule::ALL.iter().map(sentence).collect();
    let (states, edges) = total(all);
    let value = json!({
        "worlds": all.iter().map(world).collect::<Vec<Value>>(),
        "rules": sentences,
        "corrections": corrections(all),
        "every_state_can_end": true,
        "states": states,
        "edges": edges,
        "milliseconds": millis,
    });
    terminal::say(&terminal::to_json(&value)?)
}

fn names(world: &World) -> String {
    let names: Vec<&str> = world.rules().into_iter().map(Rule::name).collect();
    names.join(" ")
}

fn total(all: &[(World, Explored)]) -> (usize, usize) {
    let sum = |of: fn(&Explored) -> usize| all.iter().map(|(_, explored)| of(explored)).sum();
    (sum(|explored| explored.states), sum(|explored| explored.edges))
}

fn corrections(all: &[(World, Explored)]) -> BTreeSet<(&'static str, &'static str)> {
    all.iter().flat_map(|(_, explored)| explored.corrections.iter().copied()).collect()
}

fn list(is_json: bool) -> Result<(), Failure> {
    for mutation in mutations() {
        let line = if is_json {
            terminal::to_json(&json!({"name": mutation.name, "sentence": mutation.sentence}))?
        } else {
            format!("{:34} {}", mutation.name, mutation.sentence)
        };
        terminal::say(&line)?;
    }
    Ok(())
}

fn inject(name: &str, is_json: bool) -> Result<(), Failure> {
    let Some(mutation) = mutations().into_iter().find(|mutation| mutation.name == name) else {
        return Err(Failure::new(format!(
            "there is no mistake named {name}. `bursar verify --mutations` lists them"
        )));
    };
    let found = find(&mutation)?;
    if is_json {
        return terminal::say(&terminal::to_json(&to_json(&mutation, &found))?);
    }
    terminal::say(&format!("{}: {}", mutation.name, mutation.sentence))?;
    terminal::say(&format!("The world: {}.\n\n{}", found.world, found.story))?;
    match mutation.residual {
        Some(residual) => terminal::say(&format!("    {residual}")),
        None => Ok(()),
    }
}

fn inject_all(is_json: bool) -> Result<(), Failure> {
    let mutations = mutations();
    let length = u64::try_from(mutations.len()).unwrap_or(u64::MAX);
    let progress = terminal::progress(length, "mistakes");
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for mutation in mutations {
        let found = find(&mutation).inspect_err(|_| progress.finish_and_clear())?;
        progress.inc(1);
        lines.push(terminal::to_json(&to_json(&mutation, &found))?);
        rows.push(vec![
            mutation.name.to_owned(),
            found.story.broken.rule.name().to_owned(),
            found.story.broken.what.clone(),
            found.story.sentences.len().to_string(),
        ]);
    }
    progress.finish_and_clear();
    if is_json {
        return terminal::say(&lines.join("\n"));
    }
    let header = ["mistake", "breaks", "how", "happenings"];
    let table = terminal::table(&header, 3, rows);
    terminal::say(&format!("{table}\nall {length} mistakes are found"))
}

fn find(mutation: &Mutation) -> Result<Counterexample, Failure> {
    mutation.find().ok_or_else(|| {
        Failure::new(format!(
            "the mistake {} was planted and not found: the worlds are too small to see it",
            mutation.name
        ))
    })
}

fn to_json(mutation: &Mutation, found: &Counterexample) -> Value {
    let broken = &found.story.broken;
    json!({
        "name": mutation.name,
        "sentence": mutation.sentence,
        "world": found.world,
        "breaks": broken.rule.name(),
        "how": broken.what,
        "rule": broken.rule.sentence(),
        "meaning": broken.rule.meaning(),
        "residual": mutation.residual,
        "story": found.story.sentences,
    })
}
