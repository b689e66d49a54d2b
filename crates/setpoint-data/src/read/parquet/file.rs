//! One file handle for all column readers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::super::ReadError;
use super::super::source::Source;

/// A file, or bytes in memory, read at given places by several threads.
///
/// The readers of a plain `File` share one position and would disturb each other.
#[derive(Clone)]
pub(crate) enum SharedFile {
    File { file: Arc<Mutex<File>>, length: u64 },
    Bytes(Bytes),
}

impl SharedFile {
    pub fn open(source: &Source) -> std::result::Result<Self, ReadError> {
        match source.path_or_bytes() {
            Err(bytes) => Ok(Self::Bytes(Bytes::copy_from_slice(bytes))),
            Ok(path) => {
                let open = |error| ReadError::Open { file: source.name().to_owned(), source: error };
                let file = File::open(path).map_err(open)?;
                let length = file.metadata().map_err(open)?.len();
                Ok(Self::File { file: Arc::new(Mutex::new(file)), length })
            }
        }
    }

    fn read_at(&self, start: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Bytes(bytes) => {
                let rest = bytes.get(usize::try_from(start).unwrap_or(usize::MAX)..).unwrap_or_default();
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
            Self::File { file, .. } => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start))?;
                super::super::source::fill(&mut *file, buffer)
            }
        }
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// Reads on from a place in the file.
pub(crate) struct Section {
    file: SharedFile,
    position: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.file.read_at(self.position, buffer)?;
        self.position += found as u64;
        Ok(found)
    }
}

impl ChunkReader for SharedFile {
    type T = io::BufReader<Section>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        // Page headers are small, and page data is fetched with `get_bytes`.
        Ok(io::BufReader::with_capacity(256, Section { file: self.clone(), position: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len());
        if end.is_none() {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are beyond the end")));
        }
        let mut buffer = Vec::new();
        match self {
            Self::Bytes(bytes) => return Ok(bytes.slice(start as usize..start as usize + length)),
            Self::File { file, .. } => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start))?;
                buffer.reserve_exact(length);
                (&mut *file).take(length as u64).read_to_end(&mut buffer)?;
            }
        }
        if buffer.len() < length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are beyond the end")));
        }
        Ok(buffer.into())
    }
}
