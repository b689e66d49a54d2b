//! The shared library: where it is, its table of functions, its errors.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use setpoint_run::Failure;
use setpoint_trees::library::find::{Package, Surroundings};

/// What carries onnxruntime.
const PACKAGE: Package = Package {
    variable: "SETPOINT_ONNXRUNTIME",
    name: "onnxruntime",
    inside: &["capi"],
    file: if cfg!(target_os = "windows") {
        "onnxruntime.dll"
    } else if cfg!(target_os = "macos") {
        "libonnxruntime.dylib"
    } else {
        "libonnxruntime.so"
    },
};
/// The version of the table that is asked for: that of onnxruntime 1.16.
const API: u32 = 16;
/// Errors are returned: nothing is printed but what is fatal.
const FATAL: c_int = 4;

pub(super) type Handle = *mut c_void;
pub(super) type Status = *mut c_void;

/// The tables' entry points.
#[repr(C)]
struct Base {
    get_api: unsafe extern "system" fn(u32) -> *const *const c_void,
}

/// The functions used, of the types that `onnxruntime_c_api.h` gives them.
pub(super) struct Functions {
    pub(super) error_message: unsafe extern "system" fn(Status) -> *const c_char,
    pub(super) create_env: unsafe extern "system" fn(c_int, *const c_char, *mut Handle) -> Status,
    pub(super) create_session:
        unsafe extern "system" fn(Handle, *const c_void, usize, Handle, *mut Handle) -> Status,
    pub(super) run: unsafe extern "system" fn(
        Handle,
        Handle,
        *const *const c_char,
        *const Handle,
        usize,
        *const *const c_char,
        usize,
        *mut Handle,
    ) -> Status,
    pub(super) create_options: unsafe extern "system" fn(*mut Handle) -> Status,
    pub(super) create_tensor:
        unsafe extern "system" fn(Handle, *const i64, usize, c_int, *mut Handle) -> Status,
    pub(super) create_tensor_with: unsafe extern "system" fn(
        Handle,
        *mut c_void,
        usize,
        *const i64,
        usize,
        c_int,
        *mut Handle,
    ) -> Status,
    pub(super) data: unsafe extern "system" fn(Handle, *mut *mut c_void) -> Status,
    pub(super) fill_strings: unsafe extern "system" fn(Handle, *const *const c_char, usize) -> Status,
    pub(super) string_bytes: unsafe extern "system" fn(Handle, *mut usize) -> Status,
    pub(super) strings: unsafe extern "system" fn(Handle, *mut c_void, usize, *mut usize, usize) -> Status,
    pub(super) element: unsafe extern "system" fn(Handle, *mut c_int) -> Status,
    pub(super) dimension_count: unsafe extern "system" fn(Handle, *mut usize) -> Status,
    pub(super) dimensions: unsafe extern "system" fn(Handle, *mut i64, usize) -> Status,
    pub(super) type_and_shape: unsafe extern "system" fn(Handle, *mut Handle) -> Status,
    pub(super) cpu_memory: unsafe extern "system" fn(c_int, c_int, *mut Handle) -> Status,
    pub(super) allocator: unsafe extern "system" fn(*mut Handle) -> Status,
    pub(super) release_status: unsafe extern "system" fn(Status),
    pub(super) release_memory: unsafe extern "system" fn(Handle),
    pub(super) release_session: unsafe extern "system" fn(Handle),
    pub(super) release_value: unsafe extern "system" fn(Handle),
    pub(super) release_shape: unsafe extern "system" fn(Handle),
    pub(super) release_options: unsafe extern "system" fn(Handle),
}

/// A loaded onnxruntime, for as long as the process lives.
pub(super) struct Library {
    pub(super) functions: Functions,
    pub(super) environment: Handle,
}

// SAFETY: functions are plain addresses in a library that is never unloaded; the environment is never written
// again, and only handed to `CreateSessionFromArray`, which any thread may call.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    pub(super) fn get() -> Result<&'static Self, Failure> {
        static LOADED: OnceLock<Result<Library, Failure>> = OnceLock::new();
        LOADED.get_or_init(|| Self::search(&Surroundings::here(PACKAGE))).as_ref().map_err(Clone::clone)
    }

    fn search(surroundings: &Surroundings) -> Result<Self, Failure> {
        let missing = |looked: Vec<String>| {
            Failure::input(format!(
                "onnxruntime is not installed: looked at {}; get it with `pip install onnxruntime`, or name its \
                 file in {}",
                looked.join(", "),
                PACKAGE.variable
            ))
        };
        match surroundings.file().map_err(missing)? {
            Some(file) => Self::open(&file),
            None => Self::open(Path::new(PACKAGE.file)).map_err(|_| missing(surroundings.looked())),
        }
    }

    fn open(file: &Path) -> Result<Self, Failure> {
        let no = |reason: &str| {
            Failure::input(format!(
                "cannot load {}: {reason}; expected onnxruntime's shared library of version 1.16 or later, as \
                 `pip install onnxruntime` brings it",
                file.display()
            ))
        };
        // SAFETY: opening a library runs its initialisers. The file is one that the user named or installed as
        // onnxruntime. `OrtGetApiBase` has this type in every version; the table that it leads to is checked to
        // be there, and is, once made, only ever added to at its end.
        let functions = unsafe {
            let library = libloading::Library::new(file).map_err(|error| {
                no(&std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
            })?;
            let base = library
                .get::<unsafe extern "system" fn() -> *const Base>(b"OrtGetApiBase\0")
                .map_err(|_| no("it has no function OrtGetApiBase"))?();
            let table = if base.is_null() { null() } else { ((*base).get_api)(API) };
            if table.is_null() {
                return Err(no("it is of an older version"));
            }
            std::mem::forget(library);
            Functions::of(table)
        };
        let mut library = Self { functions, environment: null_mut() };
        let name = c"setpoint";
        // SAFETY: the name is a C string, and the environment is written to a place of our own.
        let status =
            unsafe { (library.functions.create_env)(FATAL, name.as_ptr(), &raw mut library.environment) };
        library.check("CreateEnv", status)?;
        Ok(library)
    }

    /// Turns a status into a result, with onnxruntime's own words.
    pub(super) fn check(&self, call: &str, status: Status) -> Result<(), Failure> {
        if status.is_null() {
            return Ok(());
        }
        // SAFETY: a status that is not null has a message, which lives until the status is released.
        let message = unsafe {
            let message =
                CStr::from_ptr((self.functions.error_message)(status)).to_string_lossy().into_owned();
            (self.functions.release_status)(status);
            message
        };
        Err(Failure::input(format!("onnxruntime refused {call}: {message}")))
    }
}

impl Functions {
    /// The entries at their places in `OrtApi`, which no version has ever changed.
    ///
    /// # Safety
    /// `table` must be the table of functions of version [`API`] or later.
    #[allow(clippy::missing_transmute_annotations, reason = "the fields say which functions these are")]
    unsafe fn of(table: *const *const c_void) -> Self {
        macro_rules! at {
            ($place:literal) => {
                // SAFETY: by the caller's word the table has this entry. Its function is the one named beside
                // it, of the type of the field that it goes to, and never null.
                unsafe { std::mem::transmute::<*const c_void, _>(*table.add($place)) }
            };
        }
        Self {
            error_message: at!(2),       // GetErrorMessage
            create_env: at!(3),          // CreateEnv
            create_session: at!(8),      // CreateSessionFromArray
            run: at!(9),                 // Run
            create_options: at!(10),     // CreateSessionOptions
            create_tensor: at!(48),      // CreateTensorAsOrtValue
            create_tensor_with: at!(49), // CreateTensorWithDataAsOrtValue
            data: at!(51),               // GetTensorMutableData
            fill_strings: at!(52),       // FillStringTensor
            string_bytes: at!(53),       // GetStringTensorDataLength
            strings: at!(54),            // GetStringTensorContent
            element: at!(60),            // GetTensorElementType
            dimension_count: at!(61),    // GetDimensionsCount
            dimensions: at!(62),         // GetDimensions
            type_and_shape: at!(65),     // GetTensorTypeAndShape
            cpu_memory: at!(69),         // CreateCpuMemoryInfo
            allocator: at!(78),          // GetAllocatorWithDefaultOptions
            release_status: at!(93),     // ReleaseStatus
            release_memory: at!(94),     // ReleaseMemoryInfo
            release_session: at!(95),    // ReleaseSession
            release_value: at!(96),      // ReleaseValue
            release_shape: at!(99),      // ReleaseTensorTypeAndShapeInfo
            release_options: at!(100),   // ReleaseSessionOptions
        }
    }
}

/// The file that would be loaded; `None` where only the system's loader could know.
#[must_use]
pub fn library_file() -> Option<PathBuf> {
    Surroundings::here(PACKAGE).file().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_no_onnxruntime_says_how_to_get_it() {
        for (file, said) in [("no-such-folder/x.so", "cannot load"), ("libm.so.6", "OrtGetApiBase")] {
            let error = Library::open(Path::new(file)).err().unwrap().message;
            let expected = if cfg!(target_os = "linux") { said } else { "cannot load" };
            assert!(error.contains(expected) && error.contains("pip install onnxruntime"), "{error}");
        }
    }
}
