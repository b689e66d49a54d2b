//! The tasks: which examples, and what is positive in them.

use std::path::{Path, PathBuf};

/// Where examples come from, the most work first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// CelebA in its own layout.
    CelebA,
    /// BigEarthNet in its own layout.
    BigEarthNet,
    /// 23,705 faces of 32 x 32 with age, gender and race.
    UtkFace,
    /// 8,000 and 2,000 images of CIFAR-10.
    Cifar,
    /// Adult in its encoding as binary features (a9a), both parts: the paper's 48,842 rows.
    Adult,
    /// KDD Cup 1999, a tenth of it, without repeated rows: intrusions from afar (R2L), 0.7% of the rows.
    Kdd,
    /// 10,000 images of Fashion-MNIST, read as a table: the means of 2 x 2 pixels.
    Fashion,
    /// Statlog Shuttle, both parts.
    Shuttle,
    /// IJCNN1, the 49,990 rows of its training and validation files.
    Ijcnn1,
    /// Letter Recognition: U, the most frequent letter, against the rest.
    Letter,
    /// Pen-based digits, both parts.
    Pendigits,
    /// Statlog Landsat satellite, both parts.
    Satimage,
    /// Communities and Crime: crime above the 70th percentile (0.28).
    Crime,
    /// Spambase.
    Spambase,
}

impl Source {
    /// Its files in the data directory, or the names that its directory may have there. The rows of a
    /// table's second file follow the first's.
    #[must_use]
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Letter => &["letter-recognition.data"],
            Self::Ijcnn1 => &["ijcnn1.gz"],
            Self::Adult => &["a9a", "a9a.t"],
            Self::Spambase => &["spambase.data"],
            Self::Crime => &["communities.data"],
            Self::Kdd => &["kddcup.data_10_percent.gz"],
            Self::Fashion => &["fashion-10k-images-idx3-ubyte.gz", "fashion-10k-labels-idx1-ubyte.gz"],
            Self::Shuttle => &["shuttle.trn", "shuttle.tst"],
            Self::Pendigits => &["pendigits.tra", "pendigits.tes"],
            Self::Satimage => &["sat.trn", "sat.tst"],
            Self::UtkFace => &["utkface32.bin.gz"],
            Self::Cifar => &["cifar10-train8k.bin.gz", "cifar10-test2k.bin.gz"],
            Self::CelebA => &["celeba", "CelebA"],
            Self::BigEarthNet => &["bigearthnet", "BigEarthNet", "BigEarthNet-v1.0"],
        }
    }

    /// Whether its examples are rows of a table.
    #[must_use]
    pub fn is_table(self) -> bool {
        self >= Self::Adult
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

/// One task.
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
    /// What is positive in it; of several classes, the one that goals about one class are about.
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

const fn table(name: &'static str, title: &'static str, source: Source) -> Task {
    task(name, title, source, "", "")
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

/// The paper's tables, in its order.
pub const UCI: [Task; 5] = [
    table("letter", "Letter", Source::Letter),
    table("ijcnn1", "IJCNN1", Source::Ijcnn1),
    table("adult", "Adult", Source::Adult),
    table("spambase", "Spambase", Source::Spambase),
    table("crime", "Crime", Source::Crime),
];

/// The tasks of the comparison at equal compute.
pub const NETWORKS: [Task; 5] = [
    UCI[1],
    UCI[2],
    IMAGES[0],
    IMAGES[1],
    Task { flipped: true, ..table("ijcnn1-flipped", "IJCNN1, 10% flipped", Source::Ijcnn1) },
];

/// The tasks of the comparison of trees.
pub const TREES: [Task; 5] = [UCI[0], UCI[1], UCI[2], UCI[3], table("kdd-r2l", "KDD R2L", Source::Kdd)];

/// The tasks of several classes.
pub const CLASSES: [Task; 6] = [
    task("letter", "Letter", Source::Letter, "", "H"),
    task("pendigits", "Pendigits", Source::Pendigits, "", "9"),
    task("satimage", "Satimage", Source::Satimage, "", "4"),
    task("shuttle", "Shuttle", Source::Shuttle, "", "3"),
    task("fashion", "Fashion", Source::Fashion, "", "6"),
    task("kdd", "KDD", Source::Kdd, "", "r2l"),
];

impl Task {
    /// The name of its data set: its own up to a dash.
    #[must_use]
    pub fn set(&self) -> &'static str {
        self.name.split_once('-').map_or(self.name, |(set, _)| set)
    }
}
