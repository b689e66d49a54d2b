//! One node of a tree, and what it asks of a row.

/// What a node asks, packed: a column and a few marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split(pub(crate) u32);

impl Split {
    /// Missing values go left, else right.
    const MISSING_LEFT: u32 = 1 << 31;
    /// The column holds codes of categories.
    const CATEGORICAL: u32 = 1 << 30;
    /// Zeros are missing too.
    const ZERO_MISSING: u32 = 1 << 29;
    /// No question at all.
    const LEAF: u32 = 1 << 28;
    /// Columns are below this.
    pub(crate) const COLUMNS: usize = 1 << 28;

    pub(crate) const fn leaf() -> Self {
        Self(Self::LEAF | Self::MISSING_LEFT)
    }

    pub(crate) fn number(column: u32, zero_missing: bool, missing_left: bool) -> Self {
        let zero = if zero_missing { Self::ZERO_MISSING } else { 0 };
        let left = if missing_left { Self::MISSING_LEFT } else { 0 };
        Self(column | zero | left)
    }

    pub(crate) fn category(column: u32) -> Self {
        Self(column | Self::CATEGORICAL)
    }

    pub(crate) fn column(self) -> usize {
        (self.0 & (Self::LEAF - 1)) as usize
    }

    pub(crate) fn with_column(self, column: u32) -> Self {
        Self((self.0 & !(Self::LEAF - 1)) | column)
    }

    pub(crate) fn missing_left(self) -> bool {
        self.0 & Self::MISSING_LEFT != 0
    }

    pub(crate) fn is_categorical(self) -> bool {
        self.0 & Self::CATEGORICAL != 0
    }

    pub(crate) fn zero_missing(self) -> bool {
        self.0 & Self::ZERO_MISSING != 0
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.0 & Self::LEAF != 0
    }

    /// Whether the marks are of one kind of node, as the constructors make them.
    pub(crate) fn is_sound(self) -> bool {
        if self.is_leaf() {
            return self == Self::leaf();
        }
        !(self.is_categorical() && (self.missing_left() || self.zero_missing()))
    }
}

/// A node: its split, and where its left child is; the right child is the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    /// Left where the value is not above it; for categories the bits of the set's number; infinite
    /// for a leaf, so that every value goes "left": nowhere.
    pub(crate) threshold: f32,
    pub(crate) split: Split,
    /// Among all nodes of the ensemble; a leaf's is the leaf itself.
    pub(crate) left: u32,
}

impl Node {
    pub(crate) fn leaf(at: u32) -> Self {
        Self { threshold: f32::INFINITY, split: Split::leaf(), left: at }
    }

    /// The number of a categorical node's set.
    pub(crate) fn set(self) -> u32 {
        self.threshold.to_bits()
    }

    pub(crate) fn with_set(self, set: u32) -> Self {
        Self { threshold: f32::from_bits(set), ..self }
    }
}

/// Values this close to zero are zero to LightGBM.
pub(crate) const ZERO: f32 = 1e-35;

/// The `f32` threshold that decides about `f32` values as LightGBM's double does.
///
/// Values within [`ZERO`] of zero are decided about as zero is, so a threshold in that band moves to
/// its end. Infinity, which tells numbers from missing ones, becomes the largest `f32`: model files and
/// training rows hold no infinities. `None` where no finite `f32` is low enough.
pub(crate) fn threshold(double: f64) -> Option<f32> {
    if double == f64::INFINITY {
        return Some(f32::MAX);
    }
    let nearest = double as f32;
    let below = if f64::from(nearest) > double { nearest.next_down() } else { nearest };
    let below = if (0.0..=ZERO).contains(&below) {
        ZERO
    } else if (-ZERO..0.0).contains(&below) {
        (-ZERO).next_down()
    } else {
        below
    };
    below.is_finite().then_some(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_lets_every_number_pass_and_minus_infinity_none() {
        assert_eq!(threshold(f64::INFINITY), Some(f32::MAX));
        assert_eq!(threshold(f64::NEG_INFINITY), None);
        assert_eq!(threshold(f64::NAN), None);
    }

    #[test]
    fn rounded_thresholds_decide_as_doubles_do() {
        let values = [0.1f32, 0.3, 1.0, -0.1, -7.25, 1e30, -1e30, 3.0e-35, -3.0e-35, 0.0];
        for x in values {
            for t in [f64::from(x), f64::from(x.next_up()), f64::from(x.next_down())] {
                for double in [t, t.next_up(), t.next_down(), 1e300] {
                    let rounded = threshold(double).unwrap();
                    for value in [x, x.next_up(), x.next_down(), -x] {
                        let flushed = if value.abs() <= ZERO { 0.0 } else { value };
                        let expected = f64::from(flushed) <= double;
                        assert_eq!(value <= rounded, expected, "{value} against {double}");
                    }
                }
            }
        }
        assert_eq!(threshold(-1e300), None);
        assert_eq!(threshold(f64::NAN), None);
    }

    #[test]
    fn values_in_the_band_around_zero_are_decided_about_as_zero() {
        let edge = f64::from(ZERO);
        for double in [edge, -edge, edge / 2.0, -edge / 2.0, 0.0] {
            let rounded = threshold(double).unwrap();
            for value in [ZERO, -ZERO, ZERO / 3.0, -ZERO / 3.0, 0.0, -0.0] {
                assert_eq!(value <= rounded, 0.0 <= double, "{value} against {double}");
            }
        }
    }
}
