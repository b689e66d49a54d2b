//! Rows and fields of delimited text.
//!
//! A field may be quoted: it then runs to the closing quote, a quote inside is
//! written twice, and separators and line ends inside belong to it. A quote
//! that does not start a field is an ordinary character. Blanks around fields
//! and carriage returns before a line end are ignored, as are blank lines.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2, memchr3, memrchr};

/// What stands between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One byte: a comma, tab, semicolon...
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
}

impl Separator {
    /// The separator that a person means by `,`, `comma`, `tab`, `\t`, `blank`, `semicolon`, `|`...
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "comma" => Some(Self::Byte(b',')),
            "tab" | "\\t" => Some(Self::Byte(b'\t')),
            "semicolon" => Some(Self::Byte(b';')),
            "blank" | "blanks" | "space" | "spaces" | " " => Some(Self::Blanks),
            _ => match text.as_bytes() {
                [byte]
                    if byte.is_ascii()
                        && !matches!(byte, b'\n' | b'\r' | b'"')
                        && !byte.is_ascii_alphanumeric() =>
                {
                    Some(Self::Byte(*byte))
                }
                _ => None,
            },
        }
    }

    fn is_blank(self, byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && self != Self::Byte(b'\t'))
    }
}

impl fmt::Display for Separator {
    /// As [`Separator::parse`] takes it, quoted where a shell needs it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(b',') => f.write_str("comma"),
            Self::Byte(b'\t') => f.write_str("tab"),
            Self::Byte(b';') => f.write_str("semicolon"),
            Self::Byte(byte) => write!(f, "\"{}\"", char::from(*byte)),
            Self::Blanks => f.write_str("blanks"),
        }
    }
}

/// What follows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Field,
    Row,
}

/// Why a quoted field could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuoteProblem {
    /// No closing quote.
    Open,
    /// Text after the closing quote.
    Trailing,
}

impl QuoteProblem {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Open => "its opening quote is never closed",
            Self::Trailing => "text follows its closing quote",
        }
    }
}

/// Walks over the fields of a block that starts at a row.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    separator: Separator,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], separator: Separator) -> Self {
        Self { bytes, position: 0, separator }
    }

    pub fn position(&self) -> usize {
        self.position
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| self.separator.is_blank(byte)) {
            self.position += 1;
        }
    }

    /// Moves to the next row that is not blank; false at the end.
    pub fn next_row(&mut self) -> bool {
        loop {
            let start = self.position;
            while self.peek().is_some_and(|byte| byte == b'\r' || self.separator.is_blank(byte)) {
                self.position += 1;
            }
            match self.peek() {
                None => return false,
                Some(b'\n') => self.position += 1,
                Some(_) => {
                    self.position = start;
                    if self.separator == Separator::Blanks {
                        self.skip_blanks();
                    }
                    return true;
                }
            }
        }
    }

    /// A plain number, finite in 32 bits, that makes up the whole field, if one is next.
    ///
    /// Otherwise the cursor stays put, and [`Cursor::field`] has the last word.
    #[inline]
    pub fn number(&mut self) -> Option<(f64, End)> {
        let mut position = self.position;
        while self.bytes.get(position) == Some(&b' ') {
            position += 1;
        }
        let (value, length) = fast_float2::parse_partial::<f64, _>(self.bytes.get(position..)?).ok()?;
        if !(value as f32).is_finite() {
            return None;
        }
        position += length;
        match (self.bytes.get(position), self.separator) {
            (Some(b'\n'), _) => {
                self.position = position + 1;
                Some((value, End::Row))
            }
            (Some(byte), Separator::Byte(separator)) if *byte == separator => {
                self.position = position + 1;
                Some((value, End::Field))
            }
            (Some(byte), Separator::Blanks) if self.separator.is_blank(*byte) => {
                self.position = position + 1;
                Some((value, self.end_blanks()))
            }
            _ => None,
        }
    }

    /// After a field between blanks: to the next field or past the line end.
    fn end_blanks(&mut self) -> End {
        while self.peek().is_some_and(|byte| byte == b'\r' || self.separator.is_blank(byte)) {
            self.position += 1;
        }
        match self.peek() {
            None => End::Row,
            Some(b'\n') => {
                self.position += 1;
                End::Row
            }
            Some(_) => End::Field,
        }
    }

    /// The next field, without quotes and surrounding blanks.
    pub fn field(&mut self) -> Result<(Cow<'a, [u8]>, End), QuoteProblem> {
        self.skip_blanks();
        if self.peek() == Some(b'"') {
            return self.quoted();
        }
        let rest = &self.bytes[self.position..];
        let found = match self.separator {
            Separator::Byte(separator) => memchr2(separator, b'\n', rest),
            Separator::Blanks => memchr3(b' ', b'\t', b'\n', rest),
        };
        let length = found.unwrap_or(rest.len());
        let mut field = &rest[..length];
        while let [inner @ .., last] = field
            && (*last == b'\r' || self.separator.is_blank(*last))
        {
            field = inner;
        }
        self.position += length;
        Ok((Cow::Borrowed(field), self.end()))
    }

    /// At a separator, line end or the end of the block: steps over it.
    fn end(&mut self) -> End {
        match self.peek() {
            None => End::Row,
            Some(b'\n') => {
                self.position += 1;
                End::Row
            }
            Some(_) => {
                self.position += 1;
                if self.separator == Separator::Blanks { self.end_blanks() } else { End::Field }
            }
        }
    }

    fn quoted(&mut self) -> Result<(Cow<'a, [u8]>, End), QuoteProblem> {
        let mut start = self.position + 1;
        let mut unescaped: Option<Vec<u8>> = None;
        let content = loop {
            let length = memchr(b'"', &self.bytes[start..]).ok_or(QuoteProblem::Open)?;
            let piece = &self.bytes[start..start + length];
            self.position = start + length + 1;
            if self.peek() == Some(b'"') {
                // A doubled quote: keep one of the two.
                unescaped.get_or_insert_default().extend_from_slice(&self.bytes[start..=start + length]);
                start = self.position + 1;
                continue;
            }
            break match unescaped {
                None => Cow::Borrowed(piece),
                Some(mut whole) => {
                    whole.extend_from_slice(piece);
                    Cow::Owned(whole)
                }
            };
        };
        let closing = self.position;
        while self.peek().is_some_and(|byte| byte == b'\r' || self.separator.is_blank(byte)) {
            self.position += 1;
        }
        match (self.peek(), self.separator) {
            (None | Some(b'\n'), _) => Ok((content, self.end())),
            (Some(byte), Separator::Byte(separator)) if byte == separator => Ok((content, self.end())),
            (Some(_), Separator::Blanks) if self.position > closing => Ok((content, End::Field)),
            _ => Err(QuoteProblem::Trailing),
        }
    }

    /// All fields of the next row.
    pub fn row(&mut self) -> Result<Vec<Cow<'a, [u8]>>, QuoteProblem> {
        let mut fields = Vec::new();
        loop {
            let (field, end) = self.field()?;
            fields.push(field);
            if end == End::Row {
                return Ok(fields);
            }
        }
    }
}

/// Length of the longest prefix of `bytes` that ends with a row.
pub(crate) fn whole_rows(bytes: &[u8], separator: Separator) -> Option<usize> {
    if memchr(b'"', bytes).is_none() {
        return memrchr(b'\n', bytes).map(|end| end + 1);
    }
    let mut cursor = Cursor::new(bytes, separator);
    let mut whole = None;
    loop {
        match cursor.field() {
            // The block ends here, and nobody knows whether the row does.
            Ok((_, End::Row)) if bytes[cursor.position - 1] != b'\n' => return whole,
            Ok((_, End::Row)) => whole = Some(cursor.position),
            Ok((_, End::Field)) => {}
            // The row parser will say what is wrong here; until then, go by line ends.
            Err(QuoteProblem::Trailing) => match memchr(b'\n', &bytes[cursor.position..]) {
                None => return whole,
                Some(length) => {
                    cursor.position += length + 1;
                    whole = Some(cursor.position);
                }
            },
            Err(QuoteProblem::Open) => return whole,
        }
        if cursor.position >= bytes.len() {
            return whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, separator: Separator) -> Vec<Vec<String>> {
        let mut cursor = Cursor::new(text.as_bytes(), separator);
        let mut rows = Vec::new();
        while cursor.next_row() {
            let row = cursor.row().unwrap();
            rows.push(row.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect());
        }
        rows
    }

    const COMMA: Separator = Separator::Byte(b',');

    #[test]
    fn quoted_fields_keep_separators_quotes_and_line_ends() {
        assert_eq!(rows("a, \"b, \"\"c\"\"\nd\" ,e\r\n", COMMA), [["a", "b, \"c\"\nd", "e"]]);
        assert_eq!(rows("\"a b\"  c\n", Separator::Blanks), [["a b", "c"]]);
        assert_eq!(rows("\"\",\"\"", COMMA), [["", ""]]);
    }

    #[test]
    fn blank_lines_and_surrounding_blanks_are_ignored() {
        assert_eq!(rows("\n 1 , 2\r\r\n  \r\n3,\n\n", COMMA), [["1", "2"], ["3", ""]]);
        assert_eq!(rows("  1   2 \n\n\t3\t4\t\r\n", Separator::Blanks), [["1", "2"], ["3", "4"]]);
    }

    #[test]
    fn tabs_separate_even_where_fields_are_empty() {
        assert_eq!(rows("\t\ta\n\t\t\n", Separator::Byte(b'\t')), [["", "", "a"], ["", "", ""]]);
    }

    #[test]
    fn numbers_are_read_only_when_they_are_the_whole_field() {
        let number = |text: &str| Cursor::new(text.as_bytes(), COMMA).number();
        assert_eq!(number("1.5,"), Some((1.5, End::Field)));
        assert_eq!(number("  -2e1\n"), Some((-20.0, End::Row)));
        for text in ["1x,", "nan,", "inf\n", ",", "", "\"1\",", "1 ,", "1e99,"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn text_after_a_closing_quote_and_open_quotes_are_told_apart() {
        assert_eq!(Cursor::new(b"\"a\"b,c\n", COMMA).row(), Err(QuoteProblem::Trailing));
        assert_eq!(Cursor::new(b"\"a,b\n", COMMA).row(), Err(QuoteProblem::Open));
    }

    #[test]
    fn a_block_is_cut_after_a_whole_row_only() {
        assert_eq!(whole_rows(b"a,b\nc", COMMA), Some(4));
        assert_eq!(whole_rows(b"a,\"b\n\"\n\"c\n", COMMA), Some(7));
        assert_eq!(whole_rows(b"\"a\nb", COMMA), None);
        assert_eq!(whole_rows(b"a\n5\" pipe\nb", COMMA), Some(10));
    }
}
