//! One label of a set of images.

use setpoint::Sample;
use setpoint::sample::SampleError;

use super::ImageSet;
use crate::Error;
use crate::chunk::MISSING;
use crate::class::ClassOptions;
use crate::dataset::{Codes, checked_sample, pick};
use crate::encode::LabelSchema;
use crate::label::{LabelRule, Positive};
use crate::meaning;
use crate::memory::About;
use crate::role::find;
use crate::split::{Kinds, Parts, SplitError, SplitPlan};
use crate::table::Table;

/// A label column made binary, or one of several classes. Rows are those of the set.
#[derive(Clone, Debug)]
pub struct ImageTask {
    /// The column and its rule.
    pub label: LabelSchema,
    /// The rows that have a label, ascending; the others take no part.
    pub rows: Vec<u32>,
    /// For each row of the set whether it is positive, or has one of several classes; false where it has no label.
    pub labels: Vec<bool>,
    /// For each row of the set its group, in alphabetical order, or its class.
    pub groups: Option<Codes>,
    file: String,
    part_of: Option<Vec<u8>>,
}

impl ImageSet {
    /// The task of telling the positives of a label column, for conditions per group with the
    /// groups of another.
    ///
    /// # Errors
    /// If there is no such column, or `positive` does not make it binary.
    pub fn task(&self, label: &str, positive: &Positive, group: Option<&str>) -> Result<ImageTask, Error> {
        self.task_of(label, positive, &ClassOptions::default(), group)
    }

    /// The task of telling the positives of a label column, or its classes.
    ///
    /// # Errors
    /// If there is no such column, or it is not of the classes asked for.
    pub fn task_of(
        &self,
        label: &str,
        positive: &Positive,
        classes: &ClassOptions,
        group: Option<&str>,
    ) -> Result<ImageTask, Error> {
        self.make(label, group, None, (positive, classes))
    }

    /// Several tasks at once, in the order given.
    ///
    /// # Errors
    /// As [`ImageSet::task`].
    pub fn tasks(&self, labels: &[(String, Positive)], group: Option<&str>) -> Result<Vec<ImageTask>, Error> {
        labels.iter().map(|(label, positive)| self.task(label, positive, group)).collect()
    }

    /// The task that a model was trained for, by its stored rule.
    ///
    /// # Errors
    /// If there is no such column, or it holds a value that the rule does not know.
    pub fn task_for(&self, label: &LabelSchema, group: Option<&str>) -> Result<ImageTask, Error> {
        let nothing = (&Positive::default(), &ClassOptions::default());
        self.make(&label.column, group, Some(&label.rule), nothing)
    }

    fn make(
        &self,
        wanted: &str,
        group: Option<&str>,
        stored: Option<&LabelRule>,
        asked: (&Positive, &ClassOptions),
    ) -> Result<ImageTask, Error> {
        let names = self.label_names();
        let position = find(&self.file, &names, wanted, "label")?;
        let column = &self.labels[position];
        let mut counts = vec![0; column.names.len()];
        column.of.iter().filter(|code| **code != MISSING).for_each(|code| counts[*code as usize] += 1);
        // A text that no row has any more says nothing about the column.
        let mut place = vec![MISSING; column.names.len()];
        let mut texts: Vec<(&str, u64)> = Vec::new();
        for (code, (name, count)) in column.names.iter().zip(&counts).enumerate() {
            if *count > 0 {
                place[code] = texts.len() as u32;
                texts.push((name, *count));
            }
        }
        let (rule, found) = meaning::of_texts(&self.file, &column.column, stored, asked, &texts)?;
        let of: Vec<u32> =
            column.of.iter().map(|code| place.get(*code as usize).copied().unwrap_or(MISSING)).collect();
        let group = group.map(|group| find(&self.file, &names, group, "group")).transpose()?;
        let classes = found.classes(&column.column, &rule, of.iter());
        let takes_part = |row: &u32| of[*row as usize] != MISSING && found.keeps(of[*row as usize]);
        Ok(ImageTask {
            rows: (0..self.rows() as u32).filter(takes_part).collect(),
            labels: found.labels(of.iter()),
            groups: classes.or_else(|| group.map(|group| self.labels[group].alphabetical())),
            label: LabelSchema { column: column.column.clone(), position, rule },
            file: self.file.clone(),
            part_of: self.part_of.clone(),
        })
    }
}

impl ImageTask {
    /// Rows of the set that have no label.
    #[must_use]
    pub fn unlabelled(&self) -> u64 {
        (self.labels.len() - self.rows.len()) as u64
    }

    /// The sample of the rows listed, in that order; groups without a row are left out.
    ///
    /// # Errors
    /// If no rows are listed.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn sample(&self, rows: &[u32]) -> Result<Sample, SampleError> {
        let groups = self.groups.as_ref().map(|groups| groups.select(rows));
        checked_sample(pick(&self.labels, rows), None, groups, self.classes().is_some())
    }

    /// Class of each row of the set, of a label of several.
    #[must_use]
    pub fn classes(&self) -> Option<&Codes> {
        self.label.rule.classes()?;
        self.groups.as_ref()
    }

    /// Shares out the rows listed, stratified by label and group.
    ///
    /// [`ImageTask::rows`] are all there are; a part that the data gives can be shared out further.
    ///
    /// # Errors
    /// If a part would hold no positives or no negatives.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn split(&self, rows: &[u32], plan: &SplitPlan, seed: u64) -> Result<Parts, SplitError> {
        let about = About {
            name: self.file.clone(),
            label: Some(self.label.clone()),
            labels: Some(pick(&self.labels, rows)),
            groups: self.groups.as_ref().map(|groups| groups.select(rows)),
            ..About::default()
        };
        Ok(plan.split(&Table::without_features(about, rows.len()), seed)?.of_rows(rows))
    }

    /// The parts that the data gives, rows without a label left out; `None` if it gives none.
    ///
    /// # Errors
    /// If a part holds no positives or no negatives, or there is none to train on.
    pub fn given_parts(&self) -> Option<Result<Parts, SplitError>> {
        let part_of = self.part_of.as_ref()?;
        let rows = self.rows.iter().map(|row| (*row, part_of[*row as usize] as usize));
        let kinds = self.classes().map_or(Kinds::Labels(&self.labels), Kinds::Classes);
        Some(Parts::given(rows, kinds))
    }
}

#[cfg(test)]
mod tests {
    use crate::image::{ImageSet, ImageShape, column};

    fn set(rows: usize) -> ImageSet {
        let ages = (0..rows).map(|row| (row % 10 != 9).then(|| (row * 7 % 80).to_string()));
        ImageSet {
            file: "t".into(),
            shape: ImageShape { height: 1, width: 1, channels: 1 },
            pixels: vec![0; rows],
            labels: vec![
                column::of_texts("age", ages),
                column::of_texts("who", (0..rows).map(|row| Some(["b", "a"][row % 2]))),
            ],
            part_of: Some((0..rows).map(|row| [0, 0, 1, 3][row % 4]).collect()),
            names: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn rows_without_a_label_take_no_part() {
        let task = set(400).task("age", &">=60".parse().unwrap(), Some("who")).unwrap();
        assert_eq!((task.rows.len(), task.unlabelled()), (360, 40));
        assert!(task.rows.iter().all(|row| row % 10 != 9));
        assert_eq!(task.groups.as_ref().unwrap().names, ["a", "b"]);
        let sample = task.sample(&[0, 1, 9]).unwrap();
        assert_eq!(sample.groups().unwrap().codes(), [1, 0, 0]);
        let expected = |row: &u32| *row as usize * 7 % 80 >= 60;
        assert!(task.rows.iter().all(|row| task.labels[*row as usize] == expected(row)));
    }

    #[test]
    fn splits_are_in_rows_of_the_set_and_cover_those_with_a_label() {
        let task = set(400).task("age", &">=60".parse().unwrap(), None).unwrap();
        let parts = task.split(&task.rows, &Default::default(), 1).unwrap();
        let mut all: Vec<u32> = parts.iter().flat_map(|(_, rows)| rows.to_vec()).collect();
        all.sort_unstable();
        assert_eq!(all, task.rows);
        let given = task.given_parts().unwrap().unwrap();
        let names: Vec<&str> = given.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["train", "validation", "test"]);
        assert!(given.rows("validation").iter().all(|row| row % 4 == 2 && row % 10 != 9));
        // A given part can be shared out further.
        let inner =
            task.split(given.rows("train"), &"train=0.5,calibration=0.5".parse().unwrap(), 0).unwrap();
        assert!(inner.rows("calibration").iter().all(|row| given.rows("train").contains(row)));
    }

    #[test]
    fn a_stored_rule_serves_another_set() {
        let set = set(40);
        let tasks = [("age".to_owned(), ">=60".parse().unwrap()), ("who".to_owned(), "a".parse().unwrap())];
        let tasks = set.tasks(&tasks, None).unwrap();
        assert_eq!(set.task_for(&tasks[1].label, None).unwrap().labels, tasks[1].labels);
        let error = set.task("ago", &">=60".parse().unwrap(), None).unwrap_err().to_string();
        assert_eq!(error, "t: no column \"ago\" (‹label›); did you mean \"age\"?");
    }
}
