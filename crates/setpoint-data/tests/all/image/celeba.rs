//! CelebA's layout, with a few images of its size.

use std::fs;
use std::path::Path;

use image::{Rgb, RgbImage};
use setpoint_data::{ImageLayout, ImageOptions, ImageSet, recognise_images};

use super::{folder, place, read, refused, write};

/// Six faces of 178 x 218: grey around, and in the centre square of 160 their own colour.
fn faces(folder: &Path) {
    for at in 0..6u8 {
        let image = RgbImage::from_fn(178, 218, |x, y| {
            let inside = (9..169).contains(&x) && (29..189).contains(&y);
            if inside { Rgb([40 * at, 200, 90]) } else { Rgb([0, 0, 0]) }
        });
        image.save(place(folder, &format!("img_align_celeba/00000{}.png", at + 1))).unwrap();
    }
}

fn lists(folder: &Path) {
    let mut attributes = "6\nBald Smiling \n".to_owned();
    let mut partition = String::new();
    for at in 0..6 {
        let sign = |yes: bool| if yes { " 1" } else { "-1" };
        attributes += &format!("00000{}.png {} {}\n", at + 1, sign(at == 5), sign(at % 2 == 0));
        partition += &format!("00000{}.png {}\n", at + 1, at / 2);
    }
    write(folder, "list_attr_celeba.txt", &attributes);
    write(folder, "list_eval_partition.txt", &partition);
}

#[test]
fn faces_are_cut_at_the_centre_and_resized() {
    let folder = folder();
    faces(folder.path());
    lists(folder.path());
    assert_eq!(recognise_images(folder.path()).unwrap(), Some(ImageLayout::CelebA));
    let set = read(folder.path()).unwrap();
    assert_eq!((set.rows(), set.shape().to_string().as_str()), (6, "32x32x3"));
    // Nothing of what is around the square is left.
    for row in 0..6 {
        assert!(set.image(row).chunks(3).all(|pixel| pixel == [40 * row as u8, 200, 90]));
    }
    assert_eq!(set.label_names(), ["Bald", "Smiling"]);
    let tasks = [("Smiling".to_owned(), Default::default()), ("Bald".to_owned(), Default::default())];
    let tasks = set.tasks(&tasks, None).unwrap();
    assert_eq!(tasks[0].labels, [true, false, true, false, true, false]);
    let parts = tasks[0].given_parts().unwrap().unwrap();
    let rows: Vec<&[u32]> = ["train", "validation", "test"].iter().map(|part| parts.rows(part)).collect();
    assert_eq!(rows, [&[0, 1], &[2, 3], &[4, 5]]);
    let options = ImageOptions { crop: Some(100), size: Some(10), ..ImageOptions::default() };
    assert_eq!(ImageSet::read(folder.path(), &options).unwrap().shape().height, 10);
}

#[test]
fn lists_as_csv_are_read_too() {
    let folder = folder();
    faces(folder.path());
    let rows: Vec<String> =
        (1..=6).map(|at| format!("00000{at}.png,{}", if at > 3 { 1 } else { -1 })).collect();
    write(folder.path(), "list_attr_celeba.csv", &format!("image_id,Bald\n{}\n", rows.join("\n")));
    let parts: Vec<String> = (1..=6).map(|at| format!("00000{at}.png,{}", at % 3)).collect();
    write(folder.path(), "list_eval_partition.csv", &format!("image_id,partition\n{}\n", parts.join("\n")));
    let set = read(folder.path()).unwrap();
    let task = set.task("Bald", &Default::default(), None).unwrap();
    assert_eq!(task.labels, [false, false, false, true, true, true]);
    assert_eq!(task.given_parts().unwrap().unwrap().rows("train"), [2, 5]);
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let folder = folder();
    let path = folder.path();
    faces(path);
    lists(path);
    let attributes = fs::read_to_string(path.join("list_attr_celeba.txt")).unwrap();
    let refused_with = |from: &str, to: &str| {
        write(path, "list_attr_celeba.txt", &attributes.replacen(from, to, 1));
        refused(path)
    };
    let error = refused_with("6\n", "7\n");
    assert!(
        error.ends_with("list_attr_celeba.txt:1: says 7 images and lists 6; it may be cut short"),
        "{error}"
    );
    assert!(
        refused_with("000003.png", "000009.png").contains("txt:5: \"000009.png\" is not among the 6 images")
    );
    assert!(refused_with("000002.png -1", "000002.png").contains("txt:4: 1 values, expected 2"));
    assert!(refused_with("000002.png -1", "000002.png 0").contains("txt:4: \"0\"; expected 1 or -1"));
    assert!(refused_with("6\n", "six\n").contains("txt:1: expected the number of images alone"));
    write(path, "list_attr_celeba.txt", &attributes);
    write(path, "list_eval_partition.txt", "000001.png 0\n");
    assert!(
        refused(path).ends_with("list_eval_partition.txt: says no part for 000002.png"),
        "{}",
        refused(path)
    );
    fs::remove_file(path.join("list_eval_partition.txt")).unwrap();
    let set = read(path).unwrap();
    assert!(!set.has_parts() && set.notes()[0].contains("the data gives no parts"));
}
