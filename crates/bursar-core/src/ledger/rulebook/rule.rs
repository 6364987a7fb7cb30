//! One event: its journal lines and the compiled template that moves the money.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::drift::Drift;
use super::mapping::{HoldEffect, Leg, Line};
use super::plain;
use crate::ledger::chart::{Chart, GlAccount, GlCode, Side};
use crate::numscript::{Error, Features, Mode, Name, Program, parse};

#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) event: Name,
    pub(super) lines: Vec<Line>,
    template: String,
    pub(super) program: Program,
    /// The inputs of the template, in its order.
    pub(super) inputs: Vec<Input>,
    /// Variables that fill address patterns, such as `merchantId`.
    pub(super) identifiers: BTreeSet<Name>,
    pub(super) legs: BTreeSet<Leg>,
    /// The names of all variables that an event of this kind needs.
    pub(super) variables: Vec<String>,
    hold: Option<(HoldEffect, GlCode)>,
    rulebook_hash: [u8; 32],
}

/// The parts of a rulebook that all rules share.
pub(super) struct Book<'a> {
    pub(super) chart: &'a Chart,
    pub(super) hash: [u8; 32],
}

#[derive(Debug, Clone)]
pub(super) enum Input {
    Account { gl: Arc<GlAccount>, leg: Leg },
    Amount { name: Name, leg: Leg },
}

impl Rule {
    /// Matches mapping, template and chart, or returns where they drift apart.
    pub(super) fn new(
        event: &Name,
        lines: Vec<Line>,
        template: &str,
        book: &Book<'_>,
    ) -> Result<Self, Vec<Drift>> {
        let chart = book.chart;
        let program = compile(event, template).map_err(|drift| vec![drift])?;
        let mut drifts = Vec::new();
        let mut expected: Vec<(String, Input)> = Vec::new();
        for line in &lines {
            for code in [line.debit, line.credit] {
                match chart.get(code) {
                    Some(gl) if gl.pattern.is_some() => {
                        let input = Input::Account { gl: Arc::clone(gl), leg: line.leg.clone() };
                        expected.push((line.leg.account_variable(code), input));
                    }
                    Some(_) => {
                        drifts.push(Drift::CodeWithoutAddress { event: Name::clone(event), code });
                    }
                    None => drifts.push(Drift::UnknownCode { event: Name::clone(event), code }),
                }
            }
            for name in line.amount.names() {
                let input = Input::Amount { name: Name::clone(name), leg: line.leg.clone() };
                expected.push((name.to_string(), input));
            }
        }
        if !drifts.is_empty() {
            return Err(drifts);
        }
        let inputs = match_inputs(event, &program, &expected, &mut drifts);
        let hold = hold_effect(event, &lines, chart, &mut drifts);
        if !drifts.is_empty() {
            return Err(drifts);
        }
        let legs: BTreeSet<Leg> = lines.iter().map(|line| line.leg.clone()).collect();
        let identifiers: BTreeSet<Name> = inputs
            .iter()
            .filter_map(|input| match input {
                Input::Account { gl, .. } => gl.pattern.as_ref(),
                Input::Amount { .. } => None,
            })
            .flat_map(|pattern| pattern.placeholders().cloned())
            .filter(|name| &**name != "currency")
            .collect();
        let variables = variable_names(&identifiers, &legs, &inputs);
        Ok(Self {
            event: Name::clone(event),
            template: template.to_owned(),
            lines,
            program,
            inputs,
            identifiers,
            legs,
            variables,
            hold,
            rulebook_hash: book.hash,
        })
    }

    /// The hash of the rulebook that contains this rule.
    pub fn rulebook_hash(&self) -> [u8; 32] {
        self.rulebook_hash
    }

    pub fn event(&self) -> &Name {
        &self.event
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The Numscript text that moves the money.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The lines of the chart that its template names.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = &GlAccount> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Account { gl, .. } => Some(&**gl),
            Input::Amount { .. } => None,
        })
    }

    /// What the event does to a hold, and the code the hold is on.
    pub fn hold(&self) -> Option<(HoldEffect, GlCode)> {
        self.hold
    }

    /// Whether the event may take the accounts of a code below zero.
    pub fn may_overdraw(&self, code: GlCode) -> bool {
        self.lines.iter().any(|line| line.overdraft == Some(code))
    }

    pub fn variables(&self) -> &[String] {
        &self.variables
    }
}

fn compile(event: &Name, template: &str) -> Result<Program, Drift> {
    let unreadable = |error: Box<Error>| {
        let rendered = error.render(template, &format!("{event}.num"));
        Drift::BadTemplate { event: Name::clone(event), rendered }
    };
    let script = parse(template, Mode::Safe).map_err(unreadable)?;
    if !plain::is_plain(&script) {
        return Err(Drift::NotPlain { event: Name::clone(event) });
    }
    Program::compile(&script, Features::NONE, Mode::Safe).map_err(unreadable)
}

fn variable_names(
    identifiers: &BTreeSet<Name>,
    legs: &BTreeSet<Leg>,
    inputs: &[Input],
) -> Vec<String> {
    let amounts = inputs.iter().filter_map(|input| match input {
        Input::Account { .. } => None,
        Input::Amount { name, .. } => Some(name),
    });
    let legs = legs.iter().map(Leg::variable);
    identifiers.iter().chain(legs).chain(amounts).map(ToString::to_string).collect()
}

/// The template's variables must be exactly the accounts and amounts of the mapping.
fn match_inputs(
    event: &Name,
    program: &Program,
    expected: &[(String, Input)],
    drifts: &mut Vec<Drift>,
) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut seen = BTreeSet::new();
    for (variable, kind) in program.inputs() {
        let input = expected.iter().find(|(name, _)| name == variable).map(|(_, input)| input);
        let fits = match (input, kind) {
            (Some(Input::Account { .. }), "account") | (Some(Input::Amount { .. }), "monetary") => {
                true
            }
            (Some(_) | None, _) => false,
        };
        if !fits || !seen.insert(variable) {
            let (event, variable) = (Name::clone(event), variable.to_owned());
            drifts.push(Drift::UnmappedVariable { event, variable });
            continue;
        }
        inputs.extend(input.cloned());
    }
    for (variable, _) in expected {
        if seen.insert(variable) {
            let (event, variable) = (Name::clone(event), variable.clone());
            drifts.push(Drift::MissingVariable { event, variable });
        }
    }
    inputs
}

/// The hold of the mapping. The chart must agree: the code carries holds, and the line raises it to open a hold and
/// lowers it to end one. No other line touches a code that carries holds.
fn hold_effect(
    event: &Name,
    lines: &[Line],
    chart: &Chart,
    drifts: &mut Vec<Drift>,
) -> Option<(HoldEffect, GlCode)> {
    let mut found = None;
    for line in lines {
        let carrier =
            [(line.debit, Side::Debit), (line.credit, Side::Credit)].into_iter().find_map(
                |(code, written)| Some((chart.get(code).filter(|gl| gl.view == "hold")?, written)),
            );
        let seen = carrier.map(|(gl, written)| {
            let effect = if gl.side() == written { HoldEffect::Opens } else { HoldEffect::Ends };
            (effect, gl.code)
        });
        let is_agreed = seen.map(|(effect, _)| effect) == line.hold;
        if !is_agreed || (found.is_some() && seen.is_some() && found != seen) {
            drifts.push(Drift::WrongHold { event: Name::clone(event) });
        }
        found = found.or(seen);
    }
    found
}
