//! Goals in words, for reports.

use super::{Area, Constraint, Curve, Direction, Goal, Objective, Rate, Relation, Top, column, name, number};

impl Goal {
    /// The goal in words, as reports say it.
    ///
    /// ```
    /// use setpoint::goal::Goal;
    ///
    /// let goal: Goal = "recall @ fpr<=1%".parse()?;
    /// assert_eq!(goal.describe(), "the most recall at a false positive rate of at most 1%");
    /// # Ok::<(), setpoint::goal::ParseError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        let rate = match &self.objective {
            Objective::Area(area) => return area_words(area),
            Objective::Rate(rate) => *rate,
            Objective::Money(money) => money.rate(),
        };
        if let [Constraint::Top(top)] = self.constraints.as_slice() {
            let best = if rate.direction() == Direction::Down { "lowest" } else { "best" };
            let (words, taken) = (rate_words(rate), top_words(*top));
            return match rate {
                Rate::Precision | Rate::FalseDiscoveryRate => format!("the {best} {words} among {taken}"),
                _ => format!("the {best} {words} with {taken} predicted positive"),
            };
        }
        let best = match (rate, rate.direction()) {
            (Rate::Recall, _) => "most",
            (_, Direction::Down) => "lowest",
            (_, Direction::Up | Direction::Neither) => "highest",
        };
        let mut text = format!("the {best} {}", rate_words(rate));
        // Rates read as "at a ... and a ..."; comparisons of groups follow as "with ... and ...".
        let compares =
            |condition: &&Constraint| matches!(condition, Constraint::Gap { .. } | Constraint::Ratio { .. });
        let (compared, held): (Vec<_>, Vec<_>) = self.constraints.iter().partition(compares);
        for (word, conditions) in [("at", held), ("with", compared)] {
            let words: Vec<String> = conditions.into_iter().map(Constraint::describe).collect();
            if !words.is_empty() {
                text = format!("{text} {word} {}", words.join(" and "));
            }
        }
        text
    }
}

impl Constraint {
    /// The condition in words, as a thing to hold: `a false positive rate of at most 1%`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Rate { rate, relation, target } => rate_held(*rate, *relation, *target),
            Self::PerGroup { rate, column, relation, target } => {
                format!("{} in each group of {}", rate_held(*rate, *relation, *target), column::quote(column))
            }
            Self::Gap { rate, column, relation, target } => format!(
                "{} of the groups of {} {}{} apart",
                plural(*rate),
                column::quote(column),
                side(*relation),
                number::fraction(*target)
            ),
            Self::Ratio { rate, column, relation, target } => format!(
                "the lowest {} among the groups of {} {}{} times the highest",
                rate_words(*rate),
                column::quote(column),
                side(*relation),
                number::fraction(*target)
            ),
            Self::Top(top) => format!("{} predicted positive", top_words(*top)),
        }
    }
}

/// `a false positive rate of at most 1%`
fn rate_held(rate: Rate, relation: Relation, target: f64) -> String {
    let words = rate_words(rate);
    let article = if words.starts_with(['a', 'e', 'F']) { "an" } else { "a" };
    format!("{article} {words} of {}{}", side(relation), number::words(target))
}

fn side(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "",
        Relation::AtMost => "at most ",
        Relation::AtLeast => "at least ",
    }
}

pub(super) fn rate_words(rate: Rate) -> String {
    match (rate, name::words(rate)) {
        (Rate::FBeta(beta), _) => format!("F{} score", number::fraction(beta)),
        (_, Some(words)) => words.to_owned(),
        (other, None) => other.to_string(),
    }
}

/// Several groups' values of a rate: `positive rates`, `recalls`, `accuracies`.
fn plural(rate: Rate) -> String {
    let words = rate_words(rate);
    words.strip_suffix('y').map_or_else(|| format!("{words}s"), |stem| format!("{stem}ies"))
}

fn top_words(top: Top) -> String {
    match top {
        Top::Fraction(share) => format!("the highest {} of the scores", number::words(share)),
        Top::Count { k: 1, of: None } => "the highest score".to_owned(),
        Top::Count { k, of: None } => format!("the {k} highest scores"),
        Top::Count { k, of: Some(rows) } => format!("the {k} highest of {rows} scores"),
    }
}

fn area_words(area: &Area) -> String {
    if area.is_whole() && area.curve == Curve::Roc {
        return "the largest area under the ROC curve".to_owned();
    }
    let height = area.height().map_or_else(|| "height".to_owned(), rate_words);
    let (from, to) = (number::words(area.from), number::words(area.to));
    format!("the highest mean {height} over {} from {from} to {to}", rate_words(area.axis))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::goal::arbitrary::goals;

    #[test]
    fn goals_read_as_sentences_do() {
        for (goal, words) in [
            ("recall @ fpr<=1%", "the most recall at a false positive rate of at most 1%"),
            ("fnr @ fpr=5%", "the lowest false negative rate at a false positive rate of 5%"),
            ("precision @ recall>=0.95", "the highest precision at a recall of at least 95%"),
            ("pr-auc @ recall in 0.95..1", "the highest mean precision over recall from 95% to 100%"),
            ("roc-auc @ fpr in 0..5%", "the highest mean recall over false positive rate from 0% to 5%"),
            ("roc-auc", "the largest area under the ROC curve"),
            ("pr-auc", "the highest mean precision over recall from 0% to 100%"),
            ("precision @ k=100", "the best precision among the 100 highest scores"),
            ("recall @ k=1", "the best recall with the highest score predicted positive"),
            ("fdr @ k=100 of 5000", "the lowest false discovery rate among the 100 highest of 5000 scores"),
            ("precision @ top=2.5%", "the best precision among the highest 2.5% of the scores"),
            ("f1", "the highest F1 score"),
            ("f0.5 @ accuracy>=0.9", "the highest F0.5 score at an accuracy of at least 90%"),
            ("error @ positive-rate<=10%", "the lowest error rate at a positive rate of at most 10%"),
            (
                "recall @ precision>=0.9, fpr<=2%",
                "the most recall at a precision of at least 90% and a false positive rate of at most 2%",
            ),
            (
                "recall @ fpr(sex)<=2%",
                "the most recall at a false positive rate of at most 2% in each group of sex",
            ),
            (
                "accuracy @ gap(positive-rate, sex)<=0.02",
                "the highest accuracy with positive rates of the groups of sex at most 0.02 apart",
            ),
            (
                "recall @ gap(accuracy, sex)<=0.02, fpr<=1%",
                "the most recall at a false positive rate of at most 1% with accuracies of the groups of sex at most 0.02 apart",
            ),
            (
                "accuracy @ ratio(positive-rate, \"marital status\")>=0.8",
                "the highest accuracy with the lowest positive rate among the groups of \"marital status\" at least 0.8 times the highest",
            ),
            ("recall @ fpr<=1e-7", "the most recall at a false positive rate of at most 1e-7"),
        ] {
            assert_eq!(goal.parse::<Goal>().unwrap().describe(), words, "{goal}");
        }
    }

    proptest! {
        #[test]
        fn any_goal_can_be_described(goal in goals()) {
            let words = goal.describe();
            prop_assert!(words.starts_with("the ") && !words.contains('\n'), "{}", words);
        }
    }
}
