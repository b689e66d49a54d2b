//! How images are read, checked.

use setpoint_data::{ImageOptions, default_cache, list};
use setpoint_run::Failure;

use crate::args::ImageArgs;

/// The options that the flags say.
pub fn image_options(args: &ImageArgs) -> Result<ImageOptions, Failure> {
    Ok(ImageOptions {
        layout: args.images.as_deref().map(str::parse).transpose().map_err(setpoint_data::Error::from)?,
        size: args.size,
        crop: args.crop,
        channels: args.channels,
        labels: args.labels.clone(),
        file_column: args.file_column.clone(),
        part_column: args.part_column.clone(),
        record: args.record.as_deref().map(str::parse).transpose().map_err(setpoint_data::Error::from)?,
        images_key: args.images_key.clone(),
        labels_keys: args.labels_keys.as_deref().map(list),
        cache: match &args.cache {
            Some(cache) if cache.as_os_str() == "none" => None,
            Some(cache) => Some(cache.clone()),
            None => default_cache(),
        },
        ..ImageOptions::default()
    })
}
