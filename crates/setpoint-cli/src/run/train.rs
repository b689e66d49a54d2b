//! `setpoint train`: read, split, encode, fit, choose the threshold, measure, write.

use std::time::Instant;

use serde_json::{Map, Value, json};
use setpoint::goal::Goal;
use setpoint::train::selection::as_fraction;
use setpoint::train::{Fit, Part, Settings, Store, fit};
use setpoint_data::Table;
use setpoint_report::{
    BaselineRecord, CandidateRecord, CertificateRecord, GainRecord, GroupsRecord, Seconds, Splits,
    TrainRecord, to_json,
};

use super::checkpoint::Directory;
use super::examples::{self, Examples, Loaded};
use super::progress::{Display, line};
use super::threshold::{Scored, Shipped};
use super::{group, measure, model, print};
use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::plan::TrainPlan;

/// Runs the plan and writes the model file.
pub fn train(plan: &TrainPlan, json: bool, quiet: bool) -> Result<(), Failure> {
    let start = Instant::now();
    check_output(plan)?;
    let mut display = Display::new(quiet);
    display.show(&format!("reading {}", plan.data.display()));
    let (mut loaded, test_hash) = load(plan)?;
    let load = start.elapsed().as_secs_f64();
    interrupt::check()?;

    let rows = loaded.parts.map(|part| part.as_ref().map_or(0, |part| part.sample.len() as u64));
    let rows_scored = if rows.test > 0 { rows.test } else { rows.validation };
    let settings = Settings { rows_scored: Some(rows_scored), ..plan.settings.clone() };
    let recorded = recorded(plan, &loaded, test_hash, rows_scored);
    let mut store = match &plan.checkpoint {
        Some(path) => {
            let mut run = recorded.clone();
            run.insert("setpoint".to_owned(), json!(env!("CARGO_PKG_VERSION")));
            Some(Directory::open(path, run, &plan.goal, plan.resume)?)
        }
        None => None,
    };
    match &store {
        Some(store) if plan.resume && !store.resumes() => {
            display.say("no checkpoint to go on from: starting anew");
        }
        Some(store) if store.resumes() => display.say("going on from the checkpoint"),
        _ => {}
    }
    let fitted = run_fit(plan, &settings, &mut loaded.parts, &mut display, store.as_mut())?;
    let train_seconds = start.elapsed().as_secs_f64() - load;

    display.show("choosing the threshold");
    let goal = as_fraction(&plan.goal, rows_scored);
    let operating = goal.operating();
    let scores = score(&mut loaded.parts, &fitted.parameters)?;
    let shipped = choose(&operating, &loaded.parts, &scores, plan.confidence)?;
    let mut record = measured(plan, &goal, &operating, &mut loaded, &fitted, &scores, &shipped)?;
    record.rows = rows;
    interrupt::check()?;
    display.show("writing the model");
    model::file(plan, &loaded.encoder, &fitted, &shipped, &record, recorded)?.save(&plan.output)?;
    if let Some(store) = store {
        store.remove()?;
    }
    record.seconds = Seconds { load, train: train_seconds, total: start.elapsed().as_secs_f64() };
    display.finish();
    if json {
        print(&to_json(&record)?)?;
    }
    if !quiet {
        line(record.to_string().trim_end());
    }
    Ok(())
}

/// Refuses an output that could not be written, before hours of work.
fn check_output(plan: &TrainPlan) -> Result<(), Failure> {
    // Dropped before it is committed: nothing changes.
    setpoint::artifact::AtomicFile::create(&plan.output)?;
    let same = |path: &std::path::Path| matches!((path.canonicalize(), plan.output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same(&plan.data) || plan.test.as_deref().is_some_and(same) {
        return Err(Failure::input(format!(
            "-o {}: that is the data itself; write the model elsewhere",
            plan.output.display()
        )));
    }
    Ok(())
}

fn load(plan: &TrainPlan) -> Result<(Loaded, Option<String>), Failure> {
    let table = Table::read(&plan.data, &plan.read, &plan.roles)?;
    if table.labels().is_none() {
        return Err(Failure::input(format!(
            "{}: which column is the label? name it with --label",
            plan.data.display()
        )));
    }
    interrupt::check()?;
    let parts = plan.split.split(&table, plan.settings.seed)?;
    let mut loaded = examples::load(table, &parts, plan.min_group)?;
    let mut test_hash = None;
    if let Some(test) = &plan.test {
        let roles = setpoint_data::Roles {
            label: plan.roles.label.clone(),
            positive: plan.roles.positive.clone(),
            weight: plan.roles.weight.clone(),
            group: plan.roles.group.clone(),
            missing: plan.roles.missing.clone(),
            ..setpoint_data::Roles::default()
        };
        let (mut examples, hash, notes) = examples::load_more(test, &plan.read, &roles, &loaded.encoder)?;
        if let (Some(_), Some(train)) = (plan.min_group, &loaded.parts.train)
            && let Some(groups) = train.sample.groups()
        {
            examples.sample = group::pool_others(&examples.sample, groups.names())?;
        }
        loaded.parts.test = Some(examples);
        loaded.notes.extend(notes);
        test_hash = hash;
    }
    Ok((loaded, test_hash))
}

/// Everything that the model depends on, as the model file and checkpoints keep it.
fn recorded(
    plan: &TrainPlan,
    loaded: &Loaded,
    test_hash: Option<String>,
    rows_scored: u64,
) -> Map<String, Value> {
    let mut recorded = plan.recorded.clone();
    recorded.insert("goal".to_owned(), json!(plan.goal.to_string()));
    recorded.insert("data".to_owned(), json!(loaded.hash));
    recorded.insert("test".to_owned(), json!(test_hash));
    recorded.insert("seed".to_owned(), json!(plan.settings.seed));
    recorded.insert("rows-scored".to_owned(), json!(rows_scored));
    recorded
}

fn run_fit(
    plan: &TrainPlan,
    settings: &Settings,
    parts: &mut Splits<Option<Examples>>,
    display: &mut Display,
    store: Option<&mut Directory>,
) -> Result<Fit, Failure> {
    let (Some(train), Some(validation)) = (&mut parts.train, &mut parts.validation) else {
        return Err(Failure::input("training needs a train part and a validation part"));
    };
    let checkpoint = plan.checkpoint.as_deref();
    let fitted = fit(
        &plan.goal,
        Part { model: &mut train.model, sample: &train.sample },
        Part { model: &mut validation.model, sample: &validation.sample },
        settings,
        display,
        store.map(|store| store as &mut dyn Store),
    );
    fitted.map_err(|error| {
        let failure = Failure::from(error);
        match (failure.kind, checkpoint) {
            (Kind::Interrupted, Some(path)) => {
                Failure::interrupted(format!("stopped; go on with --checkpoint {} --resume", path.display()))
            }
            (Kind::Interrupted, None) => Failure::interrupted("stopped; nothing was written"),
            (Kind::No, _) => failure.context(&plan.goal),
            _ => failure,
        }
    })
}

/// The scores of every part.
pub fn score(
    parts: &mut Splits<Option<Examples>>,
    parameters: &[f32],
) -> Result<Splits<Option<Vec<f32>>>, Failure> {
    let of = |part: &mut Option<Examples>| part.as_mut().map(|part| part.scores(parameters)).transpose();
    Ok(Splits {
        train: of(&mut parts.train)?,
        validation: of(&mut parts.validation)?,
        calibration: of(&mut parts.calibration)?,
        test: of(&mut parts.test)?,
    })
}

/// Chooses the thresholds on the calibration part, or without one on validation.
pub fn choose(
    operating: &Goal,
    parts: &Splits<Option<Examples>>,
    scores: &Splits<Option<Vec<f32>>>,
    confidence: Option<f64>,
) -> Result<Shipped, Failure> {
    fn scored<'a>(
        name: &'static str,
        part: &'a Option<Examples>,
        scores: &'a Option<Vec<f32>>,
    ) -> Option<Scored<'a>> {
        Some(Scored { name, sample: &part.as_ref()?.sample, scores: scores.as_ref()? })
    }
    let calibration = scored("calibration", &parts.calibration, &scores.calibration);
    let validation = scored("validation", &parts.validation, &scores.validation)
        .ok_or_else(|| Failure::input("there is no validation part"))?;
    Shipped::choose(operating, validation, calibration, confidence)
}

/// Measures every part and gathers the record; rows, seconds and the artifact follow.
fn measured(
    plan: &TrainPlan,
    goal: &Goal,
    operating: &Goal,
    loaded: &mut Loaded,
    fitted: &Fit,
    scores: &Splits<Option<Vec<f32>>>,
    shipped: &Shipped,
) -> Result<TrainRecord, Failure> {
    let names = shipped.groups.as_ref().map_or(&[][..], |groups| &groups.names);
    let base = score(&mut loaded.parts, &fitted.baseline.parameters)?;
    let samples = loaded.parts.map(|part| part.as_ref().map(|part| &part.sample));
    let each = |scores: &Splits<Option<Vec<f32>>>| -> Result<Splits<Option<f64>>, Failure> {
        pair(&samples, scores).try_map(|pair| match pair {
            Some((sample, scores)) => measure::at_condition(goal, sample, scores),
            None => Ok(None),
        })
    };
    let margins = pair(&samples, scores).try_map(|pair| match pair {
        Some((sample, scores)) => shipped.margins(sample, scores).map(Some),
        None => Ok(None),
    })?;
    let decided = pair(&samples, &margins);
    let goal_text = plan.goal.to_string();
    Ok(TrainRecord {
        goal: goal_text,
        operating: operating.to_string(),
        model: "linear".to_owned(),
        method: plan.method.to_owned(),
        winner: fitted.winner.clone(),
        seed: plan.settings.seed,
        steps: fitted.evaluations,
        rows: Splits::default(),
        columns: loaded.columns as u64,
        thresholds: shipped.thresholds.clone(),
        thresholds_from: shipped.from.to_owned(),
        groups: shipped
            .groups
            .as_ref()
            .map(|groups| GroupsRecord { column: groups.column.clone(), names: groups.names.clone() }),
        objective: each(scores)?,
        constraint: decided.try_map(|pair| match pair {
            Some((sample, margins)) => measure::conditions(operating, names, sample, margins).map(Some),
            None => Ok::<_, Failure>(None),
        })?,
        constraint_names: measure::condition_names(operating, names),
        shipped: decided.try_map(|pair| match pair {
            Some((sample, margins)) => measure::shipped(operating, sample, margins).map(Some),
            None => Ok::<_, Failure>(None),
        })?,
        certificate: shipped.certificate.clone().map(CertificateRecord::new),
        certificate_refused: shipped.refused.clone(),
        baseline: BaselineRecord {
            method: "cross-entropy".to_owned(),
            name: fitted.baseline.name.clone(),
            objective: each(&base)?,
        },
        gain: fitted
            .gain
            .map(|gain| GainRecord { difference: gain.difference, standard_error: gain.standard_error }),
        candidates: fitted
            .candidates
            .iter()
            .map(|candidate| CandidateRecord {
                name: candidate.name.clone(),
                validation: candidate.validation,
                step: candidate.step,
                evaluations: candidate.evaluations,
            })
            .collect(),
        data_hash: loaded.hash.clone(),
        notes: loaded.notes.clone(),
        seconds: Seconds::default(),
        artifact: plan.output.display().to_string(),
    })
}

/// Each part's sample beside its scores.
fn pair<'a>(
    samples: &Splits<Option<&'a setpoint::Sample>>,
    scores: &'a Splits<Option<Vec<f32>>>,
) -> Splits<Option<(&'a setpoint::Sample, &'a [f32])>> {
    let of = |sample: &Option<&'a setpoint::Sample>, scores: &'a Option<Vec<f32>>| {
        Some(((*sample)?, scores.as_deref()?))
    };
    Splits {
        train: of(&samples.train, &scores.train),
        validation: of(&samples.validation, &scores.validation),
        calibration: of(&samples.calibration, &scores.calibration),
        test: of(&samples.test, &scores.test),
    }
}
