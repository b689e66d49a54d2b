//! A place in the text of a goal, and the small things read there.

use std::ops::Range;

use super::error::{ParseError, ParseErrorKind, Subject};
use super::token::{self, Kind, Token};
use crate::goal::number;

pub(super) type Parsed<T> = Result<T, ParseError>;

/// The tokens of a text and how far they are read.
pub(super) struct Cursor<'a> {
    pub input: &'a str,
    subject: Subject,
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(input: &'a str, subject: Subject) -> Self {
        Self { input, subject, tokens: token::cut(input), at: 0 }
    }

    /// The token behind the one ahead.
    pub fn peek_second(&self) -> &Token<'a> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    /// Where the last token read ends.
    pub fn read_to(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |last| self.tokens[last].span.end)
    }

    /// Where the condition ahead ends: at the next comma, or at the end.
    pub fn condition_end(&self) -> usize {
        let ahead = &self.tokens[self.at..];
        let last = ahead.iter().take_while(|token| !matches!(token.kind, Kind::Comma | Kind::End)).last();
        last.map_or(self.input.len(), |token| token.span.end)
    }

    pub fn number(&mut self) -> Parsed<(f64, Range<usize>)> {
        let token = self.peek().clone();
        let digits = token.text.strip_suffix('%');
        let value = number::read(digits.unwrap_or(token.text).trim_end(), digits.is_some());
        let Some(value) = value.filter(|_| token.kind == Kind::Number) else {
            return Err(self.unexpected("a number such as 0.05 or 5%"));
        };
        if digits.is_some() && value > 1.0 {
            let text = token.text.to_owned();
            return Err(self.error(token.span, ParseErrorKind::OverHundredPercent { text }));
        }
        self.advance();
        Ok((value, token.span))
    }

    pub fn count(&mut self) -> Parsed<(u64, Range<usize>)> {
        let token = self.peek().clone();
        if token.kind != Kind::Number {
            return Err(self.unexpected("a number of examples"));
        }
        let Ok(count) = token.text.parse() else {
            let text = token.text.to_owned();
            return Err(self.error(token.span, ParseErrorKind::NotACount { text }));
        };
        self.advance();
        Ok((count, token.span))
    }

    pub fn keyword(&mut self, word: &str, expected: &'static str) -> Parsed<()> {
        if !self.peek_keyword(word) {
            return Err(self.unexpected(expected));
        }
        self.advance();
        Ok(())
    }

    pub fn peek_keyword(&self, word: &str) -> bool {
        self.peek().kind == Kind::Word && self.peek().text.eq_ignore_ascii_case(word)
    }

    /// The token ahead; at the end, the end.
    pub fn peek(&self) -> &Token<'a> {
        &self.tokens[self.at]
    }

    pub fn advance(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub fn expect(&mut self, kind: Kind, expected: &'static str) -> Parsed<Token<'a>> {
        if self.peek().kind == kind { Ok(self.advance()) } else { Err(self.unexpected(expected)) }
    }

    pub fn unexpected(&self, expected: &'static str) -> ParseError {
        let Token { kind, text, span } = self.peek().clone();
        if kind == Kind::Unclosed {
            return self.error(span, ParseErrorKind::UnclosedQuote);
        }
        self.error(span, ParseErrorKind::Expected { expected, found: text.to_owned() })
    }

    pub fn error(&self, span: Range<usize>, kind: ParseErrorKind) -> ParseError {
        ParseError { kind, input: self.input.to_owned(), span, subject: self.subject }
    }
}
