//! Where bytes come from: a file, plain or compressed, read as often as needed.
//!
//! Compression is recognised by magic number, never by name. A table is read in
//! one streaming pass where that suffices, and a column whose kind surprises
//! late is settled by a second pass, so a source can be opened again. A pipe
//! cannot, and is held in memory.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::ReadError;

/// A readable file or buffer and the name errors call it by.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

/// How the bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
}

impl Source {
    /// The file at `path`; anything but a regular file is read into memory.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let open = |source| ReadError::Open { file: name.clone(), source };
        let mut file = File::open(path).map_err(open)?;
        let kind = file.metadata().map_err(open)?;
        if kind.is_dir() {
            return Err(open(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")));
        }
        let origin = if kind.is_file() {
            Origin::Path(path.to_owned())
        } else {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(open)?;
            Origin::Bytes(bytes)
        };
        Ok(Self { name, origin })
    }

    /// Bytes already in memory.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), origin: Origin::Bytes(bytes) }
    }

    /// What errors call this source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes as they are stored.
    fn raw(&self) -> Result<Box<dyn Read + Send + '_>, ReadError> {
        Ok(match &self.origin {
            Origin::Path(path) => Box::new(
                File::open(path).map_err(|source| ReadError::Open { file: self.name.clone(), source })?,
            ),
            Origin::Bytes(bytes) => Box::new(Cursor::new(bytes)),
        })
    }

    /// The bytes behind any compression, as far as they are no more than a real file's would be.
    pub fn text(&self) -> Result<Box<dyn Read + Send + '_>, ReadError> {
        let mut raw = self.raw()?;
        let mut magic = [0; 4];
        let found = fill(&mut raw, &mut magic).map_err(|source| self.io(source))?;
        let compression = Compression::of(&magic[..found]);
        let whole = Cursor::new(magic).take(found as u64).chain(raw);
        let expanded: Box<dyn Read + Send + '_> = match compression {
            Compression::None => return Ok(Box::new(whole)),
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(whole)),
            Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(whole)),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::new(whole).map_err(|source| self.io(source))?)
            }
        };
        Ok(Box::new(Bounded { reader: expanded, left: most_expanded(self.length()?) }))
    }

    /// The number of bytes as they are stored.
    pub fn length(&self) -> Result<u64, ReadError> {
        match &self.origin {
            Origin::Path(path) => Ok(std::fs::metadata(path).map_err(|source| self.io(source))?.len()),
            Origin::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// The first bytes of the text, at most `limit`, and whether that was all.
    pub fn head(&self, limit: usize) -> Result<(Vec<u8>, bool), ReadError> {
        let mut head = vec![0; limit];
        let found = fill(&mut self.text()?, &mut head).map_err(|source| self.io(source))?;
        head.truncate(found);
        Ok((head, found < limit))
    }

    /// The path, where there is a regular file, else the bytes in memory.
    pub fn path_or_bytes(&self) -> Result<&Path, &[u8]> {
        match &self.origin {
            Origin::Path(path) => Ok(path),
            Origin::Bytes(bytes) => Err(bytes),
        }
    }

    /// SHA-256 of the stored bytes, in lower-case hexadecimal.
    pub fn hash(&self) -> Result<String, ReadError> {
        let mut raw = self.raw()?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            let found = fill(&mut raw, &mut buffer).map_err(|source| self.io(source))?;
            if found == 0 {
                break;
            }
            hasher.update(&buffer[..found]);
        }
        Ok(hasher.finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    pub fn io(&self, source: io::Error) -> ReadError {
        let file = self.name.clone();
        match source.kind() {
            io::ErrorKind::FileTooLarge => ReadError::Expands { file },
            _ => ReadError::Io { file, source },
        }
    }
}

/// Most bytes that so many stored ones may stand for: far more than data does, far less than the
/// gigabytes that a hostile file holds in a few bytes.
pub(crate) fn most_expanded(stored: u64) -> u64 {
    stored.saturating_mul(256).max(1 << 30)
}

/// Reads on as long as there is no more than expected.
struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(found as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(found)
    }
}

impl Compression {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9'] => Self::Bzip2,
            _ => Self::None,
        }
    }
}

/// Reads until `buffer` is full or the input ends; returns the bytes read.
pub(crate) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < buffer.len() {
        match reader.read(&mut buffer[found..]) {
            Ok(0) => break,
            Ok(count) => found += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// SHA-256 of a file's bytes as they are stored, in lower-case hexadecimal.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn hash(path: &Path) -> Result<String, ReadError> {
    Source::open(path)?.hash()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn text_of(bytes: Vec<u8>) -> Result<Vec<u8>, ReadError> {
        let source = Source::from_bytes("t", bytes);
        let mut text = Vec::new();
        source.text()?.read_to_end(&mut text).map_err(|error| source.io(error))?;
        Ok(text)
    }

    #[test]
    fn compression_is_recognised_by_its_magic_number() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(b"a,b\n").unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bzip2.write_all(b"a,b\n").unwrap();
        let zstd = zstd::encode_all(&b"a,b\n"[..], 1).unwrap();
        for bytes in [gzip.finish().unwrap(), bzip2.finish().unwrap(), zstd, b"a,b\n".to_vec()] {
            assert_eq!(text_of(bytes).unwrap(), b"a,b\n");
        }
        assert_eq!(text_of(b"BZ".to_vec()).unwrap(), b"BZ");
    }

    #[test]
    fn joined_gzip_members_are_read_to_the_end() {
        let member = |text: &[u8]| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gzip.write_all(text).unwrap();
            gzip.finish().unwrap()
        };
        assert_eq!(text_of([member(b"a\n"), member(b"b\n")].concat()).unwrap(), b"a\nb\n");
    }

    #[test]
    fn a_file_cut_short_is_an_error() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&[b'1', b'\n'].repeat(1000)).unwrap();
        let mut bytes = gzip.finish().unwrap();
        bytes.truncate(bytes.len() - 9);
        assert!(matches!(text_of(bytes), Err(ReadError::Io { .. })));
    }

    #[test]
    fn a_few_bytes_do_not_expand_to_gigabytes() {
        let zeros = io::repeat(0).take((1 << 30) + 1);
        let source = Source::from_bytes("t.zst", zstd::encode_all(zeros, 1).unwrap());
        let error = source.io(io::copy(&mut source.text().unwrap(), &mut io::sink()).unwrap_err());
        assert!(matches!(error, ReadError::Expands { .. }), "{error}");
    }

    #[test]
    fn the_hash_is_that_of_the_stored_bytes() {
        // printf abc | sha256sum
        assert_eq!(
            Source::from_bytes("t", b"abc".to_vec()).hash().unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
