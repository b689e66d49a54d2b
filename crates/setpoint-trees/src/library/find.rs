//! Where LightGBM's shared library may be.
//!
//! `SETPOINT_LIGHTGBM` (a file, or a folder that holds it) is the last word where it is set. Else the
//! active Python environment, the `python3` of the path, the system loader's own list and the usual
//! folders, in this order; the first file that exists is taken.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::LibraryError;

/// The variable that names the library.
pub const VARIABLE: &str = "SETPOINT_LIGHTGBM";

/// What the file is called.
const NAME: &str = if cfg!(target_os = "windows") {
    "lib_lightgbm.dll"
} else if cfg!(target_os = "macos") {
    "lib_lightgbm.dylib"
} else {
    "lib_lightgbm.so"
};

/// Finds the package without importing it, which would load numpy, scipy and scikit-learn.
const ASK: &str = "import importlib.util as u; s = u.find_spec('lightgbm'); print(s.submodule_search_locations[0] if s else '')";

/// The environment as far as the search looks at it.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// `SETPOINT_LIGHTGBM`.
    pub(super) named: Option<OsString>,
    /// Roots of Python environments.
    pub(super) environments: Vec<PathBuf>,
    /// Folders of the package `lightgbm`, as a Python says.
    pub(super) packages: Vec<PathBuf>,
    /// Other folders.
    pub(super) folders: Vec<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub(super) fn here() -> Self {
        let named = env::var_os(VARIABLE).filter(|value| !value.is_empty());
        if named.is_some() {
            return Self { named, ..Self::default() };
        }
        let root = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = root("HOME");
        let mut folders: Vec<PathBuf> =
            ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/homebrew/lib"].map(PathBuf::from).into();
        folders.extend(home.iter().map(|home| home.join(".local/lib")));
        let environments: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(root)
            .chain(home.map(|home| home.join(".local")))
            .collect();
        Self { named: None, environments, packages: ask_python().into_iter().collect(), folders }
    }

    /// The file to load, or `None` where only the system's loader is left to be asked.
    ///
    /// # Errors
    /// If a file is named and is not there.
    pub(super) fn file(&self) -> Result<Option<PathBuf>, LibraryError> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            let file = if path.is_dir() { path.join(NAME) } else { path };
            let looked = vec![format!("{} (from {VARIABLE})", file.display())];
            return if file.is_file() { Ok(Some(file)) } else { Err(LibraryError::Missing { looked }) };
        }
        Ok(self.candidates().into_iter().find(|file| file.is_file()))
    }

    /// All places in words, for the error.
    pub(super) fn looked(&self) -> Vec<String> {
        let environments = self.environments.iter().map(|root| format!("{}/lib/python*", root.display()));
        let packages = self.packages.iter().map(|package| package.display().to_string());
        let folders = self.folders.iter().map(|folder| folder.display().to_string());
        let asked = ["python3 on the path".to_owned(), format!("the loader's {NAME}")];
        environments.chain(packages).chain(asked).chain(folders).collect()
    }

    fn candidates(&self) -> Vec<PathBuf> {
        let in_environments = self.environments.iter().flat_map(|root| packages_of(root));
        let packages = in_environments.chain(self.packages.iter().cloned());
        packages
            .flat_map(|package| [package.join("lib").join(NAME), package.join("bin").join(NAME)])
            .chain(self.folders.iter().map(|folder| folder.join(NAME)))
            .collect()
    }
}

/// What the system's loader is asked for.
pub(super) fn name() -> &'static Path {
    Path::new(NAME)
}

/// `ROOT/lib/python*/site-packages/lightgbm`, newest Python last in the alphabet first.
fn packages_of(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .filter_map(|lib| root.join(lib).read_dir().ok())
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python"))
        .map(|entry| entry.path().join("site-packages").join("lightgbm"))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.push(root.join("Lib").join("site-packages").join("lightgbm"));
    found
}

fn ask_python() -> Option<PathBuf> {
    let answer = Command::new("python3").args(["-c", ASK]).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let path = text.trim();
    (answer.status.success() && !path.is_empty()).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("setpoint-trees-find-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_named_file_or_folder_is_the_last_word() {
        let folder = folder("named");
        let file = folder.join(NAME);
        let named = |path: &Path| Surroundings { named: Some(path.into()), ..Surroundings::default() };
        let error = named(&folder).file().unwrap_err().to_string();
        assert!(error.contains(VARIABLE) && error.contains("pip install lightgbm"), "{error}");
        std::fs::write(&file, "").unwrap();
        assert_eq!(named(&folder).file().unwrap(), Some(file.clone()));
        assert_eq!(named(&file).file().unwrap(), Some(file));
        assert!(named(&folder.join("nowhere.so")).file().is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_python_environment_is_looked_through_before_the_usual_folders() {
        let root = folder("environment");
        let lib = root.join("lib/python3.11/site-packages/lightgbm/lib");
        let usual = root.join("usual");
        for folder in [&lib, &usual] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(NAME), "").unwrap();
        }
        let surroundings = Surroundings {
            environments: vec![root.clone()],
            folders: vec![usual.clone()],
            ..Surroundings::default()
        };
        assert_eq!(surroundings.file().unwrap(), Some(lib.join(NAME)));
        let without = Surroundings { environments: Vec::new(), ..surroundings };
        assert_eq!(without.file().unwrap(), Some(usual.join(NAME)));
        std::fs::remove_dir_all(root).unwrap();
    }
}
