//! A booster, held by LightGBM.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ptr;

use super::function::{FLOAT32, INT64, RAW_SCORE};
use super::{Dataset, Library, LibraryError, count, text};
use crate::features::{FeatureView, Layout};

/// Trees under construction, or a model read back for comparison.
#[derive(Debug)]
pub struct Booster<'d> {
    library: &'d Library,
    handle: *mut c_void,
    /// Training rows; 0 for a model that was read.
    rows: usize,
    /// Scores of a row: trees of a round.
    outputs: usize,
    dataset: PhantomData<&'d ()>,
}

impl<'d> Booster<'d> {
    /// A booster without trees over a dataset.
    ///
    /// # Errors
    /// If LightGBM refuses the parameters.
    pub fn new(dataset: &'d Dataset<'_>, parameters: &str) -> Result<Self, LibraryError> {
        const CALL: &str = "the booster's parameters";
        let parameters = text(CALL, parameters)?;
        let library = dataset.library;
        let mut handle = ptr::null_mut();
        // SAFETY: the dataset outlives the booster by its lifetime; `handle` is written on success.
        let code = unsafe {
            (library.functions.booster_create)(dataset.handle, parameters.as_ptr(), &raw mut handle)
        };
        library.check(CALL, code)?;
        Self { library, handle, rows: dataset.rows, outputs: 1, dataset: PhantomData }.with_outputs(CALL)
    }

    /// Reads a model in LightGBM's own text form.
    ///
    /// # Errors
    /// If LightGBM refuses the text.
    pub fn from_text(library: &'d Library, model: &str) -> Result<Self, LibraryError> {
        const CALL: &str = "the model's text";
        let model = text(CALL, model)?;
        let (mut rounds, mut handle) = (0, ptr::null_mut());
        // SAFETY: the text ends with a zero byte; both outputs are written on success.
        let code =
            unsafe { (library.functions.booster_load)(model.as_ptr(), &raw mut rounds, &raw mut handle) };
        library.check(CALL, code)?;
        Self { library, handle, rows: 0, outputs: 1, dataset: PhantomData }.with_outputs(CALL)
    }

    /// Asks how many outputs there are: all lengths here are multiples of it.
    fn with_outputs(mut self, call: &'static str) -> Result<Self, LibraryError> {
        let mut classes = 0;
        // SAFETY: the handle is live; `classes` is written.
        let code = unsafe { (self.library.functions.booster_classes)(self.handle, &raw mut classes) };
        self.library.check(call, code)?;
        self.outputs = usize::try_from(classes).unwrap_or(0);
        if self.outputs > 0 {
            return Ok(self);
        }
        Err(LibraryError::Refused { call, message: format!("{classes} classes: expected at least one") })
    }

    /// Scores of a row: one, or one for each class.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.outputs
    }

    /// Adds a tree for the booster's own objective; false where no split is left to make.
    ///
    /// # Errors
    /// If LightGBM refuses.
    pub fn update(&mut self) -> Result<bool, LibraryError> {
        let mut finished = 0;
        // SAFETY: the handle is live; `finished` is written.
        let code = unsafe { (self.library.functions.booster_update)(self.handle, &raw mut finished) };
        self.library.check("a round", code)?;
        Ok(finished == 0)
    }

    /// Adds a tree for these derivatives by the training scores; false where no split is left.
    ///
    /// # Errors
    /// If there is not one of each for each score of each training row, or LightGBM refuses.
    pub fn update_with(&mut self, gradient: &[f32], curvature: &[f32]) -> Result<bool, LibraryError> {
        let expected = self.rows * self.outputs;
        for (what, got) in [("gradient", gradient.len()), ("curvature", curvature.len())] {
            if got != expected {
                return Err(LibraryError::Length { what, expected, got });
            }
        }
        let mut finished = 0;
        // SAFETY: both vectors have one float for each score of each training row, read during the call only.
        let code = unsafe {
            (self.library.functions.booster_update_custom)(
                self.handle,
                gradient.as_ptr(),
                curvature.as_ptr(),
                &raw mut finished,
            )
        };
        self.library.check("a round", code)?;
        Ok(finished == 0)
    }

    /// The training rows' current outputs: probabilities for the objectives `binary` and `multiclass` (class after
    /// class), raw scores (those that boosting started from included) for none.
    ///
    /// LightGBM's threads end with it: they would spin for a while, and whoever asks computes next.
    ///
    /// # Errors
    /// If `out` has not one place for each output of each training row.
    pub fn outputs(&self, out: &mut [f64]) -> Result<(), LibraryError> {
        let mut length = 0;
        // SAFETY: the handle is live; `length` is written.
        let code = unsafe { (self.library.functions.booster_inner_count)(self.handle, 0, &raw mut length) };
        self.library.check("the training scores", code)?;
        if length != out.len() as i64 {
            let expected = length as usize;
            return Err(LibraryError::Length { what: "training scores", expected, got: out.len() });
        }
        // SAFETY: `out` has as many places as LightGBM just said that it writes.
        let code = unsafe {
            (self.library.functions.booster_inner)(self.handle, 0, &raw mut length, out.as_mut_ptr())
        };
        self.library.rest();
        self.library.check("the training scores", code)
    }

    /// Number of rounds, of a tree for each class.
    ///
    /// # Errors
    /// If LightGBM refuses.
    pub fn rounds(&self) -> Result<usize, LibraryError> {
        let mut trees = 0;
        // SAFETY: the handle is live; `trees` is written.
        let code = unsafe { (self.library.functions.booster_trees)(self.handle, &raw mut trees) };
        self.library.check("the number of trees", code)?;
        Ok(usize::try_from(trees).unwrap_or(0) / self.outputs)
    }

    /// The trees from round `first` on, in LightGBM's text form.
    ///
    /// # Errors
    /// If LightGBM refuses.
    pub fn to_text(&self, first: usize) -> Result<String, LibraryError> {
        const CALL: &str = "the model's text";
        let first = count("rounds", first)?;
        let mut buffer: Vec<u8> = vec![0; 1 << 16];
        loop {
            let mut length = 0;
            // SAFETY: LightGBM writes at most the length that it is given, and says how much it has.
            let code = unsafe {
                (self.library.functions.booster_save)(
                    self.handle,
                    first,
                    -1,
                    0,
                    buffer.len() as i64,
                    &raw mut length,
                    buffer.as_mut_ptr().cast::<c_char>(),
                )
            };
            self.library.check(CALL, code)?;
            let needed = usize::try_from(length).unwrap_or(0);
            if needed <= buffer.len() {
                // The length counts the zero byte at the end.
                buffer.truncate(needed.saturating_sub(1));
                return String::from_utf8(buffer)
                    .map_err(|error| LibraryError::Refused { call: CALL, message: error.to_string() });
            }
            buffer.resize(needed, 0);
        }
    }

    /// Raw scores of rows by LightGBM itself; for comparison with [`Ensemble`](crate::Ensemble).
    ///
    /// # Errors
    /// If `out` has not one place for each score of each row, or LightGBM refuses the rows.
    pub fn predict(
        &self,
        features: &FeatureView<'_>,
        threads: usize,
        out: &mut [f64],
    ) -> Result<(), LibraryError> {
        const CALL: &str = "the rows to score";
        if out.len() != features.rows() * self.outputs {
            let (expected, got) = (features.rows() * self.outputs, out.len());
            return Err(LibraryError::Length { what: "scores", expected, got });
        }
        let parameters = text(CALL, &format!("verbosity=-1 num_threads={threads}"))?;
        let rows = count("rows", features.rows())?;
        let columns = count("columns", features.columns())?;
        let mut length = 0;
        let code = match features.layout() {
            // SAFETY: as for datasets; one double is written for each output of each row, which `out` has
            // place for.
            Layout::Dense { values, .. } => unsafe {
                (self.library.functions.booster_predict_matrix)(
                    self.handle,
                    values.as_ptr().cast(),
                    FLOAT32,
                    rows,
                    columns,
                    1,
                    RAW_SCORE,
                    0,
                    -1,
                    parameters.as_ptr(),
                    &raw mut length,
                    out.as_mut_ptr(),
                )
            },
            Layout::Sparse { starts, indices, values, .. } => {
                let starts: Vec<i64> = starts.iter().map(|start| *start as i64).collect();
                // SAFETY: as above.
                unsafe {
                    (self.library.functions.booster_predict_rows)(
                        self.handle,
                        starts.as_ptr().cast(),
                        INT64,
                        indices.as_ptr().cast(),
                        values.as_ptr().cast(),
                        FLOAT32,
                        starts.len() as i64,
                        values.len() as i64,
                        i64::from(columns),
                        RAW_SCORE,
                        0,
                        -1,
                        parameters.as_ptr(),
                        &raw mut length,
                        out.as_mut_ptr(),
                    )
                }
            }
        };
        self.library.check(CALL, code)
    }
}

impl Drop for Booster<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is this booster's own. A failure to free has no remedy.
        unsafe { (self.library.functions.booster_free)(self.handle) };
    }
}
