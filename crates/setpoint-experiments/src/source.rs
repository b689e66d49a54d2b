//! Reading the tasks' examples: images once for all tasks and seeds, tables once for each seed.
//!
//! Pixels become (byte - 127.5) / 64: nothing is measured on rows that are not to be seen, and batch norm
//! does the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use setpoint::model::net::Standard;
use setpoint::model::{Architecture, Images, Inputs, Network};
use setpoint::train::TrainError;
use setpoint_data::{ImageError, ImageOptions, ImageSet, ImageTask, Parts, RecordLayout};

use crate::network::protocol::{Cnn, Protocol};
use crate::problem::{Held, HeldRows, Problem, failed};
use crate::record::unique;
use crate::split::standardised;
use crate::task::{Source, Task};
use crate::watch::control;
use crate::{ExperimentError, FileRecord, StudyPlan, Watch};

/// What was read of the sources.
#[derive(Debug)]
pub struct Sources {
    /// The files of each source.
    pub files: BTreeMap<Source, Vec<FileRecord>>,
    /// The images of those that are images; a second set is one to test on.
    sets: BTreeMap<Source, Vec<Pictures>>,
    /// Directory with the data.
    pub data: PathBuf,
}

/// Images, and what is positive in them, task by task.
#[derive(Debug)]
struct Pictures {
    inputs: Arc<Inputs>,
    tasks: BTreeMap<&'static str, ImageTask>,
}

impl Sources {
    /// Reads what the tasks of a plan need.
    pub fn read(plan: &StudyPlan, watch: &dyn Watch) -> Result<Self, ExperimentError> {
        let mut all = Self { files: BTreeMap::new(), sets: BTreeMap::new(), data: plan.data.clone() };
        let read = |path: &Path, labels: &[&str]| -> Result<ImageSet, ExperimentError> {
            let record = (!labels.is_empty()).then(|| RecordLayout::colour32(labels));
            let options = ImageOptions { cache: plan.cache.clone(), record, ..ImageOptions::default() };
            match ImageSet::read_with(path, &options, &|_, _| control(watch)) {
                Err(setpoint_data::Error::Image(ImageError::Cancelled { .. })) => {
                    Err(ExperimentError::Stopped)
                }
                set => Ok(set?),
            }
        };
        for source in unique(plan.tasks.iter().map(|task| task.source)) {
            let (mut files, mut sets) = (Vec::new(), Vec::new());
            let images = |set| pictures(set, plan.tasks.iter().filter(|task| task.source == source));
            if let Source::CelebA | Source::BigEarthNet = source {
                let name = source.files()[0];
                let path = source.folder(&plan.data).unwrap_or_else(|| plan.data.join(name));
                let set = read(&path, &[])?;
                files.push(FileRecord { name: format!("{name}, decoded"), sha256: set.hash() });
                sets.push(images(set)?);
            } else {
                for name in source.files() {
                    let path = plan.data.join(name);
                    match source {
                        Source::UtkFace => sets.push(images(read(&path, &["age", "gender", "race"])?)?),
                        Source::Cifar => sets.push(images(read(&path, &["class"])?)?),
                        _ => {}
                    }
                    let sha256 = setpoint_data::hash(&path).map_err(setpoint_data::Error::from)?;
                    files.push(FileRecord { name: (*name).to_owned(), sha256 });
                }
            }
            all.files.insert(source, files);
            all.sets.insert(source, sets);
        }
        Ok(all)
    }

    /// Networks over a task split by a seed.
    pub fn problem(&self, task: &Task, protocol: &Protocol, seed: u64) -> Result<Problem, ExperimentError> {
        let problem = if task.source.is_table() {
            Problem::network(standardised(task.source, &self.data, seed)?)
        } else {
            let sets = &self.sets[&task.source];
            of_images(sets, task, protocol.cnn, &parts(&sets[0].tasks[task.name], task, sets.len(), seed)?)
        };
        let problem = problem.and_then(|problem| problem.at_most(protocol.rows, seed));
        let problem = match task.flipped {
            true => problem.and_then(|problem| problem.flipped(seed)),
            false => problem,
        };
        problem.map_err(failed(format!("{} with seed {seed}", task.title)))
    }
}

fn pictures<'t>(set: ImageSet, tasks: impl Iterator<Item = &'t Task>) -> Result<Pictures, ExperimentError> {
    let mut labels = BTreeMap::new();
    for task in tasks {
        labels.insert(
            task.name,
            set.task(task.label, &task.positive.parse().map_err(setpoint_data::Error::from)?, None)?,
        );
    }
    let (file, shape) = (set.file().to_owned(), set.shape());
    let standard = Standard { mean: vec![127.5; shape.channels], scale: vec![1.0 / 64.0; shape.channels] };
    let images = Images::new(set.into_pixels(), shape.height, shape.width, shape.channels, standard);
    let images = images.map_err(TrainError::from).map_err(failed(file))?;
    Ok(Pictures { inputs: Arc::new(images.into()), tasks: labels })
}

/// The parts that the data gives, where it gives them; else by seed.
fn parts(labels: &ImageTask, task: &Task, sets: usize, seed: u64) -> Result<Parts, setpoint_data::Error> {
    if let Some(given) = labels.given_parts() {
        return Ok(given?);
    }
    let plan = match task.source {
        _ if sets == 2 => "train=0.75,validation=0.25",
        Source::BigEarthNet => "train=0.7,validation=0.15,test=0.15",
        _ => "train=0.5,validation=0.25,test=0.25",
    };
    Ok(labels.split(&labels.rows, &plan.parse()?, seed)?)
}

fn of_images(sets: &[Pictures], task: &Task, cnn: Cnn, parts: &Parts) -> Result<Problem, TrainError> {
    let first = &sets[0];
    let part = |pictures: &Pictures, rows: &[u32]| -> Result<HeldRows, TrainError> {
        let architecture = match pictures.inputs.as_ref() {
            Inputs::Images(images) => {
                let [height, width, channels] = images.shape();
                match cnn {
                    Cnn::Small => Architecture::cnn_small(height, width, channels),
                    Cnn::Paper => Architecture::cnn(height, width, channels),
                }
            }
            _ => unreachable!("pictures are images"),
        };
        let network = Network::new(architecture, Arc::clone(&pictures.inputs))?.selected(rows)?;
        Ok(HeldRows { held: Held::Network(network), sample: pictures.tasks[task.name].sample(rows)? })
    };
    Ok(Problem {
        train: part(first, parts.rows("train"))?,
        validation: part(first, parts.rows("validation"))?,
        test: match sets.get(1) {
            Some(second) => part(second, &second.tasks[task.name].rows)?,
            None => part(first, parts.rows("test"))?,
        },
    })
}
