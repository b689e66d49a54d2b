//! Tests that need LightGBM itself, and the data they share.

mod classes;
mod fit;
mod growth;
mod parity;
mod queries;

use crate::library::Library;
use setpoint::Sample;

/// LightGBM, or a line that says why a test is skipped.
pub(crate) fn library() -> Option<&'static Library> {
    match Library::get() {
        Ok(library) => Some(library),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Numbers in [0, 1) that look random and are the same everywhere.
pub(crate) fn noise(index: usize) -> f32 {
    let mut x = index as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 29)).wrapping_mul(multiplier);
    }
    ((x ^ (x >> 32)) & 0xff_ffff) as f32 / 16_777_216.0
}

/// Rows of a task that a single split cannot solve; column 5 holds categories.
pub(crate) struct Task {
    pub(crate) values: Vec<f32>,
    pub(crate) sample: Sample,
}

impl Task {
    pub(crate) const COLUMNS: usize = 6;
    pub(crate) const CATEGORICAL: [u32; 1] = [5];

    pub(crate) fn new(rows: usize, seed: usize) -> Self {
        let mut values = Vec::with_capacity(rows * Self::COLUMNS);
        let mut labels = Vec::with_capacity(rows);
        for row in 0..rows {
            let at = |column: usize| noise(seed * 1_000_003 + row * 8 + column);
            let x: Vec<f32> = (0..5).map(|column| 2.0 * at(column) - 1.0).collect();
            let category = (at(5) * 40.0).floor();
            let lift = if (category as u32).is_multiple_of(3) { 0.35 } else { 0.0 };
            labels.push(x[0] * x[1] + 0.4 * x[2] + lift + 0.5 * at(6) > 0.75);
            values.extend(x);
            values.push(category);
        }
        Self { values, sample: Sample::new(labels).unwrap() }
    }
}
