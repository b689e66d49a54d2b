//! From a table to the matrix a model sees; fitted on the training rows only.
//!
//! ```text
//! number     x -> (x - mean) / scale        scale: standard deviation, 1 if that is 0
//!            first less an offset, in 64 bits, where x is large beside its spread
//!            missing -> mean, so 0, and 1 in an indicator column if training rows had missing values too
//! category   one column for each category of the training rows, 1 or 0, then standardised likewise;
//!            kept as one code; beyond 1,000 categories, those that are less frequent are one
//!            missing -> a category of its own if training rows had missing values
//! text       one column for each term, see `text`
//! date       seconds since 1970 as a number; month, weekday, and hour where there are times, as categories
//! sparse     x -> x / scale                 scale: root mean square over all training rows, zeros included; with fewer
//!                                           than 4 rows a column one for all, that of the entries there are
//! ```
//!
//! Trees split on any scale and know missing values: for them ([`Encoder::plain`]) numbers stay as they
//! are, a category is its place in the alphabet of the training rows', and what is missing is NaN. Of texts and of
//! categories with many values they read what labels say of them ([`Encoder::for_trees`], see `learnt`).
//!
//! Sparse numbers are not centred, which would make them dense. The root mean
//! square equals the standard deviation where a column is mostly zero, and does
//! not blow up a column that is nearly constant.
//!
//! Columns with a single value in the training rows are left out and noted, and so are columns of categories
//! with another one in each row. A category that the training rows did not have is one of the less frequent,
//! where there are such, else 0 in every column of its kind; a missing value where they had none is the mean,
//! or no category. Both are counted in [`Notes`].

mod apply;
mod check;
mod error;
mod fit;
mod learnt;
mod note;
mod raw;
mod statistics;
mod text;

pub use error::EncodeError;
pub use learnt::{Learnt, OutOfFold};
pub use note::Notes;
pub use raw::{RawColumn, RawValues};
pub use statistics::Statistics;
pub use text::{Term, Unit, Words};

use serde::{Deserialize, Serialize};
use setpoint::features::{Layout, Scaling};

use crate::form::Form;
use crate::label::LabelRule;
use crate::layout::{ColumnKind, Expected};
use crate::sparse::Numbering;
use crate::time::DatePart;

/// How a table becomes a matrix: plain data, stored with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    /// The columns used.
    pub inputs: Inputs,
    /// How trees read the same columns, of a model that averages both; their columns of the matrix come after the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Input>,
    /// Whether the training file named its columns.
    pub header: bool,
    /// Number of columns of the training file; 0 for sparse rows that have entries in all their columns.
    pub width: usize,
    /// Its columns that are not used: the label, other roles, dropped and constant ones.
    pub unused: Vec<String>,
    /// The label.
    pub label: Option<LabelSchema>,
    /// Texts that mean a missing value.
    pub missing: Vec<String>,
    /// Columns left out because the training rows have one value only.
    pub constant: Vec<String>,
    /// Columns left out because the training rows have another value each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<String>,
}

/// The label column of the training file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelSchema {
    /// Its name.
    pub column: String,
    /// Its place in the file, from 0.
    pub position: usize,
    /// What its values mean.
    pub rule: LabelRule,
}

/// The columns a model uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// Named columns of a table.
    Table(Vec<Input>),
    /// Numbered columns of an SVMLight file.
    Sparse {
        /// Index of the first column in the file: 0 or 1.
        base: u32,
        /// Index of each column in the file, ascending; nothing if they follow the first one without a gap.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        columns: Vec<u32>,
        /// What each column is divided by.
        scales: Vec<f32>,
        /// Columns, ascending, and what is subtracted from them in 64 bits; they have an entry in each row.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        offsets: Vec<(u32, f64)>,
    },
}

/// A column of a table and how it is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name; its number from 1 where there is no header.
    pub name: String,
    /// How its values become numbers.
    pub encoding: Encoding,
    /// How its numbers are written, where not plainly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// Which part of its dates this is; they come after the input with the dates themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<DatePart>,
    /// Whether no training row lacked it. Told of what trees read, whose encodings do not say it; files from
    /// before do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    /// What is subtracted from its numbers in 64 bits before anything else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: f64,
}

fn is_zero(offset: &f64) -> bool {
    *offset == 0.0
}

/// How the values of a column become numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Standardised numbers; missing ones are filled with the mean.
    Number {
        /// Mean and scale.
        scaling: Scaling,
        /// The indicator column, if training rows had missing values.
        missing: Option<Scaling>,
    },
    /// A column for each category.
    Category {
        /// The categories of the training rows, in alphabetical order.
        values: Vec<Category>,
        /// The column for missing values, if training rows had any.
        missing: Option<Scaling>,
        /// The column for all less frequent categories, if there are too many, and for those never seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rare: Option<Scaling>,
    },
    /// A column for each term of a text.
    Text(Words),
    /// Numbers as they are; missing ones are NaN.
    Plain,
    /// The place of the category, from 0; NaN if missing or unseen.
    Code {
        /// The categories of the training rows, in alphabetical order.
        values: Vec<String>,
        /// Whether all others have the place after them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rare: bool,
    },
    /// A number that the labels of training rows gave.
    Learnt(Learnt),
}

/// One category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Category {
    /// Its text.
    pub value: String,
    /// Mean and scale of its column.
    pub scaling: Scaling,
}

impl Encoder {
    /// The same columns without scaling, filling and one-hot columns, and without texts: what trees want.
    ///
    /// # Errors
    /// If there are texts alone.
    pub fn plain(mut self) -> Result<Self, EncodeError> {
        let texts: Vec<String> = self.texts().into_iter().map(str::to_owned).collect();
        match &mut self.inputs {
            Inputs::Sparse { scales, .. } => scales.fill(1.0),
            Inputs::Table(inputs) => {
                inputs.retain(|input| !matches!(input.encoding, Encoding::Text(_)));
                if inputs.is_empty() {
                    return Err(EncodeError::OnlyTexts { columns: texts });
                }
                for input in inputs {
                    let (Encoding::Number { missing, .. } | Encoding::Category { missing, .. }) =
                        &input.encoding
                    else {
                        continue;
                    };
                    input.complete = missing.is_none();
                    input.encoding = match std::mem::replace(&mut input.encoding, Encoding::Plain) {
                        // Parts of dates are in order.
                        _ if input.part.is_some() => Encoding::Plain,
                        Encoding::Category { values, rare, .. } => {
                            let values = values.into_iter().map(|category| category.value).collect();
                            Encoding::Code { values, rare: rare.is_some() }
                        }
                        _ => Encoding::Plain,
                    };
                }
            }
        }
        self.unused.extend(texts);
        Ok(self)
    }

    /// The same with the columns as trees read them beside; `None` where those are no tables.
    #[must_use]
    pub fn with_trees(self, trees: Self) -> Option<Self> {
        match (&self.inputs, trees.inputs) {
            (Inputs::Table(_), Inputs::Table(beside)) => Some(Self { beside, ..self }),
            _ => None,
        }
    }

    /// The columns of a table, and how trees read them beside.
    pub fn readings(&self) -> impl Iterator<Item = &Input> {
        let own = match &self.inputs {
            Inputs::Table(inputs) => &inputs[..],
            Inputs::Sparse { .. } => &[],
        };
        own.iter().chain(&self.beside)
    }

    /// The columns that are read as texts.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        let Inputs::Table(inputs) = &self.inputs else { return Vec::new() };
        let texts = inputs.iter().filter(|input| matches!(input.encoding, Encoding::Text(_)));
        texts.map(|input| input.name.as_str()).collect()
    }

    /// Which of the matrix's columns hold the places of categories.
    #[must_use]
    pub fn coded_columns(&self) -> Vec<usize> {
        let mut at = 0;
        let mut coded = Vec::new();
        for input in self.readings() {
            if matches!(input.encoding, Encoding::Code { .. }) {
                coded.push(at);
            }
            at += input.width();
        }
        coded
    }

    /// Names of the matrix's columns.
    #[must_use]
    pub fn feature_names(&self) -> Vec<String> {
        match &self.inputs {
            Inputs::Table(_) => {}
            Inputs::Sparse { base, columns, scales, .. } if columns.is_empty() => {
                return (0..scales.len()).map(|index| (index + *base as usize).to_string()).collect();
            }
            Inputs::Sparse { columns, .. } => return columns.iter().map(u32::to_string).collect(),
        }
        let mut names = Vec::new();
        for input in self.readings() {
            let name = input.label();
            let (missing, rare) = match &input.encoding {
                Encoding::Number { missing, .. } => {
                    names.push(name.clone());
                    (missing, &None)
                }
                Encoding::Category { values, missing, rare } => {
                    names.extend(values.iter().map(|category| format!("{}={}", name, category.value)));
                    (missing, rare)
                }
                Encoding::Text(words) => {
                    names.extend(words.terms.iter().map(|term| format!("{}: {}", name, term.text)));
                    (&None, &None)
                }
                Encoding::Plain | Encoding::Code { .. } | Encoding::Learnt(_) => {
                    names.push(name.clone());
                    (&None, &None)
                }
            };
            names.extend(missing.map(|_| format!("{} is missing", name)));
            names.extend(rare.map(|_| format!("{} is rare", name)));
        }
        names
    }

    /// Number of the matrix's columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        match &self.inputs {
            Inputs::Table(_) => self.readings().map(Input::width).sum(),
            Inputs::Sparse { scales, .. } => scales.len(),
        }
    }

    /// How many of them are not for trees [beside](Self::beside).
    #[must_use]
    pub fn own_columns(&self) -> usize {
        self.columns() - self.beside.iter().map(Input::width).sum::<usize>()
    }

    pub(crate) fn expected(&self) -> Option<Expected> {
        let Inputs::Table(inputs) = &self.inputs else { return None };
        let columns = || inputs.iter().filter(|input| input.part.is_none());
        Some(Expected {
            columns: columns().map(|input| (input.name.clone(), input.kind(), input.form)).collect(),
            offsets: columns().map(|input| input.offset).collect(),
            header: self.header,
            width: self.width,
            label: self.label.as_ref().map(|label| label.position),
            known: self.unused.clone(),
        })
    }

    /// Number of columns of the sparse rows that it takes; `None` if it takes a table.
    #[must_use]
    pub fn sparse_width(&self) -> Option<usize> {
        self.sparse_columns().map(|(numbering, _)| numbering.width)
    }

    pub(crate) fn sparse_columns(&self) -> Option<(Numbering<'_>, &[(u32, f64)])> {
        match &self.inputs {
            Inputs::Sparse { base, columns, scales, offsets } => {
                let width = if columns.is_empty() { scales.len() } else { self.width };
                Some((Numbering { base: *base, width, listed: columns.into() }, offsets))
            }
            Inputs::Table(_) => None,
        }
    }
}

/// How the columns of these inputs are stored.
pub fn layout<'a>(inputs: impl IntoIterator<Item = &'a Input>) -> Layout {
    let mut layout = Layout::default();
    for input in inputs {
        if input.is_stored_as_number() {
            layout.add_number();
        }
        let scalings = input.scalings();
        if !scalings.is_empty() {
            layout.add_categories(scalings);
        }
        if let Encoding::Text(words) = &input.encoding {
            layout.add_entries(words.terms.len());
        }
    }
    layout
}

impl Input {
    /// Its name, with the part of dates that it is.
    #[must_use]
    pub fn label(&self) -> String {
        self.part.map_or_else(|| self.name.clone(), |part| format!("{} ({})", self.name, part.name()))
    }

    /// Whether the column holds numbers or categories.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        match self.encoding {
            _ if self.part.is_some() => ColumnKind::Number,
            Encoding::Number { .. } | Encoding::Plain => ColumnKind::Number,
            Encoding::Category { .. } | Encoding::Text(_) | Encoding::Code { .. } | Encoding::Learnt(_) => {
                ColumnKind::Category
            }
        }
    }

    /// Whether a text is one of its categories, spelled as in training.
    pub(crate) fn has_category(&self, text: &str) -> bool {
        match &self.encoding {
            Encoding::Category { values, .. } => {
                values.binary_search_by(|category| category.value.as_str().cmp(text)).is_ok()
            }
            Encoding::Code { values, .. } => {
                values.binary_search_by(|value| value.as_str().cmp(text)).is_ok()
            }
            Encoding::Learnt(Learnt::Means { values, .. }) => {
                values.binary_search_by(|value| value.as_str().cmp(text)).is_ok()
            }
            Encoding::Number { .. } | Encoding::Text(_) | Encoding::Plain | Encoding::Learnt(_) => false,
        }
    }

    /// How the columns of its categories are standardised, or the indicator of a number's missing values.
    #[must_use]
    pub fn scalings(&self) -> Vec<Scaling> {
        match &self.encoding {
            Encoding::Number { missing, .. } => missing.iter().copied().collect(),
            Encoding::Category { values, missing, rare } => {
                values.iter().map(|value| value.scaling).chain(*missing).chain(*rare).collect()
            }
            Encoding::Text(_) | Encoding::Plain | Encoding::Code { .. } | Encoding::Learnt(_) => Vec::new(),
        }
    }

    /// Whether a number is stored for each row, and not only a category.
    pub(crate) fn is_stored_as_number(&self) -> bool {
        !matches!(self.encoding, Encoding::Category { .. } | Encoding::Text(_))
    }

    /// Number of columns it becomes.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Number { missing, .. } => 1 + usize::from(missing.is_some()),
            Encoding::Category { values, missing, rare } => values.len() + missing.iter().chain(rare).count(),
            Encoding::Text(words) => words.terms.len(),
            Encoding::Plain | Encoding::Code { .. } | Encoding::Learnt(_) => 1,
        }
    }
}
