//! Images: read once, for every label.

use std::ops::ControlFlow;
use std::path::Path;

use setpoint_data::{ImageOptions, ImageSet};
use setpoint_run::{Examples, Failure, Loaded, Opened, Schema, hold_images, load_images, split_images};

use super::progress::Display;
use crate::interrupt;
use crate::plan::TrainPlan;

/// Images to train on, and those to test on.
pub struct Images {
    set: ImageSet,
    test: Option<ImageSet>,
}

impl Images {
    /// Reads them once for all labels.
    pub fn read(plan: &TrainPlan, display: &mut Display) -> Result<Self, Failure> {
        if plan.roles.label.is_none() {
            return Err(Failure::input("which label is to be told? name it with --label"));
        }
        let set = read(&plan.data, &plan.images, display)?;
        let test = plan.test.as_ref().map(|test| read(test, &plan.images, display)).transpose()?;
        Ok(Self { set, test })
    }

    /// What a plan trains on; the plan becomes what suits these images.
    pub fn load(&self, plan: &mut TrainPlan) -> Result<Loaded, Failure> {
        let (set, roles) = (&self.set, &plan.roles);
        let named = roles
            .group_if_there
            .as_deref()
            .filter(|named| set.label_names().iter().any(|name| name == named));
        let group = roles.group.as_deref().or(named);
        let label = roles.label.as_deref().unwrap_or_default();
        let task = set.task_of(label, &roles.positive, &roles.classes, group)?;
        let parts = split_images(&task, &plan.split, plan.job.settings.seed)?;
        let mut loaded = load_images(set, &task, &parts, plan.min_group, plan.images.crop, &plan.job.model)?;
        if let (Some(test), Schema::Images(schema)) = (&self.test, &loaded.schema) {
            let task = test.task_for(&task.label, group)?;
            let held = hold_images(schema, &loaded.blueprint, test, &task.rows)?;
            loaded.parts.test = Some(Examples { held, sample: task.sample(&task.rows)? });
            loaded.test_hash = Some(test.hash());
        }
        // Parts that the data gives, such as people apart, stay apart.
        if set.has_parts() {
            plan.job.settings.rotations = plan.job.settings.rotations.or(Some(1));
        }
        Ok(loaded)
    }
}

/// Reads images, with a bar; Ctrl-C stops it.
pub fn read(path: &Path, options: &ImageOptions, display: &mut Display) -> Result<ImageSet, Failure> {
    display.show(&format!("reading {}", path.display()));
    let bar = display.bar();
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        if interrupt::check().is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let set = ImageSet::read_with(path, options, &progress);
    interrupt::check()?;
    Ok(set?)
}

/// The images of a file, for a model that was trained on others.
pub fn read_for(
    model: &Opened,
    path: &Path,
    options: &ImageOptions,
    display: &mut Display,
) -> Result<ImageSet, Failure> {
    let Schema::Images(schema) = &model.schema else {
        return Err(Failure::input("the model scores rows of a table, not images"));
    };
    let mut options = options.clone();
    let [height, width, channels] = schema.image;
    if height == width && options.size.is_none() {
        options.size = Some(height);
    }
    options.crop = options.crop.or(schema.crop);
    options.channels = options.channels.or(Some(channels).filter(|channels| [1, 3].contains(channels)));
    read(path, &options, display)
}
