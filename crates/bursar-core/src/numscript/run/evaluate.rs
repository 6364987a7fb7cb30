//! Expressions and functions.

use super::super::amount::Amount;
use super::super::ast::{Call, Sign};
use super::super::compile::{Code, Op, Piece};
use super::super::error::ErrorKind;
use super::super::feature::Feature;
use super::super::limits;
use super::super::portion::Portion;
use super::super::span::Span;
use super::super::value::{self, Monetary, Name, Type, Value, is_color};
use super::{Ran, Run};

impl Run<'_> {
    pub(super) fn evaluate(&mut self, code: &Code) -> Ran<Value> {
        self.step(code.span)?;
        match &code.op {
            Op::Constant(value) => Ok(value.clone()),
            Op::Slot(slot) => self.slot(*slot, code.span),
            Op::Unbound(name) => {
                Err(ErrorKind::UnboundVariable { name: Name::clone(name) }.at(code.span))
            }
            Op::Address(pieces) => self.address(pieces, code.span),
            Op::Monetary(asset, amount) => {
                let asset = self.asset_of(asset)?;
                let amount = self.number(amount)?;
                Ok(Value::Monetary(Monetary { asset, amount }))
            }
            Op::Negation(negated) => match self.evaluate(negated)? {
                Value::Number(amount) => Ok(Value::Number(amount.negated())),
                Value::Monetary(monetary) => Ok(Value::Monetary(Monetary {
                    amount: monetary.amount.negated(),
                    asset: monetary.asset,
                })),
                other @ (Value::Account(_)
                | Value::Asset(_)
                | Value::String(_)
                | Value::Portion(_)) => {
                    Err(wrong_type(&[Type::Monetary, Type::Number], other, negated.span))
                }
            },
            Op::Sum(first, rest) => self.sum(first, rest),
            Op::Ratio(first, rest) => self.ratio(first, rest),
            Op::Call(function, arguments) => {
                if !self.in_variables {
                    self.require(Feature::MidScriptFunctionCall, code.span)?;
                }
                self.call(function, arguments, code.span)
            }
        }
    }

    fn slot(&self, slot: usize, span: Span) -> Ran<Value> {
        self.slots.get(slot).cloned().ok_or_else(|| {
            ErrorKind::Internal { reason: "a variable has no value".to_owned() }.at(span)
        })
    }

    /// The value of a variable or a literal, without a copy.
    fn peek<'s>(&'s self, code: &'s Code) -> Option<&'s Value> {
        match &code.op {
            Op::Constant(value) => Some(value),
            Op::Slot(slot) => self.slots.get(*slot),
            Op::Unbound(_)
            | Op::Address(_)
            | Op::Monetary(..)
            | Op::Negation(_)
            | Op::Sum(..)
            | Op::Ratio(..)
            | Op::Call(..) => None,
        }
    }

    fn sum(&mut self, first: &Code, rest: &[(Sign, Code)]) -> Ran<Value> {
        let mut sum = self.evaluate(first)?;
        for (sign, code) in rest {
            sum = match sum {
                Value::Number(left) => Value::Number(apply(*sign, &left, &self.number(code)?)),
                Value::Monetary(left) => {
                    let right = self.monetary(code)?;
                    if left.asset != right.asset {
                        let kind = ErrorKind::MismatchedCurrency {
                            expected: left.asset,
                            got: right.asset,
                        };
                        return Err(kind.at(code.span));
                    }
                    let amount = apply(*sign, &left.amount, &right.amount);
                    Value::Monetary(Monetary { asset: left.asset, amount })
                }
                other @ (Value::Account(_)
                | Value::Asset(_)
                | Value::String(_)
                | Value::Portion(_)) => {
                    return Err(wrong_type(&[Type::Monetary, Type::Number], other, first.span));
                }
            };
        }
        Ok(sum)
    }

    fn ratio(&mut self, first: &Code, rest: &[Code]) -> Ran<Value> {
        let mut ratio = self.evaluate(first)?;
        for code in rest {
            let Value::Number(numerator) = ratio else {
                return Err(wrong_type(&[Type::Number], ratio, first.span));
            };
            let denominator = self.number(code)?;
            // Reducing long fractions takes time that grows with their length.
            let bits = numerator.bits().max(denominator.bits());
            self.spend(u32::try_from(bits >> 3).unwrap_or(u32::MAX), code.span)?;
            match Portion::new(numerator.to_big(), denominator.to_big()) {
                Some(portion) => ratio = Value::Portion(portion),
                None => return Err(ErrorKind::DivideByZero { numerator }.at(code.span)),
            }
        }
        Ok(ratio)
    }

    fn address(&mut self, pieces: &[Piece], span: Span) -> Ran<Value> {
        let mut address = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                address.push(':');
            }
            match piece {
                Piece::Text(text) => address.push_str(text),
                Piece::Code(code) => {
                    self.require(Feature::AccountInterpolation, code.span)?;
                    match self.evaluate(code)? {
                        Value::Account(text) | Value::String(text) => address.push_str(&text),
                        Value::Number(number) => address.push_str(&number.to_string()),
                        value @ (Value::Asset(_) | Value::Portion(_) | Value::Monetary(_)) => {
                            return Err(ErrorKind::CannotCastToString { value }.at(code.span));
                        }
                    }
                }
            }
            if address.len() > limits::ADDRESS_BYTES_MAX {
                return Err(ErrorKind::InvalidAccountName { name: address }.at(span));
            }
        }
        value::account(&address).map_err(|kind| kind.at(span))
    }

    /// The values of the arguments, each with its place.
    fn arguments(&mut self, arguments: &[Code]) -> Ran<Vec<Argument>> {
        arguments.iter().map(|argument| Ok((self.evaluate(argument)?, argument.span))).collect()
    }

    fn call(&mut self, function: &Name, arguments: &[Code], span: Span) -> Ran<Value> {
        let values = self.arguments(arguments)?;
        match &**function {
            "meta" => Err(ErrorKind::InvalidNestedMeta.at(span)),
            "balance" => {
                let (account, asset) = account_and_asset(values, span)?;
                let balance = self.known_balance(&account, &asset);
                if balance.is_negative() {
                    return Err(ErrorKind::NegativeBalance { account, amount: balance }.at(span));
                }
                Ok(Value::Monetary(Monetary { asset, amount: balance }))
            }
            "overdraft" => {
                self.require(Feature::OverdraftFunction, span)?;
                let (account, asset) = account_and_asset(values, span)?;
                let amount = self.known_balance(&account, &asset).negated().floored();
                Ok(Value::Monetary(Monetary { asset, amount }))
            }
            "get_asset" => {
                self.require(Feature::GetAssetFunction, span)?;
                let [(monetary, place)] = exactly(values, span)?;
                Ok(Value::Asset(to_monetary(monetary, place)?.asset))
            }
            "get_amount" => {
                self.require(Feature::GetAmountFunction, span)?;
                let [(monetary, place)] = exactly(values, span)?;
                Ok(Value::Number(to_monetary(monetary, place)?.amount))
            }
            _ => Err(ErrorKind::UnboundFunction { name: Name::clone(function) }.at(span)),
        }
    }

    fn known_balance(&mut self, account: &Name, asset: &Name) -> Amount {
        let key = self.key(Name::clone(account), Name::clone(asset));
        self.balances.load(&key)
    }

    /// The text that `meta(account, key)` finds.
    pub(super) fn metadata(&mut self, arguments: &[Code], span: Span) -> Ran<String> {
        let [(account, account_place), (key, key_place)] =
            exactly(self.arguments(arguments)?, span)?;
        let account = to_account(account, account_place)?;
        let key = to_string(key, key_place)?;
        match self.records.metadata(&account, &key) {
            Some(text) => Ok(text.to_owned()),
            None => Err(ErrorKind::MetadataNotFound { account, key }.at(span)),
        }
    }

    pub(super) fn call_statement(&mut self, call: &Call<Code>) -> Ran<()> {
        let values = self.arguments(&call.arguments)?;
        match &*call.function {
            "set_tx_meta" => {
                let [(key, place), (value, _)] = exactly(values, call.span)?;
                let key = to_string(key, place)?;
                self.charge_metadata(&key, &value.to_string(), call.span)?;
                self.tx_metadata.insert(key, value);
            }
            "set_account_meta" => {
                let [(account, account_place), (key, key_place), (value, _)] =
                    exactly(values, call.span)?;
                let account = to_account(account, account_place)?;
                let key = to_string(key, key_place)?;
                let text = value.to_string();
                self.charge_metadata(&key, &text, call.span)?;
                self.accounts_metadata.entry(account).or_default().insert(key, text);
            }
            _ => {
                let name = Name::clone(&call.function);
                return Err(ErrorKind::UnboundFunction { name }.at(call.span));
            }
        }
        Ok(())
    }

    fn charge_metadata(&mut self, key: &str, text: &str, span: Span) -> Ran<()> {
        let bytes = key.len().saturating_add(text.len());
        self.metadata_bytes = self.metadata_bytes.saturating_add(bytes);
        if self.metadata_bytes > limits::METADATA_BYTES_MAX {
            return Err(ErrorKind::ResourceLimit { what: "1 MiB of metadata" }.at(span));
        }
        Ok(())
    }

    pub(super) fn account(&mut self, code: &Code) -> Ran<Name> {
        if let Some(Value::Account(name)) = self.peek(code) {
            return Ok(Name::clone(name));
        }
        to_account(self.evaluate(code)?, code.span)
    }

    pub(super) fn asset_of(&mut self, code: &Code) -> Ran<Name> {
        to_asset(self.evaluate(code)?, code.span)
    }

    pub(super) fn monetary(&mut self, code: &Code) -> Ran<Monetary> {
        if let Some(Value::Monetary(monetary)) = self.peek(code) {
            return Ok(monetary.clone());
        }
        to_monetary(self.evaluate(code)?, code.span)
    }

    /// The amount of a monetary that must be in the asset of the current `send`.
    pub(super) fn amount_here(&mut self, code: &Code) -> Ran<Amount> {
        let monetary = self.monetary(code)?;
        if monetary.asset == self.asset {
            return Ok(monetary.amount);
        }
        let expected = Name::clone(&self.asset);
        Err(ErrorKind::MismatchedCurrency { expected, got: monetary.asset }.at(code.span))
    }

    pub(super) fn portion(&mut self, code: &Code) -> Ran<Portion> {
        let value = self.evaluate(code)?;
        let Value::Portion(portion) = value else {
            return Err(wrong_type(&[Type::Portion], value, code.span));
        };
        Ok(portion)
    }

    pub(super) fn color(&mut self, code: Option<&Code>) -> Ran<Name> {
        let color = self.color_text(code)?;
        match code {
            Some(code) if !is_color(&color) => Err(ErrorKind::InvalidColor { color }.at(code.span)),
            Some(_) | None => Ok(color),
        }
    }

    /// The text of a colour, not yet checked. No colour is the empty one.
    pub(super) fn color_text(&mut self, code: Option<&Code>) -> Ran<Name> {
        let Some(code) = code else { return Ok(Name::clone(&self.no_color)) };
        to_string(self.evaluate(code)?, code.span)
    }

    fn number(&mut self, code: &Code) -> Ran<Amount> {
        let value = self.evaluate(code)?;
        let Value::Number(amount) = value else {
            return Err(wrong_type(&[Type::Number], value, code.span));
        };
        Ok(amount)
    }
}

fn apply(sign: Sign, left: &Amount, right: &Amount) -> Amount {
    match sign {
        Sign::Plus => left.plus(right),
        Sign::Minus => left.minus(right),
    }
}

/// A value and the place of the expression that gave it.
type Argument = (Value, Span);

/// The arguments, if there are as many as the function takes.
fn exactly<const N: usize>(values: Vec<Argument>, span: Span) -> Ran<[Argument; N]> {
    let given = values.len();
    values.try_into().map_err(|_| ErrorKind::BadArity { expected: N, given }.at(span))
}

fn account_and_asset(values: Vec<Argument>, span: Span) -> Ran<(Name, Name)> {
    let [(account, account_place), (asset, asset_place)] = exactly(values, span)?;
    Ok((to_account(account, account_place)?, to_asset(asset, asset_place)?))
}

fn to_account(value: Value, span: Span) -> Ran<Name> {
    let Value::Account(name) = value else { return Err(wrong_type(&[Type::Account], value, span)) };
    Ok(name)
}

fn to_asset(value: Value, span: Span) -> Ran<Name> {
    let Value::Asset(name) = value else { return Err(wrong_type(&[Type::Asset], value, span)) };
    Ok(name)
}

fn to_string(value: Value, span: Span) -> Ran<Name> {
    let Value::String(text) = value else { return Err(wrong_type(&[Type::String], value, span)) };
    Ok(text)
}

fn to_monetary(value: Value, span: Span) -> Ran<Monetary> {
    let Value::Monetary(monetary) = value else {
        return Err(wrong_type(&[Type::Monetary], value, span));
    };
    Ok(monetary)
}

fn wrong_type(expected: &'static [Type], value: Value, span: Span) -> Box<super::Error> {
    ErrorKind::Type { expected, value }.at(span)
}
