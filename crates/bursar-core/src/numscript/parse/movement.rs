//! Sources and destinations.

use super::super::ast::{
    Clauses, Destination, DestinationKind, Expr, Overdraft, Share, Source, SourceKind, Target,
};
use super::super::lex::{Keyword, Token};
use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn source(&mut self) -> Parsed<Source<Expr>> {
        self.nested(Self::source_inner)
    }

    fn source_inner(&mut self) -> Parsed<Source<Expr>> {
        let start = self.span();
        let kind = match self.token() {
            Token::Symbol(b'{') => self.braced_source()?,
            Token::Keyword(Keyword::OneOf) => {
                self.advance();
                self.symbol(b'{')?;
                let mut sources = vec![self.source()?];
                while !self.accept_symbol(b'}') {
                    sources.push(self.source()?);
                }
                SourceKind::OneOf(sources)
            }
            Token::Keyword(Keyword::Max) => {
                self.advance();
                let cap = self.expression()?;
                self.keyword(Keyword::From)?;
                SourceKind::Max { cap, source: Box::new(self.source()?) }
            }
            _ => {
                let account = self.expression()?;
                self.source_account(account)?
            }
        };
        Ok(Source { kind, span: start.to(self.previous_span()) })
    }

    /// `{ … }` is an allotment if its first line has a share, and a list otherwise.
    fn braced_source(&mut self) -> Parsed<SourceKind<Expr>> {
        self.symbol(b'{')?;
        if self.token() == Token::Keyword(Keyword::Remaining) {
            let share = self.share()?;
            return self.source_allotment(share);
        }
        let mut sources = Vec::new();
        while !self.accept_symbol(b'}') {
            let start = self.span();
            let is_first = sources.is_empty();
            let is_bracketed = matches!(
                self.token(),
                Token::Symbol(b'{') | Token::Keyword(Keyword::OneOf | Keyword::Max)
            );
            if !is_first || is_bracketed {
                sources.push(self.source()?);
                continue;
            }
            let value = self.expression()?;
            if self.token() == Token::Keyword(Keyword::From) {
                return self.source_allotment(Share::Portion(value));
            }
            let kind = self.source_account(value)?;
            sources.push(Source { kind, span: start.to(self.previous_span()) });
        }
        Ok(SourceKind::List(sources))
    }

    fn source_allotment(&mut self, first: Share<Expr>) -> Parsed<SourceKind<Expr>> {
        let mut share = first;
        let mut parts = Vec::new();
        loop {
            self.keyword(Keyword::From)?;
            parts.push((share, self.source()?));
            if self.accept_symbol(b'}') {
                return Ok(SourceKind::Allotment(parts));
            }
            share = self.share()?;
        }
    }

    /// What may stand behind an account: a colour, an overdraft, scaling.
    fn source_account(&mut self, account: Expr) -> Parsed<SourceKind<Expr>> {
        if self.accept_keyword(Keyword::With) {
            self.keyword(Keyword::Scaling)?;
            self.keyword(Keyword::Through)?;
            return Ok(SourceKind::Scaling { account, through: self.expression()? });
        }
        let color = if self.accept_symbol(b'\\') { Some(self.expression()?) } else { None };
        let mut overdraft = Overdraft::None;
        if self.accept_keyword(Keyword::Allowing) {
            if self.accept_keyword(Keyword::Unbounded) {
                self.keyword(Keyword::Overdraft)?;
                overdraft = Overdraft::Unbounded;
            } else {
                self.keyword(Keyword::Overdraft)?;
                self.keyword(Keyword::Up)?;
                self.keyword(Keyword::To)?;
                overdraft = Overdraft::UpTo(self.expression()?);
            }
        }
        Ok(SourceKind::Account { account, color, overdraft })
    }

    fn share(&mut self) -> Parsed<Share<Expr>> {
        let span = self.span();
        if self.accept_keyword(Keyword::Remaining) {
            return Ok(Share::Remaining(span));
        }
        Ok(Share::Portion(self.expression()?))
    }

    pub(super) fn destination(&mut self) -> Parsed<Destination<Expr>> {
        self.nested(Self::destination_inner)
    }

    fn destination_inner(&mut self) -> Parsed<Destination<Expr>> {
        let start = self.span();
        let kind = match self.token() {
            Token::Symbol(b'{') => {
                self.advance();
                match self.token() {
                    Token::Keyword(Keyword::Max) => DestinationKind::InOrder(self.clauses()?),
                    _ => self.destination_allotment()?,
                }
            }
            Token::Keyword(Keyword::OneOf) => {
                self.advance();
                self.symbol(b'{')?;
                DestinationKind::OneOf(self.clauses()?)
            }
            _ => DestinationKind::Account(self.expression()?),
        };
        Ok(Destination { kind, span: start.to(self.previous_span()) })
    }

    fn clauses(&mut self) -> Parsed<Clauses<Expr>> {
        let mut capped = Vec::new();
        while self.accept_keyword(Keyword::Max) {
            let cap = self.expression()?;
            capped.push((cap, self.target()?));
        }
        self.keyword(Keyword::Remaining)?;
        let remaining = Box::new(self.target()?);
        self.symbol(b'}')?;
        Ok(Clauses { capped, remaining })
    }

    /// `{ remaining to @x }` fits both forms with the same meaning; the ordered one is the simpler.
    fn destination_allotment(&mut self) -> Parsed<DestinationKind<Expr>> {
        let mut parts = Vec::new();
        loop {
            let share = self.share()?;
            let is_alone = parts.is_empty() && matches!(share, Share::Remaining(_));
            let target = self.target()?;
            let is_last = self.accept_symbol(b'}');
            if is_alone && is_last {
                let remaining = Box::new(target);
                return Ok(DestinationKind::InOrder(Clauses { capped: Vec::new(), remaining }));
            }
            parts.push((share, target));
            if is_last {
                return Ok(DestinationKind::Allotment(parts));
            }
        }
    }

    fn target(&mut self) -> Parsed<Target<Expr>> {
        if self.accept_keyword(Keyword::DecodedFlow) {
            return Ok(Target::DecodedFlow);
        }
        self.keyword(Keyword::To)?;
        Ok(Target::To(self.destination()?))
    }
}
