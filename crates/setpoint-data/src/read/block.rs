//! Text cut into blocks of whole rows, to be parsed side by side.
//!
//! Where blocks are cut depends on the bytes alone, never on the number of
//! threads, so neither does anything that is read.

use std::io::Read;

use memchr::{memchr_iter, memrchr};
use rayon::prelude::*;

use super::error::ReadError;
use super::record::{Separator, whole_rows};
use super::source::{Source, fill};

/// Bytes of text in a block: large enough to amortise, small enough to stay in cache.
const BLOCK: usize = 2 << 20;
/// Blocks parsed side by side.
const BATCH: usize = 8;
/// Longest row accepted.
const LONGEST_ROW: usize = 64 << 20;

/// Whole rows of text.
#[derive(Debug)]
pub(crate) struct Block {
    /// The text; valid UTF-8.
    pub bytes: Vec<u8>,
    /// Line of its first byte, from 1.
    pub line: u64,
}

impl Block {
    /// The line on which a byte of the block lies.
    pub fn line_at(&self, position: usize) -> u64 {
        self.line + memchr_iter(b'\n', &self.bytes[..position]).count() as u64
    }

    /// An upper bound on its rows of so many fields, each of which ends with a byte of its own.
    pub fn row_bound(&self, fields: usize) -> usize {
        let lines = memchr_iter(b'\n', &self.bytes).count() + 1;
        lines.min(self.bytes.len() / fields.max(1) + 1)
    }
}

struct Blocks<'a> {
    source: &'a Source,
    reader: Box<dyn Read + Send + 'a>,
    quoting: Option<Separator>,
    carry: Vec<u8>,
    line: u64,
    finished: bool,
}

impl Blocks<'_> {
    fn next(&mut self) -> Result<Option<Block>, ReadError> {
        if self.finished {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.carry);
        loop {
            let start = bytes.len();
            bytes.resize(start.max(BLOCK / 8) + BLOCK, 0);
            let found =
                fill(&mut self.reader, &mut bytes[start..]).map_err(|source| self.source.io(source))?;
            self.finished = start + found < bytes.len();
            bytes.truncate(start + found);
            let cut = match self.quoting {
                _ if self.finished => Some(bytes.len()),
                Some(separator) => whole_rows(&bytes, separator),
                None => memrchr(b'\n', &bytes).map(|end| end + 1),
            };
            if let Some(cut) = cut {
                self.carry = bytes[cut..].to_vec();
                bytes.truncate(cut);
                let block = Block { bytes, line: self.line };
                self.check_text(&block)?;
                self.line += memchr_iter(b'\n', &block.bytes).count() as u64;
                return Ok(Some(block));
            }
            if bytes.len() > LONGEST_ROW {
                return Err(ReadError::Endless {
                    file: self.source.name().to_owned(),
                    line: self.line,
                    limit: LONGEST_ROW,
                });
            }
        }
    }

    fn check_text(&self, block: &Block) -> Result<(), ReadError> {
        let Err(error) = std::str::from_utf8(&block.bytes) else { return Ok(()) };
        let position = error.valid_up_to();
        Err(ReadError::Encoding {
            file: self.source.name().to_owned(),
            line: block.line_at(position),
            byte: block.bytes[position],
        })
    }

    fn batch(&mut self) -> Result<Vec<Block>, ReadError> {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            match self.next()? {
                Some(block) => batch.push(block),
                None => break,
            }
        }
        Ok(batch)
    }
}

/// Parses every block of the text after the first `skip` bytes (`skip_lines` lines),
/// and hands the results to `take` in order. With `quoting`, a line end within quotes
/// does not end a row.
///
/// The next batch is read, and decompressed, while this one is parsed. Of
/// several errors the one nearest to the start of the file is returned.
pub(crate) fn for_each_block<T: Send>(
    source: &Source,
    quoting: Option<Separator>,
    skip: usize,
    skip_lines: u64,
    parse: impl Fn(&Block) -> Result<T, ReadError> + Sync,
    mut take: impl FnMut(T) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut reader = source.text()?;
    fill(&mut reader, &mut vec![0; skip]).map_err(|error| source.io(error))?;
    let mut blocks =
        Blocks { source, reader, quoting, carry: Vec::new(), line: 1 + skip_lines, finished: false };
    let mut batch = blocks.batch()?;
    while !batch.is_empty() {
        let (next, parsed) = rayon::join(
            || blocks.batch(),
            || batch.par_iter().map(&parse).collect::<Vec<Result<T, ReadError>>>(),
        );
        for result in parsed {
            take(result?)?;
        }
        batch = next?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_across_blocks() {
        let row = "x".repeat(1 << 16) + "\n";
        let source = Source::from_bytes("t", row.repeat(100).into_bytes());
        let mut lines = Vec::new();
        for_each_block(
            &source,
            None,
            0,
            0,
            |block| Ok((block.line, block.row_bound(1) as u64 - 1)),
            |found| {
                lines.push(found);
                Ok(())
            },
        )
        .unwrap();
        assert!(lines.len() > 2);
        for pair in lines.windows(2) {
            assert_eq!(pair[0].0 + pair[0].1, pair[1].0);
        }
        assert_eq!(lines.iter().map(|(_, rows)| rows).sum::<u64>(), 100);
    }

    #[test]
    fn bytes_that_are_not_text_are_found_with_their_line() {
        let source = Source::from_bytes("t.csv", b"a,b\nc,\xe9\n".to_vec());
        let error = for_each_block(&source, None, 0, 0, |_| Ok(()), Ok).unwrap_err();
        assert!(error.to_string().starts_with("t.csv:2: byte 0xe9 is not valid UTF-8"), "{error}");
    }
}
