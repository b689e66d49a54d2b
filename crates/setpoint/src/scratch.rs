//! What does not fit into memory, in a file without a name: it vanishes when it is closed, and when the process is
//! killed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub use bytemuck::Pod;
use thiserror::Error;

use crate::artifact::atomic::{Temporary, create_temporary};

/// Why the scratch file is of no use.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("the scratch file in {}: {message}; name a folder with room for it (‹scratch›)", directory.display())]
pub struct ScratchError {
    /// Where it is.
    pub directory: PathBuf,
    /// What the system said.
    pub message: String,
}

/// An open scratch file.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
    end: AtomicU64,
    /// The first error of those who could not say so at once.
    noted: OnceLock<ScratchError>,
    // Fields drop in this order: the handle is closed before the name is removed, where it still has one.
    file: File,
    _name: Temporary,
}

impl Scratch {
    /// A file in this folder.
    ///
    /// # Errors
    /// If it cannot be made there.
    pub fn create(directory: &Path) -> Result<Self, ScratchError> {
        let failed = |error: io::Error| failed(directory, &error);
        let (name, file) = create_temporary(directory).map_err(failed)?;
        name.unlink();
        Ok(Self {
            directory: directory.to_owned(),
            end: AtomicU64::new(0),
            noted: OnceLock::new(),
            file,
            _name: name,
        })
    }

    /// Reads the values at a place; if it cannot, they stay as they are, and [`Scratch::check`] says so.
    pub fn read_or_note<T: Pod>(&self, at: u64, values: &mut [T]) {
        if let Err(error) = self.read(at, values) {
            let _ = self.noted.set(error);
        }
    }

    /// Whether all could be read.
    ///
    /// # Errors
    /// If something could not.
    pub fn check(&self) -> Result<(), ScratchError> {
        self.noted.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// The folder that it is in.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the next so many bytes are to go.
    pub fn reserve(&self, bytes: usize) -> u64 {
        self.end.fetch_add(bytes as u64, Ordering::Relaxed)
    }

    /// Writes values at a place.
    ///
    /// # Errors
    /// If the disk is full, or refuses.
    pub fn write<T: Pod>(&self, at: u64, values: &[T]) -> Result<(), ScratchError> {
        write_all_at(&self.file, bytemuck::cast_slice(values), at)
            .map_err(|error| failed(&self.directory, &error))
    }

    /// Reads the values at a place.
    ///
    /// # Errors
    /// If the disk refuses, or nothing was written there.
    pub fn read<T: Pod>(&self, at: u64, values: &mut [T]) -> Result<(), ScratchError> {
        read_exact_at(&self.file, bytemuck::cast_slice_mut(values), at)
            .map_err(|error| failed(&self.directory, &error))
    }
}

fn failed(directory: &Path, error: &io::Error) -> ScratchError {
    ScratchError { directory: directory.to_owned(), message: error.to_string() }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        (bytes, at) = (&bytes[written..], at + written as u64);
    }
    Ok(())
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_the_folder_stays_empty() {
        let folder = std::env::temp_dir().join(format!("setpoint-scratch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let scratch = Scratch::create(&folder).unwrap();
        let (first, second) = (scratch.reserve(12), scratch.reserve(4));
        scratch.write(second, &[7u16, 9]).unwrap();
        scratch.write(first, &[1.5f32, -2.0, f32::NAN]).unwrap();
        let (mut numbers, mut codes) = ([0.0f32; 3], [0u16; 2]);
        scratch.read(first, &mut numbers).unwrap();
        scratch.read(second, &mut codes).unwrap();
        assert_eq!((numbers[..2].to_vec(), numbers[2].is_nan(), codes), (vec![1.5, -2.0], true, [7, 9]));
        let error = scratch.read(second, &mut [0u8; 8]).unwrap_err().to_string();
        assert!(error.starts_with("the scratch file in ") && error.contains("‹scratch›"), "{error}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        drop(scratch);
        std::fs::remove_dir(&folder).unwrap();
        assert!(Scratch::create(&folder).is_err());
    }
}
