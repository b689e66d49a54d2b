//! Several models of one kind, one after another, as a model over all their examples.

use super::{Model, ModelError, Rows, check_length, check_rows};

/// The examples of the first model, then those of the second, and so on.
///
/// Nothing is copied: scores are written part by part, and gradients added in the order of the parts.
pub struct Joined<'a> {
    parts: Vec<&'a mut (dyn Model + 'a)>,
    /// How many scores of the last forward pass belong to each part.
    scored: Vec<usize>,
    /// Where each of those scores stands in the batch; empty for the full batch.
    places: Vec<u32>,
    rows: Vec<u32>,
    values: Vec<f32>,
    gradient: Vec<f32>,
}

impl<'a> Joined<'a> {
    /// Joins models that take the same parameters.
    #[must_use]
    pub fn new(parts: Vec<&'a mut (dyn Model + 'a)>) -> Self {
        Self {
            parts,
            scored: Vec::new(),
            places: Vec::new(),
            rows: Vec::new(),
            values: Vec::new(),
            gradient: Vec::new(),
        }
    }
}

impl Model for Joined<'_> {
    fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows()).sum()
    }

    fn parameter_count(&self) -> usize {
        self.parts.first().map_or(0, |part| part.parameter_count())
    }

    fn linear(&self) -> bool {
        self.parts.iter().all(|part| part.linear())
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        self.scored.clear();
        self.places.clear();
        match rows {
            Rows::All => {
                check_length("scores", self.rows(), scores.len())?;
                let mut rest = scores;
                for part in &mut self.parts {
                    let (own, after) = rest.split_at_mut(part.rows());
                    part.scores(parameters, Rows::All, own)?;
                    self.scored.push(own.len());
                    rest = after;
                }
            }
            Rows::At(asked) => {
                check_length("scores", asked.len(), scores.len())?;
                check_rows(asked, self.rows())?;
                let mut start = 0;
                for part in &mut self.parts {
                    let own = start..start + part.rows() as u32;
                    let first = self.places.len();
                    self.rows.clear();
                    for (place, row) in asked.iter().enumerate().filter(|(_, row)| own.contains(row)) {
                        self.rows.push(row - start);
                        self.places.push(place as u32);
                    }
                    self.values.resize(self.rows.len(), 0.0);
                    if !self.rows.is_empty() {
                        part.scores(parameters, Rows::At(&self.rows), &mut self.values)?;
                    }
                    for (place, value) in self.places[first..].iter().zip(&self.values) {
                        scores[*place as usize] = *value;
                    }
                    self.scored.push(self.rows.len());
                    start = own.end;
                }
            }
        }
        Ok(())
    }

    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError> {
        if self.scored.is_empty() {
            return Err(ModelError::NoForward);
        }
        check_length("score gradient", self.scored.iter().sum(), v.len())?;
        check_length("gradient", self.parameter_count(), gradient.len())?;
        gradient.fill(0.0);
        self.gradient.resize(gradient.len(), 0.0);
        let mut start = 0;
        for (part, scored) in self.parts.iter_mut().zip(&self.scored) {
            let own = start..start + scored;
            start = own.end;
            if own.is_empty() {
                continue;
            }
            if self.places.is_empty() {
                part.backward(parameters, &v[own], &mut self.gradient)?;
            } else {
                self.values.clear();
                self.values.extend(self.places[own].iter().map(|place| v[*place as usize]));
                part.backward(parameters, &self.values, &mut self.gradient)?;
            }
            gradient.iter_mut().zip(&self.gradient).for_each(|(sum, term)| *sum += term);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::model::Linear;

    fn linear(rows: std::ops::Range<usize>) -> Linear {
        let values = rows.flat_map(|row| [row as f32, (row * row % 7) as f32]).collect();
        Linear::new(Features::from_row_major(values, 2).unwrap())
    }

    #[test]
    fn parts_score_and_differentiate_as_the_whole_does() {
        let parameters = [0.5, -0.25, 1.0];
        let (mut first, mut second, mut whole) = (linear(0..5), linear(5..12), linear(0..12));
        let mut joined = Joined::new(vec![&mut first, &mut second]);
        assert_eq!((joined.rows(), joined.parameter_count(), joined.linear()), (12, 3, true));
        for rows in [Rows::All, Rows::At(&[11, 0, 7, 7, 4]), Rows::At(&[6, 8]), Rows::At(&[1])] {
            let count = if let Rows::At(rows) = rows { rows.len() } else { 12 };
            // Small whole numbers and quarters: sums are exact in any order.
            let v: Vec<f32> = (0..count).map(|i| i as f32 - 2.0).collect();
            let mut found = (vec![0.0; count], [0.0; 3]);
            let mut expected = found.clone();
            joined.scores(&parameters, rows, &mut found.0).unwrap();
            joined.backward(&parameters, &v, &mut found.1).unwrap();
            whole.scores(&parameters, rows, &mut expected.0).unwrap();
            whole.backward(&parameters, &v, &mut expected.1).unwrap();
            assert_eq!(found, expected, "{rows:?}");
        }
        let bad = joined.scores(&parameters, Rows::At(&[12]), &mut [0.0]);
        assert_eq!(bad, Err(ModelError::Row { row: 12, rows: 12 }));
    }

    #[test]
    fn selected_rows_are_a_model_of_their_own() {
        let whole = linear(0..12);
        let mut part = whole.select(&[3, 9]).unwrap().unwrap();
        let mut scores = [0.0; 2];
        part.scores(&[1.0, 0.0, 0.0], Rows::All, &mut scores).unwrap();
        assert_eq!(scores, [3.0, 9.0]);
        assert!(whole.select(&[12]).is_err());
    }
}
