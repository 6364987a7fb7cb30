//! Expressions. Precedence, tightest first: unary minus, `/`, then `+` and `-`; all left associative.

use super::super::amount::Amount;
use super::super::ast::{Expr, ExprKind, Segment, Sign};
use super::super::error::{Error, ErrorKind};
use super::super::lex::{Keyword, Token};
use super::super::limits;
use super::super::portion::Portion;
use super::super::span::Span;
use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(Self::sum)
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let first = self.ratio()?;
        let mut rest = Vec::new();
        loop {
            let sign = match self.token() {
                Token::Symbol(b'+') => Sign::Plus,
                Token::Symbol(b'-') => Sign::Minus,
                _ => break,
            };
            self.advance();
            rest.push((sign, self.ratio()?));
        }
        let span = first.span.to(self.previous_span());
        Ok(if rest.is_empty() {
            first
        } else {
            Expr { kind: ExprKind::Sum(Box::new(first), rest), span }
        })
    }

    fn ratio(&mut self) -> Parsed<Expr> {
        let first = self.negation()?;
        let mut rest = Vec::new();
        while self.accept_symbol(b'/') {
            rest.push(self.negation()?);
        }
        let span = first.span.to(self.previous_span());
        Ok(if rest.is_empty() {
            first
        } else {
            Expr { kind: ExprKind::Ratio(Box::new(first), rest), span }
        })
    }

    fn negation(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if !self.accept_symbol(b'-') {
            return self.primary();
        }
        let negated = self.nested(Self::negation)?;
        Ok(Expr { span: start.to(negated.span), kind: ExprKind::Negation(Box::new(negated)) })
    }

    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let token = self.token();
        let kind = match token {
            Token::Variable => ExprKind::Variable(self.variable_name(span)),
            Token::Asset => ExprKind::Asset(self.text(span).into()),
            Token::String => ExprKind::String(self.string_text(span).into()),
            Token::Number => ExprKind::Number(self.number(span)?),
            Token::Percentage => ExprKind::Portion(self.percentage(span)?),
            Token::Account => ExprKind::Account(self.segments(span)),
            Token::Identifier | Token::Keyword(Keyword::Overdraft) => {
                self.advance();
                let call = self.nested(|parser| parser.call(span))?;
                return Ok(Expr { span: call.span, kind: ExprKind::Call(call) });
            }
            Token::Symbol(b'[') => return self.nested(Self::monetary),
            Token::Symbol(b'(') => {
                self.advance();
                let inner = self.expression()?;
                self.symbol(b')')?;
                return Ok(Expr { span: span.to(self.previous_span()), kind: inner.kind });
            }
            Token::Keyword(_) | Token::FeatureHeader | Token::Symbol(_) | Token::End => {
                return Err(self.unexpected("a value: an account, an amount, a variable"));
            }
        };
        self.advance();
        Ok(Expr { kind, span })
    }

    /// The asset is a primary, so that in `[EUR/2 -100]` the minus belongs to the amount.
    fn monetary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.symbol(b'[')?;
        let asset = self.primary()?;
        let amount = self.expression()?;
        self.symbol(b']')?;
        let kind = ExprKind::Monetary(Box::new(asset), Box::new(amount));
        Ok(Expr { kind, span: start.to(self.previous_span()) })
    }

    fn number(&self, span: Span) -> Parsed<Amount> {
        self.text(span).replace('_', "").parse().map_err(|_| number_too_long(span))
    }

    fn percentage(&self, span: Span) -> Parsed<Portion> {
        let text = self.text(span);
        let digits = text.strip_suffix('%').unwrap_or(text);
        Portion::parse_percentage(digits).ok_or_else(|| number_too_long(span))
    }

    /// The pieces between the colons of an account, each with its place.
    fn segments(&self, span: Span) -> Vec<Segment> {
        let mut at = span.range().start.saturating_add(1);
        let text = self.text(span);
        let mut segments = Vec::new();
        for piece in text.strip_prefix('@').unwrap_or(text).split(':') {
            let place = Span::new(at, at.saturating_add(piece.len()));
            at = at.saturating_add(piece.len()).saturating_add(1);
            segments.push(match piece.trim().strip_prefix('$') {
                Some(name) => Segment::Variable(name.into(), place),
                None => Segment::Text(piece.trim().into()),
            });
        }
        segments
    }
}

fn number_too_long(span: Span) -> Box<Error> {
    ErrorKind::Parse {
        message: format!("a number has more than {} digits", limits::DIGITS_MAX),
        hint: "no ledger holds such an amount: shorten it",
    }
    .at(span)
}
