//! Types, assets and functions.

use super::super::ast::{Call, Expr, ExprKind, Segment};
use super::super::feature::Feature;
use super::super::span::Span;
use super::super::value::{Name, Type};
use super::Checker;

/// What a function takes; `None` is any type.
struct Signature {
    arguments: &'static [Option<Type>],
    result: Option<Type>,
    feature: Option<Feature>,
}

impl Checker {
    /// The value behind `=`.
    pub(super) fn origin(&mut self, origin: &Expr, declared: Option<Type>) {
        let found = if let ExprKind::Call(call) = &origin.kind {
            if &*call.function == "meta" {
                self.arguments(call, &[Some(Type::Account), Some(Type::String)]);
                None
            } else {
                self.call(call)
            }
        } else {
            self.require(Feature::MidScriptFunctionCall, origin.span);
            self.infer(origin)
        };
        if let (Some(declared), Some(found)) = (declared, found)
            && declared != found
        {
            self.mismatch(&[declared], found, origin.span);
        }
    }

    pub(super) fn call_statement(&mut self, call: &Call<Expr>) {
        match &*call.function {
            "set_tx_meta" => self.arguments(call, &[Some(Type::String), None]),
            "set_account_meta" => {
                self.arguments(call, &[Some(Type::Account), Some(Type::String), None]);
            }
            name => {
                let message = format!("there is no statement `{name}`");
                let hint = if signature(name).is_some() {
                    "it gives a value: use it in an expression, or set_tx_meta and set_account_meta here"
                } else {
                    "the statements are send, save, set_tx_meta and set_account_meta"
                };
                self.error("unknown-function", call.span, message, hint.to_owned());
            }
        }
    }

    fn call(&mut self, call: &Call<Expr>) -> Option<Type> {
        if !self.in_variables {
            self.require(Feature::MidScriptFunctionCall, call.span);
        }
        if &*call.function == "meta" {
            self.error(
                "nested-meta",
                call.span,
                "`meta` is used inside another expression".to_owned(),
                "assign it to a variable first: `vars { number $n = meta(@account, \"key\") }`"
                    .to_owned(),
            );
            return None;
        }
        let Some(signature) = signature(&call.function) else {
            self.error(
                "unknown-function",
                call.span,
                format!("there is no function `{}` here", call.function),
                "the functions are balance, overdraft, meta, get_asset and get_amount".to_owned(),
            );
            return None;
        };
        if let Some(feature) = signature.feature {
            self.require(feature, call.span);
        }
        self.arguments(call, signature.arguments);
        signature.result
    }

    fn arguments(&mut self, call: &Call<Expr>, expected: &[Option<Type>]) {
        if call.arguments.len() != expected.len() {
            self.error(
                "wrong-arity",
                call.span,
                format!(
                    "`{}` takes {} arguments, {} were given",
                    call.function,
                    expected.len(),
                    call.arguments.len()
                ),
                format!("give it exactly {}", expected.len()),
            );
        }
        for (argument, kind) in call.arguments.iter().zip(expected) {
            match kind {
                Some(kind) => self.expect(argument, *kind),
                None => {
                    self.infer(argument);
                }
            }
        }
    }

    pub(super) fn expect(&mut self, expression: &Expr, kind: Type) {
        if let Some(found) = self.infer(expression)
            && found != kind
        {
            self.mismatch(&[kind], found, expression.span);
        }
    }

    /// The type of an expression, if the text says it.
    fn infer(&mut self, expression: &Expr) -> Option<Type> {
        match &expression.kind {
            ExprKind::Variable(name) => self.variable(name, expression.span),
            ExprKind::Asset(_) => Some(Type::Asset),
            ExprKind::String(_) => Some(Type::String),
            ExprKind::Number(_) => Some(Type::Number),
            ExprKind::Portion(_) => Some(Type::Portion),
            ExprKind::Account(segments) => {
                for segment in segments {
                    if let Segment::Variable(name, span) = segment {
                        self.require(Feature::AccountInterpolation, *span);
                        self.interpolated(name, *span);
                    }
                }
                Some(Type::Account)
            }
            ExprKind::Monetary(asset, amount) => {
                self.expect(asset, Type::Asset);
                self.expect(amount, Type::Number);
                Some(Type::Monetary)
            }
            ExprKind::Negation(negated) => self.number_or_monetary(negated),
            ExprKind::Sum(first, rest) => {
                let kind = self.number_or_monetary(first);
                for (_, term) in rest {
                    match kind {
                        Some(kind) => self.expect(term, kind),
                        None => {
                            self.infer(term);
                        }
                    }
                }
                let asset = asset_of_monetary(first);
                for (_, term) in rest {
                    self.same_asset(asset.as_ref(), asset_of_monetary(term), term.span);
                }
                kind
            }
            ExprKind::Ratio(first, rest) => {
                self.expect(first, Type::Number);
                for divisor in rest {
                    self.expect(divisor, Type::Number);
                }
                if rest.len() > 1 {
                    self.mismatch(&[Type::Number], Type::Portion, expression.span);
                }
                Some(Type::Portion)
            }
            ExprKind::Call(call) => self.call(call),
        }
    }

    fn number_or_monetary(&mut self, expression: &Expr) -> Option<Type> {
        let found = self.infer(expression)?;
        match found {
            Type::Number | Type::Monetary => Some(found),
            Type::Account | Type::Asset | Type::String | Type::Portion => {
                self.mismatch(&[Type::Monetary, Type::Number], found, expression.span);
                None
            }
        }
    }

    fn variable(&mut self, name: &Name, span: Span) -> Option<Type> {
        if let Some(variable) = self.variables.get_mut(name) {
            variable.is_used = true;
            return variable.kind;
        }
        self.error(
            "unbound-variable",
            span,
            format!("the variable `${name}` is not declared before this place"),
            "declare it in the `vars` block above its first use".to_owned(),
        );
        None
    }

    fn interpolated(&mut self, name: &Name, span: Span) {
        match self.variable(name, span) {
            Some(found @ (Type::Asset | Type::Portion | Type::Monetary)) => {
                self.mismatch(&[Type::Account, Type::String, Type::Number], found, span);
            }
            Some(Type::Account | Type::String | Type::Number) | None => {}
        }
    }

    pub(super) fn same_asset(&mut self, expected: Option<&Name>, found: Option<Name>, span: Span) {
        let (Some(expected), Some(found)) = (expected, found) else { return };
        if *expected != found {
            self.error(
                "asset-mismatch",
                span,
                format!("expected an amount of {expected}, found one of {found}"),
                format!("use {expected}; amounts of two assets never mix"),
            );
        }
    }

    fn mismatch(&mut self, expected: &[Type], found: Type, span: Span) {
        let names: Vec<_> = expected.iter().map(|kind| kind.name()).collect();
        let expected = names.join(" or ");
        self.error(
            "type-mismatch",
            span,
            format!("expected a value of type {expected}, found {found}"),
            format!("use an expression of type {expected}"),
        );
    }
}

/// The asset of an amount, if the text says it.
pub(super) fn asset_of_monetary(expression: &Expr) -> Option<Name> {
    if let ExprKind::Monetary(asset, _) = &expression.kind {
        return asset_literal(asset);
    }
    if let ExprKind::Negation(inner) | ExprKind::Sum(inner, _) = &expression.kind {
        return asset_of_monetary(inner);
    }
    let ExprKind::Call(call) = &expression.kind else { return None };
    let is_balance = matches!(&*call.function, "balance" | "overdraft");
    call.arguments.get(1).filter(|_| is_balance).and_then(asset_literal)
}

pub(super) fn asset_literal(expression: &Expr) -> Option<Name> {
    if let ExprKind::Asset(asset) = &expression.kind { Some(Name::clone(asset)) } else { None }
}

fn signature(function: &str) -> Option<Signature> {
    const ACCOUNT_AND_ASSET: &[Option<Type>] = &[Some(Type::Account), Some(Type::Asset)];
    const MONETARY: &[Option<Type>] = &[Some(Type::Monetary)];
    let (arguments, result, feature) = match function {
        "balance" => (ACCOUNT_AND_ASSET, Type::Monetary, None),
        "overdraft" => (ACCOUNT_AND_ASSET, Type::Monetary, Some(Feature::OverdraftFunction)),
        "get_asset" => (MONETARY, Type::Asset, Some(Feature::GetAssetFunction)),
        "get_amount" => (MONETARY, Type::Number, Some(Feature::GetAmountFunction)),
        _ => return None,
    };
    Some(Signature { arguments, result: Some(result), feature })
}
