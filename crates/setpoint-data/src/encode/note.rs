//! What was left out or filled in on the way to the matrix.

use serde::Serialize;

/// What was left out or filled in between the file and the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Notes {
    /// Rows left out because they have no label.
    pub unlabelled: u64,
    /// Rows left out because they are of classes that were not asked for.
    pub other_classes: u64,
    /// Columns that the model does not know, ignored.
    pub extra_columns: Vec<String>,
    /// Columns left out because the training rows have one value only.
    pub constant_columns: Vec<String>,
    /// Columns left out because the training rows have another value each.
    pub identifier_columns: Vec<String>,
    /// For each column, values of categories that the training rows did not have.
    pub unseen_categories: Vec<(String, u64)>,
    /// For each column, missing values where the training rows had none.
    pub unseen_missing: Vec<(String, u64)>,
    /// For each column whose texts were read as numbers, what they were taken for.
    pub read_as: Vec<(String, String)>,
    /// Entries of an SVMLight file in columns that the training file did not have, ignored.
    pub unknown_entries: u64,
}

impl Notes {
    /// Adds those of the rows of the same file that come next.
    pub fn merge(&mut self, next: Self) {
        let add = |counts: &mut Vec<(String, u64)>, more: Vec<(String, u64)>| {
            for (column, count) in more {
                match counts.iter_mut().find(|(known, _)| *known == column) {
                    Some((_, sum)) => *sum += count,
                    None => counts.push((column, count)),
                }
            }
        };
        add(&mut self.unseen_categories, next.unseen_categories);
        add(&mut self.unseen_missing, next.unseen_missing);
        self.unlabelled += next.unlabelled;
        self.other_classes += next.other_classes;
        self.unknown_entries += next.unknown_entries;
        // Of columns all rows say the same.
        self.extra_columns = next.extra_columns;
        self.constant_columns = next.constant_columns;
        self.identifier_columns = next.identifier_columns;
        self.read_as = next.read_as;
    }
}
