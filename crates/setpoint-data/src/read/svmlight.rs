//! SVMLight / LIBSVM text: `label [qid:N] index:value ... # comment`.
//!
//! Stays sparse. Indices count from 1 unless an index 0 occurs (or, for a model,
//! as they did in training); columns are those that occur. Explicit zeros are not
//! stored. The entries of a row may come in any order, but not twice.

use super::block::{Block, for_each_block};
use super::source::Source;
use super::{Missing, ReadError, Request, Spill, text_of};
use crate::Error;
use crate::chunk::{LocalTexts, MISSING, Texts};
use crate::matrix::Matrix;
use crate::offset::narrow;
use crate::query::QuerySource;
use crate::role::{RoleError, Roles};
use crate::sparse::{Numbering, Offsets, fill, needed_offsets, offset_of};
use setpoint::features::Sparse;
use setpoint::scratch::ScratchError;

/// Indices up to which it is told apart which of them hold numbers that were rounded.
const MARKED: u32 = 1 << 20;

/// What the file held.
#[derive(Debug)]
pub(crate) struct RawSparse {
    /// Columns numbered from 0, whatever the file does.
    pub matrix: Matrix,
    pub numbering: Numbering<'static>,
    pub offsets: Offsets,
    pub labels: Vec<u32>,
    pub label_texts: Texts,
    pub queries: Option<(Vec<u32>, Texts)>,
    /// Entries left out because the model has no such column.
    pub unknown: u64,
}

impl RawSparse {
    /// Turns indices into columns, and counts the entries of unknown ones.
    fn keep(&mut self) -> Result<(), ReadError> {
        let (numbering, unknown) = (&self.numbering, &mut self.unknown);
        Ok(self.matrix.change(|_, rows| *unknown += numbering.keep(rows))?)
    }

    /// Keeps some of the rows; returns how many it left out.
    pub fn retain(&mut self, keep: &[bool]) -> Result<u64, ScratchError> {
        self.matrix.change(|first, rows| retain(rows, &keep[first..][..rows.rows()]))?;
        let mut kept = keep.iter();
        self.labels.retain(|_| kept.next() == Some(&true));
        if let Some((queries, _)) = &mut self.queries {
            let mut kept = keep.iter();
            queries.retain(|_| kept.next() == Some(&true));
        }
        Ok(keep.iter().filter(|kept| !**kept).count() as u64)
    }
}

/// Keeps some of the rows.
pub(crate) fn retain(Sparse { starts, indices, values, .. }: &mut Sparse, keep: &[bool]) {
    let (mut row, mut end, mut from) = (0, 0, 0);
    for (old, kept) in keep.iter().enumerate() {
        let to = starts[old + 1];
        if *kept {
            indices.copy_within(from..to, end);
            values.copy_within(from..to, end);
            end += to - from;
            row += 1;
            starts[row] = end;
        }
        from = to;
    }
    starts.truncate(row + 1);
    indices.truncate(end);
    values.truncate(end);
}

#[derive(Default)]
struct Rows {
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<u32>,
    label_texts: LocalTexts,
    queries: Vec<u32>,
    query_texts: LocalTexts,
    without_query: Option<u64>,
    with_query: Option<u64>,
    rounded: Marks,
}

/// A set of indices, which has all those that are too large for it if it has one.
#[derive(Clone, Debug, Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn add(&mut self, index: u32) {
        let index = index.min(MARKED);
        let word = index as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (index % 64);
    }

    fn has(&self, index: u32) -> bool {
        let index = index.min(MARKED);
        self.0.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn merge(&mut self, other: Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(other.0).for_each(|(all, more)| *all |= more);
    }
}

struct Parser<'a> {
    file: &'a str,
    missing: Missing,
    /// Ranges of indices to leave out, as written in the file.
    drop: Vec<(u32, u32)>,
    /// What is subtracted, by index.
    offsets: Offsets,
}

/// Reads an SVMLight file; `known` are the columns and offsets of a trained model.
pub(crate) fn read(
    source: &Source,
    request: Request<'_, '_>,
    known: Option<(Numbering<'_>, &[(u32, f64)])>,
) -> Result<RawSparse, Error> {
    let file = source.name();
    let drop = check_roles(file, request.roles)?;
    let missing = Missing::new(&request.roles.missing_texts());
    let mut parser = Parser { file, missing, drop, offsets: Vec::new() };
    let read = |parser: &Parser<'_>| read_rows(source, parser, request.options.spill.as_ref());
    let mut all = match known {
        Some((numbering, offsets)) => {
            parser.offsets = numbering.by_index(offsets);
            let (mut all, _) = read(&parser)?;
            (all.numbering, all.offsets) = (numbering.into_owned(), offsets.to_vec());
            all.keep()?;
            all
        }
        None => {
            let (mut all, rounded) = read(&parser)?;
            let indices = all.matrix.indices().map_err(ReadError::from)?;
            let base = u32::from(!indices.contains(&0));
            let largest = indices.iter().max().ok_or_else(|| RoleError::NoFeatures {
                file: file.to_owned(),
                hint: "drop fewer columns".to_owned(),
            })?;
            all.numbering = Numbering::occurring(&indices, base, (largest - base) as usize + 1);
            all.keep()?;
            if !rounded.0.is_empty() {
                let numbering = &all.numbering;
                let offsets = needed_offsets(&all.matrix, |column| rounded.has(numbering.index(column)));
                all.offsets = offsets.map_err(ReadError::from)?;
            }
            if !all.offsets.is_empty() {
                parser.offsets = all.numbering.by_index(&all.offsets);
                all.matrix = read(&parser)?.0.matrix;
                all.keep()?;
            }
            all
        }
    };
    if !all.offsets.is_empty() {
        let offsets = &all.offsets;
        all.matrix.change(|_, rows| fill(rows, offsets)).map_err(ReadError::from)?;
    }
    Ok(all)
}

/// All rows, with indices as they are in the file; and which of these hold numbers that were rounded.
fn read_rows(
    source: &Source,
    parser: &Parser<'_>,
    spill: Option<&Spill>,
) -> Result<(RawSparse, Marks), Error> {
    let file = source.name();
    let mut rounded = Marks::default();
    let mut all = RawSparse {
        matrix: Matrix::default(),
        numbering: Numbering::default(),
        offsets: Vec::new(),
        labels: Vec::new(),
        label_texts: Texts::default(),
        queries: None,
        unknown: 0,
    };
    let mut queries = Vec::new();
    let mut query_texts = Texts::default();
    let (mut with, mut without) = (None, None);
    for_each_block(
        source,
        None,
        0,
        0,
        |block| parser.parse(block),
        |mut rows: Rows| {
            all.label_texts.merge(rows.label_texts, &mut rows.labels);
            query_texts.merge(rows.query_texts, &mut rows.queries);
            all.matrix.append(&rows.ends, &rows.indices, &rows.values);
            all.matrix.spill(spill, false)?;
            all.labels.extend(rows.labels);
            queries.extend(rows.queries);
            with = with.or(rows.with_query);
            without = without.or(rows.without_query);
            rounded.merge(rows.rounded);
            let limit = u32::MAX as usize - 1;
            if all.labels.len() > limit {
                return Err(ReadError::TooManyRows { file: file.to_owned(), limit });
            }
            Ok(())
        },
    )?;
    all.matrix.spill(spill, true)?;
    if all.labels.is_empty() {
        return Err(ReadError::Empty { file: file.to_owned() }.into());
    }
    match (with, without) {
        (Some(_), Some(line)) => {
            let found = "no qid".to_owned();
            return Err(parser.error(line, found, "qid:N as in other rows of the file").into());
        }
        (Some(_), None) => all.queries = Some((queries, query_texts)),
        _ => {}
    }
    Ok((all, rounded))
}

fn check_roles(file: &str, roles: &Roles) -> Result<Vec<(u32, u32)>, RoleError> {
    let sparse = |setting, hint| Err(RoleError::Sparse { file: file.to_owned(), setting, hint });
    if roles.label.as_deref().is_some_and(|label| label != "label" && label != "1") {
        return sparse("label", "the label is the first field of each row");
    }
    if roles.weight.is_some() {
        return sparse("weight", "it has no weights");
    }
    if roles.group.is_some() {
        return sparse("group", "it has no group column");
    }
    if roles.split_by.as_deref().is_some_and(|column| column != "qid") {
        return sparse("split-by", "only ‹split-by qid› can");
    }
    if matches!(&roles.queries, Some(QuerySource::Column(column)) if column != "qid") {
        return sparse("query", "its queries are its qid, or a file of their sizes beside (‹query-sizes›)");
    }
    if roles.split_time.is_some() {
        return sparse("split-time", "it has no time column");
    }
    if roles.score.is_some() {
        return sparse("score", "it has no score column");
    }
    if !roles.categorical.is_empty() {
        return sparse("categorical", "all its values are numbers");
    }
    let range = |text: &String| -> Option<(u32, u32)> {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
    };
    match roles.drop.iter().map(range).collect() {
        Some(ranges) => Ok(ranges),
        None => sparse("drop", "give indices as they are in the file, not names"),
    }
}

impl Parser<'_> {
    fn error(&self, line: u64, found: String, expected: &'static str) -> ReadError {
        ReadError::Sparse { file: self.file.to_owned(), line, found, expected }
    }

    fn parse(&self, block: &Block) -> Result<Rows, ReadError> {
        let mut rows = Rows::default();
        let mut entries: Vec<(u32, f32)> = Vec::new();
        let bytes = block.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&block.bytes);
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let at = block.line + number as u64;
            let content = match memchr::memchr(b'#', line) {
                Some(comment) => &line[..comment],
                None => line,
            };
            let mut tokens = content.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
            let Some(label) = tokens.next() else { continue };
            if fast_float2::parse::<f64, _>(label).is_err() && !self.missing.text(label) {
                return Err(self.error(
                    at,
                    text_of(label).into_owned(),
                    "a number as the label, first in the row",
                ));
            }
            rows.labels.push(rows.label_texts.code(label, || at, |text| self.missing.text(text)));
            entries.clear();
            let mut query = MISSING;
            for token in tokens {
                let bad = |expected| self.error(at, text_of(token).into_owned(), expected);
                let colon = memchr::memchr(b':', token).ok_or_else(|| bad("index:value"))?;
                let (name, value) = (&token[..colon], &token[colon + 1..]);
                if name == b"qid" {
                    if value.is_empty() {
                        return Err(bad("a query after qid:"));
                    }
                    query = rows.query_texts.code(value, || at, |_| false);
                    continue;
                }
                let index =
                    index(name).ok_or_else(|| bad("a whole number, at most 4294967295, before the colon"))?;
                let value = fast_float2::parse::<f64, _>(value).ok();
                let value = value.filter(|value| (*value as f32).is_finite());
                let value = value.ok_or_else(|| bad("a finite number after the colon"))?;
                let offset = offset_of(&self.offsets, index);
                let (kept, lost) = narrow(value, offset);
                // Beside an offset, 0 is a number like any other.
                let is_zero = value == 0.0 || (kept == 0.0 && offset == 0.0);
                if !is_zero && !self.drop.iter().any(|(from, to)| (*from..=*to).contains(&index)) {
                    entries.push((index, kept));
                    if lost {
                        rows.rounded.add(index);
                    }
                }
            }
            if !entries.is_sorted_by(|a, b| a.0 < b.0) {
                entries.sort_by_key(|(index, _)| *index);
                if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Err(self.error(
                        at,
                        format!("{}:{}", pair[1].0, pair[1].1),
                        "each index at most once",
                    ));
                }
            }
            rows.indices.extend(entries.iter().map(|(index, _)| *index));
            rows.values.extend(entries.iter().map(|(_, value)| *value));
            rows.ends.push(rows.indices.len());
            rows.queries.push(query);
            let first = if query == MISSING { &mut rows.without_query } else { &mut rows.with_query };
            first.get_or_insert(at);
        }
        Ok(rows)
    }
}

fn index(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let index = digits.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0'));
    u32::try_from(index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;

    fn read_text(text: &str, known: Option<Numbering<'_>>) -> Result<RawSparse, Error> {
        let (options, roles) = (ReadOptions::default(), Roles::default());
        let request = Request { options: &options, roles: &roles, expected: None, pieces: None };
        let known = known.map(|numbering| (numbering, &[][..]));
        read(&Source::from_bytes("t.txt", text.as_bytes().to_vec()), request, known)
    }

    #[test]
    fn rows_are_sparse_and_count_from_one_unless_there_is_a_zero() {
        let raw = read_text("+1 3:1 1:2.5 \n-1\n\n1 2:0 3:-1 # note\n", None).unwrap();
        assert_eq!((raw.matrix.rows, raw.matrix.columns, raw.numbering.base), (3, 2, 1));
        let matrix = raw.matrix.here().unwrap();
        assert_eq!(matrix.starts, [0, 2, 2, 3]);
        assert_eq!((&matrix.indices[..], &raw.numbering.listed[..]), (&[0, 1, 1][..], &[1, 3][..]));
        assert_eq!(matrix.values, [2.5, 1.0, -1.0]);
        let zero = read_text("1 0:1 3:1\n", None).unwrap();
        assert_eq!((zero.matrix.columns, zero.numbering.base), (2, 0));
    }

    #[test]
    fn a_model_keeps_its_own_columns() {
        let raw = read_text(
            "1 1:1 5:2 9:3\n0 9:1\n1 2:1\n",
            Some(Numbering { base: 1, width: 5, ..Numbering::default() }),
        )
        .unwrap();
        assert_eq!((raw.matrix.columns, raw.unknown), (5, 2));
        let matrix = raw.matrix.here().unwrap();
        assert_eq!(matrix.starts, [0, 2, 2, 3]);
        assert_eq!(matrix.indices, [0, 4, 1]);
        assert_eq!(matrix.values, [1.0, 2.0, 1.0]);
    }

    #[test]
    fn queries_are_kept_and_must_be_complete() {
        let raw = read_text("2 qid:7 1:1\n0 qid:7 1:2\n1 qid:10 1:0\n", None).unwrap();
        let (codes, texts) = raw.queries.unwrap();
        assert_eq!((codes, texts.values), (vec![0, 0, 1], vec!["7".to_owned(), "10".to_owned()]));
        let error = read_text("2 qid:7 1:1\n0 1:2\n", None).unwrap_err().to_string();
        assert_eq!(error, "t.txt:2: \"no qid\": expected qid:N as in other rows of the file");
    }

    #[test]
    fn malformed_entries_are_refused_with_their_line() {
        for (text, expected) in [
            ("1 1:1\n0 2:x\n", "t.txt:2: \"2:x\": expected a finite number after the colon"),
            ("1 1:1\n0 2\n", "t.txt:2: \"2\": expected index:value"),
            ("1 -1:1\n", "t.txt:1: \"-1:1\": expected a whole number, at most 4294967295, before the colon"),
            ("1 4294967297:1\n", "t.txt:1: \"4294967297:1\": expected a whole number"),
            ("1 2:1 2:3\n", "t.txt:1: \"2:3\": expected each index at most once"),
            ("a 2:1\n", "t.txt:1: \"a\": expected a number as the label"),
            ("1 2:inf\n", "t.txt:1: \"2:inf\": expected a finite number"),
        ] {
            let error = read_text(text, None).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
