//! Runs a compiled program: variables, then the balances it will need, then its statements in order.
//!
//! A `send` takes first and gives afterwards: sources put pieces of money into a queue, destinations pull them
//! from its front. Nothing is read from outside except through `Records`.

mod balances;
mod evaluate;
mod give;
mod outcome;
mod prepare;
mod rows;
mod scale;
mod take;

use std::collections::{BTreeMap, VecDeque};

pub use outcome::{Inputs, Outcome, Posting, Records, Snapshot};

use super::amount::Amount;
use super::ast::{Sent, Statement};
use super::compile::{Code, Program};
use super::error::{Error, ErrorKind};
use super::feature::Feature;
use super::span::Span;
use super::value::{Monetary, Name, Value, is_asset};
use super::{Mode, limits};
use balances::Balances;
use rows::Key;

type Ran<T> = Result<T, Box<Error>>;

impl Program {
    /// Runs the program once. An error means that nothing happened at all.
    pub fn run(&self, inputs: &Inputs<'_>, records: &dyn Records) -> Ran<Outcome> {
        let no_color = Name::from("");
        let mut run = Run {
            program: self,
            records,
            slots: Vec::with_capacity(self.variables.len()),
            in_variables: true,
            balances: Balances::new(records, self.mode),
            asset: Name::clone(&no_color),
            no_color,
            queue: VecDeque::new(),
            postings: Vec::with_capacity(self.statements.len()),
            tx_metadata: BTreeMap::new(),
            accounts_metadata: BTreeMap::new(),
            metadata_bytes: 0,
            steps_left: limits::STEPS_MAX,
        };
        run.bind(inputs)?;
        run.prepare()?;
        for statement in &self.statements {
            run.statement(statement)?;
        }
        run.finish()
    }
}

struct Run<'a> {
    program: &'a Program,
    records: &'a dyn Records,
    slots: Vec<Value>,
    /// Functions are free in the `vars` block and need a feature elsewhere.
    in_variables: bool,
    balances: Balances<'a>,
    /// The asset of the current `send`.
    asset: Name,
    no_color: Name,
    queue: VecDeque<Piece>,
    postings: Vec<Posting>,
    tx_metadata: BTreeMap<Name, Value>,
    accounts_metadata: BTreeMap<Name, BTreeMap<Name, String>>,
    metadata_bytes: usize,
    steps_left: u32,
}

/// Money that a source has put up and no destination has pulled yet.
struct Piece {
    account: Name,
    amount: Amount,
    color: Name,
}

impl Run<'_> {
    fn statement(&mut self, statement: &Statement<Code>) -> Ran<()> {
        self.step(statement_span(statement))?;
        match statement {
            Statement::Send { sent, source, destination, .. } => {
                self.queue.clear();
                let amount = match sent {
                    Sent::All(asset) => {
                        self.asset = self.asset_of(asset)?;
                        self.take_all(source)?
                    }
                    Sent::Amount(code) => {
                        let monetary = self.monetary(code)?;
                        refuse_negative(&monetary, code.span)?;
                        self.asset = monetary.asset;
                        self.take_exactly(source, &monetary.amount)?;
                        monetary.amount
                    }
                };
                self.give(destination, &amount)
            }
            Statement::Save { sent, account, .. } => self.save(sent, account),
            Statement::Call(call) => self.call_statement(call),
        }
    }

    /// Lowers what this program may use of a balance; the account itself keeps it.
    fn save(&mut self, sent: &Sent<Code>, account: &Code) -> Ran<()> {
        let (asset, amount) = match sent {
            Sent::All(asset) => (self.asset_of(asset)?, None),
            Sent::Amount(code) => {
                let monetary = self.monetary(code)?;
                (Name::clone(&monetary.asset), Some((monetary, code.span)))
            }
        };
        let account = self.account(account)?;
        let key = self.key(account, asset);
        let balance = self.balances.get(&key);
        let usable = match amount {
            None => balance.min(Amount::ZERO),
            Some((monetary, span)) => {
                refuse_negative(&monetary, span)?;
                // Saving must not lift a negative balance: that would allow a second overdraft.
                let floor = match self.program.mode {
                    Mode::Safe => balance.clone().min(Amount::ZERO),
                    Mode::Compat => Amount::ZERO,
                };
                balance.minus(&monetary.amount).max(floor)
            }
        };
        self.balances.set(key, usable);
        Ok(())
    }

    /// Addresses were checked when they became values; amounts and assets are checked here, as the language asks.
    fn finish(self) -> Ran<Outcome> {
        let mut good_asset: Option<&Name> = None;
        for posting in &self.postings {
            let is_good =
                good_asset.is_some_and(|asset| *asset == posting.asset) || is_asset(&posting.asset);
            let reason = if posting.amount.is_negative() {
                format!("{} {} is negative", posting.asset, posting.amount)
            } else if !is_good {
                format!("`{}` is not an asset", posting.asset)
            } else {
                good_asset = Some(&posting.asset);
                continue;
            };
            return Err(ErrorKind::Internal { reason }.at(Span::default()));
        }
        Ok(Outcome {
            postings: self.postings,
            tx_metadata: self.tx_metadata,
            accounts_metadata: self.accounts_metadata,
        })
    }

    fn post(&mut self, posting: Posting) {
        self.postings.push(posting);
    }

    fn key(&self, account: Name, asset: Name) -> Key {
        Key { account, asset, color: Name::clone(&self.no_color) }
    }

    /// Charges one node against the limit of a run.
    fn step(&mut self, span: Span) -> Ran<()> {
        self.spend(1, span)
    }

    fn spend(&mut self, steps: u32, span: Span) -> Ran<()> {
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(ErrorKind::ResourceLimit { what: "2,000,000 steps" }.at(span)),
        }
    }

    fn require(&self, flag: Feature, span: Span) -> Ran<()> {
        if self.program.features.contains(flag) {
            Ok(())
        } else {
            Err(ErrorKind::ExperimentalFeature { flag }.at(span))
        }
    }
}

fn statement_span(statement: &Statement<Code>) -> Span {
    match statement {
        Statement::Send { span, .. } | Statement::Save { span, .. } => *span,
        Statement::Call(call) => call.span,
    }
}

fn refuse_negative(monetary: &Monetary, span: Span) -> Ran<()> {
    if !monetary.amount.is_negative() {
        return Ok(());
    }
    let Monetary { asset, amount } = monetary.clone();
    Err(ErrorKind::NegativeAmount { asset, amount }.at(span))
}
