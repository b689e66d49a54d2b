//! CSV, TSV and relatives.
//!
//! One streaming pass. A column counts as numbers while all its values are; if
//! a later value of a column is none, the pass goes on to learn all such
//! columns, and a second pass reads them as texts. A column that is *mostly*
//! numbers (nine in ten) is more likely to hold an unnamed missing-value mark
//! than categories, and is refused with the line of the first such value.

use super::block::{Block, for_each_block};
use super::record::{Cursor, End, QuoteProblem};
use super::sniff::Dialect;
use super::source::Source;
use super::{Missing, Raw, ReadError, Request, text_of};
use crate::Error;
use crate::chunk::{Chunk, Tally};
use crate::layout::{Kind, Layout, RealKind, Use};
use crate::role::Roles;
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
pub(crate) fn read(source: &Source, request: Request<'_>) -> Result<Raw, Error> {
    let Request { options, roles, expected } = request;
    let file = source.name();
    let (mut head, mut all) = source.head(HEAD)?;
    while !all && memchr::memchr_iter(b'\n', &head).count() < 2 && head.len() < LONGEST_HEAD {
        (head, all) = source.head(head.len() * 2)?;
    }
    let header = options.header.or(expected.map(|expected| expected.header));
    let dialect = Dialect::of(file, &head, all, options.separator, header)?;
    let missing = Missing::new(&roles.missing_texts());
    let mut kinds = match expected {
        Some(_) => Vec::new(),
        None => head_kinds(file, &head, all, &dialect, &missing)?,
    };
    // The second pass knows the kinds of all columns, so it is the last.
    for _ in 0..2 {
        let layout = match expected {
            Some(expected) => Layout::plan_like(file, &dialect.names, roles, expected)?,
            None => Layout::plan(file, &dialect.names, roles, &kinds)?,
        };
        let parser = Parser { file, dialect: &dialect, layout: &layout, missing: &missing };
        let mut raw = Raw::new(layout.clone(), dialect.header, roles.max_categories);
        let mut tallies = vec![Tally::default(); layout.numbers];
        for_each_block(
            source,
            Some(dialect.separator),
            dialect.skip,
            dialect.skip_lines,
            |block| parser.parse(block),
            |mut chunk: Chunk| {
                for (tally, later) in tallies.iter_mut().zip(std::mem::take(&mut chunk.number_tallies)) {
                    tally.merge(later);
                }
                raw.gather(file, chunk)
            },
        )?;
        if raw.rows() == 0 {
            return Err(ReadError::HeaderOnly { file: file.to_owned(), columns: dialect.names.len() }.into());
        }
        let mut surprised = false;
        for (slot, tally) in tallies.iter_mut().enumerate() {
            if tally.others > 0 {
                let column = raw.layout.number_column(slot);
                let count = |chunk: &Chunk| chunk.number(slot).iter().filter(|value| !value.is_nan()).count();
                tally.numbers = raw.chunks.iter().map(count).sum::<usize>() as u64;
                check_mostly(file, &raw.layout, column, tally)?;
                kinds[column] = Kind::Category;
                surprised = true;
            }
        }
        if !surprised {
            check_texts(file, &raw, roles)?;
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

/// Kinds of all columns as far as the head tells.
fn head_kinds(
    file: &str,
    head: &[u8],
    all: bool,
    dialect: &Dialect,
    missing: &Missing,
) -> Result<Vec<Kind>, Error> {
    let text = &head[dialect.skip.min(head.len())..];
    let whole = if all { Some(text.len()) } else { super::record::whole_rows(text, dialect.separator) };
    let bytes = text[..whole.unwrap_or(0)].to_vec();
    let width = dialect.names.len();
    let roles = Roles { drop: Vec::new(), ..Roles::default() };
    let layout = Layout::plan(file, &dialect.names, &roles, &vec![Kind::Number; width])?;
    let parser = Parser { file, dialect, layout: &layout, missing };
    let chunk = parser.parse(&Block { bytes, line: 1 + dialect.skip_lines })?;
    let kind = |tally: &Tally| if tally.others > 0 { Kind::Category } else { Kind::Number };
    Ok(chunk.number_tallies.iter().map(kind).collect())
}

/// Text features that are mostly numbers are refused, unless asked for.
fn check_texts(file: &str, raw: &Raw, roles: &Roles) -> Result<(), Error> {
    if raw.layout.strict {
        return Ok(());
    }
    let names = &raw.layout.names;
    let forced = crate::role::find_all(file, names, &roles.categorical, "--categorical")?;
    for column in &raw.layout.features {
        if let Use::Text(slot) = raw.layout.uses[*column]
            && raw.layout.group != Some(*column)
            && !forced.contains(column)
        {
            check_mostly(file, &raw.layout, *column, &raw.texts[slot].tally)?;
        }
    }
    Ok(())
}

fn check_mostly(file: &str, layout: &Layout, column: usize, tally: &Tally) -> Result<(), ReadError> {
    match &tally.first_other {
        Some((line, value)) if tally.numbers >= 9 * tally.others => Err(ReadError::NotANumber {
            file: file.to_owned(),
            line: *line,
            column: layout.names[column].clone(),
            value: value.clone(),
            hint: format!(", or treat the column as categories with --categorical {}", layout.names[column]),
        }),
        _ => Ok(()),
    }
}

impl Parser<'_> {
    fn parse(&self, block: &Block) -> Result<Chunk, ReadError> {
        let layout = self.layout;
        let width = layout.uses.len();
        let mut chunk = Chunk::new(block.row_bound(), layout.numbers, layout.texts, layout.reals);
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
        if let Use::Number(slot) = self.layout.uses[column]
            && let Some((value, end)) = cursor.number()
        {
            let at = at(slot);
            chunk.numbers[at] = if self.missing.number(value) { f32::NAN } else { value };
            return Ok(end);
        }
        let field = cursor.field();
        let (field, end) = field.map_err(|problem| self.quote(block, start, column, problem))?;
        let line = || block.line_at(start);
        match self.layout.uses[column] {
            Use::Skip => {}
            Use::Number(slot) => {
                let at = at(slot);
                chunk.numbers[at] = match fast_float2::parse::<f32, _>(&field[..]) {
                    _ if self.missing.text(&field) => f32::NAN,
                    Ok(value) if value.is_finite() && !self.missing.number(value) => value,
                    Ok(value) if value.is_finite() => f32::NAN,
                    _ if self.layout.strict => return Err(self.not_a_number(line(), column, &field)),
                    _ => {
                        chunk.number_tallies[slot].other(line, &text_of(&field));
                        f32::NAN
                    }
                };
            }
            Use::Text(slot) => {
                let at = at(slot);
                chunk.codes[at] = chunk.texts[slot].code(&field, line, |text| self.missing.text(text));
            }
            Use::Real(slot, kind) => {
                let at = at(slot);
                chunk.reals[at] = self.real(line, column, kind, &field)?;
            }
        }
        Ok(end)
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
            RealKind::Number => match fast_float2::parse::<f64, _>(field) {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(self.not_a_number(line(), column, field)),
            },
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
            value: text_of(field).into_owned(),
            hint: String::new(),
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
        }
    }
}
