//! Before the first statement: binds the variables and loads the balances that the sources will be measured by.

use super::super::ast::{Overdraft, Sent, Source, SourceKind, Statement};
use super::super::compile::{Code, Op, Variable};
use super::super::error::ErrorKind;
use super::super::feature::Feature;
use super::super::value::{Name, Value};
use super::outcome::asset_base;
use super::rows::Key;
use super::{Inputs, Ran, Run};

impl Run<'_> {
    pub(super) fn bind(&mut self, inputs: &Inputs<'_>) -> Ran<()> {
        let mut given = match inputs {
            Inputs::Text(_) => [].iter(),
            Inputs::Values(values) => values.iter(),
        };
        let program = self.program;
        for variable in &program.variables {
            let value = match (&variable.origin, inputs) {
                (Some(origin), _) => self.origin(variable, origin)?,
                (None, Inputs::Text(texts)) => {
                    let text = texts.get(&*variable.name).ok_or_else(|| missing(variable))?;
                    self.parse_as(variable, text)?
                }
                (None, Inputs::Values(_)) => given.next().ok_or_else(|| missing(variable))?.clone(),
            };
            self.slots.push(value);
        }
        self.in_variables = false;
        Ok(())
    }

    /// Reading a text and keeping its value costs steps by its length.
    fn parse_as(&mut self, variable: &Variable, text: &str) -> Ran<Value> {
        let steps = u32::try_from(text.len() >> 3).unwrap_or(u32::MAX);
        self.spend(steps, variable.name_span)?;
        match &variable.kind {
            Ok(kind) => kind.parse(text).map_err(|error| error.at(variable.name_span)),
            Err(unknown) => {
                let name = Name::clone(unknown);
                Err(ErrorKind::InvalidType { name }.at(variable.kind_span))
            }
        }
    }

    /// The value behind `=`. A plain `meta(…)` is read as the declared type; any other value keeps its own.
    fn origin(&mut self, variable: &Variable, origin: &Code) -> Ran<Value> {
        if let Op::Call(function, arguments) = &origin.op {
            if &**function == "meta" {
                let text = self.metadata(arguments, origin.span)?;
                return self.parse_as(variable, &text);
            }
        } else {
            self.require(Feature::MidScriptFunctionCall, origin.span)?;
        }
        self.evaluate(origin)
    }

    /// Sent amounts and source addresses are evaluated here for the first time, so their errors come before any
    /// statement runs.
    pub(super) fn prepare(&mut self) -> Ran<()> {
        let program = self.program;
        for statement in &program.statements {
            match statement {
                Statement::Send { sent, source, .. } => {
                    self.asset = self.sent_asset(sent)?;
                    self.prepare_source(source)?;
                }
                Statement::Save { sent, account, .. } => {
                    let asset = self.sent_asset(sent)?;
                    let account = self.account(account)?;
                    self.balances.load(&self.key(account, asset));
                }
                Statement::Call(_) => {}
            }
        }
        Ok(())
    }

    fn sent_asset(&mut self, sent: &Sent<Code>) -> Ran<Name> {
        match sent {
            Sent::All(asset) => self.asset_of(asset),
            Sent::Amount(amount) => Ok(self.monetary(amount)?.asset),
        }
    }

    fn prepare_source(&mut self, source: &Source<Code>) -> Ran<()> {
        self.step(source.span)?;
        match &source.kind {
            SourceKind::Account { overdraft: Overdraft::Unbounded, .. } => Ok(()),
            SourceKind::Account {
                account,
                color,
                overdraft: Overdraft::None | Overdraft::UpTo(_),
            } => {
                let account = self.account(account)?;
                let color = self.color_text(color.as_ref())?;
                if &*account != "world" {
                    self.balances.load(&Key { account, color, asset: Name::clone(&self.asset) });
                }
                Ok(())
            }
            SourceKind::Scaling { account, .. } => {
                let account = self.account(account)?;
                let asset = Name::clone(&self.asset);
                let rows = self.balances.load_scales(&account, asset_base(&asset));
                self.spend(rows, source.span)
            }
            SourceKind::List(sources) | SourceKind::OneOf(sources) => {
                sources.iter().try_for_each(|source| self.prepare_source(source))
            }
            SourceKind::Allotment(parts) => {
                parts.iter().try_for_each(|(_, source)| self.prepare_source(source))
            }
            SourceKind::Max { source, .. } => self.prepare_source(source),
        }
    }
}

fn missing(variable: &Variable) -> Box<super::Error> {
    ErrorKind::MissingVariable { name: Name::clone(&variable.name) }.at(variable.name_span)
}
