//! What a file is, judged by its first rows.
//!
//! - Format: Parquet by its magic number; SVMLight when every row is a label
//!   followed by `index:value` pairs; else delimited text.
//! - Separator: the one that cuts the rows into equally many fields, more than
//!   one; comma, tab and semicolon before runs of blanks.
//! - Comments: leading lines that start with `|`, `#` or `%` and do not have as
//!   many fields as the rows do (`adult.test` starts with such a line).
//! - Header: the first row, when none of its fields is a number or `?` and
//!   either some column holds a number right below it, or none of its fields
//!   comes again in its column.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::error::ReadError;
use super::record::{Cursor, End, Separator, whole_rows};

/// The kinds of file that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CSV, TSV and relatives.
    Delimited,
    /// `label [qid:N] index:value ... # comment`.
    SvmLight,
    /// Apache Parquet.
    Parquet,
}

/// How delimited text is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dialect {
    pub separator: Separator,
    /// Column names; numbers from 1 where there is no header.
    pub names: Vec<String>,
    pub header: bool,
    /// Bytes and lines before the first row of data.
    pub skip: usize,
    pub skip_lines: u64,
    /// Line of the header or the first row, from 1.
    pub first_line: u64,
    /// A separator that cuts the rows evenly where this one does not.
    pub other: Option<Separator>,
}

/// Rows looked at.
const ROWS: usize = 200;

/// The format of a file that starts with `head`.
pub(crate) fn format(file: &str, head: &[u8]) -> Result<Format, ReadError> {
    let foreign = |what| ReadError::Foreign { file: file.to_owned(), what };
    match head {
        [b'P', b'A', b'R', b'1', ..] => return Ok(Format::Parquet),
        [b'P', b'K', 3, 4, ..] => return Err(foreign("a zip archive or spreadsheet")),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Err(foreign("UTF-16 text (convert it to UTF-8)")),
        [0x1f, 0x9d, ..] => return Err(foreign("an old compress (.Z) file")),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => return Err(foreign("an xz file")),
        _ if memchr::memchr(0, head).is_some() => return Err(foreign("binary data")),
        _ if memchr::memchr(b'\n', head).is_none() && head.trim_ascii_end().contains(&b'\r') => {
            return Err(foreign("text with lone carriage returns as line ends (convert them to line feeds)"));
        }
        _ => {}
    }
    Ok(if is_svmlight(head) { Format::SvmLight } else { Format::Delimited })
}

fn is_svmlight(head: &[u8]) -> bool {
    let mut pairs = 0;
    let mut lines = head.split(|byte| *byte == b'\n').peekable();
    let mut seen = 0;
    while let Some(line) = lines.next() {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        // The last line of the head may be cut.
        if line.is_empty() || (lines.peek().is_none() && seen > 0) {
            continue;
        }
        let mut tokens = line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
        let label = tokens.next().unwrap_or_default();
        if fast_float2::parse::<f64, _>(label).is_err() {
            return false;
        }
        for token in tokens {
            let mut halves = token.splitn(2, |byte| *byte == b':');
            let index = halves.next().unwrap_or_default();
            let value = halves.next();
            let indexed = index == b"qid" || (!index.is_empty() && index.iter().all(u8::is_ascii_digit));
            if !indexed || value.is_none() {
                return false;
            }
            pairs += 1;
        }
        seen += 1;
        if seen == ROWS {
            break;
        }
    }
    pairs > 0
}

impl Dialect {
    /// How the text that starts with `head` is written; `all` if there is no more of it.
    pub fn of(
        file: &str,
        head: &[u8],
        all: bool,
        separator: Option<Separator>,
        header: Option<bool>,
    ) -> Result<Self, ReadError> {
        let bom = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let text = &head[bom..];
        let comments = leading_comments(text);
        let body = &text[comments.last().map_or(0, |end| *end)..];
        let separator = separator.unwrap_or_else(|| guess_separator(body, all));
        let rows = sample(body, all, separator);
        let (width, share) = most_common(rows.iter().map(Vec::len));
        let other = if width > 1 && share == 1.0 { None } else { other_separator(body, all, separator) };

        // A comment-like line with as many fields as the rest is a header or a row.
        let mut start = 0;
        for end in &comments {
            let line = sample(&text[start..*end], true, separator);
            if line.first().is_some_and(|fields| fields.len() == width && width > 1) {
                break;
            }
            start = *end;
        }
        let text = &text[start..];
        let mut cursor = Cursor::new(text, separator);
        let empty = || ReadError::Empty { file: file.to_owned() };
        if !cursor.next_row() {
            return Err(empty());
        }
        let first_at = bom + start + cursor.position();
        let first = cursor.row().map_err(|problem| ReadError::Quote {
            file: file.to_owned(),
            line: 1 + newlines(&head[..first_at]),
            field: 1,
            problem: problem.describe(),
        })?;
        let mut fields = Vec::new();
        for field in &first {
            fields.push(String::from_utf8(field.to_vec()).map_err(|error| ReadError::Encoding {
                file: file.to_owned(),
                line: 1 + newlines(&head[..first_at]),
                byte: field[error.utf8_error().valid_up_to()],
            })?);
        }
        let header = header.unwrap_or_else(|| {
            let rows = sample(text, all, separator);
            looks_like_header(&fields, rows.get(1..).unwrap_or_default())
        });
        let skip = if header { bom + start + cursor.position() } else { first_at };
        let names = if header { unique(fields) } else { (1..=first.len()).map(|n| n.to_string()).collect() };
        Ok(Self {
            separator,
            names,
            header,
            skip,
            skip_lines: newlines(&head[..skip]),
            first_line: 1 + newlines(&head[..first_at]),
            other,
        })
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Ends of the leading lines that look like comments, unless all lines do.
fn leading_comments(text: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while matches!(text.get(at), Some(b'|' | b'#' | b'%')) {
        match memchr::memchr(b'\n', &text[at..]) {
            Some(length) => at += length + 1,
            None => return Vec::new(),
        }
        ends.push(at);
    }
    if text[at..].trim_ascii().is_empty() { Vec::new() } else { ends }
}

/// The first rows, as far as they parse.
fn sample(text: &[u8], all: bool, separator: Separator) -> Vec<Vec<String>> {
    let whole = if all { text.len() } else { whole_rows(text, separator).unwrap_or(text.len()) };
    let mut cursor = Cursor::new(&text[..whole], separator);
    let mut rows = Vec::new();
    while rows.len() < ROWS && cursor.next_row() {
        let mut row = Vec::new();
        loop {
            let Ok((field, end)) = cursor.field() else { return rows };
            row.push(String::from_utf8_lossy(&field).into_owned());
            if end == End::Row {
                break;
            }
        }
        rows.push(row);
    }
    rows
}

/// The most common value (the larger of equals) and the share that has it.
fn most_common(values: impl Iterator<Item = usize>) -> (usize, f64) {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut total = 0;
    for value in values {
        *counts.entry(value).or_default() += 1;
        total += 1;
    }
    let best = counts.into_iter().max_by_key(|(value, count)| (*count, *value)).unwrap_or((0, 0));
    (best.0, best.1 as f64 / f64::from(total.max(1)))
}

fn guess_separator(body: &[u8], all: bool) -> Separator {
    let mut best = (Separator::Byte(b','), 0.0, 1);
    for byte in [b',', b'\t', b';'] {
        let separator = Separator::Byte(byte);
        let (fields, share) = most_common(sample(body, all, separator).iter().map(Vec::len));
        if fields > 1 && (share > best.1 || (share == best.1 && fields > best.2)) {
            best = (separator, share, fields);
        }
    }
    // Words in a text column are separated by blanks too, but rarely by equally many.
    if best.1 < 0.9 {
        let (fields, share) = most_common(sample(body, all, Separator::Blanks).iter().map(Vec::len));
        if fields > 1 && share > best.1 {
            return Separator::Blanks;
        }
    }
    best.0
}

/// Another separator that cuts all rows into equally many fields: to suggest, not to go by.
fn other_separator(body: &[u8], all: bool, than: Separator) -> Option<Separator> {
    let fields = |separator: &Separator| {
        let rows = sample(body, all, *separator);
        let (fields, share) = most_common(rows.iter().map(Vec::len));
        if rows.len() > 1 && share == 1.0 { fields } else { 1 }
    };
    let known = b",\t;|:^~".iter().map(|byte| Separator::Byte(*byte)).chain([Separator::Blanks]);
    let best =
        known.filter(|separator| *separator != than).min_by_key(|separator| Reverse(fields(separator)));
    best.filter(|separator| fields(separator) > 1)
}

fn looks_like_header(first: &[String], rows: &[Vec<String>]) -> bool {
    let is_number = |text: &str| fast_float2::parse::<f64, _>(text).is_ok();
    if first.iter().all(String::is_empty) || first.iter().any(|name| is_number(name) || name == "?") {
        return false;
    }
    let below = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let numbers = (0..first.len()).any(|column| below(column).any(|field| is_number(field)));
    let again = (0..first.len()).any(|column| below(column).any(|field| *field == first[column]));
    // Without any rows below there is nothing to go by: names are likelier than one row of text.
    numbers || !again
}

/// Names without repeats: the second `x` becomes `x.2`; an empty name becomes its column number.
pub(crate) fn unique(names: Vec<String>) -> Vec<String> {
    let mut used: HashMap<String, usize> = HashMap::new();
    let mut result: Vec<String> = Vec::with_capacity(names.len());
    let given: std::collections::HashSet<String> = names.iter().cloned().collect();
    for (index, name) in names.into_iter().enumerate() {
        let name = if name.is_empty() { (index + 1).to_string() } else { name };
        let count = used.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 {
            result.push(name);
            continue;
        }
        let mut number = *count;
        let mut candidate = format!("{name}.{number}");
        while given.contains(&candidate) || used.contains_key(&candidate) {
            number += 1;
            candidate = format!("{name}.{number}");
        }
        used.insert(name, number);
        used.insert(candidate.clone(), 1);
        result.push(candidate);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(text: &str) -> Dialect {
        Dialect::of("t", text.as_bytes(), true, None, None).unwrap()
    }

    #[test]
    fn separators_are_found() {
        for (text, separator) in [
            ("1,2\n3,4\n", Separator::Byte(b',')),
            ("39, State-gov, >50K\n50, Private, <=50K\n", Separator::Byte(b',')),
            ("a\tb c\n1\t2 3 4\n", Separator::Byte(b'\t')),
            ("a;b\n\"x;y\";2\n", Separator::Byte(b';')),
            ("1 2  3\n4   5 6 \n", Separator::Blanks),
            ("text here,1\nmore text there,2\n", Separator::Byte(b',')),
            ("alone\n1\n2\n", Separator::Byte(b',')),
        ] {
            assert_eq!(dialect(text).separator, separator, "{text}");
        }
    }

    #[test]
    fn headers_are_found() {
        for (text, header) in [
            ("age,sex\n3,m\n", true),
            ("T,2,8\nI,5,12\n", false),
            ("name,town\nann,york\nbob,leeds\n", true),
            ("a,b\nb,a\na,c\n", false),
            ("?,a\nb,1\n", false),
            ("\"\",\"x\"\n\"1\",2\n", true),
        ] {
            assert_eq!(dialect(text).header, header, "{text}");
        }
    }

    #[test]
    fn a_leading_comment_is_skipped_and_a_marked_header_is_not() {
        let adult = dialect("|1x3 Cross validator\n25, Private, <=50K.\n38, Private, <=50K.\n");
        assert_eq!((adult.skip_lines, adult.first_line, adult.header), (1, 2, false));
        let marked = dialect("#id,x\na,1\nb,2\n");
        assert_eq!(marked.names, ["#id", "x"]);
    }

    #[test]
    fn repeated_and_empty_names_become_unique() {
        let names = ["x", "x", "", "x", "x.2"].map(str::to_owned).to_vec();
        assert_eq!(unique(names), ["x", "x.3", "3", "x.4", "x.2"]);
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_name() {
        assert_eq!(dialect("\u{feff}a,b\n1,2\n").names, ["a", "b"]);
    }

    #[test]
    fn formats_are_told_apart() {
        assert_eq!(format("t", b"+1 3:1 11:1 \n-1 5:1\n").unwrap(), Format::SvmLight);
        assert_eq!(format("t", b"2 qid:1 1:0.5 # doc 7\n").unwrap(), Format::SvmLight);
        assert_eq!(format("t", b"1 2 3\n4 5 6\n").unwrap(), Format::Delimited);
        assert_eq!(format("t", b"12:30,5\n").unwrap(), Format::Delimited);
        assert_eq!(format("t", b"PAR1....").unwrap(), Format::Parquet);
        assert!(format("t", b"PK\x03\x04").is_err());
        assert!(format("t", b"a,\0b").is_err());
        assert!(format("t", b"a,b\rc,d\r").is_err());
    }
}
