//! The tasks: which examples, and what is positive in them.

use std::path::{Path, PathBuf};

/// Where examples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// IJCNN1, as in the UCI tables.
    Ijcnn1,
    /// Adult, as in the UCI tables.
    Adult,
    /// 23,705 faces of 32 x 32 with age, gender and race.
    UtkFace,
    /// 8,000 and 2,000 images of CIFAR-10.
    Cifar,
    /// CelebA in its own layout.
    CelebA,
    /// BigEarthNet in its own layout.
    BigEarthNet,
}

impl Source {
    /// Its files in the data directory, or the names that its directory may have there.
    #[must_use]
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Ijcnn1 => crate::uci::Set::Ijcnn1.files(),
            Self::Adult => crate::uci::Set::Adult.files(),
            Self::UtkFace => &["utkface32.bin.gz"],
            Self::Cifar => &["cifar10-train8k.bin.gz", "cifar10-test2k.bin.gz"],
            Self::CelebA => &["celeba", "CelebA"],
            Self::BigEarthNet => &["bigearthnet", "BigEarthNet", "BigEarthNet-v1.0"],
        }
    }

    /// Its directory, where it is one.
    #[must_use]
    pub fn folder(self, data: &Path) -> Option<PathBuf> {
        let folder = matches!(self, Self::CelebA | Self::BigEarthNet);
        let mut names = self.files().iter().filter(|_| folder);
        names.find(|name| data.join(name).is_dir()).map(|name| data.join(name))
    }

    /// Whether it is in the data directory.
    #[must_use]
    pub fn is_in(self, data: &Path) -> bool {
        match self {
            Self::CelebA | Self::BigEarthNet => self.folder(data).is_some(),
            _ => self.files().iter().all(|file| data.join(file).is_file()),
        }
    }
}

/// One binary task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// Where its examples come from.
    pub source: Source,
    /// The label column, for images.
    pub label: &'static str,
    /// What is positive in it.
    pub positive: &'static str,
    /// Whether a tenth of the labels to learn from and to choose by are wrong.
    pub flipped: bool,
    /// Whether it is run when no tasks are named.
    pub main: bool,
}

const fn task(
    name: &'static str,
    title: &'static str,
    source: Source,
    label: &'static str,
    positive: &'static str,
) -> Task {
    Task { name, title, source, label, positive, flipped: false, main: true }
}

const fn face(name: &'static str, title: &'static str, label: &'static str) -> Task {
    task(name, title, Source::CelebA, label, "1")
}

const fn patch(name: &'static str, title: &'static str, label: &'static str) -> Task {
    task(name, title, Source::BigEarthNet, label, "1")
}

/// The tasks on images: the paper's, and those that stand in for them.
pub const IMAGES: [Task; 17] = [
    task("utkface-age60", "UTKFace, age>=60", Source::UtkFace, "age", ">=60"),
    task("utkface-race4", "UTKFace, race 4", Source::UtkFace, "race", "4"),
    Task { main: false, ..task("utkface-gender", "UTKFace, gender 1", Source::UtkFace, "gender", "1") },
    task("cifar-cat", "CIFAR-10, cat", Source::Cifar, "class", "3"),
    face("celeba-high-cheekbones", "CelebA, high cheekbones", "High_Cheekbones"),
    face("celeba-heavy-makeup", "CelebA, heavy make-up", "Heavy_Makeup"),
    face("celeba-wearing-lipstick", "CelebA, wearing lipstick", "Wearing_Lipstick"),
    face("celeba-smiling", "CelebA, smiling", "Smiling"),
    face("celeba-black-hair", "CelebA, black hair", "Black_Hair"),
    face("celeba-blond-hair", "CelebA, blond hair", "Blond_Hair"),
    face("celeba-brown-hair", "CelebA, brown hair", "Brown_Hair"),
    face("celeba-wavy-hair", "CelebA, wavy hair", "Wavy_Hair"),
    patch("bigearthnet-blf", "BigEarthNet, broad-leaved forest", "Broad-leaved forest"),
    patch("bigearthnet-cc", "BigEarthNet, complex cultivation", "Complex cultivation patterns"),
    patch("bigearthnet-cf", "BigEarthNet, coniferous forest", "Coniferous forest"),
    patch("bigearthnet-duf", "BigEarthNet, discontinuous urban fabric", "Discontinuous urban fabric"),
    patch(
        "bigearthnet-anv",
        "BigEarthNet, agriculture with natural vegetation",
        "Land principally occupied by agriculture, with significant areas of natural vegetation",
    ),
];

/// The tasks of the comparison at equal compute.
pub const NETWORKS: [Task; 5] = [
    task("ijcnn1", "IJCNN1", Source::Ijcnn1, "", ""),
    task("adult", "Adult", Source::Adult, "", ""),
    IMAGES[0],
    IMAGES[1],
    Task { flipped: true, ..task("ijcnn1-flipped", "IJCNN1, 10% flipped", Source::Ijcnn1, "", "") },
];

impl Task {
    /// Whether a word of the command line means it: its name, or the start of it up to a dash.
    #[must_use]
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.name.split_once('-').is_some_and(|(set, _)| set == word && !self.flipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_called_by_name_or_by_set() {
        let called = |word: &str| IMAGES.iter().filter(|task| task.is_called(word)).count();
        assert_eq!([called("celeba"), called("utkface"), called("cifar-cat"), called("cat")], [8, 3, 1, 0]);
        let called: Vec<&str> =
            NETWORKS.iter().filter(|task| task.is_called("ijcnn1")).map(|task| task.name).collect();
        assert_eq!(called, ["ijcnn1"]);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = IMAGES.iter().map(|task| task.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), IMAGES.len());
    }
}
