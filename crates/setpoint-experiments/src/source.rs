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
use crate::problem::{Held, Part, Problem, failed};
use crate::split::standardised;
use crate::task::{Source, Task};
use crate::watch::control;
use crate::{ExperimentError, FileRecord, Watch};

/// What was read of the sources.
#[derive(Debug)]
pub struct Sources {
    /// The files of each source.
    pub files: BTreeMap<Source, Vec<FileRecord>>,
    /// The images of those that are images; a second set is one to test on.
    sets: BTreeMap<Source, Vec<Pictures>>,
    data: PathBuf,
}

/// Images, and what is positive in them, task by task.
#[derive(Debug)]
struct Pictures {
    inputs: Arc<Inputs>,
    tasks: BTreeMap<&'static str, ImageTask>,
}

impl Sources {
    /// Reads what the tasks need.
    ///
    /// # Errors
    /// If a file is missing or is not what it should be, or the caller stops.
    pub fn read(
        data: &Path,
        cache: Option<PathBuf>,
        tasks: &[Task],
        watch: &dyn Watch,
    ) -> Result<Self, ExperimentError> {
        let mut sources = Self { files: BTreeMap::new(), sets: BTreeMap::new(), data: data.to_owned() };
        for task in tasks {
            if sources.files.contains_key(&task.source) {
                continue;
            }
            let of_source: Vec<Task> =
                tasks.iter().filter(|other| other.source == task.source).copied().collect();
            let options = ImageOptions { cache: cache.clone(), ..ImageOptions::default() };
            sources.add(task.source, &of_source, options, watch)?;
        }
        Ok(sources)
    }

    fn add(
        &mut self,
        source: Source,
        tasks: &[Task],
        options: ImageOptions,
        watch: &dyn Watch,
    ) -> Result<(), ExperimentError> {
        let read = |path: &Path, options: &ImageOptions| -> Result<ImageSet, ExperimentError> {
            match ImageSet::read_with(path, options, &|_, _| control(watch)) {
                Err(setpoint_data::Error::Image(ImageError::Cancelled { .. })) => {
                    Err(ExperimentError::Stopped)
                }
                set => Ok(set?),
            }
        };
        let hashed = |name: &&str| -> Result<FileRecord, ExperimentError> {
            let path = self.data.join(name);
            let sha256 = setpoint_data::hash(&path).map_err(setpoint_data::Error::from)?;
            Ok(FileRecord { name: (*name).to_owned(), sha256 })
        };
        let labels: &[&str] = match source {
            Source::UtkFace => &["age", "gender", "race"],
            Source::Cifar => &["class"],
            Source::CelebA | Source::BigEarthNet => {
                let name = source.files()[0];
                let path = source.folder(&self.data).unwrap_or_else(|| self.data.join(name));
                let set = read(&path, &options)?;
                let record = FileRecord { name: format!("{name}, decoded"), sha256: set.hash() };
                self.files.insert(source, vec![record]);
                self.sets.insert(source, vec![pictures(set, tasks)?]);
                return Ok(());
            }
            _ => {
                let files = source.files().iter().map(hashed).collect::<Result<_, _>>()?;
                self.files.insert(source, files);
                return Ok(());
            }
        };
        let options = ImageOptions { record: Some(RecordLayout::colour32(labels)), ..options };
        let mut sets = Vec::new();
        for name in source.files() {
            sets.push(pictures(read(&self.data.join(name), &options)?, tasks)?);
        }
        let files = source.files().iter().map(hashed).collect::<Result<_, _>>()?;
        self.files.insert(source, files);
        self.sets.insert(source, sets);
        Ok(())
    }

    /// Networks over a task split by a seed.
    ///
    /// # Errors
    /// If a file is missing, or a part would lack a class.
    pub fn problem(&self, task: &Task, protocol: &Protocol, seed: u64) -> Result<Problem, ExperimentError> {
        let problem = match task.source {
            table if table.is_table() => Problem::network(standardised(table, &self.data, seed)?),
            source => of_images(&self.sets[&source], task, protocol.cnn, seed)?,
        };
        let problem = problem.and_then(|problem| problem.at_most(protocol.rows, seed));
        let problem = match task.flipped {
            true => problem.and_then(|problem| problem.flipped(seed)),
            false => problem,
        };
        problem.map_err(failed(format!("{} with seed {seed}", task.title)))
    }
}

fn pictures(set: ImageSet, tasks: &[Task]) -> Result<Pictures, ExperimentError> {
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
fn of_images(
    sets: &[Pictures],
    task: &Task,
    cnn: Cnn,
    seed: u64,
) -> Result<Result<Problem, TrainError>, ExperimentError> {
    let first = &sets[0];
    let labels = &first.tasks[task.name];
    let plan = match (task.source, sets.len()) {
        (_, 2) => "train=0.75,validation=0.25",
        (Source::BigEarthNet, _) => "train=0.7,validation=0.15,test=0.15",
        _ => "train=0.5,validation=0.25,test=0.25",
    };
    let parts: Parts = match labels.given_parts() {
        Some(given) => given.map_err(setpoint_data::Error::from)?,
        None => {
            let plan = plan.parse().map_err(setpoint_data::Error::from)?;
            labels.split(&labels.rows, &plan, seed).map_err(setpoint_data::Error::from)?
        }
    };
    let part = |pictures: &Pictures, rows: &[u32]| -> Result<Part, TrainError> {
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
        Ok(Part { held: Held::Network(network), sample: pictures.tasks[task.name].sample(rows)? })
    };
    let test = match sets.get(1) {
        Some(second) => part(second, &second.tasks[task.name].rows),
        None => part(first, parts.rows("test")),
    };
    let problem = || {
        Ok(Problem {
            train: part(first, parts.rows("train"))?,
            validation: part(first, parts.rows("validation"))?,
            test: test?,
        })
    };
    Ok(problem())
}
