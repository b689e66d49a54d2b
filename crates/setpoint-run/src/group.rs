//! Groups by name, and the pool of small ones.

use setpoint::Sample;
use setpoint::sample::SampleError;

/// The group that takes in the small ones.
pub const POOL: &str = "(other)";

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
    let mut pooled = Sample::new(sample.labels().to_vec())?;
    if let Some(weights) = sample.weights() {
        pooled = pooled.with_weights(weights.to_vec())?;
    }
    pooled.with_groups(groups.column(), names, of)
}

#[cfg(test)]
mod tests {
    use super::*;

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
