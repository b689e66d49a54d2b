//! Rows that are far from any other decision, found many at a time.

use pulp::{Arch, Simd, WithSimd};

use crate::count::Vector;

/// The widest vector there is.
const LANES: usize = 16;
/// Beyond any number of classes; sums of it and a class are exact in `f32`.
const UNIT: f32 = 65_536.0;

/// Shifts, and how near another class may come.
pub(super) struct Far {
    shifts: Vec<f32>,
    count: usize,
    reach: f32,
    largest: f32,
}

impl Far {
    pub(super) fn new(shifts: &[f64], reach: f64) -> Self {
        let count = shifts.len();
        let mut single: Vec<f32> = shifts.iter().map(|shift| *shift as f32).collect();
        let largest = single.iter().fold(0.0f32, |most, shift| most.max(shift.abs()));
        single.resize(count.next_multiple_of(LANES), 1e30);
        Self { shifts: single, count, reach: reach as f32, largest }
    }

    /// The class that each row is decided as, where all others are further behind than the reach beyond doubt.
    pub(super) fn leaders(&self, scores: &[f32]) -> Vec<Option<usize>> {
        let mut leaders = vec![None; scores.len() / self.count];
        if self.count < UNIT as usize {
            Arch::new().dispatch(Leaders { far: self, scores, leaders: &mut leaders });
        }
        leaders
    }
}

struct Leaders<'a> {
    far: &'a Far,
    scores: &'a [f32],
    leaders: &'a mut [Option<usize>],
}

impl WithSimd for Leaders<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { far, scores, leaders } = self;
        let vector = Vector(simd);
        let (shifts, _) = S::as_simd_f32s(&far.shifts);
        let places: Vec<f32> = (0..far.shifts.len()).map(|class| UNIT + class as f32).collect();
        let (places, _) = S::as_simd_f32s(&places);
        for (scores, leader) in scores.chunks_exact(far.count).zip(leaders) {
            let (full, rest) = S::as_simd_f32s(scores);
            let last = simd.partial_load_f32s(rest);
            let margin = |lane: usize| vector.subtract(*full.get(lane).unwrap_or(&last), shifts[lane]);
            let lanes = far.count.div_ceil(S::F32_LANES);
            let most = (1..lanes).fold(margin(0), |most, lane| simd.max_f32s(most, margin(lane)));
            let most = simd.reduce_max_f32s(most);
            // Several times the rounding of the shifts and of both differences.
            let doubt = 1e-6 * (most.abs() + far.reach + far.largest);
            let least = vector.splat(most - far.reach - doubt);
            let mut near = vector.splat(0.0);
            for (lane, place) in places[..lanes].iter().enumerate() {
                let of_lane = simd.greater_than_or_equal_f32s(margin(lane), least);
                near = vector.add(near, simd.select_f32s(of_lane, *place, vector.splat(0.0)));
            }
            let near = vector.sum(near);
            *leader = (near < 2.0 * UNIT).then_some((near - UNIT) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::first_two;
    use super::*;

    #[test]
    fn rows_that_are_far_are_decided_as_they_are_and_few_others_are_left() {
        let shifts = [0.1, -0.2, 0.0, 0.3, 0.05];
        let noise = |at: usize| ((at as f32 * 12.9898).sin() * 43_758.547).fract();
        let scores: Vec<f32> = (0..5 * 4000).map(noise).collect();
        let leaders = Far::new(&shifts, 0.2).leaders(&scores);
        let mut open = 0;
        for (scores, leader) in scores.chunks(5).zip(leaders) {
            let (class, _, gap) = first_two(scores, &shifts);
            assert!(leader.is_none_or(|leader| leader == class && gap > 0.2));
            open += usize::from(leader.is_none() && gap > 0.2001);
        }
        assert_eq!(open, 0);
    }
}
