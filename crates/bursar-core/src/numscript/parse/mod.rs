//! Tokens to a tree: header, variables, statements.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a token that does not fit is an error, whichever it is"
)]

mod expression;
mod movement;

use super::ast::{Call, Declaration, Expr, Script, Sent, Statement};
use super::error::{Error, ErrorKind, brief};
use super::lex::{Keyword, Token, lex};
use super::span::Span;
use super::value::Name;
use super::{Mode, limits};

type Parsed<T> = Result<T, Box<Error>>;

/// Reads a whole program.
pub fn parse(source: &str, mode: Mode) -> Parsed<Script> {
    if source.len() > limits::SOURCE_BYTES_MAX {
        return Err(ErrorKind::ResourceLimit { what: "1 MiB of program text" }.at(Span::default()));
    }
    let tokens = lex(source, mode)?;
    Parser { source, tokens, at: 0, depth: 0 }.script()
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn script(&mut self) -> Parsed<Script> {
        let features = self.features()?;
        let variables = self.variables()?;
        let mut statements = Vec::new();
        while self.token() != Token::End {
            statements.push(self.statement()?);
        }
        Ok(Script { features, variables, statements })
    }

    fn features(&mut self) -> Parsed<Vec<(String, Span)>> {
        let mut features = Vec::new();
        if self.token() != Token::FeatureHeader {
            return Ok(features);
        }
        self.advance();
        self.symbol(b'[')?;
        self.keyword(Keyword::Feature)?;
        self.symbol(b'(')?;
        while !self.accept_symbol(b')') {
            if !features.is_empty() {
                self.symbol(b',')?;
            }
            let span = self.span();
            self.expect(Token::String, "the name of a feature in double quotes")?;
            features.push((self.string_text(span).to_owned(), span));
        }
        self.symbol(b']')?;
        Ok(features)
    }

    fn variables(&mut self) -> Parsed<Vec<Declaration>> {
        let mut variables = Vec::new();
        if !self.accept_keyword(Keyword::Vars) {
            return Ok(variables);
        }
        self.symbol(b'{')?;
        while !self.accept_symbol(b'}') {
            let kind_span = self.span();
            self.expect(Token::Identifier, "a type such as `monetary`, or `}`")?;
            let name_span = self.span();
            self.expect(Token::Variable, "a variable such as `$amount`")?;
            let origin = if self.accept_symbol(b'=') { Some(self.expression()?) } else { None };
            variables.push(Declaration {
                kind: self.text(kind_span).into(),
                kind_span,
                name: self.variable_name(name_span),
                name_span,
                origin,
            });
        }
        Ok(variables)
    }

    fn statement(&mut self) -> Parsed<Statement<Expr>> {
        let start = self.span();
        match self.token() {
            Token::Keyword(Keyword::Send) => {
                self.advance();
                let sent = self.sent()?;
                self.symbol(b'(')?;
                self.keyword(Keyword::Source)?;
                self.symbol(b'=')?;
                let source = self.source()?;
                self.keyword(Keyword::Destination)?;
                self.symbol(b'=')?;
                let destination = self.destination()?;
                self.symbol(b')')?;
                let span = start.to(self.previous_span());
                Ok(Statement::Send { sent, source, destination, span })
            }
            Token::Keyword(Keyword::Save) => {
                self.advance();
                let sent = self.sent()?;
                self.keyword(Keyword::From)?;
                let account = self.expression()?;
                Ok(Statement::Save { sent, account, span: start.to(self.previous_span()) })
            }
            Token::Identifier | Token::Keyword(Keyword::Overdraft) => {
                self.advance();
                Ok(Statement::Call(self.call(start)?))
            }
            _ => {
                Err(self
                    .unexpected("a statement: `send`, `save`, or a call such as `set_tx_meta(…)`"))
            }
        }
    }

    /// `[COIN *]`, or an expression.
    fn sent(&mut self) -> Parsed<Sent<Expr>> {
        let begin = self.at;
        if self.accept_symbol(b'[') {
            let asset = self.primary()?;
            if self.accept_symbol(b'*') {
                self.symbol(b']')?;
                return Ok(Sent::All(asset));
            }
            self.at = begin;
        }
        Ok(Sent::Amount(self.expression()?))
    }

    /// The arguments of a call whose name was just read.
    fn call(&mut self, name: Span) -> Parsed<Call<Expr>> {
        self.symbol(b'(')?;
        let mut arguments = Vec::new();
        while !self.accept_symbol(b')') {
            if !arguments.is_empty() {
                self.symbol(b',')?;
            }
            arguments.push(self.expression()?);
        }
        let span = name.to(self.previous_span());
        Ok(Call { function: self.text(name).into(), arguments, span })
    }

    /// Runs `inner` one level deeper; the limit keeps the stack and every later walk bounded.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= limits::DEPTH_MAX {
            return Err(ErrorKind::Parse {
                message: format!("this is nested more than {} levels deep", limits::DEPTH_MAX),
                hint: "flatten the program, or split it into several sends",
            }
            .at(self.span()));
        }
        self.depth = self.depth.saturating_add(1);
        let result = inner(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    fn token(&self) -> Token {
        self.tokens.get(self.at).map_or(Token::End, |(token, _)| *token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Span::default(), |(_, span)| *span)
    }

    fn previous_span(&self) -> Span {
        self.tokens.get(self.at.saturating_sub(1)).map_or(Span::default(), |(_, span)| *span)
    }

    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn accept(&mut self, token: Token) -> bool {
        let found = self.token() == token;
        if found {
            self.advance();
        }
        found
    }

    fn accept_symbol(&mut self, symbol: u8) -> bool {
        self.accept(Token::Symbol(symbol))
    }

    fn accept_keyword(&mut self, keyword: Keyword) -> bool {
        self.accept(Token::Keyword(keyword))
    }

    fn expect(&mut self, token: Token, what: &str) -> Parsed<()> {
        if self.accept(token) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    fn symbol(&mut self, symbol: u8) -> Parsed<()> {
        self.expect(Token::Symbol(symbol), &format!("`{}`", char::from(symbol)))
    }

    fn keyword(&mut self, keyword: Keyword) -> Parsed<()> {
        self.expect(Token::Keyword(keyword), &format!("`{}`", keyword.text()))
    }

    fn unexpected(&self, expected: &str) -> Box<Error> {
        let found = match self.token() {
            Token::End => "the end of the program".to_owned(),
            _ => format!("`{}`", brief(self.text(self.span()))),
        };
        let hint = match self.token() {
            Token::End => "the program stops too early: is a bracket left open?",
            _ => "correct the program at this place",
        };
        ErrorKind::Parse { message: format!("expected {expected}, found {found}"), hint }
            .at(self.span())
    }

    fn text(&self, span: Span) -> &str {
        self.source.get(span.range()).unwrap_or_default()
    }

    fn string_text(&self, span: Span) -> &str {
        let quoted = self.text(span);
        quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default()
    }

    fn variable_name(&self, span: Span) -> Name {
        let text = self.text(span);
        text.strip_prefix('$').unwrap_or(text).into()
    }
}
