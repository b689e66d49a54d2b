//! The arrays of an NPZ or NPY file, and their headers.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use npyz::{DType, NpyHeader, Order};
use zip::ZipArchive;

use crate::image::MAX_BYTES;
use crate::image::column::part;
use crate::image::error::ImageError;
use crate::read::source::{fill, most_expanded};

/// Longest header of an array; NumPy itself refuses more than 10,000 bytes.
const MAX_HEADER: usize = 10_000;
/// Most brackets within brackets of a header: a record within a record has six. Time doubles with each.
const MAX_DEPTH: usize = 8;
/// Most arrays of a file.
const MAX_ARRAYS: usize = 10_000;

/// An array without its values.
#[derive(Clone)]
pub(super) struct Header {
    pub name: String,
    /// The name without the part, and the part: `x` and train of `x_train`.
    pub base: String,
    pub part: Option<u8>,
    pub shape: Vec<u64>,
    /// Number of values.
    pub count: u64,
    pub npy: NpyHeader,
    at: usize,
}

impl Header {
    pub fn refuse(&self, file: &str, problem: String) -> ImageError {
        ImageError::Array { file: file.to_owned(), array: self.name.clone(), problem }
    }

    /// The type as NumPy writes it: `|u1`, `<f4`.
    pub fn kind(&self) -> String {
        match self.npy.dtype() {
            DType::Plain(kind) => kind.to_string(),
            other => other.descr(),
        }
    }
}

/// An open file of arrays.
pub(super) struct Arrays {
    pub file: String,
    pub headers: Vec<Header>,
    /// Most bytes that an array may take up in memory.
    most: u64,
    store: Store,
}

enum Store {
    Zip(Box<ZipArchive<BufReader<File>>>),
    Plain(PathBuf),
}

impl Arrays {
    /// Opens a file and reads the headers of its arrays.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let file = path.display().to_string();
        let mut magic = [0; 4];
        let io = |source| ImageError::Io { file: file.clone(), source };
        fill(&mut File::open(path).map_err(io)?, &mut magic).map_err(io)?;
        let most = most_expanded(std::fs::metadata(path).map_err(io)?.len());
        let store = Store::Plain(path.to_owned());
        let mut arrays = Self { file: file.clone(), headers: Vec::new(), most, store };
        if magic != *b"PK\x03\x04" {
            let (npy, _) = arrays.open_at("array", 0)?;
            arrays.headers.push(header("array", npy, 0));
            return Ok(arrays);
        }
        let archive = ZipArchive::new(BufReader::new(File::open(path).map_err(io)?));
        let archive = archive.map_err(|error| ImageError::Header {
            file: file.clone(),
            problem: error.to_string(),
            expected: "a whole NPZ file, as numpy.savez writes",
        })?;
        if archive.len() > MAX_ARRAYS {
            let (what, limit) = (format!("{} arrays", archive.len()), MAX_ARRAYS.to_string());
            return Err(ImageError::TooLarge { file, what, limit });
        }
        let mut names = Vec::new();
        for (at, name) in archive.file_names().enumerate() {
            let name = name.map_err(|error| arrays.broken("", error.to_string()))?;
            if let Some(name) = npyz::npz::array_name_from_file_name(&name) {
                names.push((at, name.to_owned()));
            }
        }
        arrays.store = Store::Zip(Box::new(archive));
        for (at, name) in names {
            let (npy, _) = arrays.open_at(&name, at)?;
            arrays.headers.push(header(&name, npy, at));
        }
        Ok(arrays)
    }

    /// The values of an array, as bytes; each will take up so many in memory.
    pub fn values(&mut self, array: &Header, size: u64) -> Result<Box<dyn Read + '_>, ImageError> {
        if array.count.saturating_mul(size) > self.most {
            let problem = format!("its {} values are more than a file of this size has", array.count);
            return Err(array.refuse(&self.file, problem));
        }
        Ok(self.open_at(&array.name, array.at)?.1)
    }

    /// The arrays in words.
    pub fn listed(&self) -> String {
        let one = |array: &Header| format!("{:?} {:?} of {}", array.name, array.shape, array.kind());
        self.headers.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    pub fn broken(&self, array: &str, problem: String) -> ImageError {
        ImageError::Array { file: self.file.clone(), array: array.to_owned(), problem }
    }

    fn open_at(&mut self, name: &str, at: usize) -> Result<(NpyHeader, Box<dyn Read + '_>), ImageError> {
        let file = self.file.clone();
        let broken =
            |problem: String| ImageError::Array { file: file.clone(), array: name.to_owned(), problem };
        let mut reader: Box<dyn Read + '_> = match &mut self.store {
            Store::Plain(path) => {
                Box::new(BufReader::new(File::open(path).map_err(|error| broken(error.to_string()))?))
            }
            Store::Zip(archive) => {
                Box::new(BufReader::new(archive.by_index(at).map_err(|error| broken(error.to_string()))?))
            }
        };
        let head = head(&mut reader).map_err(&broken)?;
        let npy = NpyHeader::from_reader(Cursor::new(head)).map_err(|error| broken(error.to_string()))?;
        if npy.uses_pickled_array() {
            return Err(broken(
                "holds Python objects, which are not read; store plain numbers or text".to_owned(),
            ));
        }
        if npy.order() == Order::Fortran && npy.shape().len() > 1 {
            return Err(broken("is stored column by column; store numpy.ascontiguousarray of it".to_owned()));
        }
        Ok((npy, reader))
    }
}

fn header(name: &str, npy: NpyHeader, at: usize) -> Header {
    let (base, part) = match name.split_once('_') {
        Some((first, rest)) if word(first).is_some() => (rest.to_owned(), word(first)),
        _ => match name.rsplit_once('_') {
            Some((rest, last)) if word(last).is_some() => (rest.to_owned(), word(last)),
            _ => (name.to_owned(), None),
        },
    };
    let shape = npy.shape().to_vec();
    Header { name: name.to_owned(), base, part, count: shape.iter().product(), shape, npy, at }
}

/// The part a word names; a number, as in `arr_0`, names none.
fn word(text: &str) -> Option<u8> {
    if text.starts_with(|first: char| first.is_ascii_digit()) { None } else { part(text) }
}

/// The bytes of the header, the magic number among them.
fn head(reader: &mut dyn Read) -> Result<Vec<u8>, String> {
    let mut reader = reader;
    let cut = || "is cut short within its header".to_owned();
    let mut head = vec![0; 10];
    let found = fill(&mut reader, &mut head).map_err(|error| error.to_string())?;
    if found < 10 || !head.starts_with(b"\x93NUMPY") {
        return Err("does not start as a NumPy array does".to_owned());
    }
    let length = if head[6] == 1 {
        u32::from(u16::from_le_bytes([head[8], head[9]]))
    } else {
        head.resize(12, 0);
        if fill(&mut reader, &mut head[10..]).map_err(|error| error.to_string())? < 2 {
            return Err(cut());
        }
        u32::from_le_bytes([head[8], head[9], head[10], head[11]])
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > MAX_HEADER {
        return Err(format!("has a header of {length} bytes; at most {MAX_HEADER} are read"));
    }
    let start = head.len();
    head.resize(start + length, 0);
    if fill(&mut reader, &mut head[start..]).map_err(|error| error.to_string())? < length {
        return Err(cut());
    }
    check_lengths(&head[start..])?;
    Ok(head)
}

/// How many brackets open.
fn brackets(text: &[u8]) -> usize {
    text.iter().filter(|byte| b"([{".contains(byte)).count()
}

/// How many brackets are open at once. What closes in quotes closes nothing, and quotes in threes, which NumPy does not
/// write, could hide any: they count as too deep.
fn depth(text: &[u8]) -> usize {
    let (mut open, mut most, mut quote, mut escaped) = (0usize, 0, None, false);
    for byte in text {
        match (byte, quote) {
            _ if escaped => escaped = false,
            (b'\\', Some(_)) => escaped = true,
            (b'(' | b'[' | b'{', _) => {
                open += 1;
                most = most.max(open);
            }
            (b')' | b']' | b'}', None) => open = open.saturating_sub(1),
            (b'\'' | b'"', None) => quote = Some(byte),
            (byte, Some(begun)) if byte == begun => quote = None,
            _ => {}
        }
    }
    let threes = |three: &[u8]| three == b"'''" || three == b"\"\"\"";
    if text.windows(3).any(threes) { usize::MAX } else { most }
}

/// Refuses a shape whose lengths cannot be multiplied, and brackets within brackets without end: the
/// parser that comes next does not.
fn check_lengths(text: &[u8]) -> Result<(), String> {
    if brackets(text) > 200 || depth(text) > MAX_DEPTH {
        return Err("has a header that nests too deep".to_owned());
    }
    let text = String::from_utf8_lossy(text);
    let shape = text.split_once("shape").and_then(|(_, rest)| rest.split_once('('));
    let Some((shape, _)) = shape.and_then(|(_, rest)| rest.split_once(')')) else { return Ok(()) };
    let lengths =
        shape.split(',').map(|length| length.trim().trim_end_matches('L')).filter(|text| !text.is_empty());
    let mut count = 1u64;
    for length in lengths {
        let length: Option<u64> = length.parse().ok();
        let product = length.and_then(|length| count.checked_mul(length.max(1)));
        match product.filter(|count| *count <= MAX_BYTES) {
            Some(product) => count = product,
            None => return Err(format!("has the shape ({shape}), which is none or too large")),
        }
    }
    Ok(())
}
