//! IDX and records, made here and as they are in the shared data directory.
//!
//! Set `SETPOINT_DATA` to that directory; without it the tests on it say so and pass.

use std::fs;
use std::path::PathBuf;

use setpoint_data::{ImageLayout, ImageOptions, ImageSet, recognise_images};

use super::{folder, read, refused, sized};

/// A file of the data directory, if it was given.
fn real(file: &str) -> Option<PathBuf> {
    match std::env::var_os("SETPOINT_DATA") {
        Some(directory) => Some(PathBuf::from(directory).join(file)),
        None => {
            eprintln!("SKIPPED {file}: set SETPOINT_DATA to the data directory to read it");
            None
        }
    }
}

fn positives(set: &ImageSet, label: &str, positive: &str) -> usize {
    let task = set.task(label, &positive.parse().unwrap(), None).unwrap();
    task.labels.iter().filter(|label| **label).count()
}

/// A percentage with two digits after the point.
fn share(set: &ImageSet, label: &str, positive: &str) -> String {
    format!("{:.2}", 100.0 * positives(set, label, positive) as f64 / set.rows() as f64)
}

#[test]
fn utkface() {
    let Some(path) = real("utkface32.bin.gz") else { return };
    let set = read(&path).unwrap();
    assert_eq!((set.rows(), set.shape().to_string().as_str()), (23_705, "32x32x3"));
    assert_eq!(set.label_names(), ["age", "gender", "race"]);
    let shares = [
        ("gender", "1", "47.73"),
        ("age", ">=60", "11.34"),
        ("age", "<18", "17.86"),
        ("race", "3", "16.77"),
        ("race", "4", "7.14"),
    ];
    for (label, positive, expected) in shares {
        assert_eq!(share(&set, label, positive), expected, "{label} {positive}");
    }
    let task = set.task("age", &">=60".parse().unwrap(), Some("race")).unwrap();
    assert_eq!(task.groups.as_ref().unwrap().names.len(), 5);
    let parts = task.split(&task.rows, &Default::default(), 0).unwrap();
    let statistics = set.channel_statistics(parts.rows("train"));
    // Faces: red above green above blue.
    assert!(statistics.mean.is_sorted_by(|a, b| a > b), "{statistics:?}");
    assert!(statistics.scale.iter().all(|scale| (40.0..90.0).contains(scale)), "{statistics:?}");
}

#[test]
fn cifar() {
    for (file, rows) in [("cifar10-train8k.bin.gz", 8_000), ("cifar10-test2k.bin.gz", 2_000)] {
        let Some(path) = real(file) else { return };
        assert_eq!(recognise_images(&path).unwrap(), Some(ImageLayout::Record));
        let set = read(&path).unwrap();
        assert_eq!((set.rows(), set.label_names()), (rows, vec!["class".to_owned()]));
        assert_eq!(
            (share(&set, "class", "0,1,8,9").as_str(), share(&set, "class", "3").as_str()),
            ("40.00", "10.00")
        );
    }
}

#[test]
fn fashion() {
    let Some(path) = real("fashion-10k-images-idx3-ubyte.gz") else { return };
    assert_eq!(recognise_images(&path).unwrap(), Some(ImageLayout::Idx));
    let set = read(&path).unwrap();
    assert_eq!((set.rows(), set.shape().to_string().as_str()), (10_000, "28x28x1"));
    for class in 0..10 {
        assert_eq!(positives(&set, "class", &class.to_string()), 1_000);
    }
    let larger = ImageSet::read(&path, &sized(32)).unwrap();
    assert_eq!((larger.rows(), larger.shape().to_string().as_str()), (10_000, "32x32x1"));
}

#[test]
fn labels_of_idx_are_found_by_name_or_given() {
    let folder = folder();
    let images = folder.path().join("tiny-images-idx3-ubyte");
    fs::write(&images, [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]).unwrap();
    assert!(refused(&images).contains("no label file beside it (looked for tiny-labels-idx1-ubyte)"));
    let other = folder.path().join("other");
    fs::write(&other, [0, 0, 8, 1, 0, 0, 0, 2, 5, 6]).unwrap();
    let options = ImageOptions { labels: Some(other), ..ImageOptions::default() };
    assert_eq!(ImageSet::read(&images, &options).unwrap().labels()[0].names, ["5", "6"]);
    let beside = folder.path().join("tiny-labels-idx1-ubyte");
    fs::write(&beside, [0, 0, 8, 1, 0, 0, 0, 2, 1, 0]).unwrap();
    assert_eq!(
        read(&images).unwrap().task("class", &Default::default(), None).unwrap().labels,
        [true, false]
    );
    fs::write(&beside, [0, 0, 8, 1, 0, 0, 0, 3, 1, 0, 0]).unwrap();
    assert!(refused(&images).contains("3 labels, but"), "{}", refused(&images));
    fs::write(&images, [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2]).unwrap();
    assert!(refused(&images).contains("images of 2 x 0 pixels"), "{}", refused(&images));
}

#[test]
fn files_of_something_else_are_refused() {
    let folder = folder();
    let path = folder.path().join("table.csv");
    fs::write(&path, "a,b\n1,2\n").unwrap();
    assert_eq!(recognise_images(&path).unwrap(), None);
    let error = refused(&path);
    assert!(error.contains("not recognised as images") && error.contains("‹record›"), "{error}");
    let options = ImageOptions { layout: Some(ImageLayout::CelebA), ..ImageOptions::default() };
    let error = ImageSet::read(&path, &options).unwrap_err().to_string();
    assert!(error.contains("a file, where celeba is a layout of folders"), "{error}");
}
