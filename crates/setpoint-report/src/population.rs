//! Whether the parts of a split by time can be of one population, which a certificate assumes.

use serde::Serialize;

use crate::number::percent;

/// Most differences that the caution spells out.
const MOST_SAID: usize = 3;

/// The comparisons between parts, and what they come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PopulationRecord {
    /// The chance, for one population, that any of the comparisons differs; at the most.
    pub level: f64,
    /// Every comparison.
    pub comparisons: Vec<ComparedRecord>,
    /// What a reader of the certificate should know; `None` where nothing differs beyond chance.
    pub caution: Option<String>,
}

/// Two parts, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRecord {
    /// The earlier part.
    pub first: &'static str,
    /// The later part.
    pub second: &'static str,
    /// `scores of negatives`, `scores of positives` or `share of positives`; of several classes `margins of "a"`,
    /// `margins of rows other than "a"` or `share of "a"`.
    pub what: String,
    /// The group, where the conditions are on groups.
    pub group: Option<String>,
    /// The greatest difference between the two distributions, or between the two shares.
    pub difference: f64,
    /// The chance of as great a difference between samples of one population.
    pub p_value: f64,
    /// Whether that is below the level's share for this comparison.
    pub differs: bool,
}

impl PopulationRecord {
    /// Judges the comparisons at a level that they share alike (Bonferroni).
    #[must_use]
    pub fn new(level: f64, mut comparisons: Vec<ComparedRecord>) -> Self {
        let own = level / comparisons.len().max(1) as f64;
        comparisons.iter_mut().for_each(|one| one.differs = one.p_value <= own);
        let caution = caution(&comparisons);
        Self { level, comparisons, caution }
    }
}

fn caution(comparisons: &[ComparedRecord]) -> Option<String> {
    let mut differing: Vec<&ComparedRecord> = comparisons.iter().filter(|one| one.differs).collect();
    differing.sort_by(|a, b| a.p_value.total_cmp(&b.p_value));
    let mut said: Vec<String> = differing.iter().take(MOST_SAID).map(|one| one.to_string()).collect();
    if let Some(more @ 1..) = differing.len().checked_sub(MOST_SAID) {
        said.push(format!("{more} more"));
    }
    (!said.is_empty()).then(|| {
        format!(
            "the rows change over time, and a certificate assumes that new rows are like those of the \
             calibration part: {}; certify again on newer rows, and look for features that follow the time",
            said.join("; ")
        )
    })
}

impl std::fmt::Display for ComparedRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first, second, what, group, difference, p_value, .. } = self;
        let group = group.as_ref().map_or_else(String::new, |group| format!(" in group {group:?}"));
        let (verb, up_to) = if what.starts_with("share") { ("differs", "") } else { ("differ", "up to ") };
        let chance = if *p_value < 1e-99 { "< 1e-99".to_owned() } else { format!("= {p_value:.0e}") };
        write!(
            f,
            "{what}{group} {verb} between {first} and {second} (by {up_to}{}, p {chance})",
            percent(*difference)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_share_the_level_and_the_clearest_difference_comes_first() {
        let one = |what: &str, p_value| ComparedRecord {
            first: "validation",
            second: "calibration",
            what: what.to_owned(),
            group: None,
            difference: 0.125,
            p_value,
            differs: false,
        };
        let record = PopulationRecord::new(
            0.01,
            vec![
                one("scores of negatives", 0.004),
                one("scores of positives", 1e-8),
                one("share of positives", 0.003),
            ],
        );
        assert_eq!(record.comparisons.iter().map(|one| one.differs).collect::<Vec<_>>(), [false, true, true]);
        let caution = record.caution.unwrap();
        let said = ": scores of positives differ between validation and calibration (by up to 12.50%, p = 1e-8); \
                    share of positives differs between validation and calibration (by 12.50%, p = 3e-3); certify";
        assert!(caution.contains(said), "{caution}");
        assert_eq!(PopulationRecord::new(0.01, vec![one("scores of negatives", 0.02)]).caution, None);
        assert_eq!(PopulationRecord::new(0.01, Vec::new()).caution, None);
    }
}
