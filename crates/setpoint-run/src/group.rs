//! Groups by name, and the pool of small ones.

use setpoint::Sample;
use setpoint::goal::Goal;
use setpoint::sample::SampleError;
use setpoint_data::same_value;
use setpoint_report::Splits;

use crate::examples::Examples;
use crate::failure::Failure;

/// The group that takes in the small ones.
pub const POOL: &str = "(other)";

/// Fewest rows of a group, in every part that training or thresholds look at, on which a condition
/// can be held: below it, a rate moves by more than a tenth with a single row.
const LEAST_ROWS: usize = 10;

/// Refuses groups too small for a goal's conditions on groups, by name.
pub(crate) fn check_sizes(goal: &Goal, parts: &Splits<Option<Examples>>) -> Result<(), Failure> {
    let Some(column) = goal.column() else { return Ok(()) };
    let used =
        [("train", &parts.train), ("validation", &parts.validation), ("calibration", &parts.calibration)];
    let grouped: Vec<_> =
        used.iter().filter_map(|(name, part)| Some((*name, part.as_ref()?.sample.groups()?))).collect();
    let mut names: Vec<&String> = grouped.iter().flat_map(|(_, groups)| groups.names()).collect();
    names.sort();
    names.dedup();
    let small: Vec<String> = names
        .into_iter()
        .filter_map(|name| {
            let rows = |(part, groups): &(&'static str, &setpoint::sample::Groups)| {
                let code = groups.names().iter().position(|other| other == name);
                (code.map_or(0, |code| groups.rows(code).len()), *part)
            };
            let (rows, part) = grouped.iter().map(rows).min_by_key(|(rows, _)| *rows)?;
            // The pool is what was asked for, however small.
            let least = if name == POOL { 1 } else { LEAST_ROWS };
            (rows < least).then(|| format!("{name:?} ({rows} in the {part} part)"))
        })
        .collect();
    if small.is_empty() {
        return Ok(());
    }
    Err(Failure::input(format!(
        "groups of column {column:?} with fewer than {LEAST_ROWS} rows in a part: {}; a condition on them would hold by chance: pool small groups with --min-group N, or give the parts other shares",
        small.join(", ")
    )))
}

/// The sample with groups of fewer than `least` rows pooled into one.
pub fn pool_small(sample: &Sample, least: u64) -> Result<Sample, SampleError> {
    let Some(groups) = sample.groups() else { return Ok(sample.clone()) };
    let small = |code: usize| (groups.rows(code).len() as u64) < least;
    let kept: Vec<String> = (0..groups.names().len())
        .filter(|code| !small(*code))
        .map(|code| groups.names()[code].clone())
        .collect();
    pool_others(sample, &kept)
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

/// The group that a name is of: the one spelled so, else one that says the same.
pub(crate) fn known_as<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let same = || known.iter().find(|other| same_value(other, name));
    known.iter().find(|other| *other == name).or_else(same)
}

/// The sample with every group that is not among these pooled into one.
pub fn pool_others(sample: &Sample, known: &[String]) -> Result<Sample, SampleError> {
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
        let pooled = pool_small(&sample, 3).unwrap();
        let groups = pooled.groups().unwrap();
        assert_eq!(groups.names(), ["a", POOL]);
        assert_eq!(groups.codes(), [0, 1, 1, 0, 0, 1]);
        let all = pool_small(&sample, 1).unwrap();
        assert_eq!(all.groups().unwrap().names(), ["a", "b", "c"]);
    }
}
