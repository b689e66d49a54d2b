//! Files on a disk: replaced whole, or not at all.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A directory of its own for each test, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("setpoint-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_is_saved_loaded_and_replaced() {
    let directory = Directory::new();
    let path = directory.file("model.safetensors");
    let mut file = model();
    file.save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), file.to_bytes().unwrap());
    file.document.seed = 1;
    file.save(&path).unwrap();
    assert_eq!(ModelFile::load(&path).unwrap(), file);
    let saved = directory.file("run.checkpoint");
    checkpoint().save(&saved).unwrap();
    assert_eq!(Checkpoint::load(&saved).unwrap(), checkpoint());
    assert_eq!(directory.names(), ["model.safetensors", "run.checkpoint"]);
}

#[test]
fn a_writer_that_fails_or_panics_leaves_the_old_file_and_nothing_else() {
    let directory = Directory::new();
    let path = directory.file("scores.csv");
    let fail = |old: Option<&str>| {
        // Far more than the buffer, so that the disk has seen some of it.
        let error = write_atomically(&path, |out| {
            out.write_all(&vec![b'x'; 1 << 20])?;
            Err::<(), _>(io::Error::from(ErrorKind::StorageFull))
        });
        let message = error.unwrap_err().to_string();
        assert!(message.contains("scores.csv: no storage space; nothing was changed"), "{message}");
        let panicked = std::panic::catch_unwind(|| {
            write_atomically(&path, |out| -> io::Result<()> {
                out.write_all(&vec![b'x'; 1 << 20])?;
                std::panic::resume_unwind(Box::new("stop"))
            })
        });
        assert!(panicked.is_err());
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
    };
    fail(None);
    assert!(directory.names().is_empty());
    write_atomically(&path, |out| out.write_all(b"old")).unwrap();
    fail(Some("old"));
    let mut dropped = AtomicFile::create(&path).unwrap();
    dropped.write_all(b"new").unwrap();
    drop(dropped);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(directory.names(), ["scores.csv"]);
}

#[test]
fn what_killed_writers_left_is_swept_and_what_others_write_is_not() {
    let directory = Directory::new();
    fs::write(directory.file(".setpoint-0123456789abcdef.tmp"), "a part of").unwrap();
    fs::write(directory.file(".setpoint-notes.txt"), "of somebody").unwrap();
    let path = directory.file("scores.csv");
    let mut first = AtomicFile::create(&path).unwrap();
    first.write_all(b"first").unwrap();
    assert_eq!(directory.names().len(), 2);
    write_atomically(&path, |out| out.write_all(b"second")).unwrap();
    first.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    assert_eq!(directory.names(), [".setpoint-notes.txt", "scores.csv"]);
}

#[test]
fn a_model_that_cannot_be_stored_leaves_the_old_file() {
    let directory = Directory::new();
    let path = directory.file("model.safetensors");
    model().save(&path).unwrap();
    let mut broken = model();
    broken.document.thresholds[0] = f32::NAN;
    assert!(broken.save(&path).is_err());
    assert_eq!(ModelFile::load(&path).unwrap(), model());
}

#[test]
fn paths_that_cannot_be_files_are_refused() {
    let directory = Directory::new();
    let write = |path: &Path| write_atomically(path, |out| out.write_all(b"x")).unwrap_err();
    assert!(matches!(write(&directory.0), WriteError::Directory { .. }));
    assert!(matches!(write(&directory.file("new/")), WriteError::Directory { .. }));
    assert!(matches!(write(Path::new("")), WriteError::Directory { .. }));
    let error = write(&directory.file("no/such/model.safetensors"));
    assert!(
        matches!(&error, WriteError::NoDirectory { directory, .. } if directory.ends_with("no/such")),
        "{error}"
    );
    fs::write(directory.file("plain"), "x").unwrap();
    assert!(matches!(write(&directory.file("plain/model.safetensors")), WriteError::Io { .. }));
    assert_eq!(directory.names(), ["plain"]);

    let message = ModelFile::load(&directory.0).unwrap_err().to_string();
    assert_eq!(message, format!("{}: not a regular file", directory.0.display()));
    let message = ModelFile::load(directory.file("missing")).unwrap_err().to_string();
    assert!(message.contains("missing: cannot read: "), "{message}");
    assert!(matches!(
        kind_of(ModelFile::load(directory.file("plain"))),
        ArtifactErrorKind::NotSafetensors { .. }
    ));
}

#[test]
fn concurrent_saves_leave_one_whole_file() {
    let directory = Directory::new();
    let path = directory.file("model.safetensors");
    let version = |seed| {
        let mut file = model();
        file.document.seed = seed;
        file.tensors.insert("w".into(), Tensor::vector(TensorData::F32(vec![seed as f32; 50_000])));
        file
    };
    version(0).save(&path).unwrap();
    std::thread::scope(|scope| {
        for seed in 1..5 {
            let path = &path;
            scope.spawn(move || (0..5).for_each(|_| version(seed).save(path).unwrap()));
        }
        // A reader never sees a part of a file.
        for _ in 0..20 {
            let file = ModelFile::load(&path).unwrap();
            assert_eq!(file, version(file.document.seed));
        }
    });
    let file = ModelFile::load(&path).unwrap();
    assert!((1..5).contains(&file.document.seed));
    assert_eq!(file, version(file.document.seed));
    assert_eq!(directory.names(), ["model.safetensors"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn links_stay_and_what_they_point_to_is_replaced() {
        let directory = Directory::new();
        fs::create_dir(directory.file("runs")).unwrap();
        fs::write(directory.file("runs/1"), "old").unwrap();
        symlink("runs/1", directory.file("latest")).unwrap();
        symlink("latest", directory.file("model")).unwrap();
        write_atomically(directory.file("model"), |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(directory.file("runs/1")).unwrap(), "new");
        assert!(fs::symlink_metadata(directory.file("model")).unwrap().is_symlink());

        // One that points to nothing yet.
        symlink("runs/2", directory.file("next")).unwrap();
        write_atomically(directory.file("next"), |out| out.write_all(b"two")).unwrap();
        assert_eq!(fs::read_to_string(directory.file("runs/2")).unwrap(), "two");

        symlink("b", directory.file("a")).unwrap();
        symlink("a", directory.file("b")).unwrap();
        assert!(write_atomically(directory.file("a"), |out| out.write_all(b"x")).is_err());
        symlink("runs", directory.file("folder")).unwrap();
        let error = write_atomically(directory.file("folder"), |out| out.write_all(b"x")).unwrap_err();
        assert!(matches!(error, WriteError::Directory { .. }), "{error}");
    }

    #[test]
    fn permissions_are_kept_and_read_only_files_refused() {
        let directory = Directory::new();
        let path = directory.file("model");
        fs::write(&path, "old").unwrap();
        let fresh = mode(&path);
        set_mode(&path, 0o640);
        write_atomically(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap()), (0o640, "new".to_owned()));
        write_atomically(directory.file("other"), |out| out.write_all(b"new")).unwrap();
        assert_eq!(mode(&directory.file("other")), fresh);

        set_mode(&path, 0o440);
        let error = write_atomically(&path, |out| out.write_all(b"newer")).unwrap_err();
        assert!(matches!(error, WriteError::ReadOnly { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_directory_without_write_permission_keeps_its_file() {
        let directory = Directory::new();
        let path = directory.file("model");
        fs::write(&path, "old").unwrap();
        set_mode(&directory.0, 0o555);
        let written = write_atomically(&path, |out| out.write_all(b"new"));
        // The superuser may write anywhere.
        let allowed = fs::write(directory.file("probe"), "").is_ok();
        set_mode(&directory.0, 0o755);
        if allowed {
            return;
        }
        let message = written.unwrap_err().to_string();
        assert!(message.contains("model: ") && message.contains("denied"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn devices_are_neither_replaced_nor_read() {
        for device in ["/dev/null", "/dev/full", "/dev/zero"] {
            if !Path::new(device).exists() {
                continue;
            }
            let error = model().save(device).unwrap_err();
            assert!(matches!(error.kind, ArtifactErrorKind::Write(WriteError::NotAFile { .. })), "{error}");
            assert!(matches!(kind_of(ModelFile::load(device)), ArtifactErrorKind::NotAFile));
            assert!(!fs::metadata(device).unwrap().is_file());
        }
    }
}
