//! From images to models over their parts.

use setpoint_data::{ImageSet, ImageTask, Parts, SplitPlan};
use setpoint_report::ByPart;

use crate::blueprint::{Blueprint, Held};
use crate::choice::ModelChoice;
use crate::examples::{Examples, LEARNT, Loaded};
use crate::failure::Failure;
use crate::group;
use crate::schema::{ImageSchema, Schema};

/// Shares out the images of a task. Where the data gives parts, they stay: without a calibration part,
/// the given validation part is shared between validation and calibration as the plan's shares say.
///
/// # Errors
/// If a part would hold no positives or no negatives.
pub fn split_images(task: &ImageTask, plan: &SplitPlan, seed: u64) -> Result<Parts, Failure> {
    let Some(given) = task.given_parts() else { return Ok(task.split(&task.rows, plan, seed)?) };
    let given = given?;
    let share =
        |part: &str| plan.shares().iter().find(|(name, _)| *name == part).map_or(0.0, |found| found.1);
    let held_out = share("validation") + share("calibration");
    if !given.rows("calibration").is_empty() || share("calibration") == 0.0 || held_out == 0.0 {
        return Ok(given);
    }
    let calibration = share("calibration") / held_out;
    let shared: SplitPlan = format!("train={},calibration={calibration}", 1.0 - calibration).parse()?;
    let halves = task.split(given.rows("validation"), &shared, seed)?;
    let (kept, cut_off) = (halves.rows("train").to_vec(), halves.rows("calibration").to_vec());
    Ok(given.with("validation", kept).with("calibration", cut_off))
}

/// Makes models over the parts of a task; channels are standardised by the training images.
///
/// # Errors
/// If the model does not suit the images.
pub fn load_images(
    set: &ImageSet,
    task: &ImageTask,
    parts: &Parts,
    min_group: Option<u64>,
    crop: Option<usize>,
    choice: &ModelChoice,
) -> Result<Loaded, Failure> {
    let shape = set.shape();
    let statistics = set.channel_statistics(parts.rows("train"));
    let schema = ImageSchema {
        image: [shape.height, shape.width, shape.channels],
        crop,
        mean: statistics.mean.iter().map(|mean| *mean as f32).collect(),
        scale: statistics.scale.iter().map(|scale| (1.0 / scale) as f32).collect(),
        label: task.label.clone(),
    };
    let outputs = task.classes().map_or(1, |classes| classes.names.len());
    let blueprint = Blueprint::for_images(choice, schema.image, outputs)?;
    let mut split = ByPart::default();
    // Train and validation images may change places: they are views of one block of pixels.
    let learnt = LEARNT.map(|name| parts.rows(name));
    let both = hold_images(&schema, &blueprint, set, &learnt.concat())?;
    let mut held: Vec<(&str, &[u32], Held)> = Vec::new();
    let mut places = 0..;
    for (name, rows) in LEARNT.into_iter().zip(learnt) {
        held.push((name, rows, both.view(&places.by_ref().take(rows.len()).collect::<Vec<u32>>())?));
    }
    for (name, rows) in parts.iter().filter(|(name, _)| !LEARNT.contains(name)) {
        held.push((name, rows, hold_images(&schema, &blueprint, set, rows)?));
    }
    // Small are groups of the whole task, not of a part.
    let small = match min_group {
        Some(least) => group::Small::of(&task.sample(&task.rows)?, least),
        None => None,
    };
    for (name, rows, held) in held.into_iter().filter(|(_, rows, _)| !rows.is_empty()) {
        let mut sample = task.sample(rows)?;
        if let Some(small) = &small {
            sample = small.pool(&sample)?;
        }
        if let Some(place) = split.get_mut(name) {
            *place = Some(Examples { held, sample });
        }
    }
    let mut notes = set.notes().to_vec();
    if task.unlabelled() > 0 {
        notes.push(format!("{} images without a label were left out", task.unlabelled()));
    }
    notes.extend(small.as_ref().map(group::Small::note));
    Ok(Loaded {
        columns: schema.image.iter().product(),
        schema: Schema::Images(schema),
        blueprint,
        parts: split,
        hash: Some(set.hash()),
        test_hash: None,
        later: None,
        copies: None,
        telling: Vec::new(),
        rows: ByPart::default(),
        pooled: small.map_or(Vec::new(), |small| small.names()),
        notes,
    })
}

/// Some images of a set, as a model trained on others takes them.
///
/// # Errors
/// If they are of another size.
pub fn hold_images(
    schema: &ImageSchema,
    blueprint: &Blueprint,
    set: &ImageSet,
    rows: &[u32],
) -> Result<Held, Failure> {
    blueprint.hold_images(schema.images(set.select_pixels(rows), set.shape())?)
}
