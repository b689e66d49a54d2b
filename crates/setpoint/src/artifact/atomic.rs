//! Files that are written whole or not at all.
//!
//! The bytes go to a temporary file in the target's own directory, are synced to the disk, and
//! take the target's name by one rename. Whoever opens the target, at any moment, after any
//! failure, finds the old file or the new one, never a part of either. Several writers of one
//! target each have a temporary file of their own; the last rename wins.
//!
//! - A symbolic link stays a link: the file it points to is replaced.
//! - The permissions of a file that is replaced are kept; a new file follows the umask.
//!   A read-only file is refused, as a plain write would be.
//! - Only regular files are replaced. A rename onto a device or a pipe would remove it, so
//!   `/dev/stdout` and the like are refused: write to those directly.
//! - On an error or a panic the temporary file is removed. Only a killed process leaves one
//!   behind; its name starts with `.setpoint-` and ends with `.tmp`, and the next file written to
//!   the same directory removes it: a writer holds a lock on its own, so the others have none.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::hash::BuildHasher;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Links to follow before a chain of them is called a loop; as Linux has it.
const MAX_LINKS: usize = 40;

/// Names to try for the temporary file. They are random: a second one is hardly ever needed.
const MAX_NAMES: usize = 100;

/// How the names of temporary files begin and end.
const PREFIX: &str = ".setpoint-";
const SUFFIX: &str = ".tmp";

/// Why a file was not written. What was at its path before is untouched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The path is a directory.
    #[error("cannot write {}: it is a directory; give the name of a file in it", path.display())]
    Directory {
        /// What was to be written.
        path: PathBuf,
    },
    /// The path is a device, a pipe or a socket.
    #[error("cannot write {}: it is not a regular file, so it cannot be replaced", path.display())]
    NotAFile {
        /// What was to be written.
        path: PathBuf,
    },
    /// The file is there and read-only.
    #[error("cannot write {}: it is read-only; change its permissions or write elsewhere", path.display())]
    ReadOnly {
        /// What was to be written.
        path: PathBuf,
    },
    /// The directory that the file belongs in does not exist.
    #[error("cannot write {}: there is no directory {}", path.display(), directory.display())]
    NoDirectory {
        /// What was to be written.
        path: PathBuf,
        /// What is missing.
        directory: PathBuf,
    },
    /// The system refused: no permission, a full disk and so on.
    #[error("cannot write {}: {error}; nothing was changed there", path.display())]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Writes a file through a closure: all of it, or nothing.
///
/// If the closure fails, so does this, with its error in [`WriteError::Io`]. Where the closure
/// has errors of its own that are not about writing, use [`AtomicFile`].
///
/// ```
/// use std::io::Write;
/// use setpoint::artifact::write_atomically;
///
/// let path = std::env::temp_dir().join("setpoint-doc-scores.csv");
/// write_atomically(&path, |out| writeln!(out, "score,decision\n0.25,1"))?;
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), setpoint::artifact::WriteError>(())
/// ```
///
/// # Errors
/// If the path cannot be a file's, the system refuses, or the closure fails. What was at the path
/// before is then untouched.
pub fn write_atomically<T>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, WriteError> {
    let mut file = AtomicFile::create(path)?;
    let value = write(&mut file).map_err(|error| file.failed(error))?;
    file.commit()?;
    Ok(value)
}

/// A file in the making: it takes its name at [`commit`](Self::commit), and vanishes if dropped
/// before.
///
/// Writing is buffered.
#[derive(Debug)]
pub struct AtomicFile {
    /// The path as given, for messages.
    path: PathBuf,
    /// The path behind the links.
    target: PathBuf,
    /// The permissions of the file to replace.
    permissions: Option<Permissions>,
    // Fields drop in this order: the handle is closed before the file is removed.
    out: BufWriter<File>,
    temporary: Temporary,
}

/// The name of the temporary file, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Takes the name away: the file is there as long as it is open, and whoever is killed leaves nothing.
    pub(crate) fn unlink(&self) {
        // After the rename nothing has this name.
        let _ = fs::remove_file(&self.0);
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.unlink();
    }
}

impl AtomicFile {
    /// Starts a file that will be at this path.
    ///
    /// # Errors
    /// If the path is that of a directory, a device or a read-only file, or its directory does not
    /// exist or cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, WriteError> {
        let path = path.as_ref().to_owned();
        let io = |error| WriteError::Io { path: path.clone(), error };
        let permissions = match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(WriteError::Directory { path }),
            Ok(found) if !found.is_file() => return Err(WriteError::NotAFile { path }),
            Ok(found) if found.permissions().readonly() => return Err(WriteError::ReadOnly { path }),
            Ok(found) => Some(found.permissions()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(io(error)),
        };
        let target = follow(&path).map_err(io)?;
        if target.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with('/') {
            return Err(WriteError::Directory { path });
        }
        let directory = directory_of(&target);
        if !directory.exists() {
            let directory = directory.to_owned();
            return Err(WriteError::NoDirectory { path, directory });
        }
        let (temporary, file) = create_temporary(directory).map_err(io)?;
        Ok(Self { path, target, permissions, out: BufWriter::with_capacity(1 << 16, file), temporary })
    }

    /// Syncs the file and puts it in place of what was there.
    ///
    /// # Errors
    /// If the system refuses; what was there before is then untouched.
    pub fn commit(mut self) -> Result<(), WriteError> {
        self.put_in_place().map_err(|error| self.failed(error))
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let file = self.out.get_ref();
        if let Some(permissions) = &self.permissions {
            file.set_permissions(permissions.clone())?;
        }
        // Before the rename: else, after a power failure, the name could lead to an empty file.
        file.sync_all()?;
        fs::rename(&self.temporary.0, &self.target)?;
        // Makes the rename itself last. Not every system can sync a directory, and old or new,
        // the file is whole: a refusal is no error.
        #[cfg(unix)]
        let _ = File::open(directory_of(&self.target)).and_then(|directory| directory.sync_all());
        Ok(())
    }

    fn failed(&self, error: io::Error) -> WriteError {
        WriteError::Io { path: self.path.clone(), error }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The directory part of a path, `.` if it has none.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What a path leads to once its own links are resolved, whether that exists or not.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_symlink() => {
                target = directory_of(&target).join(fs::read_link(&target)?);
            }
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A new, empty file in a directory, under a name that nothing has, locked where the system can lock.
pub(crate) fn create_temporary(directory: &Path) -> io::Result<(Temporary, File)> {
    remove_left_over(directory);
    let mut taken = io::Error::from(ErrorKind::AlreadyExists);
    for _ in 0..MAX_NAMES {
        // The standard library's hasher starts from random keys, which is random enough here.
        let random = RandomState::new().hash_one(std::process::id());
        let path = directory.join(format!("{PREFIX}{random:016x}{SUFFIX}"));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => match file.try_lock() {
                // Another writer may have swept it away before it was locked, or be about to.
                Ok(()) if !path.exists() => {}
                Err(TryLockError::WouldBlock) => {}
                Ok(()) | Err(TryLockError::Error(_)) => return Ok((Temporary(path), file)),
            },
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Removes what killed processes have left in a directory: temporary files that no process works on any more. What cannot
/// be removed stays; it is in nobody's way.
pub fn remove_left_over(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_ours
            && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}
