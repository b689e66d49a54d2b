//! `setpoint train`: read, split, encode, train, write.

use std::time::Instant;

use serde_json::json;
use setpoint::artifact::{ModelFile, Models};
use setpoint::message::{clip, quote};
use setpoint_data::{Roles, Table};
use setpoint_report::{BandRecord, LabelsRecord, ReportRecord, Seconds, Together, TrainRecord, to_json};
use setpoint_run::{
    Checkpoints, Contender, Failure, FailureKind, Loaded, ModelChoice, check_memory, load_more, too_many,
    train_best,
};

use super::checkpoint::{self, Directory};
use super::images::Images;
use super::progress::{Display, line};
use super::{print, report, say_notes, show};
use crate::args::in_flags;
use crate::interrupt;
use crate::plan::{Files, TrainPlan, test_source};

/// Confidence of a report's intervals where no certificate is asked for.
const CONFIDENCE: f64 = 0.95;

/// Runs the plan of each label and writes one model file.
pub fn train(plans: &[TrainPlan], json: bool, quiet: bool) -> Result<(), Failure> {
    let Some(first) = plans.first() else { return Ok(()) };
    let mut start = Instant::now();
    let mut display = Display::new(quiet);
    plans.iter().fold(Files::default().write("-o", &first.output), files).check()?;
    let images = match first.job.model.takes_images() {
        true => Some(Images::read(first, &mut display)?),
        false => None,
    };
    let mut ran = Vec::new();
    for plan in plans {
        if let Some(label) = &plan.label {
            display.prefix(format!("{label}: "));
        }
        display.show(&format!("reading {}", plan.data.display()));
        ran.push(run(plan, images.as_ref(), start, &mut display).map_err(|failure| match &plan.label {
            Some(label) => failure.context(format!("label {}", quote(label))),
            None => failure,
        })?);
        start = Instant::now();
    }
    display.show("writing the model");
    write(plans, &mut ran)?;
    display.finish();
    let records: Vec<&TrainRecord> = ran.iter().map(|one| &one.record).collect();
    let certificates: Vec<_> = ran.iter().map(|one| (one.label(), one.record.certificate.as_ref())).collect();
    let together = Together::of(&certificates);
    if json {
        print(&match &records[..] {
            [only] => to_json(only)?,
            several => to_json(&LabelsRecord { runs: several.to_vec(), together: together.clone() })?,
        })?;
    }
    tell(plans, &records, together.as_ref(), json, quiet)
}

/// What a run of one label came to.
struct Ran {
    record: TrainRecord,
    file: ModelFile,
    stores: Vec<Directory>,
    page: Option<ReportRecord>,
}

impl Ran {
    /// The column of the label.
    fn label(&self) -> String {
        self.record.label.as_ref().map_or_else(String::new, |label| label.column.clone())
    }
}

/// Writes the model file, then the reports; checkpoints have done their part.
fn write(plans: &[TrainPlan], ran: &mut [Ran]) -> Result<(), Failure> {
    match &*ran {
        [only] => only.file.save(&plans[0].output)?,
        several => {
            let models = several.iter().map(|one| (one.label(), one.file.clone())).collect();
            Models::Labels(models).save(&plans[0].output)?;
        }
    }
    for (plan, one) in plans.iter().zip(ran) {
        one.stores.drain(..).try_for_each(Directory::remove)?;
        if let Some(page) = one.page.take() {
            report::write(&plan.report, page)?;
        }
    }
    Ok(())
}

/// Shows what runs came to; an error where a goal is not met and nothing is certified.
fn tell(
    plans: &[TrainPlan],
    records: &[&TrainRecord],
    together: Option<&Together>,
    json: bool,
    quiet: bool,
) -> Result<(), Failure> {
    let runs = || plans.iter().zip(records);
    for (plan, record) in runs().filter(|_| !quiet) {
        let heading =
            plan.label.as_ref().map_or_else(String::new, |label| format!("label     {}\n", clip(label)));
        show(&format!("{heading}{record}"), json)?;
        say_notes(&record.notes);
        if plan.label.is_some() {
            show("\n", json)?;
        }
    }
    if let (Some(together), false) = (together.filter(|_| records.len() > 1), quiet) {
        show(&format!("together  {}\n", together.text), json)?;
    }
    for (place, (plan, record)) in runs().enumerate().filter(|_| !quiet) {
        if place == 0 {
            line(&format!("wrote {}", record.artifact));
        }
        report::say(&plan.report);
    }
    for (plan, record) in runs().filter(|_| !quiet) {
        if let Some(uncertified) = record.uncertified() {
            let label =
                plan.label.as_ref().map_or_else(String::new, |label| format!("label {}: ", quote(label)));
            line(&format!("warning: {label}{uncertified}"));
        }
    }
    match runs().find_map(|(_, record)| Some((record, record.goal_not_met()?))) {
        Some((record, unmet)) => {
            Err(Failure::no(format!("{unmet}, and {} was written all the same", record.artifact)))
        }
        None => Ok(()),
    }
}

/// What a run reads and writes besides the model, after what others do.
fn files(others: Files, plan: &TrainPlan) -> Files {
    let files = others
        .read("the data", &plan.data)
        .read_any("the test data", plan.test.as_ref())
        .read_any("the label table", plan.images.labels.as_ref())
        .read_any("the sizes of queries", plan.query_sizes())
        .read_any("the run file", plan.run_file.as_ref());
    let files = report::files(files, &plan.report, "--report");
    match &plan.checkpoint {
        Some(directory) => files.write_in("--checkpoint", directory, checkpoint::FILE),
        None => files,
    }
}

/// Reads, trains each kind of model that is asked for, and keeps the best.
fn run(
    plan: &TrainPlan,
    images: Option<&Images>,
    start: Instant,
    display: &mut Display,
) -> Result<Ran, Failure> {
    let (mut load, mut stores) = (0.0, Vec::new());
    let prefix = display.prefixed().to_owned();
    let several = matches!(plan.job.model, ModelChoice::Auto { .. });
    let mut on_disk = false;
    let mut best = train_best(&plan.job, &mut |job| {
        let clock = Instant::now();
        let mut own = TrainPlan { job: job.clone(), ..plan.clone() };
        if several {
            // Each kind goes on from its own checkpoint.
            own.checkpoint = own.checkpoint.map(|folder| folder.join(job.model.name()));
            display.prefix(format!("{prefix}{}: ", job.model));
        }
        let mut loaded = match images {
            Some(images) => images.load(&mut own)?,
            // One kind has found that there are too many rows for memory: others need not read them.
            None if on_disk => return Err(too_many(&own.job.model)),
            None => self::load(&own, &mut on_disk)?,
        };
        load += clock.elapsed().as_secs_f64();
        interrupt::check()?;
        let mut store = open_store(&own, &loaded, display)?;
        let checkpoints = store.as_mut().map(|store| store as &mut dyn Checkpoints);
        let trained = setpoint_run::train(&own.job, &mut loaded, display, checkpoints);
        stores.extend(store);
        Ok((loaded, trained.map_err(|failure| explain(plan, failure))?))
    })?;
    interrupt::check()?;
    let mut record = best.trained.record.clone();
    record.sentences().for_each(|text| *text = in_flags(text));
    record.artifact = plan.output.display().to_string();
    if let Some(volume) = plan.report.volume {
        record.band = record.band.map(|band| Some(BandRecord { volume, ..band.clone()? }));
    }
    let total = start.elapsed().as_secs_f64();
    let mut seconds = Seconds { load, train: total - load, report: 0.0, total };
    record.seconds = seconds;
    let mut page = None;
    if report::any(&plan.report) {
        display.show("writing the report");
        let described = report::described(&plan.data, plan.job.confidence.unwrap_or(CONFIDENCE));
        let Contender { job, loaded, trained } = &mut best;
        page = Some(setpoint_run::report_training(job, loaded, trained, &record, &described)?);
        let total = start.elapsed().as_secs_f64();
        seconds = Seconds { report: total - seconds.total, total, ..seconds };
    }
    record.seconds = seconds;
    Ok(Ran { record, file: best.trained.file, stores, page })
}

/// Where checkpoints go, if anywhere.
fn open_store(
    plan: &TrainPlan,
    loaded: &Loaded,
    display: &mut Display,
) -> Result<Option<Directory>, Failure> {
    let Some(path) = &plan.checkpoint else { return Ok(None) };
    let mut run = plan.job.recorded(loaded)?;
    run.insert("setpoint".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    let store =
        Directory::open(path, run, plan.job.direction(loaded)?, loaded.schema.columns(), plan.resume)?;
    if store.resumes() {
        display.say("going on from the checkpoint");
    } else if plan.resume {
        display.say("no checkpoint to go on from: starting anew");
    }
    Ok(Some(store))
}

/// What to do about a run that ended early.
fn explain(plan: &TrainPlan, failure: Failure) -> Failure {
    let goal = plan.job.goal.to_string();
    match (failure.kind, plan.checkpoint.as_deref()) {
        (FailureKind::Interrupted, Some(path)) => {
            // Of several labels, each has a folder in that of the run.
            let path = path.parent().filter(|_| plan.label.is_some()).unwrap_or(path);
            Failure::interrupted(format!("stopped; go on with --checkpoint {} --resume", path.display()))
        }
        (FailureKind::Interrupted, None) => Failure::interrupted("stopped; nothing was written"),
        (FailureKind::No, _) if !failure.message.starts_with(&goal) => failure.context(goal),
        _ => failure,
    }
}

/// Reads the table. What the goal names is a group column if the label has two values: whether it has shows when
/// it is read.
fn read(plan: &TrainPlan) -> Result<Table, Failure> {
    let table = Table::read(&plan.data, &plan.read, &plan.roles)?;
    let named = plan.roles.group_if_there.as_ref();
    match (table.classes(), named) {
        (None, Some(_)) if table.groups().is_none() => {
            let roles = Roles { group: named.cloned(), ..plan.roles.clone() };
            Ok(Table::read(&plan.data, &plan.read, &roles)?)
        }
        // The column of that name is a feature like others.
        (Some(_), Some(named)) if table.names().contains(named) => {
            let roles = Roles { group_if_there: None, ..plan.roles.clone() };
            Ok(Table::read(&plan.data, &plan.read, &roles)?)
        }
        _ => Ok(table),
    }
}

fn load(plan: &TrainPlan, on_disk: &mut bool) -> Result<Loaded, Failure> {
    let table = read(plan)?;
    *on_disk = table.spilled().is_some();
    if let Some(spill) = plan.read.spill.as_ref().filter(|_| *on_disk) {
        check_memory(&table, spill.bytes)?;
    }
    if table.labels().is_none() {
        return Err(Failure::input(format!(
            "{}: which column is the label? name it with --label",
            plan.data.display()
        )));
    }
    interrupt::check()?;
    plan.job.goal.of(table.classes().map(|classes| &classes.names[..]))?;
    let parts = plan.split.split(&table, plan.job.settings.seed)?;
    let mut loaded = setpoint_run::load(table, &parts, plan.min_group, &plan.job.model)?;
    if let Some(test) = &plan.test {
        let two = loaded.classes().is_none();
        let roles = Roles {
            label: plan.roles.label.clone(),
            positive: plan.roles.positive.clone(),
            weight: plan.roles.weight.clone(),
            money: plan.roles.money.clone(),
            group: plan.roles.group.clone().or_else(|| plan.roles.group_if_there.clone()).filter(|_| two),
            split_by_if_there: plan.roles.split_by.clone(),
            queries: test_source(plan.roles.queries.as_ref(), test),
            missing: plan.roles.missing.clone(),
            ..Roles::default()
        };
        let (examples, hash, notes) =
            load_more(test, &plan.read, &roles, loaded.schema.encoder()?, &loaded.blueprint)?;
        loaded.notes.extend(notes);
        loaded.set_test(examples, hash)?;
    }
    Ok(loaded)
}
