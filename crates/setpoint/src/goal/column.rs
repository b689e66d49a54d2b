//! Column names in goals: bare where they are one plain word, quoted where they are not.
//!
//! Any name can be written: `"marital status"`, `"a \"b\""`, `"2020"`.

use std::ops::Range;

/// Length in bytes of the plain word that the text begins with: a letter or `_`, then letters,
/// digits, `_`, `-`, and dots between them; 0 where there is none.
pub(super) fn word_length(rest: &str) -> usize {
    let mut chars = rest.char_indices().peekable();
    if !chars.next().is_some_and(|(_, c)| c.is_alphabetic() || c == '_') {
        return 0;
    }
    while let Some((at, c)) = chars.next() {
        let inner_dot = c == '.' && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if !(c.is_alphanumeric() || c == '_' || c == '-' || inner_dot) {
            return at;
        }
    }
    rest.len()
}

/// Whether the text is one plain word.
fn is_word(text: &str) -> bool {
    !text.is_empty() && word_length(text) == text.len()
}

/// A column name as goals write it: bare if it is one plain word, else in double quotes.
pub(super) fn quote(column: &str) -> String {
    if is_word(column) {
        return column.to_owned();
    }
    let mut quoted = String::from('"');
    for c in column.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The name between the quotes of a quoted name, or the place of an escape that is none.
pub(super) fn unquote(text: &str) -> Result<String, Range<usize>> {
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let mut name = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(c) = rest.chars().next() {
        let at = 1 + inner.len() - rest.len();
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            name.push(c);
            continue;
        }
        let escape = rest.chars().next();
        let bad = at..at + 1 + escape.map_or(0, char::len_utf8);
        rest = &rest[escape.map_or(0, char::len_utf8)..];
        name.push(match escape {
            Some(c @ ('"' | '\'' | '\\')) => c,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (hex, after) =
                    rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).ok_or(bad.clone())?;
                rest = after;
                u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).ok_or(bad)?
            }
            _ => return Err(bad),
        });
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_quoted_only_where_they_must_be() {
        for (column, text) in [
            ("sex", "sex"),
            ("person.sex", "person.sex"),
            ("größe", "größe"),
            ("marital status", "\"marital status\""),
            ("2020", "\"2020\""),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("tab\there\u{7}", r#""tab\there\u{7}""#),
            ("", "\"\""),
        ] {
            assert_eq!(quote(column), text);
        }
    }

    #[test]
    fn escapes_are_read_and_unknown_ones_pointed_at() {
        assert_eq!(unquote(r#""a\"b\\\n\u{e9}""#).as_deref(), Ok("a\"b\\\né"));
        assert_eq!(unquote(r#""a\x""#), Err(2..4));
        assert_eq!(unquote(r#""é\u{zz}""#), Err(3..5));
        assert_eq!(unquote(r#""\u{110000}""#), Err(1..3));
        assert_eq!(unquote("\"\"").as_deref(), Ok(""));
    }
}
