//! Every mutant of every template is caught: a `send` dropped, doubled, reversed, with another amount, with another
//! account, or with an overdraft that it should not have or should have.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{BUNDLED, Sources};
use super::drifts;
use crate::numscript::ast::{Declaration, Sent, Statement};
use crate::numscript::{Mode, Span, parse};

const OVERDRAFT: &str = " allowing unbounded overdraft";

#[test]
fn every_mutant_of_every_template_is_caught() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (event, template) in BUNDLED.templates {
        for (kind, mutant) in mutants(template) {
            assert_ne!(mutant, *template, "{event}: {kind} changes nothing");
            let swap =
                |(name, text)| if name == *event { (name, mutant.as_str()) } else { (name, text) };
            let templates: Vec<_> = BUNDLED.templates.iter().copied().map(swap).collect();
            let found = drifts(&Sources { templates: &templates, ..BUNDLED });
            assert!(!found.is_empty(), "survived: {event}, {kind}:\n{mutant}");
            *counts.entry(kind).or_default() += 1;
        }
    }
    let total: usize = counts.values().sum();
    println!("{total} mutants, {total} killed: {counts:?}");
    // The count is part of the test: a mutant that is no longer generated is no longer caught.
    let counts: Vec<String> =
        counts.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
    insta::assert_snapshot!(format!("{}\ntotal: {total}", counts.join("\n")));
}

/// The kind of each mutant, and its whole text.
fn mutants(template: &str) -> Vec<(&'static str, String)> {
    let script = parse(template, Mode::Safe).unwrap();
    let text = |span: Span| &template[span.range()];
    let replaced = |span: Span, new: &str| {
        let mut mutant = template.to_owned();
        mutant.replace_range(span.range(), new);
        mutant
    };
    let of_kind = |kind: &str| -> Vec<String> {
        let is_wanted = |declaration: &&Declaration| &*declaration.kind == kind;
        let variables = script.variables.iter().filter(is_wanted);
        variables.map(|variable| format!("${}", variable.name)).collect()
    };
    let mut accounts = of_kind("account");
    accounts.push("@world".to_owned());
    let mut mutants = Vec::new();
    for statement in &script.statements {
        let Statement::Send { sent: Sent::Amount(sent), source, destination, span } = statement
        else {
            panic!("a template only sends amounts");
        };
        let from = text(source.span).strip_suffix(OVERDRAFT).unwrap_or(text(source.span));
        let to = text(destination.span);
        let amount = text(sent.span);
        mutants.push(("dropped", replaced(*span, "")));
        mutants.push(("doubled", replaced(*span, &format!("{0}\n{0}", text(*span)))));
        mutants.push((
            "reversed",
            replaced(*span, &format!("send {amount} (source = {to} destination = {from})")),
        ));
        for other in amounts(amount, &of_kind("monetary")) {
            mutants.push(("other amount", replaced(sent.span, &other)));
        }
        for other in &accounts {
            if other != from {
                mutants.push(("other source", replaced(source.span, other)));
            }
            if other != to {
                mutants.push(("other destination", replaced(destination.span, other)));
            }
        }
        if from == "@world" {
            continue;
        }
        if text(source.span) == from {
            mutants.push(("overdraft added", replaced(source.span, &format!("{from}{OVERDRAFT}"))));
        } else {
            mutants.push(("overdraft removed", replaced(source.span, from)));
        }
    }
    mutants
}

/// Every other single amount, every sum with a term left out or a sign flipped, and every sum with a term added.
fn amounts(amount: &str, variables: &[String]) -> BTreeSet<String> {
    let words: Vec<&str> = amount.split(' ').collect();
    let mut others: BTreeSet<String> = variables.iter().cloned().collect();
    for variable in variables {
        others.insert(format!("{amount} + {variable}"));
    }
    for index in 0..words.len() {
        let mut changed: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match words[index] {
            "+" => changed[index] = "-".to_owned(),
            "-" => changed[index] = "+".to_owned(),
            _ if index > 0 => {
                changed.drain(index - 1..=index);
            }
            _ => continue,
        }
        others.insert(changed.join(" "));
    }
    others.remove(amount);
    others
}
