//! Where the shared library of a Python package may be.
//!
//! A variable (a file, or a folder that holds it) is the last word where it is set. Else the active Python
//! environment, the `python3` of the path, the system loader's own list and the usual folders, in this order;
//! the first file that exists is taken.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library that a Python package carries.
#[derive(Clone, Copy, Debug)]
pub struct Package {
    /// The variable that names the file.
    pub variable: &'static str,
    /// What Python calls it.
    pub name: &'static str,
    /// The folders of the package that may hold the file.
    pub inside: &'static [&'static str],
    /// What the system's loader is asked for, and what the file's name begins with up to its ending.
    pub file: &'static str,
}

/// What libraries are called here: before the name, and after it.
pub const AFFIXES: (&str, &str) = if cfg!(target_os = "windows") {
    ("", ".dll")
} else if cfg!(target_os = "macos") {
    ("lib", ".dylib")
} else {
    ("lib", ".so")
};

/// The environment as far as the search looks at it.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What is looked for.
    pub(super) package: Package,
    /// What the variable says.
    pub(super) named: Option<OsString>,
    /// Roots of Python environments.
    pub(super) environments: Vec<PathBuf>,
    /// Folders of the package, as a Python says.
    pub(super) packages: Vec<PathBuf>,
    /// Other folders.
    pub(super) folders: Vec<PathBuf>,
}

impl Surroundings {
    /// Nowhere to look.
    pub(super) fn none(package: Package) -> Self {
        let (environments, packages, folders) = (Vec::new(), Vec::new(), Vec::new());
        Self { package, named: None, environments, packages, folders }
    }

    /// Those of this process.
    #[must_use]
    pub fn here(package: Package) -> Self {
        let named = env::var_os(package.variable).filter(|value| !value.is_empty());
        if named.is_some() {
            return Self { named, ..Self::none(package) };
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
        let packages = ask_python(package.name).into_iter().collect();
        Self { package, named: None, environments, packages, folders }
    }

    /// The file to load, or `None` where only the system's loader is left to be asked.
    ///
    /// # Errors
    /// If a file is named and is not there: where it was looked for.
    pub fn file(&self) -> Result<Option<PathBuf>, Vec<String>> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            let file =
                if path.is_dir() { self.inside(&path).unwrap_or(path.join(self.package.file)) } else { path };
            let looked = vec![format!("{} (from {})", file.display(), self.package.variable)];
            return if file.is_file() { Ok(Some(file)) } else { Err(looked) };
        }
        Ok(self.folders().iter().find_map(|folder| self.inside(folder)))
    }

    /// All places in words, for the error.
    #[must_use]
    pub fn looked(&self) -> Vec<String> {
        let environments = self.environments.iter().map(|root| format!("{}/lib/python*", root.display()));
        let packages = self.packages.iter().map(|package| package.display().to_string());
        let folders = self.folders.iter().map(|folder| folder.display().to_string());
        let asked = ["python3 on the path".to_owned(), format!("the loader's {}", self.package.file)];
        environments.chain(packages).chain(asked).chain(folders).collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        let in_environments = self.environments.iter().flat_map(|root| packages_of(root, self.package.name));
        let packages = in_environments.chain(self.packages.iter().cloned());
        packages
            .flat_map(|package| self.package.inside.iter().map(move |folder| package.join(folder)))
            .chain(self.folders.iter().cloned())
            .collect()
    }

    /// The library in a folder: called as the loader calls it, or with a version in its name.
    fn inside(&self, folder: &Path) -> Option<PathBuf> {
        let plain = folder.join(self.package.file);
        if plain.is_file() {
            return Some(plain);
        }
        let stem = self.package.file.strip_suffix(AFFIXES.1)?;
        let versioned = |name: &str| {
            let rest = name.strip_prefix(stem)?.replacen(AFFIXES.1, "", 1);
            let version = rest.strip_prefix('.')?;
            version.chars().all(|c| c.is_ascii_digit() || c == '.').then_some(())
        };
        let mut found: Vec<PathBuf> = folder
            .read_dir()
            .ok()?
            .filter_map(Result::ok)
            .filter(|entry| versioned(&entry.file_name().to_string_lossy()).is_some())
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        found.sort_unstable();
        found.pop()
    }
}

/// `ROOT/lib/python*/site-packages/NAME`, newest Python last in the alphabet first.
fn packages_of(root: &Path, name: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .filter_map(|lib| root.join(lib).read_dir().ok())
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python"))
        .map(|entry| entry.path().join("site-packages").join(name))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.push(root.join("Lib").join("site-packages").join(name));
    found
}

/// Finds the package without importing it, which may load much else.
fn ask_python(name: &str) -> Option<PathBuf> {
    let ask = format!(
        "import importlib.util as u; s = u.find_spec('{name}'); print(s.submodule_search_locations[0] if s else '')"
    );
    let answer = Command::new("python3").args(["-c", &ask]).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let path = text.trim();
    (answer.status.success() && !path.is_empty()).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::PACKAGE;

    const NAME: &str = PACKAGE.file;

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("setpoint-trees-find-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_named_file_or_folder_is_the_last_word() {
        let folder = folder("named");
        let file = folder.join(NAME);
        let named = |path: &Path| Surroundings { named: Some(path.into()), ..Surroundings::none(PACKAGE) };
        let looked = named(&folder).file().unwrap_err();
        assert!(looked[0].contains(PACKAGE.variable), "{looked:?}");
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
            ..Surroundings::none(PACKAGE)
        };
        assert_eq!(surroundings.file().unwrap(), Some(lib.join(NAME)));
        let without = Surroundings { environments: Vec::new(), ..surroundings };
        assert_eq!(without.file().unwrap(), Some(usual.join(NAME)));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_version_may_be_in_the_name() {
        let folder = folder("version");
        let (stem, end) = (NAME.strip_suffix(AFFIXES.1).unwrap(), AFFIXES.1);
        for name in [format!("{stem}_other{end}"), format!("{stem}{end}.txt"), format!("{stem}{end}.1.31.1")]
        {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let surroundings = Surroundings { folders: vec![folder.clone()], ..Surroundings::none(PACKAGE) };
        assert_eq!(surroundings.file().unwrap(), Some(folder.join(format!("{stem}{end}.1.31.1"))));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
