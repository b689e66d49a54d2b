//! The functions of LightGBM's C API that are used, looked up once by name.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use super::LibraryError;

/// LightGBM's names for types of numbers.
pub(super) const FLOAT32: c_int = 0;
pub(super) const INT32: c_int = 2;
pub(super) const INT64: c_int = 3;
/// Its name for raw scores.
pub(super) const RAW_SCORE: c_int = 1;
/// OpenMP's name for a pause after which all goes on as before.
pub(super) const SOFT: c_int = 1;

type Handle = *mut c_void;

macro_rules! functions {
    ($($field:ident: $symbol:literal = fn($($argument:ty),* $(,)?);)*) => {
        /// Entry points of a loaded LightGBM. Every one returns 0 for success.
        pub(super) struct Functions {
            pub(super) last_error: unsafe extern "C" fn() -> *const c_char,
            /// OpenMP's own, of the run time that LightGBM uses; none before OpenMP 5.
            pub(super) pause: Option<unsafe extern "C" fn(c_int) -> c_int>,
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// Looks every function up.
            pub(super) fn of(library: &libloading::Library, file: &Path) -> Result<Self, LibraryError> {
                let missing = |symbol| LibraryError::Symbol { file: file.to_owned(), symbol };
                // SAFETY: the types are those that LightGBM's c_api.h declares for these names since
                // version 4.0. The pointers are used only while the library stays loaded: for ever,
                // see `Library`.
                unsafe {
                    // No function tells the version; this one came with 4.0, as did the text format
                    // of trees that is read here.
                    library
                        .get::<unsafe extern "C" fn()>(b"LGBM_DumpParamAliases\0")
                        .map_err(|_| missing("LGBM_DumpParamAliases"))?;
                    Ok(Self {
                        last_error: *library
                            .get(b"LGBM_GetLastError\0")
                            .map_err(|_| missing("LGBM_GetLastError"))?,
                        pause: library.get(b"omp_pause_resource_all\0").ok().map(|found| *found),
                        $($field: *library
                            .get(concat!($symbol, "\0").as_bytes())
                            .map_err(|_| missing($symbol))?,)*
                    })
                }
            }
        }
    };
}

functions! {
    dataset_from_matrix: "LGBM_DatasetCreateFromMat" = fn(
        *const c_void, c_int, i32, i32, c_int, *const c_char, Handle, *mut Handle,
    );
    dataset_from_rows: "LGBM_DatasetCreateFromCSR" = fn(
        *const c_void, c_int, *const i32, *const c_void, c_int, i64, i64, i64, *const c_char, Handle, *mut Handle,
    );
    dataset_set_field: "LGBM_DatasetSetField" = fn(Handle, *const c_char, *const c_void, c_int, c_int);
    dataset_free: "LGBM_DatasetFree" = fn(Handle);
    booster_create: "LGBM_BoosterCreate" = fn(Handle, *const c_char, *mut Handle);
    booster_load: "LGBM_BoosterLoadModelFromString" = fn(*const c_char, *mut c_int, *mut Handle);
    booster_classes: "LGBM_BoosterGetNumClasses" = fn(Handle, *mut c_int);
    booster_free: "LGBM_BoosterFree" = fn(Handle);
    booster_update: "LGBM_BoosterUpdateOneIter" = fn(Handle, *mut c_int);
    booster_update_custom: "LGBM_BoosterUpdateOneIterCustom" = fn(Handle, *const f32, *const f32, *mut c_int);
    booster_trees: "LGBM_BoosterNumberOfTotalModel" = fn(Handle, *mut c_int);
    booster_inner_count: "LGBM_BoosterGetNumPredict" = fn(Handle, c_int, *mut i64);
    booster_inner: "LGBM_BoosterGetPredict" = fn(Handle, c_int, *mut i64, *mut f64);
    booster_save: "LGBM_BoosterSaveModelToString" = fn(
        Handle, c_int, c_int, c_int, i64, *mut i64, *mut c_char,
    );
    booster_predict_matrix: "LGBM_BoosterPredictForMat" = fn(
        Handle, *const c_void, c_int, i32, i32, c_int, c_int, c_int, c_int, *const c_char, *mut i64, *mut f64,
    );
    booster_predict_rows: "LGBM_BoosterPredictForCSR" = fn(
        Handle, *const c_void, c_int, *const i32, *const c_void, c_int, i64, i64, i64, c_int, c_int, c_int,
        *const c_char, *mut i64, *mut f64,
    );
}
