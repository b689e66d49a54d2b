//! onnxruntime, loaded at run time over its C API. All `unsafe` code of the crate is here.
//!
//! Nothing is linked and nothing is built: the shared library that the Python package `onnxruntime` (or a system
//! install) carries is found and opened when it is first needed, by `SETPOINT_ONNXRUNTIME` where that is set.
//! Its functions are entries of a table whose order never changes; those used here are in it since version 1.5.

#![allow(unsafe_code, reason = "a foreign library is called; its pointers and lengths are checked here")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use setpoint_run::Failure;
use setpoint_trees::library::find::{Package, Surroundings};

use crate::proto::element;

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
/// Log errors only, which are returned as well: nothing is printed but what is fatal.
const FATAL: c_int = 4;
/// The kinds of allocator and memory of tensors.
const DEVICE_ALLOCATOR: c_int = 0;
const DEFAULT_MEMORY: c_int = 0;

type Handle = *mut c_void;
type Status = *mut c_void;

/// The tables' entry points.
#[repr(C)]
struct Base {
    get_api: unsafe extern "system" fn(u32) -> *const *const c_void,
}

/// The functions used, by their places in the table.
struct Functions {
    error_message: unsafe extern "system" fn(Status) -> *const c_char,
    create_env: unsafe extern "system" fn(c_int, *const c_char, *mut Handle) -> Status,
    create_session: unsafe extern "system" fn(Handle, *const c_void, usize, Handle, *mut Handle) -> Status,
    run: unsafe extern "system" fn(
        Handle,
        Handle,
        *const *const c_char,
        *const Handle,
        usize,
        *const *const c_char,
        usize,
        *mut Handle,
    ) -> Status,
    create_options: unsafe extern "system" fn(*mut Handle) -> Status,
    create_tensor: unsafe extern "system" fn(Handle, *const i64, usize, c_int, *mut Handle) -> Status,
    create_tensor_with: unsafe extern "system" fn(
        Handle,
        *mut c_void,
        usize,
        *const i64,
        usize,
        c_int,
        *mut Handle,
    ) -> Status,
    data: unsafe extern "system" fn(Handle, *mut *mut c_void) -> Status,
    fill_strings: unsafe extern "system" fn(Handle, *const *const c_char, usize) -> Status,
    element: unsafe extern "system" fn(Handle, *mut c_int) -> Status,
    dimension_count: unsafe extern "system" fn(Handle, *mut usize) -> Status,
    dimensions: unsafe extern "system" fn(Handle, *mut i64, usize) -> Status,
    type_and_shape: unsafe extern "system" fn(Handle, *mut Handle) -> Status,
    cpu_memory: unsafe extern "system" fn(c_int, c_int, *mut Handle) -> Status,
    allocator: unsafe extern "system" fn(*mut Handle) -> Status,
    release_status: unsafe extern "system" fn(Status),
    release_memory: unsafe extern "system" fn(Handle),
    release_session: unsafe extern "system" fn(Handle),
    release_value: unsafe extern "system" fn(Handle),
    release_shape: unsafe extern "system" fn(Handle),
    release_options: unsafe extern "system" fn(Handle),
}

/// A loaded onnxruntime, for as long as the process lives.
struct Library {
    functions: Functions,
    environment: Handle,
}

// SAFETY: the environment is only handed to functions that onnxruntime documents as safe on any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    fn get() -> Result<&'static Self, Failure> {
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
    fn check(&self, call: &str, status: Status) -> Result<(), Failure> {
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
    /// # Safety
    /// `table` must be the table of functions of version [`API`] or later.
    #[allow(clippy::missing_transmute_annotations, reason = "the fields say which functions these are")]
    unsafe fn of(table: *const *const c_void) -> Self {
        macro_rules! at {
            ($place:literal) => {
                // SAFETY: by the caller's word the table has this entry, and it is of this type.
                unsafe { std::mem::transmute::<*const c_void, _>(*table.add($place)) }
            };
        }
        Self {
            error_message: at!(2),
            create_env: at!(3),
            create_session: at!(8),
            run: at!(9),
            create_options: at!(10),
            create_tensor: at!(48),
            create_tensor_with: at!(49),
            data: at!(51),
            fill_strings: at!(52),
            element: at!(60),
            dimension_count: at!(61),
            dimensions: at!(62),
            type_and_shape: at!(65),
            cpu_memory: at!(69),
            allocator: at!(78),
            release_status: at!(93),
            release_memory: at!(94),
            release_session: at!(95),
            release_value: at!(96),
            release_shape: at!(99),
            release_options: at!(100),
        }
    }
}

/// Something of onnxruntime's that is given back when it is no longer needed.
struct Owned {
    handle: Handle,
    release: unsafe extern "system" fn(Handle),
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: made by onnxruntime, of the kind that this releases, and not released before.
            unsafe { (self.release)(self.handle) }
        }
    }
}

/// Values of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 32-bit numbers.
    Floats(Vec<f32>),
    /// 64-bit numbers.
    Doubles(Vec<f64>),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Texts.
    Texts(Vec<String>),
}

/// A tensor that goes in.
#[derive(Clone, Debug, PartialEq)]
pub struct Fed {
    /// The input.
    pub name: String,
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// Its values.
    pub data: Data,
}

/// A tensor that came out, as 64-bit numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// Its values.
    pub values: Vec<f64>,
}

/// A model that onnxruntime has taken.
pub struct Session {
    library: &'static Library,
    session: Owned,
}

impl Session {
    /// Hands the bytes of an ONNX file over.
    ///
    /// # Errors
    /// If onnxruntime is not there, or refuses the file.
    pub fn new(bytes: &[u8]) -> Result<Self, Failure> {
        let library = Library::get()?;
        let functions = &library.functions;
        let mut options = Owned { handle: null_mut(), release: functions.release_options };
        let mut session = Owned { handle: null_mut(), release: functions.release_session };
        // SAFETY: the bytes are as long as said, and copied by onnxruntime; handles are written to places of
        // our own, and the options live until the call is over.
        unsafe {
            library.check("CreateSessionOptions", (functions.create_options)(&raw mut options.handle))?;
            let status = (functions.create_session)(
                library.environment,
                bytes.as_ptr().cast(),
                bytes.len(),
                options.handle,
                &raw mut session.handle,
            );
            library.check("the model", status)?;
        }
        Ok(Self { library, session })
    }

    /// Runs it; returns these of its outputs.
    ///
    /// # Errors
    /// In onnxruntime's own words, if it refuses an input or a value; if an output is no tensor of numbers.
    pub fn run(&self, inputs: &[Fed], outputs: &[&str]) -> Result<Vec<Given>, Failure> {
        let functions = &self.library.functions;
        let fed: Vec<Owned> = inputs.iter().map(|input| self.feed(input)).collect::<Result<_, _>>()?;
        let handles: Vec<Handle> = fed.iter().map(|one| one.handle).collect();
        let names: Vec<CString> = inputs.iter().map(|input| text(&input.name)).collect::<Result<_, _>>()?;
        let wanted: Vec<CString> = outputs.iter().map(|name| text(name)).collect::<Result<_, _>>()?;
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (names, wanted) = (pointers(&names), pointers(&wanted));
        let mut given = vec![null_mut(); outputs.len()];
        // SAFETY: names and handles are as many as said and live until the call is over (`names` and `wanted`
        // point into the texts above, which live as long); outputs are written to places of our own.
        let status = unsafe {
            (functions.run)(
                self.session.handle,
                null_mut(),
                names.as_ptr(),
                handles.as_ptr(),
                handles.len(),
                wanted.as_ptr(),
                wanted.len(),
                given.as_mut_ptr(),
            )
        };
        let given: Vec<Owned> =
            given.into_iter().map(|handle| Owned { handle, release: functions.release_value }).collect();
        self.library.check("a run", status)?;
        given.iter().zip(outputs).map(|(value, name)| self.read(value, name)).collect()
    }

    fn feed(&self, input: &Fed) -> Result<Owned, Failure> {
        let functions = &self.library.functions;
        let count =
            input.sizes.iter().try_fold(1usize, |count, size| count.checked_mul((*size).try_into().ok()?));
        let (element, bytes, length) = match &input.data {
            Data::Floats(values) => (element::FLOAT, values.as_ptr().cast::<c_void>(), values.len()),
            Data::Doubles(values) => (element::DOUBLE, values.as_ptr().cast(), values.len()),
            Data::Ints(values) => (element::INT64, values.as_ptr().cast(), values.len()),
            Data::Bytes(values) => (element::UINT8, values.as_ptr().cast(), values.len()),
            Data::Texts(values) => (element::STRING, null(), values.len()),
        };
        if count != Some(length) {
            let (name, sizes) = (&input.name, &input.sizes);
            return Err(Failure::input(format!("input {name:?}: {length} values for the sizes {sizes:?}")));
        }
        let mut value = Owned { handle: null_mut(), release: functions.release_value };
        let (sizes, directions) = (input.sizes.as_ptr(), input.sizes.len());
        if let Data::Texts(texts) = &input.data {
            let texts: Vec<CString> = texts.iter().map(|one| text(one)).collect::<Result<_, _>>()?;
            let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
            let mut allocator = null_mut();
            // SAFETY: the default allocator belongs to onnxruntime; texts are copied, as many as the tensor has
            // elements, which was checked above.
            unsafe {
                self.library.check("an allocator", (functions.allocator)(&raw mut allocator))?;
                let made =
                    (functions.create_tensor)(allocator, sizes, directions, element, &raw mut value.handle);
                self.library.check("a tensor", made)?;
                let filled = (functions.fill_strings)(value.handle, pointers.as_ptr(), pointers.len());
                self.library.check("texts", filled)?;
            }
            return Ok(value);
        }
        let width = match element {
            element::FLOAT => size_of::<f32>(),
            element::UINT8 => 1,
            _ => size_of::<i64>(),
        };
        let mut memory = Owned { handle: null_mut(), release: functions.release_memory };
        // SAFETY: the tensor borrows the values, which `run` keeps until it is over, and which onnxruntime does not
        // write to: they are inputs. Their length in bytes is that of the slice.
        unsafe {
            let found = (functions.cpu_memory)(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &raw mut memory.handle);
            self.library.check("memory", found)?;
            let made = (functions.create_tensor_with)(
                memory.handle,
                bytes.cast_mut(),
                length * width,
                sizes,
                directions,
                element,
                &raw mut value.handle,
            );
            self.library.check("a tensor", made)?;
        }
        Ok(value)
    }

    fn read(&self, value: &Owned, name: &str) -> Result<Given, Failure> {
        let functions = &self.library.functions;
        let mut shape = Owned { handle: null_mut(), release: functions.release_shape };
        let (mut element, mut directions, mut data) = (0, 0, null_mut());
        // SAFETY: the value came out of a run. Its type and sizes are asked for before its data is touched, and
        // the data has as many elements as the sizes say; they are copied while the value lives.
        unsafe {
            self.library.check(name, (functions.type_and_shape)(value.handle, &raw mut shape.handle))?;
            self.library.check(name, (functions.element)(shape.handle, &raw mut element))?;
            self.library.check(name, (functions.dimension_count)(shape.handle, &raw mut directions))?;
            let mut sizes = vec![0; directions];
            self.library.check(name, (functions.dimensions)(shape.handle, sizes.as_mut_ptr(), directions))?;
            let count: i64 = sizes.iter().product();
            let count = usize::try_from(count).unwrap_or_default();
            self.library.check(name, (functions.data)(value.handle, &raw mut data))?;
            let values = match element {
                _ if count == 0 => Vec::new(),
                element::FLOAT => copy::<f32>(data, count),
                element::DOUBLE => copy::<f64>(data, count),
                element::INT64 => {
                    std::slice::from_raw_parts(data.cast::<i64>(), count).iter().map(|n| *n as f64).collect()
                }
                other => {
                    return Err(Failure::input(format!(
                        "output {name:?} holds no numbers (its type is {other})"
                    )));
                }
            };
            Ok(Given { sizes, values })
        }
    }
}

/// # Safety
/// `data` must point to so many numbers.
unsafe fn copy<T: Copy + Into<f64>>(data: *const c_void, count: usize) -> Vec<f64> {
    // SAFETY: by the caller's word.
    unsafe { std::slice::from_raw_parts(data.cast::<T>(), count) }
        .iter()
        .map(|value| (*value).into())
        .collect()
}

fn text(text: &str) -> Result<CString, Failure> {
    CString::new(text)
        .map_err(|_| Failure::input(format!("{text:?} holds a zero byte, which no runtime takes")))
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

    #[test]
    fn a_file_that_is_no_model_is_refused_in_onnxruntimes_own_words() {
        if library_file().is_none() {
            eprintln!("skipped: onnxruntime is not installed, and SETPOINT_ONNXRUNTIME names no file");
            return;
        }
        let error = Session::new(b"this is text").err().unwrap().message;
        assert!(error.starts_with("onnxruntime refused the model: "), "{error}");
    }
}
