//! Rows out of bytes: a goal up to the end of the line, a byte of choices, then eight bytes a row and one score more for
//! each further output.

use setpoint::Sample;
use setpoint::sample::SampleError;

/// More rows teach no more and take longer.
const MOST: usize = 400;

/// What the bytes say.
pub struct Rows<'a> {
    pub goal: &'a str,
    /// Choices of settings, taken bit by bit.
    pub choice: u8,
    /// All outputs of a row together.
    pub scores: Vec<f32>,
    pub labels: Vec<bool>,
    /// 0 to 3.
    pub groups: Vec<u32>,
    /// 0 to 15.
    pub keys: Vec<u32>,
    pub weights: Vec<f32>,
    pub grades: Vec<f32>,
}

impl<'a> Rows<'a> {
    /// Reads rows with so many scores; nothing where there is no goal or no row.
    pub fn read(bytes: &'a [u8], outputs: usize) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let goal = std::str::from_utf8(&bytes[..end]).ok()?;
        let (choice, bytes) = bytes[end + 1..].split_first()?;
        let mut rows = Self {
            goal,
            choice: *choice,
            scores: Vec::new(),
            labels: Vec::new(),
            groups: Vec::new(),
            keys: Vec::new(),
            weights: Vec::new(),
            grades: Vec::new(),
        };
        for row in bytes.chunks_exact(4 + 4 * outputs).take(MOST) {
            rows.labels.push(row[0] & 1 == 1);
            rows.groups.push(u32::from(row[0] >> 1 & 3));
            rows.keys.push(u32::from(row[0] >> 4));
            rows.grades.push(f32::from(row[1] % 5) * if row[1] >= 250 { 400.0 } else { 1.0 });
            // Powers of two from the smallest to the largest weight, mostly near 1.
            rows.weights.push(match row[2] {
                0..200 => 1.0 + f32::from(row[2] % 8),
                byte => 2f32.powi((i32::from(byte) - 228) * 4),
            });
            let score = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
            rows.scores.extend(row[4..].as_chunks().0.iter().map(score));
        }
        (!rows.labels.is_empty()).then_some(rows)
    }

    /// Whether a choice is made.
    pub fn chosen(&self, bit: u8) -> bool {
        self.choice >> bit & 1 == 1
    }

    /// The labels, weights, groups and entities as they were chosen. Scores that are no numbers become numbers unless chosen.
    pub fn sample(&self, sample: Sample, group: Option<&str>) -> Result<Sample, SampleError> {
        let mut sample = sample;
        if self.chosen(0) {
            sample = sample.with_weights(self.weights.clone())?;
        }
        if let Some(column) = group {
            // As many names as there are groups, in their order.
            let mut found: Vec<u32> = self.groups.clone();
            found.sort_unstable();
            found.dedup();
            let of = self.groups.iter().filter_map(|group| found.iter().position(|one| one == group));
            let names = found.iter().map(u32::to_string).collect();
            sample = sample.with_groups(column, names, of.map(|place| place as u32).collect())?;
        }
        if self.chosen(1) {
            sample = sample.with_entities("entity", &self.keys)?;
        }
        Ok(sample)
    }
}

/// Fails where a number is none.
pub fn finite(what: &str, values: impl IntoIterator<Item = f64>) {
    for value in values {
        assert!(value.is_finite(), "{what} is {value}");
    }
}
