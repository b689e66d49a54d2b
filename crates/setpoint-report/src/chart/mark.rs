//! What a chart can show: curves, bands, points, bars, rules and notes.

/// Whose mark it is; each has its colour, in light and in dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// What the chart is about.
    Main,
    /// What it is compared with.
    Other,
    /// A third thing.
    Third,
    /// A fourth.
    Fourth,
    /// A limit, a target.
    Limit,
    /// Something in the background, such as chance.
    Quiet,
}

impl Tone {
    /// Every tone.
    pub const ALL: [Self; 6] = [Self::Main, Self::Other, Self::Third, Self::Fourth, Self::Limit, Self::Quiet];

    /// Its class in the drawing.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Other => "other",
            Self::Third => "third",
            Self::Fourth => "fourth",
            Self::Limit => "limit",
            Self::Quiet => "quiet",
        }
    }
}

/// How a curve goes from one point to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Straight.
    #[default]
    Line,
    /// At the height of the first, then up or down: a value that holds from its point on.
    After,
    /// Up or down, then at the height of the second: a value that holds up to its point.
    Before,
}

/// A point, with the interval about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Place along the first axis.
    pub x: f64,
    /// Place along the second axis.
    pub y: f64,
    /// An interval along the first axis.
    pub across: Option<(f64, f64)>,
    /// An interval along the second axis.
    pub along: Option<(f64, f64)>,
}

impl Dot {
    /// A point without intervals.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, across: None, along: None }
    }
}

/// One thing on a chart.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    Curve {
        points: Vec<(f64, f64)>,
        join: Join,
        dashed: bool,
    },
    /// Between two heights at each x.
    Band(Vec<(f64, f64, f64)>),
    Dots(Vec<Dot>),
    /// From, to, height.
    Bars(Vec<(f64, f64, f64)>),
    /// A line across the chart at this x.
    Upright(f64),
    /// A line across the chart at this y.
    Level(f64),
}

/// A mark with its name in the legend and its colour.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub(super) mark: Mark,
    pub(super) name: String,
    pub(super) tone: Tone,
}

/// A text beside a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Note {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) text: String,
    pub(super) tone: Tone,
}

impl Mark {
    /// A curve as the vertices of its line.
    pub(super) fn vertices(points: &[(f64, f64)], join: Join) -> Vec<(f64, f64)> {
        if join == Join::Line {
            return points.to_vec();
        }
        let mut vertices = Vec::with_capacity(2 * points.len());
        for (place, point) in points.iter().enumerate() {
            if let Some(before) = place.checked_sub(1).map(|before| points[before]) {
                vertices.push(match join {
                    Join::After => (point.0, before.1),
                    _ => (before.0, point.1),
                });
            }
            vertices.push(*point);
        }
        vertices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_their_value_on_the_side_they_say() {
        let points = [(0.0, 1.0), (1.0, 3.0)];
        assert_eq!(Mark::vertices(&points, Join::After), [(0.0, 1.0), (1.0, 1.0), (1.0, 3.0)]);
        assert_eq!(Mark::vertices(&points, Join::Before), [(0.0, 1.0), (0.0, 3.0), (1.0, 3.0)]);
        assert_eq!(Mark::vertices(&points, Join::Line), points);
        assert!(Mark::vertices(&[], Join::After).is_empty());
    }
}
