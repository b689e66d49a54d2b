//! Labels, weights and groups as a sample.

use numpy::ndarray::{ArrayView, Dimension};
use numpy::{Element, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyUntypedArrayMethods};
use setpoint::{Goal, Sample};
use setpoint_data::Codes;

use crate::error::Wrong;

/// The groups of the rows: the column's name, the groups' names, and a code for each row.
pub type GroupArrays<'py> = (String, Vec<String>, PyReadonlyArray1<'py, u32>);

/// The numbers of an array as they lie; Python hands over aligned ones.
pub fn view<'a, T: Element, D: Dimension>(
    array: &'a PyReadonlyArray<'_, T, D>,
) -> Result<ArrayView<'a, T, D>, Wrong> {
    let strides = array.strides().iter().all(|stride| stride % align_of::<T>() as isize == 0);
    if strides && array.data().is_aligned() {
        Ok(array.as_array())
    } else {
        Err(Wrong::input("an array is not aligned; pass numpy.require(..., requirements=\"A\")"))
    }
}

/// The numbers of an array; Python hands over contiguous ones.
pub fn slice<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> Result<&'a [T], Wrong> {
    view(array)?;
    array
        .as_slice()
        .map_err(|_| Wrong::input("an array is not contiguous; pass numpy.ascontiguousarray(...)"))
}

/// The groups as plain data.
pub fn codes(groups: &GroupArrays<'_>) -> Result<Codes, Wrong> {
    Ok(Codes { column: groups.0.clone(), names: groups.1.clone(), of: slice(&groups.2)?.to_vec() })
}

/// A checked sample.
pub fn sample(
    labels: &[bool],
    weights: Option<&[f64]>,
    groups: Option<&GroupArrays<'_>>,
) -> Result<Sample, Wrong> {
    let mut sample = weighed(Sample::new(labels.to_vec())?, weights)?;
    if let Some(groups) = groups {
        let Codes { column, names, of } = codes(groups)?;
        sample = sample.with_groups(&column, names, of)?;
    }
    Ok(sample)
}

/// A checked sample of several classes.
pub fn class_sample(classes: &GroupArrays<'_>, weights: Option<&[f64]>) -> Result<Sample, Wrong> {
    let Codes { column, names, of } = codes(classes)?;
    weighed(Sample::of_classes(&column, names, of)?, weights)
}

/// The same sample with its weights, where there are any.
pub fn weighed(sample: Sample, weights: Option<&[f64]>) -> Result<Sample, Wrong> {
    match weights {
        Some(weights) => Ok(sample.with_weights(weights.iter().map(|weight| *weight as f32).collect())?),
        None => Ok(sample),
    }
}

/// What each row pays, decided negative and positive: two numbers in a row.
pub fn pairs(pays: &PyReadonlyArray1<'_, f64>) -> Result<Vec<[f64; 2]>, Wrong> {
    Ok(slice(pays)?.as_chunks().0.to_vec())
}

/// The same sample with what decisions pay: two numbers for each row, decided negative and positive; of constant
/// amounts the goal says it.
pub fn paid(sample: Sample, goal: &Goal, pays: Option<&PyReadonlyArray1<'_, f64>>) -> Result<Sample, Wrong> {
    match (goal.money(), pays) {
        (Some(money), Some(pays)) => Ok(sample.with_stakes(money.profit, pairs(pays)?)?),
        _ => Ok(sample.paid_by(goal)?),
    }
}

/// The same sample with its entities, where there are any.
pub fn together(sample: Sample, entities: Option<&GroupArrays<'_>>) -> Result<Sample, Wrong> {
    match entities {
        Some((column, _, of)) => Ok(sample.with_entities(column, slice(of)?)?),
        None => Ok(sample),
    }
}
