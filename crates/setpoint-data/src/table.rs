//! A table in memory: features as read, roles resolved.

use std::cell::RefCell;
use std::path::Path;

use setpoint::Sample;
use setpoint::rank::{Queries, RankError};

use crate::Error;
use crate::assemble::{from_raw, from_sparse};
use crate::chunk::{Chunk, Texts};
use crate::dataset::{Codes, checked_sample};
use crate::encode::{Encoder, LabelSchema, Notes};
use crate::form::Form;
use crate::label::{LabelRule, Positive};
use crate::layout::{ColumnKind, Expected};
use crate::matrix::Matrix;
use crate::read::source::Source;
use crate::read::{Format, Pieces, Raw, ReadOptions, Request, delimited, parquet, sniff, svmlight};
use crate::role::{RoleError, Roles};
use crate::sparse::{Numbering, Offsets};

/// Bytes looked at to tell the format.
const HEAD: usize = 1 << 20;

/// A file's rows, before encoding.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) file: String,
    pub(crate) rows: usize,
    pub(crate) body: Body,
    /// Whether columns go by name (else by position), and all columns of the file.
    pub(crate) header: bool,
    pub(crate) names: Vec<String>,
    pub(crate) missing: Vec<String>,
    pub(crate) label: Option<LabelSchema>,
    pub(crate) labels: Option<Vec<bool>>,
    /// How relevant rows of ranking data are.
    pub(crate) grades: Option<Vec<f32>>,
    pub(crate) weights: Option<Vec<f32>>,
    /// What decisions pay: whether more is better, and the amounts of each row.
    pub(crate) stakes: Option<(bool, Vec<[f64; 2]>)>,
    pub(crate) groups: Option<Codes>,
    pub(crate) entities: Option<Codes>,
    pub(crate) times: Option<Vec<f64>>,
    pub(crate) scores: Option<Vec<f64>>,
    pub(crate) queries: Option<Codes>,
    pub(crate) kept: Vec<Codes>,
    pub(crate) hash: Option<String>,
    pub(crate) notes: Notes,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Dense { columns: Vec<FeatureColumn>, chunks: Vec<Chunk>, texts: Vec<Texts> },
    Sparse { matrix: Matrix, numbering: Numbering<'static>, offsets: Offsets },
}

/// A feature column and where its values are in the chunks.
#[derive(Clone, Debug)]
pub(crate) struct FeatureColumn {
    pub name: String,
    pub kind: ColumnKind,
    pub slot: usize,
    /// How its numbers are written, where not plainly.
    pub form: Option<Form>,
    /// What was subtracted from its numbers.
    pub offset: f64,
    /// Whether it was said to hold texts.
    pub text: bool,
}

impl Table {
    /// Reads a file to train on.
    ///
    /// Rows without a label are left out and counted in [`Notes::unlabelled`].
    ///
    /// # Errors
    /// If the file cannot be read as a table, a column has not got what its
    /// role needs, or the label is not of the classes asked for.
    pub fn read(path: &Path, options: &ReadOptions, roles: &Roles) -> Result<Self, Error> {
        Self::load(&Source::open(path)?, options, roles, None)
    }

    /// Reads bytes already in memory, as [`Table::read`] does a file, or [`Table::read_for`] with an encoder; errors call
    /// them `name`.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn from_bytes(
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
        roles: &Roles,
        encoder: Option<&Encoder>,
    ) -> Result<Self, Error> {
        Self::load(&Source::from_bytes(name, bytes), options, roles, encoder)
    }

    /// Reads a file to apply a fitted encoder to.
    ///
    /// Columns go by name, or by position where the training file had no header.
    /// Of the roles, `label`, `weight`, `group`, `split_by` and `split_time` count; without a label none is needed.
    /// The label's rule and the missing-value texts are the encoder's unless given.
    ///
    /// # Errors
    /// If a column is missing, or a value of a number column is not a number,
    /// and as [`Table::read`].
    pub fn read_for(
        path: &Path,
        options: &ReadOptions,
        roles: &Roles,
        encoder: &Encoder,
    ) -> Result<Self, Error> {
        Self::load(&Source::open(path)?, options, roles, Some(encoder))
    }

    /// Reads a file to apply a fitted encoder to, as [`Table::read_for`], some rows at a time: `take` is called with one
    /// part of the rows after another, of about so many bytes, and says whether it wants more. Queries, and SVMLight
    /// files, come whole.
    ///
    /// # Errors
    /// As [`Table::read_for`]; parts before the error have been handed over.
    pub fn read_pieces(
        path: &Path,
        options: &ReadOptions,
        roles: &Roles,
        encoder: &Encoder,
        bytes: usize,
        take: &mut dyn FnMut(Self) -> bool,
    ) -> Result<(), Error> {
        let source = Source::open(path)?;
        let plan = Plan::new(&source, options, roles, Some(encoder))?;
        let (mut stopped, mut failed) = (false, None);
        let mut next = |raw: Raw| match from_raw(source.name(), raw, &plan.roles, plan.rule) {
            Ok(table) => {
                stopped = !take(table);
                !stopped
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let whole = roles.queries.is_some() || plan.format == Format::SvmLight;
        let last = {
            let pieces = Pieces { take: RefCell::new(&mut next), bytes };
            plan.read(&source, options, (!whole).then_some(&pieces))
        };
        match (failed, last) {
            (Some(error), _) => Err(error),
            (None, Err(_)) if stopped => Ok(()),
            (None, last) => {
                take(last?);
                Ok(())
            }
        }
    }

    fn load(
        source: &Source,
        options: &ReadOptions,
        roles: &Roles,
        encoder: Option<&Encoder>,
    ) -> Result<Self, Error> {
        let (table, hash) = rayon::join(
            || Self::load_rows(source, options, roles, encoder),
            || if options.hash { source.hash().map(Some) } else { Ok(None) },
        );
        let mut table = table?;
        table.hash = hash?;
        Ok(table)
    }

    fn load_rows(
        source: &Source,
        options: &ReadOptions,
        roles: &Roles,
        encoder: Option<&Encoder>,
    ) -> Result<Self, Error> {
        Plan::new(source, options, roles, encoder)?.read(source, options, None)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The folder of the scratch file that its rows are in, where they are too many for memory.
    #[must_use]
    pub fn spilled(&self) -> Option<&Path> {
        match &self.body {
            Body::Dense { chunks, .. } => chunks.iter().find_map(Chunk::folder),
            Body::Sparse { matrix, .. } => matrix.folder(),
        }
    }

    /// Number of feature columns as they are in the file (before encoding).
    #[must_use]
    pub fn columns(&self) -> usize {
        match &self.body {
            Body::Dense { columns, .. } => columns.len(),
            Body::Sparse { matrix, .. } => matrix.columns,
        }
    }

    /// True for positives, and for every row of a label of several classes; `None` without a label.
    #[must_use]
    pub fn labels(&self) -> Option<&[bool]> {
        self.labels.as_deref()
    }

    /// The label column and its rule.
    #[must_use]
    pub fn label(&self) -> Option<&LabelSchema> {
        self.label.as_ref()
    }

    /// Weight of each row; `None` where all count the same.
    #[must_use]
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// What decisions pay: whether more is better, and the amounts of each row.
    #[must_use]
    pub fn stakes(&self) -> Option<&(bool, Vec<[f64; 2]>)> {
        self.stakes.as_ref()
    }

    /// Group of each row; the class, of a label of several.
    #[must_use]
    pub fn groups(&self) -> Option<&Codes> {
        self.groups.as_ref()
    }

    /// Class of each row, of a label of several.
    #[must_use]
    pub fn classes(&self) -> Option<&Codes> {
        self.label.as_ref()?.rule.classes()?;
        self.groups.as_ref()
    }

    /// Entity (patient, customer) of each row.
    #[must_use]
    pub fn entities(&self) -> Option<&Codes> {
        self.entities.as_ref()
    }

    /// Time of each row, as a sort key.
    #[must_use]
    pub fn times(&self) -> Option<&[f64]> {
        self.times.as_deref()
    }

    /// A model's score of each row.
    #[must_use]
    pub fn scores(&self) -> Option<&[f64]> {
        self.scores.as_deref()
    }

    /// The same, taken out.
    #[must_use]
    pub fn take_scores(&mut self) -> Vec<f64> {
        self.scores.take().unwrap_or_default()
    }

    /// Grade of each row, where the data was read as ranking data with labels.
    #[must_use]
    pub fn grades(&self) -> Option<&[f32]> {
        self.grades.as_deref()
    }

    /// The queries of graded rows; `None` where the data was not read as ranking data with labels.
    ///
    /// # Errors
    /// If a grade is none.
    pub fn ranked(&self) -> Result<Option<Queries>, RankError> {
        let (Some(grades), Some(queries), Some(labels)) = (&self.grades, &self.queries, &self.labels) else {
            return Ok(None);
        };
        let ranked =
            Queries::new(&queries.column, &queries.of, grades.clone())?.with_positive(labels.clone())?;
        Ok(Some(ranked.named(&queries.of, &queries.names)))
    }

    /// Query of each row of ranking data.
    #[must_use]
    pub fn queries(&self) -> Option<&Codes> {
        self.queries.as_ref()
    }

    /// The columns that were to be kept as they are written; a missing value has no name.
    #[must_use]
    pub fn kept(&self) -> &[Codes] {
        &self.kept
    }

    /// The names of all columns of the file; their numbers from 1 where it does not name them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What was left out on the way.
    #[must_use]
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// SHA-256 of the file, if it was asked for.
    #[must_use]
    pub fn hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }
}

impl Table {
    /// Labels, weights, groups and the rest that is known of rows beside their features.
    ///
    /// # Errors
    /// If they make no sample.
    pub fn into_sample(self) -> Result<Option<Sample>, Error> {
        if let Some(ranked) = self.ranked()? {
            return Ok(Some(Sample::of_queries(ranked)?));
        }
        let of_classes = self.classes().is_some();
        let Some(labels) = self.labels else { return Ok(None) };
        // Groups of tables that were appended are in the order of their first rows.
        let groups = self.groups.map(|groups| match of_classes || groups.names.is_sorted() {
            true => groups,
            false => groups.alphabetical(),
        });
        let mut sample = checked_sample(labels, self.weights, groups, of_classes)?;
        if let Some((profit, pays)) = self.stakes {
            sample = sample.with_stakes(profit, pays)?;
        }
        if let Some(entities) = self.entities {
            sample = sample.with_entities(&entities.column, &entities.of)?;
        }
        Ok(Some(sample))
    }

    /// Takes out all that is known of the rows but their features.
    #[must_use]
    pub fn take_about(&mut self) -> Self {
        let body = std::mem::replace(&mut self.body, Body::none());
        let features = Self {
            file: self.file.clone(),
            rows: self.rows,
            body,
            header: self.header,
            names: self.names.clone(),
            missing: self.missing.clone(),
            label: None,
            labels: None,
            grades: None,
            weights: None,
            stakes: None,
            groups: None,
            entities: None,
            times: None,
            scores: None,
            queries: None,
            kept: Vec::new(),
            hash: None,
            notes: std::mem::take(&mut self.notes),
        };
        std::mem::replace(self, features)
    }

    /// Adds what is known of the rows that come next, as [`take_about`](Self::take_about) took it out.
    pub fn append_about(&mut self, next: Self) {
        fn add<T>(own: &mut Option<Vec<T>>, next: Option<Vec<T>>) {
            own.iter_mut().zip(next).for_each(|(own, next)| own.extend(next));
        }
        self.rows += next.rows;
        add(&mut self.labels, next.labels);
        add(&mut self.weights, next.weights);
        add(&mut self.times, next.times);
        self.stakes.iter_mut().zip(next.stakes).for_each(|(own, next)| own.1.extend(next.1));
        self.entities.iter_mut().zip(next.entities).for_each(|(own, next)| own.append(next));
        self.groups.iter_mut().zip(next.groups).for_each(|(own, next)| own.append(next));
    }
}

impl Body {
    pub(crate) fn none() -> Self {
        Self::Dense { columns: Vec::new(), chunks: Vec::new(), texts: Vec::new() }
    }
}

/// How a file is to be read.
struct Plan<'a> {
    roles: Roles,
    rule: Option<&'a LabelRule>,
    format: Format,
    expected: Option<Expected>,
    encoder: Option<&'a Encoder>,
}

impl<'a> Plan<'a> {
    fn new(
        source: &Source,
        options: &ReadOptions,
        roles: &Roles,
        encoder: Option<&'a Encoder>,
    ) -> Result<Self, Error> {
        let file = source.name();
        let mut roles = roles.clone();
        let mut rule = None;
        if let Some(encoder) = encoder {
            roles.missing.get_or_insert_with(|| encoder.missing.clone());
            if roles.positive == Positive::Auto {
                rule = encoder.label.as_ref().map(|label| &label.rule);
                if let Some(LabelRule::Given(positive) | LabelRule::Grades(positive)) = rule {
                    roles.positive = positive.clone();
                }
            }
        }
        let format = match options.format {
            Some(format) => format,
            None => sniff::format(file, &source.head(HEAD)?.0)?,
        };
        let expected = match encoder {
            Some(encoder) => encoder.expected(),
            None => (roles.score.is_some() || !roles.keep.is_empty()).then(Expected::nothing),
        };
        let sparse = encoder.is_some_and(|encoder| encoder.sparse_columns().is_some());
        if encoder.is_some() && (format == Format::SvmLight) != sparse {
            let (known, table) = ("an SVMLight file", "a table");
            let (found, expected) = if sparse { (table, known) } else { (known, table) };
            return Err(RoleError::Layout { file: file.to_owned(), found, expected }.into());
        }
        Ok(Self { roles, rule, format, expected, encoder })
    }

    /// Reads all rows, or those that are left after the pieces.
    fn read(
        &self,
        source: &Source,
        options: &ReadOptions,
        pieces: Option<&Pieces<'_>>,
    ) -> Result<Table, Error> {
        let Self { roles, rule, format, expected, encoder } = self;
        let file = source.name();
        let request = Request { options, roles, expected: expected.as_ref(), pieces };
        match format {
            Format::Delimited | Format::Parquet => {
                let mut raw = match format {
                    Format::Parquet => parquet::read(source, request)?,
                    _ => delimited::read(source, request)?,
                };
                raw.spill()?;
                from_raw(file, raw, roles, *rule)
            }
            Format::SvmLight => {
                let known = encoder.and_then(Encoder::sparse_columns);
                from_sparse(file, svmlight::read(source, request, known)?, roles, *rule)
            }
        }
    }
}
