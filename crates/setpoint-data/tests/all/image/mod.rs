//! Images in every layout, made as the tests go.

mod array;
mod celeba;
mod file;
mod folder;
mod satellite;

use std::fs;
use std::path::{Path, PathBuf};

use image::{GrayImage, RgbImage};
use setpoint_data::{Error, ImageOptions, ImageSet};
use tempfile::TempDir;

/// An empty folder that goes away with the value.
fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Reads with the default options.
fn read(path: &Path) -> Result<ImageSet, Error> {
    ImageSet::read(path, &ImageOptions::default())
}

/// Why reading fails.
fn refused(path: &Path) -> String {
    read(path).unwrap_err().to_string()
}

/// Options that only resize.
fn sized(size: usize) -> ImageOptions {
    ImageOptions { size: Some(size), ..ImageOptions::default() }
}

/// A file in a folder, and the folders it is in.
fn place(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

/// Writes a text.
fn write(folder: &Path, name: &str, text: &str) {
    fs::write(place(folder, name), text).unwrap();
}

/// A colour image of one colour.
fn colour(folder: &Path, name: &str, (width, height): (u32, u32), pixel: [u8; 3]) {
    RgbImage::from_pixel(width, height, image::Rgb(pixel)).save(place(folder, name)).unwrap();
}

/// A grey image of one shade.
fn grey(folder: &Path, name: &str, (width, height): (u32, u32), shade: u8) {
    GrayImage::from_pixel(width, height, image::Luma([shade])).save(place(folder, name)).unwrap();
}
