//! A trained model: fitted here, or read from a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use setpoint::Sample;
use setpoint::artifact::{ModelFile, Models, write_atomically};
use setpoint::goal::GoalText;
use setpoint_data::{About, ClassRule, Codes, ColumnKind, Inputs, LabelRule, LabelSchema};
use setpoint_onnx::{Decided, export};
use setpoint_report::{CertificateRecord, Seconds, Together, to_json};
use setpoint_run::{
    Decision, Decisions, Examples, Opened, Trained, check_volume, evaluate, margins, notes, open, opened,
    report_model, train, train_best,
};

use crate::array::{GroupArrays, class_sample, codes, paid, pairs, sample, slice, together};
use crate::error::{Wrong, goal_text, in_python};
use crate::options::FitPlan;
use crate::prove::{Page, described, write_page};
use crate::rank::ranked_sample;
use crate::table::{PyFeatures, View};
use crate::thread::{work, work_watched};
use crate::watch::Watch;

/// A trained model with its thresholds.
#[pyclass(frozen, module = "setpoint._setpoint")]
pub struct Model {
    pub(crate) file: ModelFile,
    pub(crate) opened: Opened,
}

impl Model {
    pub(crate) fn new(file: ModelFile) -> Result<Self, Wrong> {
        let opened = opened(&file)?;
        Ok(Self { file, opened })
    }

    /// The rows as the model reads them, and what there is to say of them.
    pub(crate) fn encode(
        &self,
        view: View<'_>,
        names: Vec<String>,
    ) -> Result<(setpoint::features::Features, Vec<String>), Wrong> {
        let about = About { name: "X".to_owned(), ..About::default() };
        let encoder = self.opened.schema.encoder()?;
        let table = view.table(about, names, Some(encoder))?;
        let data = encoder.encode(table)?;
        Ok((data.features, notes(&data.notes, Some(Path::new("X")))))
    }
}

impl Model {
    /// Labelled rows; of several classes, those are the groups.
    pub(crate) fn sample(
        &self,
        labels: &[bool],
        weights: Option<&[f64]>,
        groups: Option<&GroupArrays<'_>>,
        entities: Option<&GroupArrays<'_>>,
    ) -> Result<Sample, Wrong> {
        let rows = match (groups, self.opened.schema.classes().is_some()) {
            (Some(classes), true) => class_sample(classes, weights)?,
            (groups, _) => sample(labels, weights, groups)?,
        };
        together(rows, entities)
    }

    /// How far each score is above its threshold.
    pub(crate) fn margins_of(&self, scores: &[f32], groups: Option<&Codes>) -> Result<Vec<f32>, Wrong> {
        let shipped = &self.opened.decision.threshold()?.shipped;
        match (&shipped.groups, groups) {
            (Some(known), None) => Err(Wrong::input(format!(
                "the model has a threshold for each group of {:?}: pass groups",
                known.column
            ))),
            (Some(known), Some(codes)) => {
                let of_group = |name: &String| shipped.of_group(&known.column, name);
                let by_code: Vec<f32> = codes.names.iter().map(of_group).collect::<Result<_, _>>()?;
                Ok(margins(scores, &shipped.thresholds, Some((&by_code, &codes.of))))
            }
            (None, _) => Ok(margins(scores, &shipped.thresholds, None)),
        }
    }
}

/// What the label is.
#[derive(FromPyObject)]
pub enum Label {
    /// Its column, the positive and the negative value as texts.
    Pair((String, String, String)),
    /// Its column, its classes, those that became one, and whether rows of others were left out; which class a row
    /// has, its group says.
    Classes((String, Vec<String>, Vec<String>, bool)),
    /// Its column, and what makes a row relevant as `positive` is written: `auto`, `>=2`. Grades are beside.
    Grades((String, String)),
}

impl Label {
    pub(crate) fn schema(self, position: usize) -> LabelSchema {
        match self {
            Self::Pair((column, positive, negative)) => {
                LabelSchema { column, position, rule: LabelRule::Pair { positive, negative } }
            }
            Self::Classes((column, names, pooled, others_left_out)) => {
                let rule = ClassRule { names, pooled, others_left_out };
                LabelSchema { column, position, rule: LabelRule::Classes(rule) }
            }
            Self::Grades((column, positive)) => {
                let positive = positive.parse().unwrap_or_default();
                LabelSchema { column, position, rule: LabelRule::Grades(positive) }
            }
        }
    }
}

/// A model, the record of its run as JSON, and that it does not meet its goal, where it does not.
pub type Fit = (Model, String, Vec<String>);

/// Trains a model.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn fit<'py>(
    py: Python<'py>,
    features: PyFeatures<'py>,
    names: Vec<String>,
    label: Label,
    labels: PyReadonlyArray1<'py, bool>,
    grades: Option<PyReadonlyArray1<'py, f32>>,
    weights: Option<PyReadonlyArray1<'py, f32>>,
    groups: Option<GroupArrays<'py>>,
    entities: Option<GroupArrays<'py>>,
    pays: Option<PyReadonlyArray1<'py, f64>>,
    options: &str,
    report: Option<Py<PyAny>>,
) -> PyResult<Fit> {
    let plan = FitPlan::new(options)?;
    let about = About {
        name: "X".to_owned(),
        label: Some(label.schema(names.len())),
        labels: Some(slice(&labels)?.to_vec()),
        grades: grades.as_ref().map(|grades| slice(grades).map(<[f32]>::to_vec)).transpose()?,
        weights: weights.as_ref().map(|weights| slice(weights).map(<[f32]>::to_vec)).transpose()?,
        stakes: plan.profit().zip(pays.as_ref().map(pairs).transpose()?),
        groups: groups.as_ref().map(codes).transpose()?,
        entities: entities.as_ref().map(codes).transpose()?,
        texts: plan.texts.clone(),
    };
    let view = features.view()?;
    let stop = AtomicBool::new(false);
    let mut watch = Watch::new(report, &stop);
    let result = work_watched(py, &stop, || run(view, about, names, &plan, &mut watch));
    match watch.raised {
        Some(raised) => Err(raised),
        None => result,
    }
}

fn run(
    view: View<'_>,
    about: About,
    names: Vec<String>,
    plan: &FitPlan,
    watch: &mut Watch<'_>,
) -> Result<Fit, Wrong> {
    let start = Instant::now();
    let table = view.table(about, names, None)?;
    let parts = plan.split.split(&table, plan.job.settings.seed)?;
    let mut load = start.elapsed().as_secs_f64();
    let trained = train_best(&plan.job, &mut |job| {
        let clock = Instant::now();
        let mut loaded = setpoint_run::load(table.clone(), &parts, plan.min_group, &job.model)?;
        load += clock.elapsed().as_secs_f64();
        let trained = train(job, &mut loaded, watch, None)?;
        Ok((loaded, trained))
    })?
    .trained;
    finish(trained, load, start.elapsed().as_secs_f64())
}

/// What a run came to, as Python takes it, after so many seconds, of which the first for loading.
pub(crate) fn finish(mut trained: Trained, load: f64, total: f64) -> Result<Fit, Wrong> {
    trained.record.seconds = Seconds { load, train: total - load, total, ..Seconds::default() };
    trained.record.sentences().for_each(|text| *text = in_python(text));
    let record = to_json(&trained.record)?;
    let warned = [trained.record.uncertified(), trained.record.goal_not_met()];
    Ok((Model::new(trained.file)?, record, warned.into_iter().flatten().collect()))
}

/// Writes one file with the model of each label.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn save_labels(py: Python<'_>, models: Vec<(String, Py<Model>)>, path: PathBuf) -> PyResult<()> {
    let files = models.iter().map(|(label, model)| (label.clone(), model.get().file.clone())).collect();
    Ok(work(py, || Ok(Models::Labels(files).save(path)?))?)
}

/// The confidence of each label's certificate, so that all hold together with that asked for.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn confidence_of_each(together: f64, goals: Vec<String>) -> PyResult<f64> {
    let goals: Vec<GoalText> = goals.iter().map(|text| goal_text(text)).collect::<Result<_, _>>()?;
    Ok(setpoint_run::confidence_of_each(together, &goals))
}

/// What the certificates of several labels are worth together, as JSON; none where there are none.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn together_of(models: Vec<(String, Py<Model>)>) -> PyResult<Option<String>> {
    let certificate = |model: &Py<Model>| {
        let proved = model.get().opened.decision.certificate();
        proved.cloned().map(CertificateRecord::new)
    };
    let found: Vec<_> = models.iter().map(|(label, model)| (label.clone(), certificate(model))).collect();
    let found: Vec<_> = found.iter().map(|(label, one)| (label.clone(), one.as_ref())).collect();
    Ok(Together::of(&found)
        .map(|together| serde_json::to_string(&together))
        .transpose()
        .map_err(Wrong::from)?)
}

#[pymethods]
impl Model {
    /// Reads a model file; of one of several labels, the model of this one.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, label: Option<String>) -> PyResult<Self> {
        Ok(work(py, || {
            let (file, opened) = open(&path, label.as_deref())?;
            Ok(Self { file, opened })
        })?)
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(work(py, || Self::new(ModelFile::from_bytes(bytes)?))?)
    }

    /// Writes the model file: whole, or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(work(py, || Ok(self.file.save(path)?))?)
    }

    /// Writes an ONNX file; scores of rows place the thresholds or shifts of a network.
    fn to_onnx(
        &self,
        py: Python<'_>,
        path: PathBuf,
        scores: Option<PyReadonlyArray1<'_, f32>>,
        groups: Option<GroupArrays<'_>>,
    ) -> PyResult<()> {
        let scores = scores.as_ref().map(|scores| slice(scores).map(<[f32]>::to_vec)).transpose()?;
        let groups = groups.as_ref().map(codes).transpose()?;
        Ok(work(py, || {
            let decided =
                scores.map(|scores| Decided::new(&self.opened, scores, groups.as_ref())).transpose()?;
            let bytes = export(&self.opened, decided.as_ref().map(Decided::observed))?;
            Ok(write_atomically(&path, |out| out.write_all(&bytes))?)
        })?)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.file.to_bytes().map_err(Wrong::from)?))
    }

    /// What the file says, as JSON.
    fn document(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&self.opened.document).map_err(Wrong::from)?)
    }

    /// The columns it needs: name, and whether it holds numbers; none for a sparse model.
    fn inputs(&self) -> PyResult<Option<Vec<(String, bool)>>> {
        let encoder = self.opened.schema.encoder().map_err(Wrong::from)?;
        Ok(match &encoder.inputs {
            Inputs::Table(inputs) => Some(
                inputs
                    .iter()
                    .filter(|input| input.part.is_none())
                    .map(|input| (input.name.clone(), input.kind() == ColumnKind::Number))
                    .collect(),
            ),
            Inputs::Sparse { .. } => None,
        })
    }

    /// Number of columns of the encoded matrix.
    fn columns(&self) -> usize {
        self.opened.schema.columns()
    }

    /// One threshold, or one for each group.
    fn thresholds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.opened.document.thresholds.clone().into_pyarray(py)
    }

    /// The score of each row, and notes on the rows.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        features: PyFeatures<'py>,
        names: Vec<String>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, Vec<String>)> {
        let view = features.view()?;
        let (scores, notes) = work(py, || {
            let (features, notes) = self.encode(view, names)?;
            Ok((self.opened.scores(features)?, notes))
        })?;
        Ok((scores.into_pyarray(py), notes))
    }

    /// The upper and the lower threshold of a model that leaves rows between them undecided.
    fn band(&self) -> Option<[f32; 2]> {
        match &self.opened.decision {
            Decision::Band(decision) => Some(decision.thresholds()),
            _ => None,
        }
    }

    /// How far each score is above its threshold.
    fn margins<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f32>,
        groups: Option<GroupArrays<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let groups = groups.as_ref().map(codes).transpose()?;
        let found = self.margins_of(slice(&scores)?, groups.as_ref())?;
        Ok(found.into_pyarray(py))
    }

    /// The place of each row in its query, and whether it is among the first that the goal looks at.
    #[allow(clippy::type_complexity, reason = "two arrays, taken apart in Python")]
    fn places<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f32>,
        queries: GroupArrays<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyArray1<bool>>>)> {
        let (scores, queries) = (slice(&scores)?, codes(&queries)?);
        let found = work(py, || Ok(self.opened.predict(scores, Some(&queries))?))?;
        match found.decisions {
            Decisions::Place { places, first } => {
                Ok((places.into_pyarray(py), first.map(|first| first.into_pyarray(py))))
            }
            _ => Err(Wrong::input("the model is not for a goal per query").into()),
        }
    }

    /// What to say of groups that are decided though training never saw them; none where it saw all.
    #[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
    fn unknown_groups(&self, groups: GroupArrays<'_>) -> PyResult<Option<String>> {
        let codes = codes(&groups)?;
        Ok(self.opened.unknown_groups(&codes.names, &codes.of))
    }

    /// The probability of each score, or of each class; none where the file has none.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f32>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let scores = slice(&scores)?;
        let probabilities = match &self.opened.decision {
            Decision::Threshold(decision) => {
                decision.probability.map(|curve| scores.iter().map(|score| curve.of(*score)).collect())
            }
            Decision::Band(decision) => {
                decision.probability.map(|curve| scores.iter().map(|score| curve.of(*score)).collect())
            }
            Decision::Shift(decision) => decision.probabilities(scores),
            Decision::Place(_) => None,
        };
        Ok(probabilities.map(|found: Vec<f64>| found.into_pyarray(py)))
    }

    /// Metrics on labelled rows, with intervals, as JSON; and their page, if one is wanted.
    #[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        features: PyFeatures<'py>,
        names: Vec<String>,
        labels: PyReadonlyArray1<'py, bool>,
        grades: Option<PyReadonlyArray1<'py, f32>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        groups: Option<GroupArrays<'py>>,
        entities: Option<GroupArrays<'py>>,
        pays: Option<PyReadonlyArray1<'py, f64>>,
        importance: usize,
        confidence: f64,
        volume: Option<f64>,
        page: Option<Page>,
    ) -> PyResult<String> {
        check_volume(volume, self.band().is_some()).map_err(Wrong::from)?;
        let weights = weights.as_ref().map(slice).transpose()?;
        let mut sample = match (&grades, &entities) {
            (Some(grades), Some(queries)) => ranked_sample(queries, slice(grades)?, slice(&labels)?)?,
            _ => self.sample(slice(&labels)?, weights, groups.as_ref(), entities.as_ref())?,
        };
        if let Ok(decision) = self.opened.decision.threshold() {
            sample = paid(sample, &decision.goal, pays.as_ref())?;
        }
        let view = features.view()?;
        let record = work(py, || {
            let (features, notes) = self.encode(view, names)?;
            let held = self.opened.blueprint.hold(features)?;
            let mut examples = Examples { held, sample };
            let mut record = evaluate(&self.opened, &mut examples, importance, confidence)?;
            record.notes.splice(0..0, notes);
            if let (Some(band), Some(volume)) = (&mut record.band, volume) {
                band.volume = volume;
            }
            if let Some(page) = page {
                let described = described(&page, confidence);
                write_page(page, report_model(&self.opened, &mut examples, &record, &described)?)?;
            }
            record.sentences().for_each(|text| *text = in_python(text));
            Ok(to_json(&record)?)
        });
        Ok(record?)
    }
}
