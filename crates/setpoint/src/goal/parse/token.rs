//! Words, numbers and signs of a goal's text, each with its place.
//!
//! Cutting never fails: what fits nothing becomes a token of its own, and the
//! parser complains when it gets there, so the first mistake is the one told.

use std::ops::Range;

use crate::goal::{Relation, column};

/// A piece of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    /// As written, with quotes and percent sign.
    pub text: &'a str,
    /// Bytes of the input.
    pub span: Range<usize>,
}

/// What a piece of the text is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name of a rate, of a column, or a keyword.
    Word,
    /// `0.05`, `5%`, `1e-3`, `-1`.
    Number,
    /// `"marital status"`, with its quotes.
    Quoted,
    /// A quote without its end.
    Unclosed,
    At,
    Comma,
    Open,
    Close,
    /// `..`
    To,
    Relation(Relation),
    /// `<` or `>`.
    Strict,
    /// A character of no use here.
    Other,
    /// The end of the text.
    End,
}

/// Cuts the text; the last token is always `End`.
pub(super) fn cut(input: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = input[start..].chars().next() {
        let rest = &input[start..];
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let (kind, length) = next(rest, first);
        let span = start..start + length;
        start = span.end;
        tokens.push(Token { kind, text: &input[span.clone()], span });
    }
    tokens.push(Token { kind: Kind::End, text: "", span: input.len()..input.len() });
    tokens
}

/// The kind and length in bytes of the token that `rest` begins with.
fn next(rest: &str, first: char) -> (Kind, usize) {
    const SIGNS: [(&str, Kind); 13] = [
        ("..", Kind::To),
        ("<=", Kind::Relation(Relation::AtMost)),
        ("≤", Kind::Relation(Relation::AtMost)),
        (">=", Kind::Relation(Relation::AtLeast)),
        ("≥", Kind::Relation(Relation::AtLeast)),
        ("==", Kind::Relation(Relation::Equal)),
        ("=", Kind::Relation(Relation::Equal)),
        ("<", Kind::Strict),
        (">", Kind::Strict),
        ("@", Kind::At),
        (",", Kind::Comma),
        ("(", Kind::Open),
        (")", Kind::Close),
    ];
    let word = column::word_length(rest);
    if word > 0 {
        return (Kind::Word, word);
    }
    let number = number_length(rest);
    if number > 0 {
        return (Kind::Number, number);
    }
    if first == '"' || first == '\'' {
        return quoted(rest, first);
    }
    match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, kind)) => (*kind, sign.len()),
        None => (Kind::Other, first.len_utf8()),
    }
}

/// Length of `-1.5e-3 %` and the like; 0 where there is no digit.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = usize::from(rest.starts_with('-'));
    let whole = digits(end);
    end += whole;
    // The dot of `0.5`, not the dots of `0..5`.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        let part = digits(end + 1);
        if whole + part == 0 {
            return 0;
        }
        end += 1 + part;
    } else if whole == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let after = rest[end..].trim_start();
    if after.starts_with('%') { rest.len() - after.len() + 1 } else { end }
}

fn quoted(rest: &str, quote: char) -> (Kind, usize) {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return (Kind::Quoted, at + 1);
        }
        if c == '\\' {
            chars.next();
        }
    }
    (Kind::Unclosed, rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(input: &str) -> Vec<(Kind, &str)> {
        cut(input).into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn dots_of_numbers_names_and_ranges_are_told_apart() {
        let number = |text| (Kind::Number, text);
        let to = (Kind::To, "..");
        let end = (Kind::End, "");
        assert_eq!(kinds("0.95..1"), [number("0.95"), to, number("1"), end]);
        assert_eq!(kinds("0..5%"), [number("0"), to, number("5%"), end]);
        assert_eq!(kinds(".1.. .5"), [number(".1"), to, number(".5"), end]);
        assert_eq!(kinds("0...5"), [number("0"), to, number(".5"), end]);
        assert_eq!(kinds("f0.5"), [(Kind::Word, "f0.5"), end]);
        assert_eq!(kinds("f0.."), [(Kind::Word, "f0"), to, end]);
    }

    #[test]
    fn numbers_take_exponent_sign_and_percent() {
        for text in ["1", "1.", ".5", "1e-3", "1E+3", "-0.1", "5%", "5 %", "1e-3%"] {
            assert_eq!(kinds(text), [(Kind::Number, text), (Kind::End, "")], "{text}");
        }
        assert_eq!(kinds("1e"), [(Kind::Number, "1"), (Kind::Word, "e"), (Kind::End, "")]);
        assert_eq!(kinds("1e-"), [(Kind::Number, "1"), (Kind::Word, "e-"), (Kind::End, "")]);
        assert_eq!(kinds("."), [(Kind::Other, "."), (Kind::End, "")]);
        assert_eq!(kinds("-"), [(Kind::Other, "-"), (Kind::End, "")]);
    }

    #[test]
    fn spans_are_bytes_of_the_input() {
        let tokens = cut("fpr(größe) ≤ 1%");
        for token in &tokens {
            assert_eq!(&"fpr(größe) ≤ 1%"[token.span.clone()], token.text);
        }
        assert_eq!(tokens[4].kind, Kind::Relation(Relation::AtMost));
    }

    #[test]
    fn quotes_of_either_kind_end_where_they_began() {
        assert_eq!(
            kinds(r#""a\"b" 'c"d'"#),
            [(Kind::Quoted, r#""a\"b""#), (Kind::Quoted, r#"'c"d'"#), (Kind::End, "")]
        );
        assert_eq!(kinds("\"a"), [(Kind::Unclosed, "\"a"), (Kind::End, "")]);
        assert_eq!(kinds("\"a\\"), [(Kind::Unclosed, "\"a\\"), (Kind::End, "")]);
        assert_eq!(kinds("\"a\\\""), [(Kind::Unclosed, "\"a\\\""), (Kind::End, "")]);
    }
}
