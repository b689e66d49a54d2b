//! CSV, TSV and relatives.
//!
//! One streaming pass, mostly. The first rows say what the columns hold; where later
//! values say otherwise, the pass goes on to learn all such columns, and the next
//! pass reads them as what they are, or as texts, to see all there is. A column that
//! is *mostly* numbers is more likely to hold an unnamed missing-value mark than
//! categories, and is refused with the line of the first such value.

use super::block::{Block, for_each_block};
use super::kind::Columns;
use super::record::{Cursor, End, QuoteProblem};
use super::sniff::Dialect;
use super::source::Source;
use super::{Missing, Raw, ReadError, Request, text_of};
use crate::Error;
use crate::chunk::Chunk;
use crate::form::{Form, is_storable, number, shortened, truth};
use crate::layout::{ColumnKind, Layout, RealKind, Use};
use crate::offset::narrow;
use crate::role::Roles;
use crate::tally::Tally;
use crate::time::time_key;

/// Bytes looked at before the first pass; doubled until they hold two rows.
const HEAD: usize = 1 << 20;
const LONGEST_HEAD: usize = 64 << 20;

/// What a block parser needs.
struct Parser<'a> {
    file: &'a str,
    dialect: &'a Dialect,
    layout: &'a Layout,
    missing: &'a Missing,
}

/// Reads a delimited file.
pub(crate) fn read(source: &Source, request: Request<'_, '_>) -> Result<Raw, Error> {
    let Request { options, roles, expected, pieces } = request;
    let file = source.name();
    let (mut head, mut all) = source.head(HEAD)?;
    while !all && memchr::memchr_iter(b'\n', &head).count() < 2 && head.len() < LONGEST_HEAD {
        (head, all) = source.head(head.len() * 2)?;
    }
    let header = options.header.or(expected.map(|expected| expected.header));
    let dialect = Dialect::of(file, &head, all, options.separator, header)?;
    let missing = Missing::new(&roles.missing_texts());
    let mut columns = match expected {
        Some(_) => Columns::new(Vec::new()),
        None => head_columns(file, &head, all, &dialect, &missing)?,
    };
    // At the most: plain numbers, then a form, then texts, then the form that fits those, then offsets.
    for _ in 0..8 {
        let layout = match expected {
            Some(expected) => Layout::plan_like(file, &dialect.names, roles, expected),
            None => columns.plan(file, &dialect.names, roles),
        };
        let layout = layout.map_err(|error| match dialect.other.filter(|_| dialect.names.len() == 1) {
            Some(other) => error.or_else_try(&format!(
                "; its rows were read as one field each: are the fields separated otherwise? try ‹separator {other}›"
            )),
            None => error,
        })?;
        let parser = Parser { file, dialect: &dialect, layout: &layout, missing: &missing };
        let mut raw = Raw::new(layout.clone(), dialect.header, options.spill.as_ref());
        let mut tallies = vec![Tally::default(); layout.numbers];
        for_each_block(
            source,
            Some(dialect.separator),
            dialect.skip,
            dialect.skip_lines,
            |block| parser.parse(block),
            |mut chunk: Chunk| {
                for (tally, later) in tallies.iter_mut().zip(std::mem::take(&mut chunk.number_tallies)) {
                    later.into_iter().for_each(|later| tally.merge(*later));
                }
                raw.gather(file, chunk, pieces)
            },
        )?;
        if raw.rows() == 0 {
            return Err(ReadError::HeaderOnly { file: file.to_owned(), columns: dialect.names.len() }.into());
        }
        if expected.is_some() || !columns.revise(file, &raw, &mut tallies, roles)? {
            return Ok(raw);
        }
    }
    // Only a file that changes while it is read comes here.
    Err(ReadError::Io {
        file: file.to_owned(),
        source: std::io::Error::other("the file changed while it was read"),
    }
    .into())
}

/// What all columns hold as far as the head tells.
fn head_columns(
    file: &str,
    head: &[u8],
    all: bool,
    dialect: &Dialect,
    missing: &Missing,
) -> Result<Columns, Error> {
    let text = &head[dialect.skip.min(head.len())..];
    let whole = if all { Some(text.len()) } else { super::record::whole_rows(text, dialect.separator) };
    let bytes = text[..whole.unwrap_or(0)].to_vec();
    let width = dialect.names.len();
    let roles = Roles { drop: Vec::new(), ..Roles::default() };
    let mut layout = Layout::plan(file, &dialect.names, &roles, &vec![ColumnKind::Number; width])?;
    let block = Block { bytes, line: 1 + dialect.skip_lines };
    let parse = |layout: &Layout| Parser { file, dialect, layout, missing }.parse(&block);
    let mut chunk = parse(&layout)?;
    let tallies = std::mem::take(&mut chunk.number_tallies);
    let mut columns = Columns::of_head(tallies.into_iter().enumerate().map(|(slot, tally)| {
        let mut tally = *tally?;
        tally.count(chunk.number(slot).iter().map(|value| f64::from(*value)));
        Some(tally)
    }));
    // The offsets of numbers in some form are told only by reading them so.
    let mut again = columns.forms.iter().any(Option::is_some);
    while columns.shift(&layout, std::slice::from_ref(&chunk), &chunk.rounded) || again {
        again = false;
        layout = columns.plan(file, &dialect.names, &roles)?;
        chunk = parse(&layout)?;
    }
    Ok(columns)
}

impl Parser<'_> {
    fn parse(&self, block: &Block) -> Result<Chunk, ReadError> {
        let layout = self.layout;
        let width = layout.uses.len();
        let mut chunk = Chunk::new(block.row_bound(width), layout.numbers, layout.texts, layout.reals);
        let mut cursor = Cursor::new(&block.bytes, self.dialect.separator);
        while cursor.next_row() {
            let start = cursor.position();
            let mut column = 0;
            loop {
                let end = if column < width {
                    self.value(block, &mut chunk, &mut cursor, start, column)?
                } else {
                    let field = cursor.field();
                    let (field, end) = field.map_err(|problem| self.quote(block, start, column, problem))?;
                    // One separator too many at the end of a row does no harm.
                    if column > width || end == End::Field || !field.is_empty() {
                        return Err(self.ragged(block, start));
                    }
                    end
                };
                column += 1;
                if end == End::Row {
                    break;
                }
            }
            if column < width {
                return Err(self.ragged(block, start));
            }
            chunk.rows += 1;
        }
        Ok(chunk)
    }

    /// Reads one value to its place.
    #[inline]
    fn value(
        &self,
        block: &Block,
        chunk: &mut Chunk,
        cursor: &mut Cursor<'_>,
        start: usize,
        column: usize,
    ) -> Result<End, ReadError> {
        let at = |slot: usize| slot * chunk.stride + chunk.rows;
        let form = self.layout.forms[column];
        if let Use::Number(slot) = self.layout.uses[column]
            && form.is_none()
            && let Some((value, end)) = cursor.number()
        {
            let at = at(slot);
            chunk.numbers[at] = self.kept(chunk, slot, value);
            return Ok(end);
        }
        let field = cursor.field();
        let (field, end) = field.map_err(|problem| self.quote(block, start, column, problem))?;
        // Blanks within quotes mean as little as those around fields.
        let field = field.trim_ascii();
        let line = || block.line_at(start);
        match self.layout.uses[column] {
            Use::Skip => {}
            Use::Number(slot) => {
                let at = at(slot);
                let value = match form {
                    _ if self.missing.text(field) => Some(f64::NAN),
                    None => fast_float2::parse::<f64, _>(field).ok().filter(|value| is_storable(*value)),
                    Some(form) => form.read(&text_of(field)),
                };
                chunk.numbers[at] = match value {
                    Some(value) => self.kept(chunk, slot, value),
                    None => {
                        let truth = if form.is_none() { truth(field) } else { None };
                        if !self.layout.strict {
                            let tally = chunk.number_tallies[slot].get_or_insert_default();
                            tally.add(&text_of(field), 1, line);
                        } else if truth.is_none() && !form.is_some_and(Form::is_date) {
                            return Err(self.not_a_number(line(), column, field));
                        }
                        let value = truth.map_or(f64::NAN, |truth| f64::from(u8::from(truth)));
                        narrow(value, self.layout.offsets[slot]).0
                    }
                };
            }
            Use::Text(slot) => {
                let at = at(slot);
                let is_label = self.layout.label == Some(column);
                let is_missing = |text: &[u8]| self.missing.role(text, is_label);
                chunk.codes[at] = chunk.texts[slot].code(field, line, is_missing);
            }
            Use::Real(slot, kind) => {
                let at = at(slot);
                chunk.reals[at] = self.real(line, column, kind, field)?;
            }
        }
        Ok(end)
    }

    /// What the table keeps of a number.
    #[inline]
    fn kept(&self, chunk: &mut Chunk, slot: usize, value: f64) -> f32 {
        if self.missing.number(value) {
            return f32::NAN;
        }
        let (kept, rounded) = narrow(value, self.layout.offsets[slot]);
        chunk.rounded[slot] |= rounded;
        kept
    }

    fn real(
        &self,
        line: impl Fn() -> u64,
        column: usize,
        kind: RealKind,
        field: &[u8],
    ) -> Result<f64, ReadError> {
        if self.missing.text(field) {
            return Ok(f64::NAN);
        }
        match kind {
            RealKind::Number => number(field).ok_or_else(|| self.not_a_number(line(), column, field)),
            RealKind::Time => time_key(&text_of(field)).ok_or_else(|| ReadError::NotATime {
                file: self.file.to_owned(),
                line: line(),
                column: self.layout.names[column].clone(),
                value: text_of(field).into_owned(),
            }),
        }
    }

    fn not_a_number(&self, line: u64, column: usize, field: &[u8]) -> ReadError {
        ReadError::NotANumber {
            file: self.file.to_owned(),
            line,
            column: self.layout.names[column].clone(),
            value: shortened(&text_of(field)).into_owned(),
            form: self.layout.forms[column],
        }
    }

    fn quote(&self, block: &Block, start: usize, column: usize, problem: QuoteProblem) -> ReadError {
        ReadError::Quote {
            file: self.file.to_owned(),
            line: block.line_at(start),
            field: column + 1,
            problem: problem.describe(),
        }
    }

    fn ragged(&self, block: &Block, start: usize) -> ReadError {
        let fields = Cursor::new(&block.bytes[start..], self.dialect.separator).row();
        ReadError::Ragged {
            file: self.file.to_owned(),
            line: block.line_at(start),
            found: fields.map_or(0, |fields| fields.len()),
            expected: self.layout.uses.len(),
            first: self.dialect.first_line,
            hint: self.dialect.other.map_or_else(String::new, |other| format!(" {other}")),
        }
    }
}
