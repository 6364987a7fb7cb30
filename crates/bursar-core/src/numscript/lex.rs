//! Text to tokens.

use super::Mode;
use super::error::{Error, ErrorKind};
use super::span::Span;
use super::value::is_address_byte;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Keyword(Keyword),
    Identifier,
    Variable,
    Number,
    Percentage,
    Asset,
    String,
    /// `@` with all its segments.
    Account,
    FeatureHeader,
    Symbol(u8),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Vars,
    Max,
    Source,
    Destination,
    Send,
    From,
    Up,
    To,
    Remaining,
    Allowing,
    Unbounded,
    Overdraft,
    OneOf,
    DecodedFlow,
    Save,
    With,
    Scaling,
    Through,
    Feature,
}

impl Keyword {
    const ALL: [(&'static str, Self); 19] = [
        ("vars", Self::Vars),
        ("max", Self::Max),
        ("source", Self::Source),
        ("destination", Self::Destination),
        ("send", Self::Send),
        ("from", Self::From),
        ("up", Self::Up),
        ("to", Self::To),
        ("remaining", Self::Remaining),
        ("allowing", Self::Allowing),
        ("unbounded", Self::Unbounded),
        ("overdraft", Self::Overdraft),
        ("oneof", Self::OneOf),
        ("kept", Self::DecodedFlow),
        ("save", Self::Save),
        ("with", Self::With),
        ("scaling", Self::Scaling),
        ("through", Self::Through),
        ("feature", Self::Feature),
    ];

    pub(super) fn text(self) -> &'static str {
        Self::ALL.iter().find(|(_, keyword)| *keyword == self).map_or("", |(text, _)| text)
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(spelling, _)| *spelling == text).map(|(_, keyword)| *keyword)
    }
}

/// All tokens of the text; the last one is `End`.
pub(super) fn lex(source: &str, mode: Mode) -> Result<Vec<(Token, Span)>, Box<Error>> {
    let mut lexer = Lexer { bytes: source.as_bytes(), source, at: 0, mode };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let start = lexer.at;
        let token = lexer.token()?;
        tokens.push((token, Span::new(start, lexer.at)));
        if token == Token::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    source: &'a str,
    at: usize,
    mode: Mode,
}

impl Lexer<'_> {
    fn token(&mut self) -> Result<Token, Box<Error>> {
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(Token::End) };
        match first {
            b'a'..=b'z' => {
                self.take_while(|byte| byte.is_ascii_lowercase() || byte == b'_');
                let text = self.source.get(start..self.at).unwrap_or_default();
                Ok(Keyword::from_text(text).map_or(Token::Identifier, Token::Keyword))
            }
            b'A'..=b'Z' => {
                self.take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
                if self.peek() == Some(b'/')
                    && self.peek_at(1).is_some_and(|byte| byte.is_ascii_digit())
                {
                    self.advance();
                    self.take_while(|byte| byte.is_ascii_digit());
                }
                Ok(Token::Asset)
            }
            b'0'..=b'9' => Ok(self.number()),
            b'$' => self.variable(),
            b'@' => self.account(),
            b'"' => self.string(),
            b'#' if self.peek_at(1) == Some(b'!') => {
                self.at = self.at.saturating_add(2);
                Ok(Token::FeatureHeader)
            }
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b',' | b'=' | b'*' | b'-' | b'+' | b'/'
            | b'\\' => {
                self.advance();
                Ok(Token::Symbol(first))
            }
            _ => {
                let character = self.source.get(start..).and_then(|rest| rest.chars().next());
                let end = start.saturating_add(character.map_or(1, char::len_utf8));
                let before = start.checked_sub(1).and_then(|at| self.bytes.get(at));
                let hint = if first == b'.' && before.is_some_and(u8::is_ascii_digit) {
                    "amounts are whole numbers of minor units: 10.50 with two decimals is `1050`"
                } else {
                    "remove it, or put text in double quotes"
                };
                Err(parse_error(
                    format!("`{}` means nothing here", character.unwrap_or_default()),
                    hint,
                    start,
                    end,
                ))
            }
        }
    }

    /// `1_000` or `12.5%`. An underscore stands between digits only.
    fn number(&mut self) -> Token {
        self.take_while(|byte| byte.is_ascii_digit());
        let mut fraction = 0;
        if self.peek() == Some(b'.') {
            let digits = self.bytes.iter().skip(self.at.saturating_add(1));
            let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
            fraction = if count == 0 { 0 } else { count.saturating_add(1) };
        }
        if self.peek_at(fraction) == Some(b'%') {
            self.at = self.at.saturating_add(fraction).saturating_add(1);
            return Token::Percentage;
        }
        while self.peek() == Some(b'_') && self.peek_at(1).is_some_and(|byte| byte.is_ascii_digit())
        {
            self.advance();
            self.take_while(|byte| byte.is_ascii_digit());
        }
        Token::Number
    }

    fn variable(&mut self) -> Result<Token, Box<Error>> {
        let start = self.at;
        self.advance();
        if !self.peek().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            return Err(parse_error(
                "a variable has no name".to_owned(),
                "write `$` and a name of lower-case letters, digits and `_`",
                start,
                self.at,
            ));
        }
        self.take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        Ok(Token::Variable)
    }

    fn account(&mut self) -> Result<Token, Box<Error>> {
        self.advance();
        loop {
            if self.peek() == Some(b'$') {
                self.variable()?;
            } else {
                let start = self.at;
                self.take_while(is_address_byte);
                if self.at == start {
                    return Err(parse_error(
                        "an account address is incomplete".to_owned(),
                        "write `@` and segments of letters, digits, `_` and `-`, joined by `:`",
                        start.saturating_sub(1),
                        start,
                    ));
                }
            }
            let colon = match self.mode {
                Mode::Safe => self.at,
                Mode::Compat => self.at.saturating_add(self.blanks_ahead()),
            };
            if self.bytes.get(colon) != Some(&b':') {
                return Ok(Token::Account);
            }
            self.at = colon.saturating_add(1);
        }
    }

    fn blanks_ahead(&self) -> usize {
        self.bytes.iter().skip(self.at).take_while(|byte| is_blank(**byte)).count()
    }

    /// `\"` does not end a string, unless no other quote follows on the line.
    fn string(&mut self) -> Result<Token, Box<Error>> {
        let start = self.at;
        let mut end = None;
        let mut previous = b'"';
        self.advance();
        while let Some(byte) = self.peek() {
            if byte == b'\n' || byte == b'\r' {
                break;
            }
            self.advance();
            if byte == b'"' {
                end = Some(self.at);
                if previous != b'\\' {
                    break;
                }
            }
            previous = byte;
        }
        let Some(end) = end else {
            return Err(parse_error(
                "a string is not closed".to_owned(),
                "close it with a double quote on the same line",
                start,
                self.at,
            ));
        };
        self.at = end;
        Ok(Token::String)
    }

    fn skip_blanks(&mut self) -> Result<(), Box<Error>> {
        loop {
            self.take_while(is_blank);
            match (self.peek(), self.peek_at(1)) {
                (Some(b'/'), Some(b'/')) => self.skip_line_comment()?,
                (Some(b'/'), Some(b'*')) => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_line_comment(&mut self) -> Result<(), Box<Error>> {
        let start = self.at;
        self.take_while(|byte| byte != b'\n');
        if self.peek().is_none() && self.mode == Mode::Compat {
            return Err(parse_error(
                "a line comment ends the text without a line break".to_owned(),
                "end the last line with a line break, or run without compat",
                start,
                self.at,
            ));
        }
        Ok(())
    }

    fn skip_block_comment(&mut self) -> Result<(), Box<Error>> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth = depth.saturating_add(1);
                    self.at = self.at.saturating_add(2);
                }
                (Some(b'*'), Some(b'/')) => {
                    depth = depth.saturating_sub(1);
                    self.at = self.at.saturating_add(2);
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (Some(_), _) => self.advance(),
                (None, _) => {
                    return Err(parse_error(
                        "a block comment is not closed".to_owned(),
                        "close it with `*/`; block comments nest",
                        start,
                        start.saturating_add(2),
                    ));
                }
            }
        }
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&accept) {
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at.saturating_add(ahead)).copied()
    }
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn parse_error(message: String, hint: &'static str, start: usize, end: usize) -> Box<Error> {
    ErrorKind::Parse { message, hint }.at(Span::new(start, end))
}
