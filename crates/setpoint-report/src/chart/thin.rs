//! Curves with as many points as can be seen.
//!
//! A curve of ten million points is drawn on a few hundred columns of pixels. What a column shows of
//! it is where the curve enters, its lowest, its highest and where it leaves: those four are kept,
//! in one pass and without holding the curve. Then points are dropped as long as the line stays
//! within a fraction of a pixel of each of them (Ramer, Douglas and Peucker).

use super::Scale;

/// Columns across the range: two for each unit of a chart's width.
const COLUMNS: f64 = 1000.0;
/// How far a dropped point may be from the line, in columns.
const TOLERANCE: f64 = 0.35;
/// Height of a chart in columns.
const HEIGHT: f64 = 600.0;

/// Takes the points of a curve in the order of its line, and keeps what can be seen of them.
///
/// ```
/// use setpoint_report::chart::{Scale, Thinner};
///
/// let unit = Scale::linear(0.0, 1.0);
/// let mut thinner = Thinner::new(unit, unit);
/// for i in 0..=1_000_000 {
///     let x = f64::from(i) / 1e6;
///     thinner.push(x, x * x);
/// }
/// let kept = thinner.finish();
/// assert!(kept.len() < 100 && kept[0] == (0.0, 0.0) && kept[kept.len() - 1] == (1.0, 1.0));
/// ```
#[derive(Clone, Debug)]
pub struct Thinner {
    x: Scale,
    y: Scale,
    column: Option<Column>,
    kept: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    value: (f64, f64),
    /// In columns.
    place: (f64, f64),
}

#[derive(Clone, Copy, Debug)]
struct Column {
    number: i64,
    first: (u64, Point),
    low: (u64, Point),
    high: (u64, Point),
    last: (u64, Point),
}

impl Thinner {
    /// For a curve that is shown over these ranges.
    #[must_use]
    pub fn new(x: Scale, y: Scale) -> Self {
        Self { x, y, column: None, kept: Vec::new() }
    }

    /// Takes the next point. One that is not finite is left out.
    pub fn push(&mut self, x: f64, y: f64) {
        let place = (COLUMNS * self.x.position(x), HEIGHT * self.y.position(y));
        if !(place.0.is_finite() && place.1.is_finite()) {
            return;
        }
        let point = Point { value: (x, y), place };
        // Everything beyond an end of the range is one column.
        let number = place.0.clamp(-1.0, COLUMNS + 1.0).floor() as i64;
        match &mut self.column {
            Some(column) if column.number == number => {
                let order = column.last.0 + 1;
                if point.place.1 < column.low.1.place.1 {
                    column.low = (order, point);
                }
                if point.place.1 > column.high.1.place.1 {
                    column.high = (order, point);
                }
                column.last = (order, point);
            }
            _ => {
                self.leave_column();
                let start = (0, point);
                self.column = Some(Column { number, first: start, low: start, high: start, last: start });
            }
        }
    }

    fn leave_column(&mut self) {
        let Some(column) = self.column.take() else { return };
        let mut four = [column.first, column.low, column.high, column.last];
        four.sort_by_key(|(order, _)| *order);
        let mut before = None;
        for (order, point) in four {
            if before != Some(order) {
                self.kept.push(point);
            }
            before = Some(order);
        }
    }

    /// The points that are kept, in order.
    #[must_use]
    pub fn finish(mut self) -> Vec<(f64, f64)> {
        self.leave_column();
        let stays = simplified(&self.kept);
        self.kept.iter().zip(stays).filter(|(_, stays)| *stays).map(|(point, _)| point.value).collect()
    }
}

/// Which points the line needs to stay within the tolerance of all of them.
fn simplified(points: &[Point]) -> Vec<bool> {
    let mut stays = vec![false; points.len()];
    let Some(end) = points.len().checked_sub(1) else { return stays };
    (stays[0], stays[end]) = (true, true);
    let mut pieces = vec![(0, end)];
    while let Some((from, to)) = pieces.pop() {
        let distances = (from + 1..to).map(|at| (at, distance(points[at], points[from], points[to])));
        let farthest = distances.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, distance)) = farthest
            && distance > TOLERANCE
        {
            stays[at] = true;
            pieces.extend([(from, at), (at, to)]);
        }
    }
    stays
}

/// From a point to the piece of line between two others.
fn distance(point: Point, from: Point, to: Point) -> f64 {
    let (ax, ay) = from.place;
    let (dx, dy) = (to.place.0 - ax, to.place.1 - ay);
    let (px, py) = (point.place.0 - ax, point.place.1 - ay);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((px * dx + py * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (px - along * dx).hypot(py - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thin(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        let unit = Scale::linear(0.0, 1.0);
        let mut thinner = Thinner::new(unit, unit);
        for (x, y) in points {
            thinner.push(x, y);
        }
        thinner.finish()
    }

    /// Height of the line at x.
    fn height(points: &[(f64, f64)], x: f64) -> f64 {
        let at = points.partition_point(|point| point.0 < x).clamp(1, points.len() - 1);
        let ((x0, y0), (x1, y1)) = (points[at - 1], points[at]);
        if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y1 }
    }

    #[test]
    fn a_smooth_curve_keeps_few_points_and_its_shape() {
        let curve = |x: f64| x.powf(0.2);
        let kept = thin((0..=100_000).map(|i| f64::from(i) / 1e5).map(|x| (x, curve(x))));
        assert!(kept.len() < 150, "{}", kept.len());
        for i in 1..1000 {
            let x = f64::from(i) / 1000.0 + 0.0005;
            // Half a unit of a chart that is 300 high, where the curve is not all but vertical.
            assert!(x < 0.02 || (height(&kept, x) - curve(x)).abs() < 0.5 / 300.0, "{x}");
        }
    }

    #[test]
    fn the_extremes_of_every_column_stay() {
        // A spike of one point among a million, and noise that no line could follow.
        let spike = thin((0..1_000_000).map(|i| (f64::from(i) / 1e6, f64::from(u8::from(i == 123_456)))));
        assert!(spike.contains(&(0.123456, 1.0)) && spike.len() < 10, "{spike:?}");
        let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
        let noisy = thin((0..1_000_000).map(|i| (f64::from(i) / 1e6, noise(i))));
        assert!(noisy.len() <= 4004, "{}", noisy.len());
        for column in 0..1000 {
            let here = |point: &&(f64, f64)| (point.0 * 1000.0).floor() as i64 == column;
            let low = noisy.iter().filter(here).map(|point| point.1).fold(1.0, f64::min);
            let high = noisy.iter().filter(here).map(|point| point.1).fold(0.0, f64::max);
            assert!(low < 0.02 && high > 0.98, "{column}: {low} {high}");
        }
    }

    #[test]
    fn few_points_empty_curves_and_bad_numbers_are_no_trouble() {
        assert!(thin([].into_iter()).is_empty());
        assert_eq!(thin([(0.5, 0.5)].into_iter()), [(0.5, 0.5)]);
        assert_eq!(thin([(0.0, 0.0), (f64::NAN, 0.5), (1.0, 1.0)].into_iter()), [(0.0, 0.0), (1.0, 1.0)]);
    }
}
