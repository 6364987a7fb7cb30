//! A parsed script to a program: names become slots, literals become values, calls become functions.

use std::collections::BTreeMap;

use super::Mode;
use super::ast::{Expr, ExprKind, Script, Segment, Sign, Statement};
use super::error::{Error, ErrorKind};
use super::feature::{Feature, Features};
use super::parse::parse;
use super::span::Span;
use super::value::{Monetary, Name, Type, Value};

/// A program that can be run any number of times.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) features: Features,
    pub(super) mode: Mode,
    pub(super) variables: Vec<Variable>,
    pub(super) statements: Vec<Statement<Code>>,
}

/// How a variable gets its value.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: Name,
    pub(super) kind: Result<Type, Name>,
    pub(super) kind_span: Span,
    pub(super) name_span: Span,
    pub(super) origin: Option<Code>,
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) op: Op,
    pub(super) span: Span,
}

#[derive(Debug, Clone)]
pub(super) enum Op {
    Constant(Value),
    Slot(usize),
    /// Fails when it is reached, as the language requires, not when it is compiled.
    Unbound(Name),
    Address(Vec<Piece>),
    Monetary(Box<Code>, Box<Code>),
    Negation(Box<Code>),
    Sum(Box<Code>, Vec<(Sign, Code)>),
    Ratio(Box<Code>, Vec<Code>),
    Call(Name, Vec<Code>),
}

#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(Name),
    Code(Code),
}

impl Program {
    /// Parses and compiles a program text.
    pub fn new(source: &str, features: Features, mode: Mode) -> Result<Self, Box<Error>> {
        Self::compile(&parse(source, mode)?, features, mode)
    }

    pub fn compile(script: &Script, features: Features, mode: Mode) -> Result<Self, Box<Error>> {
        let mut features = features;
        for (name, span) in &script.features {
            let feature = Feature::from_name(name)
                .ok_or_else(|| ErrorKind::InvalidFeature { name: name.clone() }.at(*span))?;
            features = features.with(feature);
        }
        let mut scope = Scope::default();
        let mut variables = Vec::with_capacity(script.variables.len());
        for declaration in &script.variables {
            variables.push(Variable {
                name: Name::clone(&declaration.name),
                kind: Type::from_name(&declaration.kind)
                    .ok_or_else(|| Name::clone(&declaration.kind)),
                kind_span: declaration.kind_span,
                name_span: declaration.name_span,
                origin: declaration.origin.as_ref().map(|origin| scope.expression(origin)),
            });
            // Only from here on: a variable sees the earlier ones, and a repeated name hides the first.
            scope.slots.insert(Name::clone(&declaration.name), variables.len().saturating_sub(1));
        }
        let statements = script
            .statements
            .iter()
            .map(|statement| statement.map(&mut |expression| scope.expression(expression)))
            .collect();
        Ok(Self { features, mode, variables, statements })
    }

    /// The variables that a run must be given, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().filter(|variable| variable.origin.is_none()).map(|variable| {
            let kind = match &variable.kind {
                Ok(kind) => kind.name(),
                Err(unknown) => unknown,
            };
            (&*variable.name, kind)
        })
    }
}

#[derive(Default)]
struct Scope {
    slots: BTreeMap<Name, usize>,
}

impl Scope {
    fn expression(&self, expression: &Expr) -> Code {
        let op = match &expression.kind {
            ExprKind::Variable(name) => self.variable(name),
            ExprKind::Asset(name) => Op::Constant(Value::Asset(Name::clone(name))),
            ExprKind::String(text) => Op::Constant(Value::String(Name::clone(text))),
            ExprKind::Number(amount) => Op::Constant(Value::Number(amount.clone())),
            ExprKind::Portion(portion) => Op::Constant(Value::Portion(portion.clone())),
            ExprKind::Account(segments) => self.address(segments),
            ExprKind::Monetary(asset, amount) => {
                monetary(self.expression(asset), self.expression(amount))
            }
            ExprKind::Negation(negated) => Op::Negation(Box::new(self.expression(negated))),
            ExprKind::Sum(first, rest) => Op::Sum(
                Box::new(self.expression(first)),
                rest.iter().map(|(sign, term)| (*sign, self.expression(term))).collect(),
            ),
            ExprKind::Ratio(first, rest) => Op::Ratio(
                Box::new(self.expression(first)),
                rest.iter().map(|divisor| self.expression(divisor)).collect(),
            ),
            ExprKind::Call(call) => Op::Call(
                Name::clone(&call.function),
                call.arguments.iter().map(|argument| self.expression(argument)).collect(),
            ),
        };
        Code { op, span: expression.span }
    }

    fn variable(&self, name: &Name) -> Op {
        self.slots.get(name).map_or_else(|| Op::Unbound(Name::clone(name)), |slot| Op::Slot(*slot))
    }

    fn address(&self, segments: &[Segment]) -> Op {
        let mut pieces = Vec::new();
        let mut texts = Vec::new();
        for segment in segments {
            match segment {
                Segment::Text(text) => {
                    texts.push(&**text);
                    pieces.push(Piece::Text(Name::clone(text)));
                }
                Segment::Variable(name, span) => {
                    pieces.push(Piece::Code(Code { op: self.variable(name), span: *span }));
                }
            }
        }
        let is_constant = texts.len() == segments.len();
        match super::value::account(&texts.join(":")) {
            Ok(account) if is_constant => Op::Constant(account),
            Ok(_) | Err(_) => Op::Address(pieces),
        }
    }
}

fn monetary(asset: Code, amount: Code) -> Op {
    match (&asset.op, &amount.op) {
        (Op::Constant(Value::Asset(asset)), Op::Constant(Value::Number(amount))) => {
            Op::Constant(Value::Monetary(Monetary {
                asset: Name::clone(asset),
                amount: amount.clone(),
            }))
        }
        _ => Op::Monetary(Box::new(asset), Box::new(amount)),
    }
}
