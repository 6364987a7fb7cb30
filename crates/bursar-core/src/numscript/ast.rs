//! The tree of a program. Statements are generic over their expressions, so that parsed and compiled programs
//! share one shape.

use super::amount::Amount;
use super::portion::Portion;
use super::span::Span;
use super::value::Name;

/// A parsed program.
#[derive(Debug, Clone)]
pub struct Script {
    pub features: Vec<(String, Span)>,
    pub variables: Vec<Declaration>,
    pub statements: Vec<Statement<Expr>>,
}

#[derive(Debug, Clone)]
pub struct Declaration {
    pub kind: Name,
    pub kind_span: Span,
    pub name: Name,
    pub name_span: Span,
    pub origin: Option<Expr>,
}

#[derive(Debug, Clone)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum ExprKind {
    Variable(Name),
    Asset(Name),
    String(Name),
    Number(Amount),
    Portion(Portion),
    Account(Vec<Segment>),
    /// Asset, then amount.
    Monetary(Box<Expr>, Box<Expr>),
    Negation(Box<Expr>),
    /// Flat, because a sum may have many thousand terms.
    Sum(Box<Expr>, Vec<(Sign, Expr)>),
    /// Flat for the same reason; a second divisor is a type error.
    Ratio(Box<Expr>, Vec<Expr>),
    Call(Call<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

#[derive(Debug, Clone)]
pub enum Segment {
    Text(Name),
    Variable(Name, Span),
}

#[derive(Debug, Clone)]
pub struct Call<E> {
    pub function: Name,
    pub arguments: Vec<E>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum Statement<E> {
    Send { sent: Sent<E>, source: Source<E>, destination: Destination<E>, span: Span },
    Save { sent: Sent<E>, account: E, span: Span },
    Call(Call<E>),
}

#[derive(Debug, Clone)]
pub enum Sent<E> {
    Amount(E),
    All(E),
}

#[derive(Debug, Clone)]
pub struct Source<E> {
    pub kind: SourceKind<E>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum SourceKind<E> {
    Account { account: E, color: Option<E>, overdraft: Overdraft<E> },
    Scaling { account: E, through: E },
    List(Vec<Source<E>>),
    OneOf(Vec<Source<E>>),
    Allotment(Vec<(Share<E>, Source<E>)>),
    Max { cap: E, source: Box<Source<E>> },
}

#[derive(Debug, Clone)]
pub enum Overdraft<E> {
    None,
    Unbounded,
    UpTo(E),
}

#[derive(Debug, Clone)]
pub enum Share<E> {
    Portion(E),
    Remaining(Span),
}

#[derive(Debug, Clone)]
pub struct Destination<E> {
    pub kind: DestinationKind<E>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum DestinationKind<E> {
    Account(E),
    Allotment(Vec<(Share<E>, Target<E>)>),
    InOrder(Clauses<E>),
    OneOf(Clauses<E>),
}

/// `max … to …` as often as wanted, then `remaining …`.
#[derive(Debug, Clone)]
pub struct Clauses<E> {
    pub capped: Vec<(E, Target<E>)>,
    pub remaining: Box<Target<E>>,
}

#[derive(Debug, Clone)]
pub enum Target<E> {
    To(Destination<E>),
    DecodedFlow,
}

impl<E> Statement<E> {
    /// The same statement with other expressions.
    pub fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Statement<T> {
        match self {
            Self::Send { sent, source, destination, span } => Statement::Send {
                sent: sent.map(f),
                source: source.map(f),
                destination: destination.map(f),
                span: *span,
            },
            Self::Save { sent, account, span } => {
                Statement::Save { sent: sent.map(f), account: f(account), span: *span }
            }
            Self::Call(call) => Statement::Call(call.map(f)),
        }
    }
}

impl<E> Call<E> {
    pub fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Call<T> {
        Call {
            function: Name::clone(&self.function),
            arguments: self.arguments.iter().map(f).collect(),
            span: self.span,
        }
    }
}

impl<E> Sent<E> {
    fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Sent<T> {
        match self {
            Self::Amount(amount) => Sent::Amount(f(amount)),
            Self::All(asset) => Sent::All(f(asset)),
        }
    }
}

impl<E> Source<E> {
    fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Source<T> {
        let kind = match &self.kind {
            SourceKind::Account { account, color, overdraft } => SourceKind::Account {
                account: f(account),
                color: color.as_ref().map(&mut *f),
                overdraft: match overdraft {
                    Overdraft::None => Overdraft::None,
                    Overdraft::Unbounded => Overdraft::Unbounded,
                    Overdraft::UpTo(limit) => Overdraft::UpTo(f(limit)),
                },
            },
            SourceKind::Scaling { account, through } => {
                SourceKind::Scaling { account: f(account), through: f(through) }
            }
            SourceKind::List(sources) => {
                SourceKind::List(sources.iter().map(|s| s.map(f)).collect())
            }
            SourceKind::OneOf(sources) => {
                SourceKind::OneOf(sources.iter().map(|s| s.map(f)).collect())
            }
            SourceKind::Allotment(parts) => SourceKind::Allotment(
                parts.iter().map(|(share, source)| (share.map(f), source.map(f))).collect(),
            ),
            SourceKind::Max { cap, source } => {
                SourceKind::Max { cap: f(cap), source: Box::new(source.map(f)) }
            }
        };
        Source { kind, span: self.span }
    }
}

impl<E> Share<E> {
    fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Share<T> {
        match self {
            Self::Portion(portion) => Share::Portion(f(portion)),
            Self::Remaining(span) => Share::Remaining(*span),
        }
    }
}

impl<E> Destination<E> {
    fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Destination<T> {
        let kind = match &self.kind {
            DestinationKind::Account(account) => DestinationKind::Account(f(account)),
            DestinationKind::Allotment(parts) => DestinationKind::Allotment(
                parts.iter().map(|(share, target)| (share.map(f), target.map(f))).collect(),
            ),
            DestinationKind::InOrder(clauses) => DestinationKind::InOrder(clauses.map(f)),
            DestinationKind::OneOf(clauses) => DestinationKind::OneOf(clauses.map(f)),
        };
        Destination { kind, span: self.span }
    }
}

impl<E> Clauses<E> {
    fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Clauses<T> {
        Clauses {
            capped: self.capped.iter().map(|(cap, target)| (f(cap), target.map(f))).collect(),
            remaining: Box::new(self.remaining.map(f)),
        }
    }
}

impl<E> Target<E> {
    fn map<T>(&self, f: &mut impl FnMut(&E) -> T) -> Target<T> {
        match self {
            Self::To(destination) => Target::To(destination.map(f)),
            Self::DecodedFlow => Target::DecodedFlow,
        }
    }
}
