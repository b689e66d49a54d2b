//! Encoders that were stored: they may be anyone's.

use setpoint::features::Scaling;

use super::{EncodeError, Encoder, Encoding, Input, Inputs};
use crate::time::DatePart;

impl Encoder {
    /// Checks an encoder that was stored: scales must be positive, categories in order.
    ///
    /// # Errors
    /// If the encoder cannot have come from [`Encoder::fit`].
    pub fn check(&self) -> Result<(), EncodeError> {
        let damaged =
            |column: &str, problem| Err(EncodeError::Damaged { column: column.to_owned(), problem });
        let is_scale = |scale: f32| scale.is_finite() && scale > 0.0;
        let inputs = match &self.inputs {
            Inputs::Table(inputs) => inputs,
            Inputs::Sparse { .. } if !self.beside.is_empty() => {
                return damaged("all", "trees read a table beside sparse rows");
            }
            Inputs::Sparse { base, scales, .. }
                if *base > 1 || !scales.iter().all(|scale| is_scale(*scale)) =>
            {
                return damaged("all", "scales must be positive and indices start at 0 or 1");
            }
            Inputs::Sparse { base, columns, scales, offsets } => {
                let fits =
                    |columns: &[u32]| columns.is_sorted_by(|a, b| a < b) && columns.len() <= scales.len();
                let shifted: Vec<u32> = offsets.iter().map(|(column, _)| *column).collect();
                if !(columns.is_empty() || columns.len() == scales.len())
                    || !fits(columns)
                    || columns.first().is_some_and(|first| first < base)
                    || !fits(&shifted)
                    || shifted.last().is_some_and(|last| *last as usize >= scales.len())
                    || !offsets.iter().all(|(_, offset)| offset.is_finite())
                {
                    return damaged("all", "indices must ascend, one for each scale, and offsets be finite");
                }
                return Ok(());
            }
        };
        if self.columns() == 0 {
            return damaged("all", "there are no columns");
        }
        let known = |beside: &Input| {
            let mut own = inputs.iter().filter(|input| input.part == beside.part);
            own.any(|input| input.name == beside.name && input.kind() == beside.kind())
        };
        if let Some(strange) = self.beside.iter().find(|one| !one.is_stored_as_number() || !known(one)) {
            return damaged(&strange.name, "trees read another column beside");
        }
        for input in self.readings() {
            let scalings: Vec<Scaling> = match &input.encoding {
                Encoding::Number { scaling, missing } => missing.iter().chain([scaling]).copied().collect(),
                Encoding::Category { values, .. } => {
                    if !values.is_sorted_by(|a, b| a.value < b.value) {
                        return damaged(&input.name, "categories must be in alphabetical order");
                    }
                    input.scalings()
                }
                Encoding::Text(words) => match words.problem() {
                    Some(problem) => return damaged(&input.name, problem),
                    None => Vec::new(),
                },
                Encoding::Learnt(learnt) => match learnt.problem() {
                    Some(problem) => return damaged(&input.name, problem),
                    None => Vec::new(),
                },
                Encoding::Plain => Vec::new(),
                Encoding::Code { values, .. } if values.is_sorted_by(|a, b| a < b) => Vec::new(),
                Encoding::Code { .. } => {
                    return damaged(&input.name, "categories must be in alphabetical order");
                }
            };
            let is_sound = |scaling: &Scaling| scaling.mean.is_finite() && is_scale(scaling.scale);
            let is_part = |part: DatePart| match &input.encoding {
                Encoding::Category { values, .. } => {
                    values.iter().all(|one| part.values().contains(&one.value))
                }
                Encoding::Plain => true,
                _ => false,
            };
            if input.part.is_some_and(|part| !is_part(part)) {
                return damaged(&input.name, "it has no such parts");
            }
            if !scalings.iter().all(is_sound) || !input.offset.is_finite() {
                return damaged(&input.name, "means and offsets must be finite and scales positive");
            }
        }
        Ok(())
    }
}
