//! Groups by name, and the pool of small ones.

use setpoint::goal::{Constraint, Goal};
use setpoint::sample::SampleError;
use setpoint::{Sample, artifact};
use setpoint_data::same_value;
use setpoint_report::ByPart;

use crate::examples::Examples;
use crate::failure::Failure;

/// The group that takes in the small ones.
pub const POOL: &str = "(other)";

/// Fewest rows of a group that a condition's rate counts, in every part that training or thresholds
/// look at, on which the condition can be held: below it, the rate moves by more than a tenth with a
/// single row. The pool is a group like any other.
const LEAST_ROWS: usize = 10;

/// Most groups that a note names.
const MOST_NAMED: usize = 10;

/// Refuses groups too small for a goal's conditions on groups, by name.
pub(crate) fn check_sizes(goal: &Goal, parts: &ByPart<Option<Examples>>) -> Result<(), Failure> {
    let Some(column) = goal.column() else { return Ok(()) };
    let used =
        [("train", &parts.train), ("validation", &parts.validation), ("calibration", &parts.calibration)];
    let samples: Vec<_> =
        used.iter().filter_map(|(name, part)| Some((*name, &part.as_ref()?.sample))).collect();
    let small = too_small(goal, &samples);
    if small.is_empty() {
        return Ok(());
    }
    let way = if small.iter().any(|(name, _)| name == POOL) {
        "pool larger groups with the small ones by a higher ‹min-group›, leave the rows of small groups out"
    } else {
        "pool small groups with ‹min-group N›"
    };
    Err(Failure::input(format!(
        "groups of column {column:?} with fewer than {LEAST_ROWS} rows in a part: {}; a condition on them would hold by chance: {way}, or give the parts other shares",
        small.iter().map(|(name, few)| format!("{name:?} ({few})")).collect::<Vec<_>>().join(", ")
    )))
}

/// The groups with too few rows of a class that a condition counts, and how few in which part.
fn too_small(goal: &Goal, samples: &[(&'static str, &Sample)]) -> Vec<(String, String)> {
    let grouped: Vec<_> =
        samples.iter().filter_map(|(part, sample)| Some((*part, *sample, sample.groups()?))).collect();
    let mut names: Vec<&String> = grouped.iter().flat_map(|(_, _, groups)| groups.names()).collect();
    names.sort();
    names.dedup();
    let classes = classes(goal);
    names
        .into_iter()
        .filter_map(|name| {
            let counts = grouped.iter().flat_map(|(part, sample, groups)| {
                let code = groups.names().iter().position(|other| other == name);
                let rows = code.map_or(&[][..], |code| groups.rows(code));
                classes.iter().map(move |(class, noun)| {
                    let of_class =
                        |row: &&u32| class.is_none_or(|class| sample.labels()[**row as usize] == class);
                    (rows.iter().filter(of_class).count(), *noun, *part)
                })
            });
            let (count, noun, part) = counts.min_by_key(|(count, ..)| *count)?;
            let noun = if count == 1 { noun.trim_end_matches('s') } else { noun };
            (count < LEAST_ROWS).then(|| (name.clone(), format!("{count}{noun} in the {part} part")))
        })
        .collect()
}

/// The classes, or all rows, that the rates of a goal's conditions on groups count, with a word for each.
fn classes(goal: &Goal) -> Vec<(Option<bool>, &'static str)> {
    let mut classes = vec![(None, "")];
    for constraint in &goal.constraints {
        let (Constraint::PerGroup { rate, .. }
        | Constraint::Gap { rate, .. }
        | Constraint::Ratio { rate, .. }) = constraint
        else {
            continue;
        };
        let (positives, negatives) = rate.needs();
        classes.extend(positives.then_some((Some(true), " positives")));
        classes.extend(negatives.then_some((Some(false), " negatives")));
    }
    classes
}

/// The groups with fewer rows than asked for, which become one.
pub(crate) struct Small {
    column: String,
    kept: Vec<String>,
    pooled: Vec<(String, usize)>,
}

impl Small {
    /// The groups of a sample with fewer than `least` rows; `None` where there are none.
    pub(crate) fn of(sample: &Sample, least: u64) -> Option<Self> {
        let groups = sample.groups()?;
        let counted =
            groups.names().iter().enumerate().map(|(code, name)| (name.clone(), groups.rows(code).len()));
        let (pooled, kept): (Vec<_>, Vec<_>) = counted.partition(|(_, rows)| (*rows as u64) < least);
        let kept = kept.into_iter().map(|(name, _)| name).collect();
        (!pooled.is_empty()).then(|| Self { column: groups.column().to_owned(), kept, pooled })
    }

    /// The sample with these groups pooled.
    pub(crate) fn pool(&self, sample: &Sample) -> Result<Sample, SampleError> {
        pool_others(sample, &self.kept)
    }

    /// The names of the groups that are pooled.
    pub(crate) fn names(&self) -> Vec<String> {
        self.pooled.iter().map(|(name, _)| name.clone()).collect()
    }

    /// What a reader of the model should know.
    pub(crate) fn note(&self) -> String {
        format!("small groups of column {:?} are pooled into {POOL:?}: {}", self.column, list(&self.pooled))
    }
}

/// What to say of groups that get the pool's threshold although training never had them; `pooled` are
/// those that it pooled, where the model says.
pub(crate) fn strangers(
    known: &artifact::Groups,
    pooled: Option<&[&str]>,
    names: &[String],
    codes: &[u32],
) -> Option<String> {
    if !known.names.iter().any(|name| name == POOL) {
        return None;
    }
    let mut rows = vec![0; names.len()];
    codes.iter().for_each(|code| rows[*code as usize] += 1);
    let seen = |name: &String| {
        known.names.contains(name) || pooled.is_some_and(|pooled| pooled.contains(&name.as_str()))
    };
    let strange: Vec<(String, usize)> =
        names.iter().cloned().zip(rows).filter(|(name, rows)| *rows > 0 && !seen(name)).collect();
    let never = if pooled.is_some() { "training never saw" } else { "training pooled, or never saw," };
    (!strange.is_empty()).then(|| {
        format!(
            "column {:?}: groups that {never} count as {POOL:?} and are decided by a threshold chosen without \
             them: {}",
            known.column,
            list(&strange)
        )
    })
}

/// Groups with their rows, the largest first.
fn list(groups: &[(String, usize)]) -> String {
    let mut groups: Vec<&(String, usize)> = groups.iter().collect();
    groups.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let mut said: Vec<String> = groups
        .iter()
        .take(MOST_NAMED)
        .map(|(name, rows)| format!("{name:?} ({rows} row{})", if *rows == 1 { "" } else { "s" }))
        .collect();
    if let Some(more @ 1..) = groups.len().checked_sub(MOST_NAMED) {
        let rows: usize = groups[MOST_NAMED..].iter().map(|(_, rows)| rows).sum();
        said.push(format!("and {more} more ({rows} rows)"));
    }
    said.join(", ")
}

/// The sample with its groups spelled as these are: `True` where it has `true`, `1.0` where it has `1`.
pub fn spell_as(sample: &Sample, known: &[String]) -> Result<Sample, SampleError> {
    let Some(groups) = sample.groups() else { return Ok(sample.clone()) };
    let mut names: Vec<String> = Vec::new();
    let place: Vec<u32> = groups
        .names()
        .iter()
        .map(|name| {
            let name = known_as(name, known).unwrap_or(name);
            names.iter().position(|other| other == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            }) as u32
        })
        .collect();
    if names == groups.names() {
        return Ok(sample.clone());
    }
    let of = groups.codes().iter().map(|code| place[*code as usize]).collect();
    sample.clone().with_groups(groups.column(), names, of)
}

/// The group that a name is of: the one spelled so, else but for its case, else one that says the same.
pub(crate) fn known_as<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let but_for_case = || known.iter().find(|other| other.eq_ignore_ascii_case(name));
    let same = || known.iter().find(|other| same_value(other, name));
    known.iter().find(|other| *other == name).or_else(but_for_case).or_else(same)
}

/// The sample with every group that is not among these pooled into one.
pub(crate) fn pool_others(sample: &Sample, known: &[String]) -> Result<Sample, SampleError> {
    let Some(groups) = sample.groups() else { return Ok(sample.clone()) };
    let mut names: Vec<String> =
        known.iter().filter(|name| *name != POOL && groups.names().contains(name)).cloned().collect();
    let place: Vec<u32> = groups
        .names()
        .iter()
        .map(|name| names.iter().position(|other| other == name).unwrap_or(names.len()) as u32)
        .collect();
    let of: Vec<u32> = groups.codes().iter().map(|code| place[*code as usize]).collect();
    if of.contains(&(names.len() as u32)) {
        names.push(POOL.to_owned());
    }
    sample.clone().with_groups(groups.column(), names, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_spelled_as_the_model_knows_them() {
        let names = ["1", "true", "x"].map(str::to_owned).to_vec();
        let sample = Sample::new(vec![true; 3]).unwrap().with_groups("g", names, vec![0, 1, 2]).unwrap();
        let known = ["2.0", "1.0", "True"].map(str::to_owned);
        let spelled = spell_as(&sample, &known).unwrap();
        assert_eq!(spelled.groups().unwrap().names(), ["1.0", "True", "x"]);
        let joined = spell_as(&sample, &["true".to_owned()]).unwrap();
        assert_eq!(joined.groups().unwrap().names(), ["true", "x"]);
        assert_eq!(joined.groups().unwrap().codes(), [0, 0, 1]);
    }

    #[test]
    fn small_groups_are_pooled_and_large_ones_stay() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let sample = Sample::new(vec![true; 6]).unwrap();
        let sample = sample.with_groups("g", names, vec![0, 1, 2, 0, 0, 1]).unwrap();
        let small = Small::of(&sample, 3).unwrap();
        assert_eq!(small.names(), ["b", "c"]);
        assert_eq!(
            small.note(),
            r#"small groups of column "g" are pooled into "(other)": "b" (2 rows), "c" (1 row)"#
        );
        let pooled = small.pool(&sample).unwrap();
        let groups = pooled.groups().unwrap();
        assert_eq!(groups.names(), ["a", POOL]);
        assert_eq!(groups.codes(), [0, 1, 1, 0, 0, 1]);
        assert!(Small::of(&sample, 1).is_none());
    }

    #[test]
    fn a_group_needs_rows_of_the_class_that_its_condition_counts_and_so_does_the_pool() {
        // 60 rows of a; 20 of the pool, two of them negative.
        let labels: Vec<bool> = (0..80).map(|row| if row < 60 { row % 2 == 0 } else { row >= 62 }).collect();
        let names = ["a", POOL].map(str::to_owned).to_vec();
        let sample = Sample::new(labels).unwrap();
        let sample =
            sample.with_groups("g", names, (0..80).map(|row| u32::from(row >= 60)).collect()).unwrap();
        let few = sample.select(&(0..66).collect::<Vec<_>>());
        for (goal, last, few) in [
            ("recall @ fpr(g)<=10%", &sample, Some("2 negatives in the train part")),
            ("accuracy @ gap(recall, g)<=0.1", &sample, None),
            ("accuracy @ gap(recall, g)<=0.1", &few, Some("4 positives in the calibration part")),
            ("accuracy @ ratio(positive-rate, g)>=0.8", &sample, None),
            ("accuracy @ ratio(positive-rate, g)>=0.8", &few, Some("6 in the calibration part")),
        ] {
            let small = too_small(&goal.parse().unwrap(), &[("train", &sample), ("calibration", last)]);
            let expected = few.map(|few| (POOL.to_owned(), few.to_owned()));
            assert_eq!(small, Vec::from_iter(expected), "{goal}");
        }
    }

    #[test]
    fn groups_that_training_never_saw_are_named_the_largest_first() {
        let known = |names: &[&str]| artifact::Groups {
            column: "g".to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let names: Vec<String> = ["a", "x", "y", "z", "w"].map(str::to_owned).to_vec();
        let codes = [0, 1, 2, 3, 3, 0];
        let said = |pooled| strangers(&known(&["a", POOL]), pooled, &names, &codes);
        let note = said(Some(&["x"][..])).unwrap();
        assert!(note.contains("never saw") && note.ends_with(r#": "z" (2 rows), "y" (1 row)"#), "{note}");
        // Files from before say nothing of those that were pooled.
        let note = said(None).unwrap();
        assert!(note.contains("pooled, or never saw,") && note.contains(r#""x" (1 row)"#), "{note}");
        assert_eq!(said(Some(&["x", "y", "z"])), None);
        assert_eq!(strangers(&known(&["a"]), None, &names, &codes), None);
        let many: Vec<(String, usize)> = (0..15).map(|name| (name.to_string(), 2)).collect();
        assert!(list(&many).ends_with(r#""9" (2 rows), and 5 more (10 rows)"#), "{}", list(&many));
    }
}
