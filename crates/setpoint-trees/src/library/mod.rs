//! LightGBM, loaded at run time over its C API. All `unsafe` code of the crate is here.
//!
//! Nothing is linked and nothing is built: the shared library that the Python package `lightgbm` (or
//! a system install) carries is found and opened when training first needs it. Scoring does not.
//! Every return code is checked, and LightGBM's own words are in the error.

#![allow(unsafe_code, reason = "a foreign library is called; its handles and lengths are checked here")]

mod booster;
mod dataset;
mod error;
pub mod find;
mod function;

pub use booster::Booster;
pub use dataset::Dataset;
pub use error::LibraryError;

use std::ffi::{CStr, CString, c_int};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use find::{Package, Surroundings};
use function::{Functions, SOFT};

/// What carries LightGBM.
const PACKAGE: Package = Package {
    variable: VARIABLE,
    name: "lightgbm",
    inside: &["lib", "bin"],
    file: if cfg!(target_os = "windows") {
        "lib_lightgbm.dll"
    } else if cfg!(target_os = "macos") {
        "lib_lightgbm.dylib"
    } else {
        "lib_lightgbm.so"
    },
};

/// The variable that names the library.
pub const VARIABLE: &str = "SETPOINT_LIGHTGBM";

/// A loaded LightGBM. It stays loaded until the process ends: its threads outlive every call.
pub struct Library {
    functions: Functions,
    file: PathBuf,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({})", self.file.display())
    }
}

impl Library {
    /// The LightGBM of this process; found and loaded at the first call.
    ///
    /// # Errors
    /// If it is not there, or what is there is not LightGBM of version 4 or later.
    pub fn get() -> Result<&'static Self, LibraryError> {
        static LOADED: OnceLock<Result<Library, LibraryError>> = OnceLock::new();
        LOADED.get_or_init(|| Self::search(&Surroundings::here(PACKAGE))).as_ref().map_err(Clone::clone)
    }

    fn search(surroundings: &Surroundings) -> Result<Self, LibraryError> {
        match surroundings.file().map_err(|looked| LibraryError::Missing { looked })? {
            Some(file) => Self::open(&file),
            None => Self::open(Path::new(PACKAGE.file)).map_err(|error| match error {
                LibraryError::Load { .. } => LibraryError::Missing { looked: surroundings.looked() },
                other => other,
            }),
        }
    }

    fn open(file: &Path) -> Result<Self, LibraryError> {
        // SAFETY: opening a library runs its initialisers. The file is one that the user named or
        // installed as LightGBM, whose initialisers are those of the C++ and OpenMP run times.
        let library = unsafe { libloading::Library::new(file) }
            .map_err(|error| LibraryError::Load { file: file.to_owned(), reason: reason(&error) })?;
        let functions = Functions::of(&library, file)?;
        std::mem::forget(library);
        Ok(Self { functions, file: file.to_owned() })
    }

    /// The file that was loaded.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Lets this thread's team of LightGBM's threads go, where the OpenMP run time can; the next call makes another.
    ///
    /// Teams that others use in this process stay: in libgomp, each belongs to the thread that called it up, and one that
    /// is at work is left alone; in LLVM's run time, waiting threads sleep until the next call.
    fn rest(&self) {
        if let Some(pause) = self.functions.pause {
            // SAFETY: OpenMP 5 declares it so; it may be called at any time, and what it refuses changes nothing.
            unsafe { pause(SOFT) };
        }
    }

    /// Turns a return code into a result.
    fn check(&self, call: &'static str, code: c_int) -> Result<(), LibraryError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: LightGBM returns a C string of this thread, which lives until its next call here.
        let message = unsafe { CStr::from_ptr((self.functions.last_error)()) };
        Err(LibraryError::Refused { call, message: message.to_string_lossy().into_owned() })
    }
}

/// What the loader said, and not only that it failed.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

/// A count as LightGBM takes it.
fn count(what: &'static str, found: usize) -> Result<c_int, LibraryError> {
    let limit = c_int::MAX as usize;
    c_int::try_from(found).map_err(|_| LibraryError::TooLarge { what, found, limit })
}

/// Text without zero bytes for LightGBM; parameters are made of names and numbers.
fn text(call: &'static str, text: &str) -> Result<CString, LibraryError> {
    CString::new(text).map_err(|error| LibraryError::Refused { call, message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &Path) -> Result<Library, LibraryError> {
        Library::search(&Surroundings { named: Some(path.into()), ..Surroundings::none(PACKAGE) })
    }

    #[test]
    fn a_missing_library_says_where_it_was_looked_for_and_how_to_get_it() {
        let nowhere = Path::new("no-such-folder/lib_lightgbm.so");
        let error = named(nowhere).unwrap_err();
        assert!(matches!(error, LibraryError::Missing { .. }));
        let text = error.to_string();
        assert!(text.contains("no-such-folder") && text.contains("pip install lightgbm"), "{text}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_with_the_loaders_reason() {
        let file = std::env::temp_dir().join(format!("setpoint-trees-text-{}.so", std::process::id()));
        std::fs::write(&file, "this is text").unwrap();
        let error = named(&file).unwrap_err();
        assert!(matches!(error, LibraryError::Load { .. }), "{error}");
        std::fs::remove_file(file).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_library_is_refused_by_the_function_it_lacks() {
        let error = Library::open(Path::new("libm.so.6")).unwrap_err();
        assert!(matches!(error, LibraryError::Symbol { symbol: "LGBM_DumpParamAliases", .. }), "{error}");
    }

    #[test]
    fn the_places_are_all_named_where_nothing_is_found() {
        let surroundings = Surroundings {
            environments: vec![PathBuf::from("no-such-environment")],
            folders: vec![PathBuf::from("no-such-folder")],
            ..Surroundings::none(PACKAGE)
        };
        // Where the system's loader knows LightGBM there is nothing to be missed.
        if let Err(error) = Library::search(&surroundings) {
            let text = error.to_string();
            assert!(text.contains("no-such-environment") && text.contains("no-such-folder"), "{text}");
        }
    }
}
