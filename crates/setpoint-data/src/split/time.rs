//! Later rows are held out.

/// The part of each row: the earliest rows go to the first part.
///
/// Cuts fall where the shares say, moved to the nearest change of time, so that
/// rows of the same time are never torn apart.
pub(super) fn split(times: &[f64], shares: &[f64]) -> Vec<u8> {
    let mut order: Vec<u32> = (0..times.len() as u32).collect();
    order.sort_by(|a, b| times[*a as usize].total_cmp(&times[*b as usize]));
    let at = |place: usize| times[order[place] as usize];
    let mut part_of = vec![0; times.len()];
    let (mut start, mut share) = (0, 0.0);
    for (part, own) in shares.iter().enumerate() {
        share += own;
        let end = if part + 1 == shares.len() {
            times.len()
        } else {
            let wanted = ((share * times.len() as f64).round() as usize).clamp(start, times.len());
            let tied = |place: usize| place > 0 && place < times.len() && at(place - 1) == at(place);
            let (mut low, mut high) = (wanted, wanted);
            while low > start && tied(low) {
                low -= 1;
            }
            while tied(high) {
                high += 1;
            }
            if low > start && wanted - low <= high - wanted { low } else { high }
        };
        order[start..end].iter().for_each(|row| part_of[*row as usize] = part as u8);
        start = end;
    }
    part_of
}

/// Whether each row is in the later half, rows of the same time in the same one.
#[must_use]
pub fn later_half(times: &[f64]) -> Vec<bool> {
    split(times, &[0.5, 0.5]).iter().map(|part| *part == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_rows_are_held_out() {
        let times: Vec<f64> = (0..10).map(|row| f64::from(row * 7 % 10)).collect();
        let part_of = split(&times, &[0.6, 0.2, 0.2]);
        for (row, time) in times.iter().enumerate() {
            assert_eq!(part_of[row], [0, 0, 0, 0, 0, 0, 1, 1, 2, 2][*time as usize]);
        }
    }

    #[test]
    fn rows_of_the_same_time_stay_together() {
        assert_eq!(split(&[1., 1., 1., 2., 2., 2., 2., 3.], &[0.5, 0.5]), [0, 0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(split(&[1., 1., 1., 1., 1., 2., 3.], &[0.2, 0.8]), [0, 0, 0, 0, 0, 1, 1]);
    }
}
