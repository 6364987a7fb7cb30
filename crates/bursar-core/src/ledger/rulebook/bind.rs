//! A ledger event after validation: every address is resolved and every amount is exact.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::mapping::Leg;
use super::rule::{Input, Rule};
use crate::ledger::chart::{GlAccount, GlCode};
use crate::ledger::journal::{Posting, WORLD};
use crate::ledger::to_microseconds;
use crate::money::{Currency, Money, MoneyError};
use crate::numscript::{self, Error, Inputs, Monetary, Name, Outcome, Records, Value};
use crate::rejection::Rejection;

/// An event that only the balances can still reject.
#[derive(Debug, Clone)]
pub struct Bound<'r> {
    rule: &'r Rule,
    reference: String,
    effective_at: Option<Timestamp>,
    request_hash: [u8; 32],
    accounts: Vec<BoundAccount>,
    amounts: Vec<(Name, Money)>,
    values: Vec<Value>,
}

#[derive(Debug, Clone)]
pub struct BoundAccount {
    pub address: Name,
    pub gl: Arc<GlAccount>,
    pub currency: Currency,
    pub asset: Name,
}

/// A template posting that the ledger rejects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignPosting {
    #[error(
        "it posts from `{from}` to `{to}`, which are not accounts of this event in one currency"
    )]
    Accounts { from: Name, to: Name },
    #[error("the ledger takes no coloured money")]
    Colored,
    #[error("an amount for `{account}` is beyond what the ledger can hold")]
    TooLarge { account: Name },
}

/// The currency of a leg and how Numscript writes it.
struct BoundLeg<'r> {
    leg: &'r Leg,
    currency: Currency,
    asset: Name,
}

/// The values of an event's variables.
pub trait Values {
    /// A currency or an identifier.
    fn text(&self, name: &str) -> Option<&str>;

    fn money(&self, name: &str, currency: Currency) -> Option<Result<Money, MoneyError>>;

    fn has(&self, name: &str) -> bool;

    /// A variable that the event does not have.
    fn unknown(&self, known: &[String]) -> Option<&str>;
}

/// Variables from outside: everything is text, and amounts are decimals.
impl Values for BTreeMap<String, String> {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }

    fn money(&self, name: &str, currency: Currency) -> Option<Result<Money, MoneyError>> {
        self.get(name).map(|text| Money::parse(text, currency))
    }

    fn has(&self, name: &str) -> bool {
        self.contains_key(name)
    }

    fn unknown(&self, known: &[String]) -> Option<&str> {
        if self.len() == known.len() {
            return None;
        }
        self.keys().find(|name| !known.contains(name)).map(String::as_str)
    }
}

impl Rule {
    /// Checks the variables of an event and resolves its accounts.
    pub fn bind(
        &self,
        reference: &str,
        variables: &impl Values,
        effective_at: Option<Timestamp>,
    ) -> Result<Bound<'_>, Rejection> {
        check_reference(reference)?;
        let effective_at = effective_at.map(to_microseconds);
        self.check_names(variables)?;
        let mut hash = RequestHash::new(&self.event, reference, effective_at);
        let mut legs = Vec::with_capacity(self.legs.len());
        for leg in &self.legs {
            let currency: Currency =
                variable(variables, leg.variable()).parse().map_err(|error| {
                    Rejection::BadCurrency { name: Name::clone(leg.variable()), error }
                })?;
            if legs.iter().any(|known: &BoundLeg<'_>| known.currency == currency) {
                return Err(Rejection::SameCurrency { event: Name::clone(&self.event), currency });
            }
            hash.add(leg.variable(), currency.code());
            legs.push(BoundLeg { leg, currency, asset: currency.asset().into() });
        }
        for name in &self.identifiers {
            let value = variable(variables, name);
            check_identifier(name, value)?;
            hash.add(name, value);
        }
        let mut accounts = Vec::with_capacity(self.inputs.len());
        let mut amounts = Vec::with_capacity(self.inputs.len());
        let mut values = Vec::with_capacity(self.inputs.len());
        let mut buffer = String::new();
        for input in &self.inputs {
            match input {
                Input::Account { gl, leg } => {
                    let (Some(bound), Some(pattern)) = (find(&legs, leg), &gl.pattern) else {
                        continue;
                    };
                    let address = pattern.fill_in(&mut buffer, |placeholder| match placeholder {
                        "currency" => bound.currency.code(),
                        name => variable(variables, name),
                    });
                    values.push(Value::Account(Name::clone(&address)));
                    accounts.push(BoundAccount {
                        address,
                        gl: Arc::clone(gl),
                        currency: bound.currency,
                        asset: Name::clone(&bound.asset),
                    });
                }
                Input::Amount { name, leg } => {
                    let Some(bound) = find(&legs, leg) else { continue };
                    let money = amount(name, variables, bound.currency)?;
                    hash.add(name, &money.minor().to_string());
                    amounts.push((Name::clone(name), money));
                    let amount = money.minor().into();
                    values.push(Value::Monetary(Monetary {
                        asset: Name::clone(&bound.asset),
                        amount,
                    }));
                }
            }
        }
        let request_hash = hash.finish();
        Ok(Bound {
            rule: self,
            reference: reference.to_owned(),
            effective_at,
            request_hash,
            accounts,
            amounts,
            values,
        })
    }

    fn check_names(&self, variables: &impl Values) -> Result<(), Rejection> {
        let expected = &self.variables;
        let missing: Vec<String> =
            expected.iter().filter(|name| !variables.has(name)).cloned().collect();
        if !missing.is_empty() {
            return Err(Rejection::MissingVariables {
                event: Name::clone(&self.event),
                names: missing,
            });
        }
        match variables.unknown(expected) {
            Some(name) => Err(Rejection::UnknownVariable {
                event: Name::clone(&self.event),
                name: name.chars().take(64).collect(),
                known: expected.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl Bound<'_> {
    pub fn rule(&self) -> &Rule {
        self.rule
    }

    pub fn reference(&self) -> &str {
        &self.reference
    }

    pub fn effective_at(&self) -> Option<Timestamp> {
        self.effective_at
    }

    /// Equal for every spelling of the same event, and different for different events.
    pub fn request_hash(&self) -> [u8; 32] {
        self.request_hash
    }

    /// Every account that the event may touch.
    pub fn accounts(&self) -> &[BoundAccount] {
        &self.accounts
    }

    /// The account at an address that holds this asset. A chart may keep several currencies at one address.
    pub fn account(&self, address: &str, asset: &str) -> Option<&BoundAccount> {
        self.accounts.get(self.place(address, asset)?)
    }

    /// The index of that account.
    pub(crate) fn place(&self, address: &str, asset: &str) -> Option<usize> {
        self.accounts
            .iter()
            .position(|account| &*account.address == address && &*account.asset == asset)
    }

    pub fn classify(&self, address: &str) -> Option<&Arc<GlAccount>> {
        self.accounts.iter().find(|account| &*account.address == address).map(|account| &account.gl)
    }

    /// The sum that the mapping books on one code. `None` if it overflows.
    pub fn booked_on(&self, code: GlCode) -> Option<Money> {
        let account = self.accounts.iter().find(|account| account.gl.code == code)?;
        let amount = |name: &str| {
            let known = self.amounts.iter().find(|(known, _)| &**known == name);
            known.map_or(0, |(_, money)| i128::from(money.minor()))
        };
        let lines = self.rule.lines.iter().filter(|line| line.debit == code || line.credit == code);
        let sum = lines.fold(0, |sum: i128, line| sum.saturating_add(line.amount.evaluate(amount)));
        Some(Money::from_minor(i64::try_from(sum).ok()?, account.currency))
    }

    /// Runs the template.
    pub fn run(&self, records: &dyn Records) -> Result<Outcome, Box<Error>> {
        self.rule.program.run(&Inputs::Values(&self.values), records)
    }

    /// A posting of the template in the form of the ledger.
    pub fn posting(&self, posting: &numscript::Posting) -> Result<Posting, ForeignPosting> {
        let known = |address: &str| self.account(address, &posting.asset);
        let is_ours = |address: &str| address == WORLD || known(address).is_some();
        let account = known(&posting.source).or_else(|| known(&posting.destination));
        let Some(account) =
            account.filter(|_| is_ours(&posting.source) && is_ours(&posting.destination))
        else {
            let (from, to) = (Name::clone(&posting.source), Name::clone(&posting.destination));
            return Err(ForeignPosting::Accounts { from, to });
        };
        if !posting.color.is_empty() {
            return Err(ForeignPosting::Colored);
        }
        let minor = posting.amount.to_i64().ok_or_else(|| ForeignPosting::TooLarge {
            account: Name::clone(&posting.destination),
        })?;
        Ok(Posting {
            source: Name::clone(&posting.source),
            destination: Name::clone(&posting.destination),
            money: Money::from_minor(minor, account.currency),
        })
    }
}

/// A digest over length-prefixed fields, so that two different requests cannot have the same bytes.
pub(crate) struct RequestHash(Sha256);

impl RequestHash {
    pub(crate) fn new(event: &str, reference: &str, effective_at: Option<Timestamp>) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(event, reference);
        if let Some(time) = effective_at {
            hash.add("effectiveAt", &time.as_nanosecond().to_string());
        }
        hash
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        for part in [name, value] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            self.0.update(length.to_be_bytes());
            self.0.update(part.as_bytes());
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// `check_names` guarantees that the variable exists.
fn variable<'v>(variables: &'v impl Values, name: &str) -> &'v str {
    variables.text(name).unwrap_or_default()
}

fn find<'l, 'r>(legs: &'l [BoundLeg<'r>], leg: &Leg) -> Option<&'l BoundLeg<'r>> {
    legs.iter().find(|bound| bound.leg == leg)
}

fn amount(name: &Name, variables: &impl Values, currency: Currency) -> Result<Money, Rejection> {
    let parsed = variables.money(name, currency).unwrap_or_else(|| Money::parse("", currency));
    let money = parsed.map_err(|error| Rejection::BadAmount { name: Name::clone(name), error })?;
    if money.is_negative() {
        return Err(Rejection::NegativeAmount { name: Name::clone(name), amount: money });
    }
    Ok(money)
}

fn check_reference(reference: &str) -> Result<(), Rejection> {
    // Invisible and text-direction characters would make two references look alike.
    let is_hidden = |character: char| {
        character.is_control()
            || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let is_visible = reference.trim() == reference && !reference.contains(is_hidden);
    let length = reference.chars().take(256).count();
    if is_visible && (1..=255).contains(&length) { Ok(()) } else { Err(Rejection::BadReference) }
}

/// Merchant ids have no hyphen, so that ids composed with one cannot collide.
fn check_identifier(name: &Name, value: &str) -> Result<(), Rejection> {
    let hyphen = &**name != "merchantId";
    let is_good = (1..=64).contains(&value.len())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || (hyphen && byte == b'-'));
    if is_good {
        return Ok(());
    }
    let value = value.chars().take(64).collect();
    Err(Rejection::BadIdentifier { name: Name::clone(name), value, hyphen })
}
