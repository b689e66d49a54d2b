//! Files in: delimited text, SVMLight, Parquet.

mod block;
pub(crate) mod delimited;
pub(crate) mod error;
pub(crate) mod kind;
pub(crate) mod parquet;
mod record;
pub(crate) mod sniff;
pub(crate) mod source;
pub(crate) mod svmlight;

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use setpoint::scratch::Scratch;

pub use error::ReadError;
pub use record::Separator;
pub use sniff::Format;
pub use source::hash;

use crate::chunk::{Chunk, Texts};
use crate::layout::{Expected, Layout};
use crate::role::DEFAULT_MISSING;

/// How to read a file. By default everything is found out from its content.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format, if not to be guessed.
    pub format: Option<Format>,
    /// What separates fields, if not to be guessed.
    pub separator: Option<Separator>,
    /// Whether the first row names the columns, if not to be guessed.
    pub header: Option<bool>,
    /// Whether to compute the SHA-256 of the file as well.
    pub hash: bool,
    /// Where rows go that are too many for memory; nowhere, if nothing is said.
    pub spill: Option<Spill>,
}

/// Where rows go that are too many for memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Spill {
    /// Bytes of memory that they may take.
    pub bytes: usize,
    /// The folder of the scratch file.
    pub directory: PathBuf,
}

/// Bytes that a row takes beside its columns while a model is trained in memory, about: scores of the candidates, labels,
/// lists of rows, and fewer rows to come close on.
pub(crate) const BESIDE: usize = 60;

/// What a table reader returns: columns placed as the layout says.
#[derive(Debug)]
pub(crate) struct Raw {
    pub layout: Layout,
    pub header: bool,
    pub chunks: Vec<Chunk>,
    /// One for each text slot.
    pub texts: Vec<Texts>,
    /// Columns of texts that were read as plain numbers, and what to call that.
    pub read_as: Vec<(String, String)>,
    /// For each number slot, whether a number was rounded to fit.
    pub rounded: Vec<bool>,
    /// Rows that were handed over.
    before: usize,
    spill: Option<Spill>,
    scratch: Option<Arc<Scratch>>,
}

/// Rows as they are wanted where a file need not be held whole: some at a time, in their order.
pub(crate) struct Pieces<'a> {
    /// Takes the next rows; false if no more are wanted.
    pub take: RefCell<&'a mut dyn FnMut(Raw) -> bool>,
    /// Bytes of a piece, about.
    pub bytes: usize,
}

impl std::fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pieces")
    }
}

impl Raw {
    pub fn new(layout: Layout, header: bool, spill: Option<&Spill>) -> Self {
        let texts = (0..layout.texts).map(|_| Texts::default()).collect();
        let rounded = vec![false; layout.numbers];
        Self {
            layout,
            header,
            chunks: Vec::new(),
            texts,
            read_as: Vec::new(),
            rounded,
            before: 0,
            spill: spill.cloned(),
            scratch: None,
        }
    }

    /// Takes rows to the scratch file once they are too many for memory, and from then on all.
    pub fn spill(&mut self) -> Result<(), ReadError> {
        let Some(Spill { bytes, directory }) = &self.spill else { return Ok(()) };
        if self.scratch.is_none() && self.held() * (self.layout.width() + BESIDE) <= *bytes {
            return Ok(());
        }
        let scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => Arc::new(Scratch::create(directory)?),
        };
        let mut here = self.chunks.iter_mut().filter(|chunk| chunk.folder().is_none());
        here.try_for_each(|chunk| chunk.store(&scratch))?;
        self.scratch = Some(scratch);
        Ok(())
    }

    /// Hands the rows over once they are many.
    fn hand_over(&mut self, file: &str, pieces: Option<&Pieces<'_>>) -> Result<(), ReadError> {
        let Some(pieces) = pieces else { return Ok(()) };
        if self.held() * self.layout.width() < pieces.bytes {
            return Ok(());
        }
        let mut next = Self::new(self.layout.clone(), self.header, None);
        next.before = self.rows();
        next.rounded.clone_from(&self.rounded);
        if (pieces.take.borrow_mut())(std::mem::replace(self, next)) {
            return Ok(());
        }
        Err(ReadError::Io { file: file.to_owned(), source: std::io::Error::other("stopped") })
    }

    /// Adds the next chunk as it is.
    pub fn push(
        &mut self,
        file: &str,
        mut chunk: Chunk,
        pieces: Option<&Pieces<'_>>,
    ) -> Result<(), ReadError> {
        self.merge(file, &mut chunk, pieces)?;
        if chunk.rows > 0 {
            self.chunks.push(chunk);
        }
        self.spill()
    }

    /// Gathers the rows of the next, small chunk in larger ones.
    pub fn gather(
        &mut self,
        file: &str,
        mut chunk: Chunk,
        pieces: Option<&Pieces<'_>>,
    ) -> Result<(), ReadError> {
        self.merge(file, &mut chunk, pieces)?;
        let mut start = 0;
        while start < chunk.rows {
            match self.chunks.last_mut() {
                Some(slab) if slab.rows < slab.stride => start += slab.take_rows(&chunk, start),
                _ => {
                    self.spill()?;
                    self.chunks.push(Chunk::slab(&chunk));
                }
            }
        }
        Ok(())
    }

    /// Makes room for a chunk, and its texts those of all.
    fn merge(&mut self, file: &str, chunk: &mut Chunk, pieces: Option<&Pieces<'_>>) -> Result<(), ReadError> {
        self.hand_over(file, pieces)?;
        let limit = u32::MAX as usize - 1;
        if self.rows() + chunk.rows > limit {
            return Err(ReadError::TooManyRows { file: file.to_owned(), limit });
        }
        for (slot, local) in std::mem::take(&mut chunk.texts).into_iter().enumerate() {
            let codes = &mut chunk.codes[slot * chunk.stride..][..chunk.rows];
            self.texts[slot].merge(local, codes);
        }
        self.rounded.iter_mut().zip(&chunk.rounded).for_each(|(all, more)| *all |= more);
        Ok(())
    }

    /// Rows read so far, also those that were handed over.
    pub fn rows(&self) -> usize {
        self.before + self.held()
    }

    /// Rows that are here.
    pub fn held(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.rows).sum()
    }
}

/// What a reader needs to know besides the file and its roles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a, 'p> {
    pub options: &'a ReadOptions,
    pub roles: &'a crate::role::Roles,
    /// Set when a trained model is applied.
    pub expected: Option<&'a Expected>,
    /// Set where rows are wanted some at a time, which needs a model: it says what columns hold.
    pub pieces: Option<&'a Pieces<'p>>,
}

/// Texts and numbers that mean a missing value.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    texts: Vec<String>,
    numbers: Vec<f64>,
    /// Whether they are the usual ones, and nobody asked for them.
    usual: bool,
}

impl Missing {
    pub fn new(texts: &[String]) -> Self {
        let numbers = texts.iter().filter_map(|text| fast_float2::parse::<f64, _>(text.trim()).ok());
        Self {
            texts: texts.iter().map(|text| text.trim().to_owned()).collect(),
            numbers: numbers.filter(|value| value.is_finite()).collect(),
            usual: texts == DEFAULT_MISSING,
        }
    }

    pub fn text(&self, field: &[u8]) -> bool {
        field.is_empty() || self.texts.iter().any(|text| text.as_bytes().eq_ignore_ascii_case(field))
    }

    /// The same for a column with a role: a label may well be called `None`.
    pub fn role(&self, field: &[u8], is_label: bool) -> bool {
        self.text(field) && !(is_label && self.usual && field.eq_ignore_ascii_case(b"none"))
    }

    pub fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    #[inline]
    pub fn number(&self, value: f64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&value)
    }

    /// The same for a column that holds 32 bits.
    pub fn single(&self, value: f32) -> bool {
        self.numbers.iter().any(|number| *number as f32 == value)
    }
}

/// Names of the columns of the delimited text that starts with `head`; `all` if there is no more of it.
pub(crate) fn column_names(file: &str, head: &[u8], all: bool) -> Result<Vec<String>, ReadError> {
    Ok(sniff::Dialect::of(file, head, all, None, None)?.names)
}

pub(crate) fn text_of(field: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(field)
}
