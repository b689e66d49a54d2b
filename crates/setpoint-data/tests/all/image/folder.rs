//! Folders with a table or a folder for each class, and the cache.

use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;

use setpoint_data::{ImageLayout, ImageOptions, ImageSet, recognise_images};

use super::{colour, folder, grey, read, refused, sized, write};

/// Four colour images in two formats and a table in another order.
fn labelled() -> tempfile::TempDir {
    let folder = folder();
    colour(folder.path(), "a.png", (4, 4), [10, 20, 30]);
    colour(folder.path(), "sub/b.png", (4, 4), [40, 50, 60]);
    colour(folder.path(), "c.jpg", (4, 4), [128, 128, 128]);
    colour(folder.path(), "d.png", (4, 4), [70, 80, 90]);
    let table =
        "file,age,smiles,part\nd.png,61,yes,test\nb.png,20,no,train\n./a.png,?,yes,train\nc.jpg,70,no,val\n";
    write(folder.path(), "labels.csv", table);
    folder
}

#[test]
fn rows_are_those_of_the_table() {
    let folder = labelled();
    let set = read(folder.path()).unwrap();
    assert_eq!((set.rows(), set.shape().to_string().as_str()), (4, "4x4x3"));
    assert_eq!(set.label_names(), ["age", "smiles", "part"]);
    assert_eq!(set.image(0)[..3], [70, 80, 90]);
    assert_eq!(set.image(1)[..3], [40, 50, 60]);
    let names = set.names().unwrap();
    assert_eq!((names[1].as_str(), names[3].as_str()), ("sub/b.png", "c.jpg"));
    let task = set.task("age", &">=60".parse().unwrap(), None).unwrap();
    assert_eq!((task.rows.as_slice(), task.unlabelled()), ([0, 1, 3].as_slice(), 1));
    assert_eq!(task.sample(&task.rows).unwrap().labels(), [true, false, true]);
    let smiles = set.task("smiles", &Default::default(), None).unwrap();
    assert_eq!(smiles.labels, [true, false, true, false]);
    assert!(!set.has_parts());
}

#[test]
fn images_to_be_scored_need_no_labels() {
    let folder = labelled();
    fs::remove_file(folder.path().join("labels.csv")).unwrap();
    let error = refused(folder.path());
    assert!(error.contains("images without labels"), "{error}");
    let options = ImageOptions { unlabelled: true, ..ImageOptions::default() };
    let set = ImageSet::read(folder.path(), &options).unwrap();
    assert_eq!(set.names().unwrap(), ["a.png", "c.jpg", "d.png", "sub/b.png"]);
    assert_eq!((set.image(0)[..3].to_vec(), set.labels().len()), (vec![10, 20, 30], 0));
}

#[test]
fn a_column_of_parts_is_honoured_when_named() {
    let folder = labelled();
    let options = ImageOptions { part_column: Some("part".into()), ..ImageOptions::default() };
    let set = ImageSet::read(folder.path(), &options).unwrap();
    assert_eq!(set.label_names(), ["age", "smiles"]);
    let task = set.task("smiles", &Default::default(), None).unwrap();
    let error = task.given_parts().unwrap().unwrap_err().to_string();
    assert!(error.contains("validation part would hold no positives"), "{error}");
    let wrong = ImageOptions { part_column: Some("age".into()), ..ImageOptions::default() };
    let error = ImageSet::read(folder.path(), &wrong).unwrap_err().to_string();
    assert!(error.contains("row 1: \"61\" in column \"age\" is no part"), "{error}");
}

#[test]
fn images_of_several_sizes_need_a_size() {
    let folder = labelled();
    colour(folder.path(), "d.png", (8, 6), [70, 80, 90]);
    let error = refused(folder.path());
    assert!(error.contains("b.png: 4 x 4 pixels, but d.png has 8 x 6; give ‹size›"), "{error}");
    let set = ImageSet::read(folder.path(), &sized(2)).unwrap();
    assert_eq!((set.shape().to_string().as_str(), &set.image(0)[..3]), ("2x2x3", [70, 80, 90].as_slice()));
}

#[test]
fn what_is_wrong_with_a_folder_is_named() {
    let folder = labelled();
    let path = folder.path();
    write(path, "labels.csv", "file,y\na.png,1\nx.png,0\ny.png,0\n");
    let error = refused(path);
    assert!(
        error.ends_with(
            "labels.csv: row 2: \"x.png\" is not among the 4 images of the folder; 1 more are missing"
        ),
        "{error}"
    );
    write(path, "labels.csv", "file,y\na.png,1\nsub/b.png,0\nb.png,0\n");
    assert!(refused(path).contains("row 3: \"b.png\" is already in row 2"), "{}", refused(path));
    write(path, "labels.csv", "who,y\na.png,1\nb.png,0\n");
    assert!(refused(path).contains("no column of file names among"), "{}", refused(path));
    write(path, "labels.csv", "file\na.png\nb.png\n");
    assert!(refused(path).contains("no column of labels"), "{}", refused(path));
    write(path, "labels.csv", "file,y\na.png,1\nbad.png,0\n");
    write(path, "bad.png", "this is not an image");
    assert!(
        refused(path).contains("bad.png: not a readable image: expected PNG, JPEG or TIFF"),
        "{}",
        refused(path)
    );
    let whole = fs::read(path.join("d.png")).unwrap();
    fs::write(path.join("bad.png"), &whole[..whole.len() / 2]).unwrap();
    assert!(refused(path).contains("bad.png: not a readable image"), "{}", refused(path));
    fs::write(path.join("bad.png"), "").unwrap();
    assert!(refused(path).contains("bad.png: not a readable image"), "{}", refused(path));
    fs::remove_file(path.join("labels.csv")).unwrap();
    assert!(refused(path).contains("images without labels"), "{}", refused(path));
    write(path, "one.csv", "file,y\na.png,1\n");
    write(path, "two.csv", "file,y\na.png,1\n");
    assert!(refused(path).contains("several tables (one.csv, two.csv)"), "{}", refused(path));
    let options = ImageOptions { labels: Some(path.join("two.csv")), ..ImageOptions::default() };
    assert_eq!(ImageSet::read(path, &options).unwrap().notes().len(), 1);
}

#[test]
fn an_empty_folder_is_refused() {
    let folder = folder();
    assert!(refused(folder.path()).contains("no images; expected files ending in .png"));
    assert!(refused(&folder.path().join("absent")).contains("cannot open"));
}

#[test]
fn grey_images_have_one_channel_and_colour_among_them_is_an_error() {
    let folder = folder();
    grey(folder.path(), "cat/1.png", (3, 3), 9);
    grey(folder.path(), "dog/2.png", (3, 3), 8);
    let set = read(folder.path()).unwrap();
    assert_eq!((set.shape().channels, set.pixels()[0], set.pixels()[9]), (1, 9, 8));
    assert_eq!(set.task("class", &"dog".parse().unwrap(), None).unwrap().labels, [false, true]);
    colour(folder.path(), "dog/3.png", (3, 3), [1, 2, 3]);
    assert!(refused(folder.path()).contains("3.png: a colour image, but cat/1.png is grey"));
    let options = ImageOptions { channels: Some(3), ..ImageOptions::default() };
    let set = ImageSet::read(folder.path(), &options).unwrap();
    assert_eq!((&set.image(0)[..3], &set.image(2)[..3]), ([9, 9, 9].as_slice(), [1, 2, 3].as_slice()));
    // Grey among colour is no harm.
    colour(folder.path(), "cat/0.png", (3, 3), [1, 2, 3]);
    assert_eq!(read(folder.path()).unwrap().image(1)[..3], [9, 9, 9]);
}

#[test]
fn folders_of_parts_above_the_classes_are_parts() {
    let folder = folder();
    for (at, part) in ["train", "train", "test", "test"].iter().enumerate() {
        grey(folder.path(), &format!("{part}/{}/{at}.png", at % 2), (2, 2), at as u8);
    }
    let set = read(folder.path()).unwrap();
    let parts = set.task("class", &Default::default(), None).unwrap().given_parts().unwrap().unwrap();
    assert_eq!((parts.rows("test"), parts.rows("train")), ([0, 1].as_slice(), [2, 3].as_slice()));
    assert_eq!(recognise_images(folder.path()).unwrap(), Some(ImageLayout::Classes));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let folder = folder();
    for at in 0..40u8 {
        let image = image::RgbImage::from_fn(20, 17, |x, y| image::Rgb([at, (x * 9) as u8, (y * x) as u8]));
        image.save(super::place(folder.path(), &format!("{}/{at}.png", at % 2))).unwrap();
    }
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| ImageSet::read(folder.path(), &sized(8)).unwrap())
    };
    let (one, four) = (with(1), with(4));
    assert_eq!(one, four);
    assert_eq!(one.hash(), four.hash());
}

#[test]
fn progress_is_told_and_can_stop_the_reading() {
    let folder = labelled();
    let last = Cell::new((9, 9));
    let told = |done, total| {
        last.set((done, total));
        ControlFlow::Continue(())
    };
    ImageSet::read_with(folder.path(), &ImageOptions::default(), &told).unwrap();
    assert_eq!(last.get(), (4, 4));
    let stopped =
        ImageSet::read_with(folder.path(), &ImageOptions::default(), &|_, _| ControlFlow::Break(()));
    assert!(stopped.unwrap_err().to_string().ends_with("stopped after 0 of 4 images"));
}

#[test]
fn the_cache_is_used_while_the_files_stay_as_they_are() {
    let (folder, kept) = (labelled(), super::folder());
    let options = ImageOptions { cache: Some(kept.path().join("new")), ..ImageOptions::default() };
    let decoded = Cell::new(0);
    let read = |options: &ImageOptions| {
        decoded.set(0);
        let count = |done, _| {
            decoded.set(done);
            ControlFlow::Continue(())
        };
        ImageSet::read_with(folder.path(), options, &count).unwrap()
    };
    let first = read(&options);
    assert_eq!(decoded.get(), 4);
    assert_eq!(read(&options), first);
    assert_eq!(decoded.get(), 0);
    // Read otherwise, it is another entry.
    read(&ImageOptions { size: Some(2), ..options.clone() });
    assert_eq!((decoded.get(), fs::read_dir(kept.path().join("new")).unwrap().count()), (4, 2));
    // A changed file, a changed table.
    colour(folder.path(), "a.png", (4, 4), [11, 22, 33]);
    let changed = read(&options);
    assert_eq!((decoded.get(), &changed.image(2)[..3]), (4, [11, 22, 33].as_slice()));
    assert_eq!(changed.notes(), ["the cached images are not used: the files have changed since"]);
    assert_eq!((read(&options).pixels(), decoded.get()), (changed.pixels(), 0));
    // Damage anywhere: cut, a flipped bit, nonsense.
    for damage in 0..3 {
        for entry in fs::read_dir(kept.path().join("new")).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                0 => bytes.truncate(bytes.len() - 1),
                1 => *bytes.last_mut().unwrap() ^= 1,
                _ => bytes = b"nonsense".to_vec(),
            }
            fs::write(&path, bytes).unwrap();
        }
        let rebuilt = read(&options);
        assert_eq!((decoded.get(), rebuilt.pixels()), (4, changed.pixels()));
        assert_eq!(rebuilt.notes(), ["the cached images are not used: they are damaged"]);
        read(&options);
        assert_eq!(decoded.get(), 0);
    }
    // A place that cannot be written is no reason to fail.
    write(kept.path(), "file", "");
    let set = read(&ImageOptions { cache: Some(kept.path().join("file")), ..ImageOptions::default() });
    assert!(set.notes()[0].starts_with("the decoded images are not kept"), "{:?}", set.notes());
}
