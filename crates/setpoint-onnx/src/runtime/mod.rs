//! onnxruntime, loaded at run time over its C API. All `unsafe` code of the crate is here.
//!
//! Nothing is linked and nothing is built: the shared library that the Python package `onnxruntime` (or a system
//! install) carries is found and opened when it is first needed, by `SETPOINT_ONNXRUNTIME` where that is set.
//! Its functions are entries of a table whose order never changes (`library`); this file hands values over.

#![allow(unsafe_code, reason = "a foreign library is called; its pointers and lengths are checked here")]

mod library;

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;

use setpoint_run::Failure;

use crate::proto::element;
pub use library::library_file;
use library::{Handle, Library};

/// The kinds of allocator and memory of tensors.
const DEVICE_ALLOCATOR: c_int = 0;
const DEFAULT_MEMORY: c_int = 0;

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

/// A tensor that came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// Its values as 64-bit numbers, if it is one of numbers.
    pub values: Vec<f64>,
    /// Its values, if they are texts.
    pub texts: Vec<String>,
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
    /// In onnxruntime's own words, if it refuses an input or a value; if an output is no tensor of numbers or
    /// texts.
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

    /// A tensor of these values. It borrows numbers: `run`, which alone calls this, holds them until it is over.
    fn feed(&self, input: &Fed) -> Result<Owned, Failure> {
        fn raw<T>(values: &[T]) -> (usize, *const c_void, usize) {
            (values.len(), values.as_ptr().cast(), size_of_val(values))
        }
        let functions = &self.library.functions;
        let (element, (length, data, bytes)) = match &input.data {
            Data::Floats(values) => (element::FLOAT, raw(values)),
            Data::Doubles(values) => (element::DOUBLE, raw(values)),
            Data::Ints(values) => (element::INT64, raw(values)),
            Data::Bytes(values) => (element::UINT8, raw(values)),
            Data::Texts(values) => (element::STRING, raw(values)),
        };
        if count(&input.sizes) != Some(length) {
            let (name, sizes) = (&input.name, &input.sizes);
            return Err(Failure::input(format!("input {name:?}: {length} values for the sizes {sizes:?}")));
        }
        let mut value = Owned { handle: null_mut(), release: functions.release_value };
        let (sizes, directions) = (input.sizes.as_ptr(), input.sizes.len());
        if let Data::Texts(texts) = &input.data {
            let texts: Vec<CString> = texts.iter().map(|one| text(one)).collect::<Result<_, _>>()?;
            let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
            let mut allocator = null_mut();
            // SAFETY: the default allocator is onnxruntime's own and is not given back; sizes are as many as said;
            // texts are copied, as many as the tensor has elements, which was checked above.
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
        let mut memory = Owned { handle: null_mut(), release: functions.release_memory };
        // SAFETY: the tensor borrows the values, which outlive it (see above), and which onnxruntime does not write
        // to: they are inputs. They are as many bytes as said, of the type said; what memory they are in is
        // copied from `memory`, which may go after the call.
        unsafe {
            let found = (functions.cpu_memory)(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &raw mut memory.handle);
            self.library.check("memory", found)?;
            let made = (functions.create_tensor_with)(
                memory.handle,
                data.cast_mut(),
                bytes,
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
        // SAFETY: the value came out of a run. What is no tensor has no type and sizes, which is an error. They are
        // asked for before the data is touched, which has as many elements as they say, aligned as onnxruntime's
        // own kernels need them; the elements are copied while the value lives.
        unsafe {
            self.library.check(name, (functions.type_and_shape)(value.handle, &raw mut shape.handle))?;
            self.library.check(name, (functions.element)(shape.handle, &raw mut element))?;
            self.library.check(name, (functions.dimension_count)(shape.handle, &raw mut directions))?;
            let mut sizes = vec![0; directions];
            self.library.check(name, (functions.dimensions)(shape.handle, sizes.as_mut_ptr(), directions))?;
            let count = count(&sizes).ok_or_else(|| {
                Failure::input(format!("output {name:?}: its sizes {sizes:?} are those of no tensor"))
            })?;
            if element == element::STRING {
                let texts = self.read_texts(value, name, count)?;
                return Ok(Given { sizes, texts, ..Given::default() });
            }
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
                        "output {name:?} holds neither numbers nor texts (its type is {other})"
                    )));
                }
            };
            Ok(Given { sizes, values, ..Given::default() })
        }
    }

    /// The values of a tensor of so many texts.
    fn read_texts(&self, value: &Owned, name: &str, count: usize) -> Result<Vec<String>, Failure> {
        let functions = &self.library.functions;
        let mut length = 0;
        // SAFETY: the value is a tensor of texts, as the caller found; the length is written to a place of our own.
        self.library.check(name, unsafe { (functions.string_bytes)(value.handle, &raw mut length) })?;
        let (mut bytes, mut starts) = (vec![0u8; length], vec![0; count]);
        // SAFETY: bytes and starts have room for as many as said, which is what onnxruntime asks for.
        let status = unsafe {
            (functions.strings)(value.handle, bytes.as_mut_ptr().cast(), length, starts.as_mut_ptr(), count)
        };
        self.library.check(name, status)?;
        starts.push(length);
        let text = |ends: &[usize]| bytes.get(ends[0]..ends[1]).map(String::from_utf8_lossy);
        Ok(starts.windows(2).map(|ends| text(ends).unwrap_or_default().into_owned()).collect())
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

/// How many elements a tensor of these sizes has.
fn count(sizes: &[i64]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |count, size| count.checked_mul((*size).try_into().ok()?))
}

fn text(text: &str) -> Result<CString, Failure> {
    CString::new(text)
        .map_err(|_| Failure::input(format!("{text:?} holds a zero byte, which no runtime takes")))
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::graph::{Builder, int};
    use crate::proto::{Model, OperatorSet};

    /// A graph that gives each of its inputs, of these types, out as doubles.
    fn doubling(elements: &[(&str, i32)]) -> Vec<u8> {
        let mut graph = Builder::default();
        for (name, element) in elements {
            let input = graph.input(name, *element, &[None, Some(2)]);
            let wide = graph.node("Cast", &[&input], vec![int("to", i64::from(element::DOUBLE))]);
            graph.output(&wide, &format!("{name} out"), element::DOUBLE, &[None, Some(2)]);
        }
        let opset_import = vec![OperatorSet { domain: String::new(), version: 17 }];
        let graph = Some(graph.graph);
        Model { ir_version: 8, graph, opset_import, ..Model::default() }.encode_to_vec()
    }

    fn fed(name: &str, sizes: [i64; 2], data: Data) -> Fed {
        Fed { name: name.to_owned(), sizes: sizes.to_vec(), data }
    }

    #[test]
    fn every_type_goes_in_and_comes_out_and_what_is_wrong_is_refused() {
        if library_file().is_none() {
            eprintln!("skipped: onnxruntime is not installed, and SETPOINT_ONNXRUNTIME names no file");
            return;
        }
        let error = Session::new(b"this is text").err().unwrap().message;
        assert!(error.starts_with("onnxruntime refused the model: "), "{error}");
        let types = [
            ("f", element::FLOAT),
            ("d", element::DOUBLE),
            ("i", element::INT64),
            ("b", element::UINT8),
            ("t", element::STRING),
        ];
        let session = Session::new(&doubling(&types)).unwrap();
        let texts = |texts: &[&str]| Data::Texts(texts.iter().map(|text| (*text).to_owned()).collect());
        let mut inputs = vec![
            fed("f", [2, 2], Data::Floats(vec![1.5, -2.0, f32::MAX, 0.1])),
            fed("d", [1, 2], Data::Doubles(vec![0.1, f64::MIN])),
            fed("i", [1, 2], Data::Ints(vec![-(1 << 53), 7])),
            fed("b", [0, 2], Data::Bytes(vec![])),
            fed("t", [1, 2], texts(&["3.25", "-1"])),
        ];
        let given = session.run(&inputs, &["t out", "b out", "i out", "d out", "f out"]).unwrap();
        let expected: [(i64, Vec<f64>); 5] = [
            (1, vec![3.25, -1.0]),
            (0, vec![]),
            (1, vec![-9_007_199_254_740_992.0, 7.0]),
            (1, vec![0.1, f64::MIN]),
            (2, vec![1.5, -2.0, f64::from(f32::MAX), f64::from(0.1f32)]),
        ];
        for (given, (rows, values)) in given.iter().zip(expected) {
            assert_eq!(*given, Given { sizes: vec![rows, 2], values, ..Given::default() });
        }
        let refused = |inputs: &[Fed], output: &str| session.run(inputs, &[output]).unwrap_err().message;
        let error = refused(&inputs, "x");
        assert!(error.starts_with("onnxruntime refused a run: ") && error.contains('x'), "{error}");
        inputs[2].data = Data::Doubles(vec![1.0, 2.0]);
        let error = refused(&inputs, "i out");
        assert!(error.contains("Unexpected input data type"), "{error}");
        inputs[2].data = Data::Ints(vec![1]);
        assert_eq!(refused(&inputs, "i out"), "input \"i\": 1 values for the sizes [1, 2]");
        inputs.swap_remove(2);
        inputs[2].data = texts(&["3", "4\0"]);
        assert!(refused(&inputs, "f out").contains("holds a zero byte"));
    }
}
