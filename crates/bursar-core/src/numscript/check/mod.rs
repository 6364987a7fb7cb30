//! Finds mistakes without running the program.
//!
//! An error would fail in every run, or means something other than it says; a warning is most likely a slip.

mod expression;
mod movement;

use std::collections::BTreeMap;

use super::Mode;
use super::ast::{Declaration, Expr, Script, Sent, Statement};
use super::feature::{Feature, Features};
use super::render::{Severity, Text, render};
use super::span::Span;
use super::value::{Name, Type};

/// One finding of the checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// Stable name, for programs.
    pub code: &'static str,
    pub message: String,
    pub hint: String,
    pub span: Span,
}

impl Finding {
    pub fn render(&self, source: &str, path: &str) -> String {
        let headline = format!("{} ({})", self.message, self.code);
        render(self.severity, &headline, self.span, &self.hint, &Text { source, path })
    }
}

/// All findings, in the order of the text. An error that compat mode tolerates is a warning there.
pub fn check(script: &Script, features: Features, mode: Mode) -> Vec<Finding> {
    let mut checker = Checker {
        features,
        mode,
        variables: BTreeMap::new(),
        findings: Vec::new(),
        in_variables: true,
    };
    checker.header(script);
    for declaration in &script.variables {
        checker.declaration(declaration);
    }
    checker.in_variables = false;
    for statement in &script.statements {
        checker.statement(statement);
    }
    checker.unused();
    checker.findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    checker.findings
}

struct Checker {
    features: Features,
    mode: Mode,
    variables: BTreeMap<Name, Variable>,
    findings: Vec<Finding>,
    in_variables: bool,
}

struct Variable {
    kind: Option<Type>,
    span: Span,
    is_used: bool,
}

impl Checker {
    fn header(&mut self, script: &Script) {
        for (name, span) in &script.features {
            if let Some(feature) = Feature::from_name(name) {
                self.features = self.features.with(feature);
                continue;
            }
            let names: Vec<_> = Feature::ALL.into_iter().map(Feature::name).collect();
            let hint = format!("the features are {}", names.join(", "));
            self.error("unknown-feature", *span, format!("there is no feature `{name}`"), hint);
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        let kind = Type::from_name(&declaration.kind);
        if kind.is_none() {
            let names: Vec<_> = Type::ALL.into_iter().map(Type::name).collect();
            self.error(
                "unknown-type",
                declaration.kind_span,
                format!("`{}` is not a type", declaration.kind),
                format!("the types are {}", names.join(", ")),
            );
        }
        if let Some(origin) = &declaration.origin {
            self.origin(origin, kind);
        }
        let variable = Variable { kind, span: declaration.name_span, is_used: false };
        if self.variables.insert(Name::clone(&declaration.name), variable).is_some() {
            self.error(
                "duplicate-variable",
                declaration.name_span,
                format!("the variable `${}` is declared twice", declaration.name),
                "rename one of the two; the second hides the first".to_owned(),
            );
        }
    }

    fn statement(&mut self, statement: &Statement<Expr>) {
        match statement {
            Statement::Send { sent, source, destination, .. } => {
                let asset = self.sent(sent);
                let sends_all = matches!(sent, Sent::All(_));
                self.source(source, asset.as_ref(), sends_all);
                self.destination(destination, asset.as_ref());
            }
            Statement::Save { sent, account, .. } => {
                self.sent(sent);
                self.expect(account, Type::Account);
            }
            Statement::Call(call) => self.call_statement(call),
        }
    }

    /// The asset that is sent, if the text says it.
    fn sent(&mut self, sent: &Sent<Expr>) -> Option<Name> {
        match sent {
            Sent::Amount(amount) => {
                self.expect(amount, Type::Monetary);
                expression::asset_of_monetary(amount)
            }
            Sent::All(asset) => {
                self.expect(asset, Type::Asset);
                expression::asset_literal(asset)
            }
        }
    }

    fn unused(&mut self) {
        let unused: Vec<_> = self
            .variables
            .iter()
            .filter(|(_, variable)| !variable.is_used)
            .map(|(name, variable)| (Name::clone(name), variable.span))
            .collect();
        for (name, span) in unused {
            self.warn(
                "unused-variable",
                span,
                format!("the variable `${name}` is never used"),
                "remove it, or use it where its value is missing".to_owned(),
            );
        }
    }

    fn require(&mut self, feature: Feature, span: Span) {
        if !self.features.contains(feature) {
            self.error(
                "missing-feature",
                span,
                format!("this needs the feature `{feature}`"),
                format!(
                    "put `#![feature(\"{feature}\")]` on the first line, or turn it on for the run"
                ),
            );
        }
    }

    fn error(&mut self, code: &'static str, span: Span, message: String, hint: String) {
        self.findings.push(Finding { severity: Severity::Error, code, message, hint, span });
    }

    /// An error, unless the run behaves like upstream.
    fn fault(&mut self, code: &'static str, span: Span, message: String, hint: String) {
        let severity = match self.mode {
            Mode::Safe => Severity::Error,
            Mode::Compat => Severity::Warning,
        };
        self.findings.push(Finding { severity, code, message, hint, span });
    }

    fn warn(&mut self, code: &'static str, span: Span, message: String, hint: String) {
        self.findings.push(Finding { severity: Severity::Warning, code, message, hint, span });
    }
}
