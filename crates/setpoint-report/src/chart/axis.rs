//! An axis: its label, its range, and how its values are written.

use super::Scale;

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(super) label: String,
    pub(super) scale: Scale,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number,
    Percent,
    Names(Vec<String>),
}

/// A place on an axis with its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) text: String,
}

impl Axis {
    /// An axis over plain numbers.
    #[must_use]
    pub fn number(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, kind: Kind::Number }
    }

    /// An axis over shares of one, written as percentages.
    #[must_use]
    pub fn percent(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, kind: Kind::Percent }
    }

    /// An axis with a place for each name: the values 0, 1, 2 and so on.
    #[must_use]
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        let scale = Scale::linear(-0.6, names.len() as f64 - 0.4);
        Self { label: label.into(), scale, kind: Kind::Names(names) }
    }

    pub(super) fn ticks(&self, about: usize) -> Vec<Tick> {
        if let Kind::Names(names) = &self.kind {
            let places = names.iter().enumerate();
            return places.map(|(place, name)| Tick { value: place as f64, text: shortened(name) }).collect();
        }
        let values = self.scale.ticks(about);
        let factor = if self.kind == Kind::Percent { 100.0 } else { 1.0 };
        let sign = if self.kind == Kind::Percent { "%" } else { "" };
        let text = |value: f64| format!("{}{sign}", plain(factor * value));
        values.into_iter().map(|value| Tick { value, text: text(value) }).collect()
    }
}

/// A round number with the digits it needs.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        return format!("{value:e}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.replace('-', "\u{2212}")
}

/// Most characters of a name beside an axis.
const LONGEST_NAME: usize = 22;

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks(5).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_are_written_as_people_would() {
        assert_eq!(
            texts(&Axis::percent("recall", Scale::linear(0.0, 1.0))),
            ["0%", "20%", "40%", "60%", "80%", "100%"]
        );
        assert_eq!(
            texts(&Axis::percent("fpr", Scale::linear(0.0, 0.02))),
            ["0%", "0.5%", "1%", "1.5%", "2%"]
        );
        assert_eq!(texts(&Axis::number("score", Scale::linear(-2.0, 2.0))), ["−2", "−1", "0", "1", "2"]);
        assert_eq!(texts(&Axis::number("rows", Scale::log(1e3, 1e9))), ["1000", "100000", "1e7", "1e9"]);
    }

    #[test]
    fn long_names_are_shortened() {
        let axis = Axis::names("", vec!["short".to_owned(), "a".repeat(40)]);
        let texts = texts(&axis);
        assert_eq!(texts[0], "short");
        assert_eq!(texts[1].chars().count(), LONGEST_NAME);
    }
}
