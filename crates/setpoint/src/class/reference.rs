//! The passes as plain loops in `f64`: what the kernels and the gradient are held against.

use super::Classes;
use super::kernel::{Ask, Tally};
use super::solve::Pass;

/// Rows with `f64` scores.
pub(super) struct Plain<'a, 'c> {
    pub classes: &'a Classes<'c>,
    pub scores: &'a [f64],
    pub p: Vec<f64>,
}

impl<'a, 'c> Plain<'a, 'c> {
    pub(super) fn new(classes: &'a Classes<'c>, scores: &'a [f64]) -> Self {
        Self { classes, scores, p: vec![0.0; scores.len()] }
    }

    pub(super) fn spread(&self, sharpness: f64, table: &[f64]) -> Vec<f64> {
        let count = self.classes.count();
        let mut v = Vec::new();
        for (row, p) in self.p.chunks(count).enumerate() {
            let a = &table[self.classes.codes()[row] as usize * count..][..count];
            let mean: f64 = p.iter().zip(a).map(|(p, a)| p * a).sum();
            v.extend(p.iter().zip(a).map(|(p, a)| sharpness * self.classes.weight(row) * p * (a - mean)));
        }
        v
    }
}

impl Pass for Plain<'_, '_> {
    fn count(&mut self, ask: Ask<'_>, out: &mut Tally) -> bool {
        let count = self.classes.count();
        *out = Tally {
            matrix: vec![0.0; count * count],
            own: vec![0.0; count * count],
            gram: vec![0.0; ask.gram.len() * count],
            cost: vec![0.0; count],
            loss: 0.0,
        };
        for (row, scores) in self.scores.chunks(count).enumerate() {
            let (y, w) = (self.classes.codes()[row] as usize, self.classes.weight(row));
            let margins: Vec<f64> =
                scores.iter().zip(ask.shifts).map(|(s, shift)| ask.sharpness * (s - shift)).collect();
            let most = margins.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = margins.iter().map(|m| (m - most).exp()).sum();
            let p: Vec<f64> = margins.iter().map(|m| (m - most).exp() / sum).collect();
            let mean: f64 = (0..count).filter_map(|c| Some(ask.costs.get(y * count + c)? * p[c])).sum();
            for j in 0..count {
                out.matrix[y * count + j] += w * p[j];
                out.own[y * count + j] += w * p[y] * p[j];
                for (place, class) in ask.gram.iter().enumerate() {
                    out.gram[place * count + j] += w * p[*class] * p[j];
                }
                if let Some(cost) = ask.costs.get(y * count + j) {
                    out.cost[j] += w * p[j] * (cost - mean);
                }
            }
            out.loss -= ask.loss.map_or(0.0, |weights| weights[y]) * w * p[y].ln();
            for (j, (into, p)) in self.p[row * count..][..count].iter_mut().zip(&p).enumerate() {
                *into = match ask.loss {
                    Some(weights) => weights[y] * w * (p - f64::from(u8::from(j == y))),
                    None => *p,
                };
            }
        }
        self.scores.iter().all(|score| score.is_finite())
    }
}
