//! NPZ and NPY, written here as NumPy writes them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use npyz::{AutoSerialize, WriteOptions, WriterBuilder};
use setpoint_data::{ImageOptions, ImageSet};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{folder, read, refused, sized};

/// The bytes of an array.
fn npy<T: AutoSerialize + Copy>(shape: &[u64], values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
    bytes
}

/// An array whose header says what it likes.
fn forged(header: &str, values: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values);
    bytes
}

fn npz(folder: &TempDir, arrays: &[(&str, Vec<u8>)]) -> PathBuf {
    let path = folder.path().join("set.npz");
    let mut archive = ZipWriter::new(File::create(&path).unwrap());
    for (name, bytes) in arrays {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
    path
}

fn bytes(count: u8) -> Vec<u8> {
    (0..count).collect()
}

/// Why an array of images beside two labels is refused.
fn refused_images(images: Vec<u8>) -> String {
    let folder = folder();
    refused(&npz(&folder, &[("x", images), ("y", npy::<u8>(&[2], &[0, 1]))]))
}

#[test]
fn bytes_and_labels_are_told_by_their_shapes() {
    let folder = folder();
    let labels = [("digit", npy::<i64>(&[2], &[7, 3])), ("tags", npy(&[2, 2], &[true, false, true, true]))];
    let images = ("images", npy(&[2, 5, 6, 3], &bytes(180)));
    let set = read(&npz(&folder, &[images, labels[0].clone(), labels[1].clone()])).unwrap();
    assert_eq!((set.shape().to_string().as_str(), set.pixels()), ("5x6x3", bytes(180).as_slice()));
    assert_eq!(set.label_names(), ["digit", "tags.0", "tags.1"]);
    assert_eq!(set.task("digit", &"7".parse().unwrap(), None).unwrap().labels, [true, false]);
    assert_eq!(set.task("tags.1", &Default::default(), None).unwrap().labels, [false, true]);
}

#[test]
fn planes_and_floats_become_pixels() {
    let folder = folder();
    let shades: Vec<f32> = (0..2 * 3 * 5 * 6).map(|at| (at % 256) as f32 / 255.0).collect();
    let labels = ("y", npy::<f64>(&[2, 1], &[f64::NAN, 2.5]));
    let path = npz(&folder, &[("x", npy(&[2, 3, 5, 6], &shades)), labels.clone()]);
    let set = read(&path).unwrap();
    assert_eq!(
        (set.shape().to_string().as_str(), &set.image(0)[..6]),
        ("5x6x3", [0, 30, 60, 1, 31, 61].as_slice())
    );
    assert_eq!(set.labels()[0].of, [u32::MAX, 0]);
    let grey = npz(&folder, &[("x", npy(&[2, 4, 4], &bytes(32))), labels]);
    assert_eq!(read(&grey).unwrap().shape().to_string(), "4x4x1");
    assert_eq!(ImageSet::read(&grey, &sized(8)).unwrap().pixels().len(), 2 * 64);
}

#[test]
fn parts_in_the_names_are_joined_and_kept() {
    let folder = folder();
    let path = npz(
        &folder,
        &[
            ("x_test", npy::<u8>(&[2, 2, 2], &[9; 8])),
            ("x_train", npy(&[4, 2, 2], &bytes(16))),
            ("y_train", npy::<u8>(&[4], &[0, 1, 0, 1])),
            ("y_test", npy::<u8>(&[2], &[1, 0])),
        ],
    );
    let set = read(&path).unwrap();
    assert_eq!((set.rows(), set.label_names()), (6, vec!["y".to_owned()]));
    assert_eq!(set.image(4), [9; 4]);
    let task = set.task("y", &Default::default(), None).unwrap();
    assert_eq!(task.labels, [false, true, false, true, true, false]);
    assert_eq!(task.given_parts().unwrap().unwrap().rows("test"), [4, 5]);
    let medical = npz(
        &folder,
        &[
            ("train_images", npy(&[4, 2, 2], &bytes(16))),
            ("val_images", npy(&[2, 2, 2], &bytes(8))),
            ("train_labels", npy::<u8>(&[4, 1], &[0, 1, 0, 1])),
            ("val_labels", npy::<u8>(&[2, 1], &[1, 0])),
        ],
    );
    let task = read(&medical).unwrap().task("labels", &Default::default(), None).unwrap();
    assert_eq!(task.given_parts().unwrap().unwrap().rows("validation"), [4, 5]);
}

#[test]
fn what_does_not_tell_itself_must_be_said() {
    let folder = folder();
    let labels = ("y", npy::<u8>(&[2], &[0, 1]));
    let both = npz(&folder, &[("x", npy(&[2, 4, 5, 4], &bytes(160))), labels.clone()]);
    assert!(refused(&both).contains("‹channels-first true›"), "{}", refused(&both));
    for (first, shape) in [(true, "5x4x4"), (false, "4x5x4")] {
        let options = ImageOptions { channels_first: Some(first), ..ImageOptions::default() };
        assert_eq!(ImageSet::read(&both, &options).unwrap().shape().to_string(), shape);
    }
    let two = [("a", npy(&[2, 4, 4], &bytes(32))), ("b", npy(&[2, 5, 5], &bytes(50))), labels.clone()];
    let two = npz(&folder, &two);
    assert!(refused(&two).contains("several arrays that may be images"), "{}", refused(&two));
    let options = ImageOptions { images_key: Some("b".into()), ..ImageOptions::default() };
    assert_eq!(ImageSet::read(&two, &options).unwrap().shape().width, 5);
    let options = ImageOptions { images_key: Some("c".into()), ..ImageOptions::default() };
    let error = ImageSet::read(&two, &options).unwrap_err().to_string();
    assert!(error.contains("no such array; it has \"a\" [2, 4, 4] of |u1"), "{error}");
    let alone = folder.path().join("x.npy");
    fs::write(&alone, npy(&[2, 4, 4], &bytes(32))).unwrap();
    assert!(refused(&alone).contains("no labels"), "{}", refused(&alone));
    assert!(refused(&npz(&folder, &[labels])).contains("no array of 3 or 4 dimensions"));
}

#[test]
fn values_that_are_no_pixels_are_refused() {
    let images = |value: f32| {
        let mut values = vec![0.5; 8];
        values[5] = value;
        refused_images(npy(&[2, 2, 2], &values))
    };
    assert!(images(f32::NAN).contains("array \"x\": image 2 holds NaN; expected numbers from 0 to 1"));
    assert!(images(200.0).contains("image 2 holds 200"));
    assert!(
        refused_images(npy::<i32>(&[2, 2, 2], &[1; 8]))
            .contains("values of type <i4; expected images of type uint8")
    );
    let objects = forged("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2, 2), }\n", b"pickle");
    assert!(refused_images(objects).contains("holds Python objects"));
    let columns = forged("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }\n", &[0; 8]);
    assert!(refused_images(columns).contains("column by column"));
}

#[test]
fn headers_that_lie_are_refused() {
    let shape = |shape: &str, values: &[u8]| {
        refused_images(forged(
            &format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n"),
            values,
        ))
    };
    assert!(
        shape("(2, 2, 2)", &[0; 7]).contains("7 values can be read; expected 8"),
        "{}",
        shape("(2, 2, 2)", &[0; 7])
    );
    let huge = "(4294967296, 4294967296, 4294967296)";
    assert!(shape(huge, &[]).contains("which is none or too large"), "{}", shape(huge, &[]));
    assert!(shape("(2, 0, 2)", &[]).contains("is not that of images"), "{}", shape("(2, 0, 2)", &[]));
    assert!(shape("(0, 2, 2)", &[]).contains("no images"), "{}", shape("(0, 2, 2)", &[]));
    assert!(shape("(-2, 2, 2)", &[]).contains("none or too large"), "{}", shape("(-2, 2, 2)", &[]));
    let bomb = shape("(60000, 200, 200)", &[]);
    assert!(bomb.contains("its 2400000000 values are more than a file of this size has"), "{bomb}");
    assert!(refused_images(forged(&"(".repeat(9_000), &[])).contains("nests too deep"));
    // Found by `./task fuzz`: each bracket more doubled the time, and a header of 100 bytes took for ever.
    let start = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 3, 4, ";
    for nested in ["[".repeat(75), "[']', ".repeat(75), "[''']''', ".repeat(3)] {
        assert!(
            refused_images(forged(&format!("{start}{nested}"), &[])).contains("nests too deep"),
            "{nested}"
        );
    }
    let shallow = refused_images(forged(&format!("{start}{}", "[".repeat(6)), &[]));
    assert!(!shallow.contains("nests too deep"), "{shallow}");
    assert!(
        refused_images(b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec()).contains("header of 4294967295 bytes")
    );
    assert!(refused_images(b"\x93NUMPY\x01\x00\x50\x00{".to_vec()).contains("cut short within its header"));
    assert!(refused_images(b"something else".to_vec()).contains("does not start as a NumPy array"));
    let folder = folder();
    let long = forged("{'descr': '<U500000000', 'fortran_order': False, 'shape': (2,), }\n", &[]);
    let long = refused(&npz(&folder, &[("x", npy(&[2, 4, 4], &bytes(32))), ("y", long)]));
    assert!(long.contains("labels of type <U500000000; expected whole numbers"), "{long}");
    let path = npz(&folder, &[("x", npy(&[2, 4, 4], &bytes(32)))]);
    let whole = fs::read(&path).unwrap();
    cut(&path, &whole, 60);
    assert!(refused(&path).contains("expected a whole NPZ file"), "{}", refused(&path));
}

fn cut(path: &Path, whole: &[u8], length: usize) {
    fs::write(path, &whole[..length]).unwrap();
}
