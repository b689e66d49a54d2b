//! Binned training rows, held by LightGBM.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use super::function::{FLOAT32, INT32, INT64};
use super::{Library, LibraryError, count, text};
use crate::features::{FeatureView, Layout};

/// Training rows with labels and weights, binned once for any number of boosters.
#[derive(Debug)]
pub struct Dataset<'l> {
    pub(super) library: &'l Library,
    pub(super) handle: *mut c_void,
    pub(super) rows: usize,
}

// SAFETY: boosters only read it, LightGBM takes it as constant, and nothing here changes it by a shared
// reference.
unsafe impl Sync for Dataset<'_> {}

impl<'l> Dataset<'l> {
    /// Bins features; `parameters` are LightGBM's, such as `max_bin=255`.
    ///
    /// # Errors
    /// If there are too many rows or columns, or LightGBM refuses them.
    pub fn new(
        library: &'l Library,
        features: &FeatureView<'_>,
        parameters: &str,
    ) -> Result<Self, LibraryError> {
        const CALL: &str = "the training rows";
        let parameters = text(CALL, parameters)?;
        let rows = count("rows", features.rows())?;
        let columns = count("columns", features.columns())?;
        let mut handle = ptr::null_mut();
        let code = match features.layout() {
            Layout::Dense { values, .. } => {
                // SAFETY: `values` holds rows x columns floats (checked when made), read during the
                // call only; a null reference asks for new bins; `handle` is written on success.
                unsafe {
                    (library.functions.dataset_from_matrix)(
                        values.as_ptr().cast(),
                        FLOAT32,
                        rows,
                        columns,
                        1,
                        parameters.as_ptr(),
                        ptr::null_mut(),
                        &raw mut handle,
                    )
                }
            }
            Layout::Sparse { starts, indices, values, .. } => {
                let starts: Vec<i64> = starts.iter().map(|start| *start as i64).collect();
                // SAFETY: row starts ascend from 0 to the number of values, there is a column number
                // below `columns` (an i32) for each value; all read during the call only.
                unsafe {
                    (library.functions.dataset_from_rows)(
                        starts.as_ptr().cast(),
                        INT64,
                        indices.as_ptr().cast(),
                        values.as_ptr().cast(),
                        FLOAT32,
                        starts.len() as i64,
                        values.len() as i64,
                        i64::from(columns),
                        parameters.as_ptr(),
                        ptr::null_mut(),
                        &raw mut handle,
                    )
                }
            }
        };
        library.check(CALL, code)?;
        Ok(Self { library, handle, rows: features.rows() })
    }

    /// Sets the labels: 0 or 1, or the number of the class.
    ///
    /// # Errors
    /// If their number is not that of the rows.
    pub fn set_labels(&mut self, labels: &[f32]) -> Result<(), LibraryError> {
        self.set("label", c"label", labels)
    }

    /// Sets the weights.
    ///
    /// # Errors
    /// If their number is not that of the rows.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<(), LibraryError> {
        self.set("weight", c"weight", weights)
    }

    /// Sets how many rows each query has; those of each follow each other.
    ///
    /// # Errors
    /// If they do not add up to the rows.
    pub fn set_queries(&mut self, sizes: &[i32]) -> Result<(), LibraryError> {
        let got = sizes.iter().map(|size| *size as usize).sum();
        if got != self.rows {
            return Err(LibraryError::Length { what: "query", expected: self.rows, got });
        }
        self.set_field("query", c"group", sizes.as_ptr().cast(), sizes.len(), INT32)
    }

    fn set(&mut self, what: &'static str, name: &CStr, values: &[f32]) -> Result<(), LibraryError> {
        let got = values.len();
        if got != self.rows {
            return Err(LibraryError::Length { what, expected: self.rows, got });
        }
        self.set_field(what, name, values.as_ptr().cast(), got, FLOAT32)
    }

    fn set_field(
        &mut self,
        what: &'static str,
        name: &CStr,
        values: *const c_void,
        length: usize,
        kind: c_int,
    ) -> Result<(), LibraryError> {
        // SAFETY: `values` points to as many numbers of that kind, copied during the call.
        let code = unsafe {
            (self.library.functions.dataset_set_field)(
                self.handle,
                name.as_ptr(),
                values,
                count("rows", length)?,
                kind,
            )
        };
        self.library.check(what, code)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Drop for Dataset<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is this dataset's own; boosters borrow it, so none is left. A failure to
        // free has no remedy.
        unsafe { (self.library.functions.dataset_free)(self.handle) };
    }
}
