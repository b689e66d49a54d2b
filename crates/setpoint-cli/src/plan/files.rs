//! The files of a command: nothing that is read is written, and nothing is written twice.
//!
//! Files are compared by what they are, not by what they are called: by device and number where they
//! are there, through symbolic and hard links, else by their directory and name. Devices and pipes
//! (`/dev/null`) are no files and may be anything at once.

use std::fs;
use std::path::{Path, PathBuf};

use setpoint::artifact::AtomicFile;
use setpoint_run::Failure;

/// Links to follow before a chain of them is called a loop.
const MAX_LINKS: usize = 40;

/// What a command reads and writes.
#[derive(Debug, Default)]
pub struct Files {
    read: Vec<Place>,
    written: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    /// What is read, or the flag that names what is written.
    what: &'static str,
    path: PathBuf,
    identity: Option<Identity>,
    /// Whether its directory is made when it is needed.
    later: bool,
}

/// What makes two names the same file.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// One that is there: device and number.
    #[cfg(unix)]
    Number(u64, u64),
    /// One that is not: its directory and name.
    Name(PathBuf),
}

impl Files {
    /// Adds a file, or a folder of them, that is read.
    pub fn read(mut self, what: &'static str, path: &Path) -> Self {
        self.read.push(Place::new(what, path, false));
        self
    }

    /// The same, if there is one.
    pub fn read_any(self, what: &'static str, path: Option<&PathBuf>) -> Self {
        match path {
            Some(path) => self.read(what, path),
            None => self,
        }
    }

    /// Adds a file that is written, by its flag.
    pub fn write(mut self, flag: &'static str, path: &Path) -> Self {
        self.written.push(Place::new(flag, path, false));
        self
    }

    /// The same, if there is one.
    pub fn write_any(self, flag: &'static str, path: Option<&PathBuf>) -> Self {
        match path {
            Some(path) => self.write(flag, path),
            None => self,
        }
    }

    /// Adds a file that is written in a directory which is made then.
    pub fn write_in(mut self, flag: &'static str, directory: &Path, name: &str) -> Self {
        self.written.push(Place::new(flag, &directory.join(name), true));
        self
    }

    /// Refuses files that would be lost, and files that could not be written, before any work.
    pub fn check(&self) -> Result<(), Failure> {
        for (place, output) in self.written.iter().enumerate() {
            let name = format!("{} {}", output.what, output.path.display());
            if let Some(input) = self.read.iter().find(|input| input.is(output)) {
                let (what, path) = (input.what, input.path.display());
                return Err(Failure::input(format!(
                    "{name}: the same file as {what}, {path}, which would be lost; write elsewhere"
                )));
            }
            if let Some(folder) = self.read.iter().find(|input| input.holds(output)) {
                let (what, path) = (folder.what, folder.path.display());
                return Err(Failure::input(format!(
                    "{name}: would count among the files of {what}, {path}; write elsewhere"
                )));
            }
            if let Some(other) = self.written[..place].iter().find(|other| other.is(output)) {
                let (flag, path) = (other.what, other.path.display());
                return Err(Failure::input(format!(
                    "{name}: the same file as {flag} {path}; give each a file of its own"
                )));
            }
        }
        for output in self.written.iter().filter(|output| !output.later) {
            // Dropped before it is committed: nothing changes.
            AtomicFile::create(&output.path)?;
        }
        Ok(())
    }
}

impl Place {
    fn new(what: &'static str, path: &Path, later: bool) -> Self {
        Self { what, path: path.to_owned(), identity: identity(path), later }
    }

    fn is(&self, other: &Self) -> bool {
        self.identity.is_some() && self.identity == other.identity
    }

    /// Whether this is a folder of images that another file would belong to.
    fn holds(&self, file: &Self) -> bool {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.is_dir()
            && setpoint_data::belongs_to_folder(&name)
            && resolved(&file.path, 0).starts_with(resolved(&self.path, 0))
    }
}

fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        #[cfg(unix)]
        Ok(found) => {
            use std::os::unix::fs::MetadataExt;
            Some(Identity::Number(found.dev(), found.ino()))
        }
        _ => Some(Identity::Name(resolved(path, 0))),
    }
}

/// The path behind all links, whether there is anything or not.
fn resolved(path: &Path, links: usize) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match fs::read_link(path) {
        Ok(target) if links < MAX_LINKS => resolved(&directory.join(target), links + 1),
        _ => resolved(directory, links).join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_are_the_same_by_any_name() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("data.csv"), "x").unwrap();
        fs::hard_link(at("data.csv"), at("hard.csv")).unwrap();
        symlink("data.csv", at("soft.csv")).unwrap();
        symlink(home.path(), at("folder/up")).unwrap();
        symlink("new.csv", at("dangling.csv")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let check = |input: &str, output: &str| {
            Files::default().read("the data", &at(input)).write("-o", &at(output)).check()
        };
        for output in ["data.csv", "hard.csv", "soft.csv", "folder/../data.csv", "folder/up/data.csv"] {
            let error = check("data.csv", output).unwrap_err();
            assert!(error.message.contains("the same file as the data"), "{output}: {error}");
        }
        for (input, output) in [("new.csv", "dangling.csv"), ("folder/up/new.csv", "new.csv")] {
            assert!(check(input, output).is_err(), "{input} {output}");
        }
        assert!(check("data.csv", "other.csv").is_ok());
        assert!(check("data.csv", "loop").is_err());
        let written = |first: &str, second: &str| {
            Files::default().write("-o", &at(first)).write("--report", &at(second)).check()
        };
        let error = written("new.csv", "dangling.csv").unwrap_err();
        assert!(error.message.ends_with("give each a file of its own"), "{error}");
        assert!(written("one", "two").is_ok());
    }

    #[test]
    fn what_is_no_file_may_be_read_and_written_at_once() {
        let null = Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" });
        let files = Files::default().read("the data", null).write("-o", null).write("--report", null);
        // It cannot be replaced, which is another matter.
        let error = files.check().unwrap_err();
        assert!(error.message.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_folder_that_is_read_takes_no_files_of_its_kind() {
        let home = tempfile::tempdir().unwrap();
        let check = |name: &str| {
            let output = home.path().join(name);
            Files::default().read("the data", home.path()).write("-o", &output).check()
        };
        for name in ["1.png", "labels.csv", "report.json"] {
            assert!(check(name).unwrap_err().message.contains("among the files of the data"), "{name}");
        }
        assert!(check("model.safetensors").is_ok() && check("report.html").is_ok());
    }
}
