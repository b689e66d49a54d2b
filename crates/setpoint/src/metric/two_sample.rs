//! Whether two samples can be of one population.
//!
//! Both p-values are at most what they say for samples of any size: a test at level α errs with a
//! chance of at most α.
//!
//! - [`kolmogorov_smirnov`] compares distributions by D = sup |F(x) - G(x)|. Where both samples are of
//!   one continuous distribution, every order of the n + m values is equally likely; an order is a
//!   lattice path from (0, 0) to (n, m), and D its greatest distance from the diagonal. Where values
//!   are tied, D is at most that of any order of them, so that the p-value errs on the safe side.
//! - [`shares`] compares two shares by Fisher's exact test, the smaller tail doubled.

use super::interval::pmf_pq;

/// Most lattice points that are gone through.
const POINTS: usize = 4_000_000;

/// What a test of two samples came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSample {
    /// The greatest difference between the two distributions, or between the two shares.
    pub difference: f64,
    /// The chance of at least as great a difference between samples of one population.
    pub p_value: f64,
}

/// Kolmogorov's and Smirnov's test; `None` where a sample is empty.
///
/// The p-value is exact (but for ties) for up to n m = 4,000,000. Beyond, the larger sample is thinned,
/// evenly, until that holds or both are of the size n of the smaller; above 2,000 the p-value is then
/// Massart's bound 2 exp(-n D²), which holds from n = 458 on (Wei and Dudley, 2012).
#[must_use]
pub fn kolmogorov_smirnov(first: &[f32], second: &[f32]) -> Option<TwoSample> {
    let (small, large) = if first.len() <= second.len() { (first, second) } else { (second, first) };
    let n = small.len();
    if n == 0 {
        return None;
    }
    let kept = large.len().min(n.max(POINTS / n));
    let thinned = (0..kept).map(|place| large[(place as u128 * large.len() as u128 / kept as u128) as usize]);
    let (small, large) = (sorted(small.iter().copied()), sorted(thinned));
    let apart = greatest_distance(&small, &large);
    let difference = apart as f64 / (n as f64 * kept as f64);
    let p_value = if n * kept <= POINTS {
        share_of_paths(n, kept, apart as usize)
    } else {
        (2.0 * (-(n as f64) * difference * difference).exp()).min(1.0)
    };
    Some(TwoSample { difference, p_value })
}

fn sorted(values: impl Iterator<Item = f32>) -> Vec<f32> {
    // Adding 0 makes the two zeros one.
    let mut values: Vec<f32> = values.map(|value| value + 0.0).collect();
    values.sort_unstable_by(f32::total_cmp);
    values
}

/// n m sup |F - G|, a whole number.
fn greatest_distance(first: &[f32], second: &[f32]) -> u128 {
    let (n, m) = (first.len(), second.len());
    let (mut i, mut j, mut greatest) = (0, 0, 0);
    while i < n && j < m {
        let next = if first[i].total_cmp(&second[j]).is_le() { first[i] } else { second[j] };
        let upto = |values: &[f32], from: usize| {
            from + values[from..].iter().take_while(|value| value.total_cmp(&next).is_le()).count()
        };
        (i, j) = (upto(first, i), upto(second, j));
        greatest = greatest.max((i as u128 * m as u128).abs_diff(j as u128 * n as u128));
    }
    greatest
}

/// The share of the lattice paths from (0, 0) to (n, m) that come to |i m - j n| >= `apart` somewhere.
///
/// With u(i, j) that share of the paths to (i, j): 1 where the point itself is as far out, else
///
/// ```text
/// u(i, j) = (i u(i-1, j) + j u(i, j-1)) / (i + j)
/// ```
///
/// since that is how often the last step comes from either side. All terms are positive.
fn share_of_paths(n: usize, m: usize, apart: usize) -> f64 {
    if apart == 0 {
        return 1.0;
    }
    let mut share = vec![1.0; m + 1];
    share[0] = 0.0;
    for i in 0..=n {
        // The points between the two lines; to their left and right, paths have crossed one.
        let from = (i * m).checked_sub(apart).map_or(0, |past| past / n + 1);
        let to = m.min((i * m + apart - 1) / n);
        let mut left = 1.0;
        for (j, share) in share.iter_mut().enumerate().take(to + 1).skip(from) {
            if (i, j) != (0, 0) {
                let (a, b) = (i as f64, j as f64);
                *share = (a * *share + b * left) / (a + b);
            }
            left = *share;
        }
    }
    share[m]
}

/// Fisher's test of two shares, each a count out of a total; `None` where a total is zero.
#[must_use]
pub fn shares(first: (u64, u64), second: (u64, u64)) -> Option<TwoSample> {
    let ((x, n), (y, m)) = (first, second);
    if n == 0 || m == 0 {
        return None;
    }
    let difference = (x as f64 / n as f64 - y as f64 / m as f64).abs();
    // The tail on the side of the sample with the larger share, which is as likely as the other's lower.
    let first_is_larger = u128::from(x) * u128::from(m) >= u128::from(y) * u128::from(n);
    let ((x, n), (y, m)) = if first_is_larger { (first, second) } else { (second, first) };
    let hits = x + y;
    if hits == 0 || hits == n + m {
        return Some(TwoSample { difference, p_value: 1.0 });
    }
    // P[X = x] for X of n drawn without replacement, from three binomial terms of the same rate.
    let (p, q) = (hits as f64 / (n + m) as f64, (n + m - hits) as f64 / (n + m) as f64);
    let first_term = pmf_pq(n, x, p, q) * pmf_pq(m, y, p, q) / pmf_pq(n + m, hits, p, q);
    let (mut term, mut sum) = (1.0, 1.0);
    for more in 0..y.min(n - x) {
        let (x, y) = (x + more, y - more);
        term *= (n - x) as f64 * y as f64 / ((x + 1) as f64 * (m - y + 1) as f64);
        sum += term;
        if term <= f64::EPSILON * 0.01 * sum {
            break;
        }
    }
    Some(TwoSample { difference, p_value: (2.0 * first_term * sum).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform in 0..1.
    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Every x, every value.
    fn oracle(first: &[f32], second: &[f32]) -> f64 {
        let below = |values: &[f32], x: f32| {
            values.iter().filter(|value| **value <= x).count() as f64 / values.len() as f64
        };
        let both = first.iter().chain(second);
        both.map(|x| (below(first, *x) - below(second, *x)).abs()).fold(0.0, f64::max)
    }

    /// The share of all ways to place n values among n + m, without ties, that are as far apart.
    fn enumerated(n: usize, m: usize, difference: f64) -> f64 {
        let (mut far, mut all) = (0, 0);
        for places in (0u32..1 << (n + m)).filter(|places| places.count_ones() as usize == n) {
            let of = |bit| (0..n + m).filter(move |place| places >> place & 1 == bit).map(|x| x as f32);
            let (first, second): (Vec<f32>, Vec<f32>) = (of(1).collect(), of(0).collect());
            all += 1;
            far += u32::from(oracle(&first, &second) >= difference - 1e-9);
        }
        f64::from(far) / f64::from(all)
    }

    #[test]
    fn distances_and_chances_are_those_of_the_definition() {
        let mut state = 1;
        for (n, m) in [(1, 1), (1, 7), (3, 3), (2, 9), (5, 6), (6, 5), (7, 7), (4, 10)] {
            for levels in [4.0, 1e6] {
                let mut draw = |rows: usize| -> Vec<f32> {
                    (0..rows).map(|_| (random(&mut state) * levels).floor() as f32).collect()
                };
                let (first, second) = (draw(n), draw(m));
                let found = kolmogorov_smirnov(&first, &second).unwrap();
                assert!((found.difference - oracle(&first, &second)).abs() < 1e-12, "{n} {m} {levels}");
                let expected = enumerated(n, m, found.difference);
                assert!((found.p_value - expected).abs() < 1e-12, "{n} {m}: {} {expected}", found.p_value);
                assert_eq!(kolmogorov_smirnov(&second, &first), Some(found));
            }
        }
    }

    #[test]
    fn golden_numbers_of_scipy() {
        // scipy 1.17.1: ks_2samp(np.float32(a), np.float32(b), method="exact")
        let a: Vec<f32> = (0..40).map(|i| (f64::from(i * 37 % 101) / 10.0) as f32).collect();
        let b: Vec<f32> = (0..55).map(|i| (f64::from(i * 53 % 97) / 10.0 + 1.5) as f32).collect();
        let found = kolmogorov_smirnov(&a, &b).unwrap();
        assert!((found.difference - 0.16136363636363638).abs() < 1e-15);
        assert!((found.p_value - 0.5232790242606525).abs() < 1e-12);
        let a: Vec<f32> = (0..300).map(|i| (f64::from(i) / 10.0) as f32).collect();
        let b: Vec<f32> = (0..250).map(|i| (f64::from(i) / 10.0 + 4.0) as f32).collect();
        let found = kolmogorov_smirnov(&a, &b).unwrap();
        assert!((found.p_value - 0.014199585041853242).abs() < 1e-12, "{}", found.p_value);
        // N, K = n + m, x + y; 2 * min(hypergeom.cdf(x, N, K, n), hypergeom.sf(x - 1, N, K, n))
        for (first, second, expected) in [
            ((30, 200), (60, 220), 0.0030310805798274935),
            ((5, 1000), (9, 1000), 0.4222939704799939),
            ((4000, 100_000), (4300, 100_000), 0.00080066641978609),
        ] {
            let [found, turned] = [shares(first, second), shares(second, first)].map(Option::unwrap);
            assert!((found.p_value / expected - 1.0).abs() < 1e-9, "{} {expected}", found.p_value);
            assert!((found.p_value / turned.p_value - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn shares_are_compared_as_by_enumeration() {
        let choose = |n: u64, k: u64| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
        for (x, n, y, m) in
            [(0, 5, 3, 4), (2, 6, 2, 6), (5, 5, 0, 5), (7, 9, 1, 12), (0, 3, 0, 4), (3, 3, 4, 4)]
        {
            let hits = x + y;
            let chance = |k: u64| choose(n, k) * choose(m, hits - k) / choose(n + m, hits);
            let possible = hits.saturating_sub(m)..=hits.min(n);
            let upper: f64 = possible.clone().filter(|k| *k >= x).map(chance).sum();
            let lower: f64 = possible.filter(|k| *k <= x).map(chance).sum();
            let expected = (2.0 * f64::min(upper, lower)).min(1.0);
            let found = shares((x, n), (y, m)).unwrap().p_value;
            assert!((found - expected).abs() < 1e-12, "{x}/{n} {y}/{m}: {found} {expected}");
        }
        assert_eq!(shares((0, 0), (1, 2)), None);
    }

    /// Tests at 5% reject at most 5% of pairs from one population, with ties and without: of 2,000, at
    /// most 100 and three standard errors (9.7) more.
    #[test]
    fn the_level_holds_for_one_population_and_not_for_two() {
        let mut state = 7;
        for levels in [1e9, 50.0, 3.0] {
            for (n, m) in [(25, 60), (150, 150)] {
                let rejected = |shift: f64, state: &mut u64| {
                    let draws = (0..2000).filter(|_| {
                        let mut draw = |rows: usize, shift: f64| -> Vec<f32> {
                            (0..rows).map(|_| ((random(state) + shift) * levels).floor() as f32).collect()
                        };
                        let (first, second) = (draw(n, 0.0), draw(m, shift));
                        kolmogorov_smirnov(&first, &second).unwrap().p_value <= 0.05
                    });
                    draws.count()
                };
                let (same, shifted) = (rejected(0.0, &mut state), rejected(0.4, &mut state));
                assert!(same <= 129, "{levels} {n} {m}: {same}");
                assert!(shifted > 1000, "{levels} {n} {m}: {shifted}");
            }
        }
        let rejected = (0..2000).filter(|_| {
            let mut draw = |rows: u64| (0..rows).filter(|_| random(&mut state) < 0.2).count() as u64;
            shares((draw(80), 80), (draw(120), 120)).unwrap().p_value <= 0.05
        });
        assert!(rejected.count() <= 129);
    }

    #[test]
    fn the_bound_for_large_samples_is_above_the_exact_chance_and_close() {
        for apart in (10..=60).step_by(5) {
            let n = 1000;
            let difference = apart as f64 / n as f64;
            let (exact, bound) =
                (share_of_paths(n, n, apart * n), 2.0 * (-(n as f64) * difference.powi(2)).exp());
            assert!(exact <= bound && (bound > 1.0 || bound < 1.2 * exact), "{apart}: {exact} {bound}");
        }
        // Large samples are thinned: evenly, whatever their order.
        let values = |rows: usize, from: f32| -> Vec<f32> {
            (0..rows).map(|i| from + i as f32 / rows as f32).collect()
        };
        for (n, m) in [(3000, 3000), (2500, 40_000), (100, 1_000_000)] {
            assert!(kolmogorov_smirnov(&values(n, 0.0), &values(m, 0.0)).unwrap().p_value > 0.99);
            let apart = kolmogorov_smirnov(&values(n, 0.3), &values(m, 0.0)).unwrap();
            assert!(apart.p_value < 1e-6 && (apart.difference - 0.3).abs() < 0.011, "{n} {m}: {apart:?}");
        }
        assert_eq!(kolmogorov_smirnov(&[], &[1.0]), None);
    }
}
