//! BigEarthNet's layout, with a few patches of its size.

use std::fs;
use std::path::Path;

use image::{ImageBuffer, Luma};
use setpoint_data::{ImageLayout, recognise_images};

use super::{folder, place, read, refused, write};

const PATCHES: [(&str, [u16; 3], &str); 4] = [
    ("S2A_1_0", [0, 1000, 2000], r#"["Coniferous forest", "Sea and ocean"]"#),
    ("S2A_1_1", [500, 4000, 65535], r#"["Sea and ocean"]"#),
    ("S2B_2_0", [2000, 2000, 2000], r#"["Coniferous forest"]"#),
    ("S2B_2_1", [1, 1, 1], r#"["Discontinuous urban fabric"]"#),
];

fn patches(folder: &Path) {
    for (name, [red, green, blue], labels) in PATCHES {
        for (band, value) in [("B04", red), ("B03", green), ("B02", blue), ("B8A", 7)] {
            let band_file = place(folder, &format!("BigEarthNet-v1.0/{name}/{name}_{band}.tif"));
            ImageBuffer::<Luma<u16>, _>::from_pixel(120, 120, Luma([value])).save(band_file).unwrap();
        }
        let json = format!(r#"{{"labels": {labels}, "coordinates": {{"ulx": 3}}}}"#);
        write(folder, &format!("BigEarthNet-v1.0/{name}/{name}_labels_metadata.json"), &json);
    }
}

#[test]
fn bands_become_colours_and_labels_columns() {
    let folder = folder();
    patches(folder.path());
    assert_eq!(recognise_images(folder.path()).unwrap(), Some(ImageLayout::BigEarthNet));
    let set = read(folder.path()).unwrap();
    assert_eq!((set.rows(), set.shape().to_string().as_str()), (4, "40x40x3"));
    assert!(set.image(0).chunks(3).all(|pixel| pixel == [0, 127, 255]));
    assert_eq!(set.image(1)[..3], [63, 255, 255]);
    assert_eq!((set.image(2)[0], set.image(3)[0]), (255, 0));
    assert_eq!(set.label_names(), ["Coniferous forest", "Discontinuous urban fabric", "Sea and ocean"]);
    let labels = set.task("Coniferous forest", &Default::default(), None).unwrap().labels;
    assert_eq!(labels, [true, false, true, false]);
    assert_eq!((set.names().unwrap()[2].as_str(), set.has_parts()), ("S2B_2_0", false));
}

#[test]
fn lists_of_a_split_are_honoured() {
    let folder = folder();
    let path = folder.path();
    patches(path);
    write(path, "train.csv", "S2A_1_0,S1A_x\nS2A_1_1,S1A_y\n");
    write(path, "test.csv", "S2B_2_0\nS2B_9_9\n");
    let set = read(path).unwrap();
    assert_eq!(set.rows(), 3);
    let notes = [
        "1 patches are in no list of the split and are left out",
        "1 patches that the split lists are not there",
    ];
    assert_eq!(set.notes(), notes);
    write(path, "test.csv", "S2A_1_0\n");
    assert!(refused(path).ends_with("test.csv: S2A_1_0 is in the list of train as well"));
}

#[test]
fn a_patch_that_lacks_something_is_named() {
    let folder = folder();
    let path = folder.path();
    patches(path);
    let patch = path.join("BigEarthNet-v1.0/S2A_1_1");
    write(&patch, "S2A_1_1_labels_metadata.json", "{\"names\": []}");
    let error = refused(path);
    assert!(error.contains("S2A_1_1_labels_metadata.json: missing field `labels`"), "{error}");
    write(&patch, "S2A_1_1_labels_metadata.json", "{\"labels\": []}");
    let band = patch.join("S2A_1_1_B03.tif");
    ImageBuffer::<Luma<u8>, _>::from_pixel(120, 120, Luma([1])).save(&band).unwrap();
    assert!(
        refused(path).contains("S2A_1_1_B03.tif: not a readable image: pixels of type L8"),
        "{}",
        refused(path)
    );
    ImageBuffer::<Luma<u16>, _>::from_pixel(60, 60, Luma([1])).save(&band).unwrap();
    assert!(
        refused(path).contains("60 x 60 pixels, but the red band of S2A_1_1 has 120 x 120"),
        "{}",
        refused(path)
    );
    fs::remove_file(&band).unwrap();
    assert!(
        refused(path).contains("its patch lacks BigEarthNet-v1.0/S2A_1_1/S2A_1_1_B03.tif"),
        "{}",
        refused(path)
    );
}
