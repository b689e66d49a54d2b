//! The short names of rates and curves, and what was meant by a name that is none.

use super::{Curve, Rate};

/// A rate with the names it goes by (the first is the one printed) and its name in words.
struct Entry {
    rate: Rate,
    names: &'static [&'static str],
    words: &'static str,
}

/// Every rate but the f-beta family, whose names hold a number, and those of money, which hold amounts.
const RATES: [Entry; 13] = [
    entry(Rate::Recall, &["recall", "tpr", "sensitivity"], "recall"),
    entry(Rate::FalseNegativeRate, &["fnr"], "false negative rate"),
    entry(Rate::FalsePositiveRate, &["fpr"], "false positive rate"),
    entry(Rate::TrueNegativeRate, &["tnr", "specificity"], "true negative rate"),
    entry(Rate::Precision, &["precision", "ppv"], "precision"),
    entry(Rate::FalseDiscoveryRate, &["fdr"], "false discovery rate"),
    entry(Rate::NegativePredictiveValue, &["npv"], "negative predictive value"),
    entry(Rate::FalseOmissionRate, &["for"], "false omission rate"),
    entry(Rate::Accuracy, &["accuracy"], "accuracy"),
    entry(Rate::Error, &["error"], "error rate"),
    entry(Rate::BalancedAccuracy, &["balanced-accuracy"], "balanced accuracy"),
    entry(Rate::PositiveRate, &["positive-rate"], "positive rate"),
    entry(Rate::Coverage, &["coverage"], "coverage"),
];

const fn entry(rate: Rate, names: &'static [&'static str], words: &'static str) -> Entry {
    Entry { rate, names, words }
}

/// What other tools call the things that have a name here.
const ELSEWHERE: [(&str, &str); 15] = [
    ("auc", "roc-auc"),
    ("auroc", "roc-auc"),
    ("roc", "roc-auc"),
    ("auprc", "pr-auc"),
    ("ap", "pr-auc"),
    ("average-precision", "pr-auc"),
    ("hit-rate", "recall"),
    ("true-positive-rate", "recall"),
    ("miss-rate", "fnr"),
    ("false-negative-rate", "fnr"),
    ("fall-out", "fpr"),
    ("false-positive-rate", "fpr"),
    ("true-negative-rate", "tnr"),
    ("selection-rate", "positive-rate"),
    ("f-score", "f1"),
];

/// The form in which names are compared: lower case, and `_` as `-`.
pub(super) fn normalise(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

/// The printed name of a rate other than f-beta.
pub(super) fn short(rate: Rate) -> Option<&'static str> {
    find(rate).map(|entry| entry.names[0])
}

/// The name in words of a rate other than f-beta.
pub(super) fn words(rate: Rate) -> Option<&'static str> {
    find(rate).map(|entry| entry.words)
}

fn find(rate: Rate) -> Option<&'static Entry> {
    RATES.iter().find(|entry| entry.rate == rate)
}

/// The rate of a normalised name: an alias, or `f` with its beta (`f1`, `f0.5`, `f1-score`).
pub(super) fn rate(name: &str) -> Option<Rate> {
    if let Some(entry) = RATES.iter().find(|entry| entry.names.contains(&name)) {
        return Some(entry.rate);
    }
    let beta = name.strip_prefix('f')?;
    let beta = beta.strip_suffix("-score").unwrap_or(beta);
    // Rust reads "inf" and "nan" as numbers; a beta has digits.
    let number = beta.trim_start_matches(['-', '.']).starts_with(|c: char| c.is_ascii_digit());
    if number { beta.parse().ok().map(Rate::FBeta) } else { None }
}

/// The curve of a normalised name.
pub(super) fn curve(name: &str) -> Option<Curve> {
    [Curve::Roc, Curve::PrecisionRecall].into_iter().find(|&curve| area(curve) == name)
}

/// The name of the area under a curve.
pub(super) fn area(curve: Curve) -> &'static str {
    match curve {
        Curve::Roc => "roc-auc",
        Curve::PrecisionRecall => "pr-auc",
    }
}

/// The known name nearest to a normalised one, if any is near. `more` are known beside the rates.
pub(super) fn nearest(name: &str, more: &[&'static str]) -> Option<&'static str> {
    let known = || {
        let rates = RATES.iter().flat_map(|entry| entry.names).copied();
        rates.chain(["f1", "f2"]).chain(more.iter().copied())
    };
    if let Some((_, here)) = ELSEWHERE.iter().find(|(there, _)| *there == name) {
        return known().find(|known| known == here);
    }
    let name: String = name.chars().take(32).collect();
    let length = name.chars().count();
    let allowed = (length / 3).max(1);
    known()
        .map(|known| (strsim::osa_distance(&name, known), known))
        // A name of which nothing is left after the edits is not a misspelling.
        .filter(|&(distance, known)| distance <= allowed && distance < known.len() && distance < length)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_has_a_name_that_leads_back_to_it() {
        for known in Rate::ALL {
            assert_eq!(rate(&known.to_string()), Some(known));
        }
    }

    #[test]
    fn aliases_mean_the_same_rate() {
        for (alias, name) in [
            ("tpr", "recall"),
            ("sensitivity", "recall"),
            ("specificity", "tnr"),
            ("ppv", "precision"),
            ("f1.0", "f1"),
            ("f1-score", "f1"),
        ] {
            assert_eq!(rate(alias), rate(name), "{alias}");
            assert!(rate(alias).is_some(), "{alias}");
        }
    }

    #[test]
    fn words_that_rust_reads_as_numbers_are_no_betas() {
        for name in ["f", "finf", "fnan", "finfinity", "f-score", "f-inf", "fx"] {
            assert_eq!(rate(name), None, "{name}");
        }
    }

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let areas = ["roc-auc", "pr-auc"];
        for (name, expected) in [
            ("recal", Some("recall")),
            ("rceall", Some("recall")),
            ("frp", Some("fpr")),
            ("precison", Some("precision")),
            ("accurracy", Some("accuracy")),
            ("positiverate", Some("positive-rate")),
            ("rocauc", Some("roc-auc")),
            ("auc", Some("roc-auc")),
            ("average-precision", Some("pr-auc")),
            ("fall-out", Some("fpr")),
            ("banana", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &areas), expected, "{name}");
        }
        assert_eq!(nearest("auc", &[]), None, "an area is no condition");
    }
}
