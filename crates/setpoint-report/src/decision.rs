//! Thresholds that decide all rows alike, which no reader expects.

use setpoint::message::quote;

use crate::group::GroupRecord;
use crate::train::Confusion;

/// What to say where all of these rows are decided alike, or all of a group with a threshold of its own.
#[must_use]
pub fn decided_alike(rows: &str, whole: &Confusion, own_thresholds: &[GroupRecord]) -> Vec<String> {
    let of_group =
        |group: &GroupRecord| said(&format!("{rows} of group {}", quote(&group.group)), &group.confusion);
    match said(rows, whole) {
        Some(text) => vec![text],
        None => own_thresholds.iter().filter_map(of_group).collect(),
    }
}

fn said(rows: &str, confusion: &Confusion) -> Option<String> {
    let Confusion { true_positives, false_negatives, false_positives, true_negatives } = confusion;
    let (positive, negative) = (true_positives + false_positives, false_negatives + true_negatives);
    if positive == 0.0 && negative > 0.0 {
        Some(format!("none of {rows} is decided positive: the threshold lies above all their scores"))
    } else if positive > 0.0 && negative == 0.0 {
        Some(format!("all of {rows} are decided positive: the threshold lies below all their scores"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(positive: f64, negative: f64) -> Confusion {
        Confusion {
            true_positives: positive,
            false_negatives: 0.0,
            false_positives: 0.0,
            true_negatives: negative,
        }
    }

    #[test]
    fn nobody_and_everybody_are_said_overall_or_by_group() {
        let group = |name: &str, confusion| GroupRecord {
            column: "sex".to_owned(),
            group: name.to_owned(),
            rows: 3,
            threshold: 0.5,
            confusion,
            rates: Vec::new(),
        };
        let groups =
            [group("f", counts(0.0, 3.0)), group("m", counts(3.0, 4.0)), group("x", counts(2.0, 0.0))];
        assert_eq!(
            decided_alike("these rows", &counts(5.0, 7.0), &groups),
            [
                "none of these rows of group \"f\" is decided positive: the threshold lies above all their scores",
                "all of these rows of group \"x\" are decided positive: the threshold lies below all their scores",
            ]
        );
        let none = decided_alike("these rows", &counts(0.0, 7.0), &groups);
        assert_eq!(
            none,
            ["none of these rows is decided positive: the threshold lies above all their scores"]
        );
        assert!(decided_alike("these rows", &counts(0.0, 0.0), &[]).is_empty());
    }
}
