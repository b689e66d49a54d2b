//! `setpoint demo`: the point of it all on real data, in a minute.

use std::time::Instant;

use setpoint::Goal;
use setpoint::rank::Empty;
use setpoint::train::{Judge, MethodChoice, PositiveWeight, Settings};
use setpoint_data::{Positive, ReadOptions, Roles, SplitPlan, Table};
use setpoint_report::{ByPart, RepeatRecord, ReportRecord, Table as Text, mean_and_deviation};
use setpoint_run::{
    Described, Failure, Job, Loaded, ModelChoice, Scorer, Trained, choose, load, measure, score,
};

use super::progress::Display;
use super::{print, report};
use crate::args::ReportFlags;
use crate::interrupt;
use crate::plan::Files;

/// UCI Letter Recognition; see `data/README.md`.
const LETTER: &[u8] = include_bytes!("../../data/letter.csv.zst");
const GOAL: &str = "recall @ fpr<=1%";
const SPLIT: &str = "train=0.5,validation=0.15,calibration=0.15,test=0.2";
const SEEDS: u64 = 20;
const CONFIDENCE: f64 = 0.95;
/// As `train` does by default, here for all three methods.
const ROTATIONS: usize = 3;
/// Fewer than `train` grows by default, since there are as many splits.
const TREES: ModelChoice = ModelChoice::Trees { search: Some(3), rounds: Some(150) };
/// Where the report goes, in the directory that the demo runs in.
const REPORT: &str = "setpoint-report.html";

/// What one method comes to on the test parts, seed by seed.
#[derive(Default)]
struct Line {
    /// Recall where the false-positive rate on test is 1% exactly.
    at_condition: Vec<f64>,
    /// Recall and false-positive rate at the certified threshold.
    recall: Vec<f64>,
    fpr: Vec<f64>,
}

/// Trains on the embedded data and prints the comparison.
pub fn demo(quiet: bool) -> Result<(), Failure> {
    let start = Instant::now();
    let goal: Goal = GOAL.parse()?;
    let wanted = ReportFlags { report: Some(REPORT.into()), ..ReportFlags::default() };
    report::files(Files::default(), &wanted, "--report").check()?;
    let mut display = Display::new(quiet);
    let mut lines =
        ["cross-entropy", "cross-entropy, weighted", "Setpoint"].map(|name| (name, Line::default()));
    let mut trees = setpoint_trees::Library::get().is_ok().then(Line::default);
    let mut rows = ByPart::default();
    let mut page = None;
    for seed in 0..SEEDS {
        display.prefix(format!("split {} of {SEEDS}: ", seed + 1));
        let mut loaded = split(seed, &ModelChoice::Linear)?;
        let plain = plain(&goal, &mut loaded, seed, &mut display)?;
        let job = job(&goal, seed);
        let trained = setpoint_run::train(&job, &mut loaded, &mut display, None)?;
        if seed == 0 {
            page = Some(report_of(&job, &mut loaded, &trained)?);
        }
        let fitted = trained.fitted;
        rows = loaded.parts.map(|part| part.as_ref().map_or(0, |part| part.sample.len()));
        let fits = [&plain, &fitted.baseline, &fitted.scorer];
        for (scorer, (_, line)) in fits.into_iter().zip(&mut lines) {
            add(line, &goal, &mut loaded, scorer)?;
        }
        if let Some(line) = &mut trees {
            let job = Job { model: TREES, ..job };
            let mut loaded = split(seed, &job.model)?;
            let fitted = setpoint_run::fit(&job, &mut loaded, &mut display, None)?;
            add(line, &goal, &mut loaded, &fitted.scorer)?;
        }
    }
    if let Some(mut page) = page {
        let [_, (_, base), (_, ours)] = &lines;
        page.repeats = Some(repeats(&ours.at_condition, &base.at_condition));
        report::write(&wanted, page)?;
    }
    display.finish();
    print(&summary(&lines, trees.as_ref(), &rows, start.elapsed().as_secs_f64()))
}

fn split(seed: u64, model: &ModelChoice) -> Result<Loaded, Failure> {
    let roles = Roles {
        label: Some("letter".to_owned()),
        positive: Positive::Value("U".to_owned()),
        ..Roles::default()
    };
    let table = Table::from_bytes("letter.csv", LETTER.to_vec(), &ReadOptions::default(), &roles, None)?;
    let plan: SplitPlan = SPLIT.parse()?;
    let parts = plan.split(&table, seed)?;
    load(table, &parts, None, model)
}

/// Cross-entropy as it comes.
fn plain(goal: &Goal, loaded: &mut Loaded, seed: u64, display: &mut Display) -> Result<Scorer, Failure> {
    interrupt::check()?;
    let mut job = job(goal, seed);
    job.settings.method = MethodChoice::CrossEntropy;
    job.settings.positive_weight = PositiveWeight::Fixed(1.0);
    Ok(setpoint_run::fit(&job, loaded, display, None)?.scorer)
}

/// Setpoint, with weighted cross-entropy beside.
fn job(goal: &Goal, seed: u64) -> Job {
    let recorded = [("label", "letter"), ("positive", "U"), ("split", SPLIT)];
    Job {
        goal: goal.clone().into(),
        model: ModelChoice::Linear,
        settings: Settings { seed, rotations: Some(ROTATIONS), ..Settings::default() },
        confidence: Some(CONFIDENCE),
        empty_queries: Empty::default(),
        at_least: None,
        time: None,
        until: None,
        recorded: recorded.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
    }
}

/// The report of one split.
fn report_of(job: &Job, loaded: &mut Loaded, trained: &Trained) -> Result<ReportRecord, Failure> {
    let described = Described {
        title: "UCI Letter Recognition, the letter U against the rest".to_owned(),
        command: Some("setpoint demo".to_owned()),
        confidence: CONFIDENCE,
    };
    let mut record = trained.record.clone();
    record.artifact = "none: the demo keeps no model".to_owned();
    setpoint_run::report_training(job, loaded, trained, &record, &described)
}

/// Adds what a method's model comes to on the test part.
fn add(line: &mut Line, goal: &Goal, loaded: &mut Loaded, scorer: &Scorer) -> Result<(), Failure> {
    let scores = score(&mut loaded.parts, scorer)?;
    let decision = choose(&job(goal, 0), loaded, &scores)?;
    let shipped = &decision.threshold()?.shipped;
    let (Some(test), Some(scores)) = (&loaded.parts.test, &scores.test) else {
        return Err(Failure::input("the demo's split lacks a test part"));
    };
    let margins = shipped.margins(&test.sample, scores)?;
    let found = measure::shipped(goal, &test.sample, &margins)?;
    line.at_condition.extend(Judge::new(goal, &test.sample).value(scores)?);
    line.recall.extend(found.recall);
    line.fpr.extend(found.fpr);
    Ok(())
}

/// Both methods' values over the splits, and the mean of their differences with its standard error.
fn repeats(ours: &[f64], base: &[f64]) -> RepeatRecord {
    let count = ours.len().min(base.len()) as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let differences: Vec<f64> = ours.iter().zip(base).map(|(ours, base)| ours - base).collect();
    let gain = mean(&differences);
    let variance = differences.iter().map(|one| (one - gain).powi(2)).sum::<f64>() / (count - 1.0);
    RepeatRecord {
        runs: ours.len() as u64,
        model: mean(ours),
        baseline: mean(base),
        gain,
        standard_error: (variance / count).sqrt(),
    }
}

/// Mean of the differences in points, ± its standard error.
fn gain(ours: &[f64], base: &[f64]) -> String {
    let RepeatRecord { gain, standard_error, .. } = repeats(ours, base);
    format!("{:+.2} ± {:.2}", 100.0 * gain, 100.0 * standard_error)
}

fn summary(lines: &[(&str, Line); 3], trees: Option<&Line>, rows: &ByPart<usize>, seconds: f64) -> String {
    let mut table = Text::new(["", "recall at fpr<=1%", "certified: recall", "fpr"]);
    let trees = trees.map(|line| ("Setpoint, boosted trees", line));
    for (name, line) in lines.iter().map(|(name, line)| (*name, line)).chain(trees) {
        let columns = [&line.at_condition, &line.recall, &line.fpr];
        let cells = columns.map(|values| mean_and_deviation(values));
        table.row([name.to_owned()].into_iter().chain(cells));
    }
    let ByPart { train, validation, calibration, test } = rows;
    let [_, (_, base), (_, ours)] = lines;
    let gain = gain(&ours.at_condition, &base.at_condition);
    let certified = self::gain(&ours.recall, &base.recall);
    format!(
        "\
UCI Letter Recognition: the letter U against the rest, {GOAL}, linear models.
Test rows, in %, mean ± sd over {SEEDS} random splits
({train} rows to train, {validation} to validate, {calibration} to calibrate, {test} to test).

{table}
Setpoint over weighted cross-entropy, split by split: {gain} points, certified {certified}
(± standard error; the splits share rows).

Recall at fpr<=1%: the most recall that the scores allow with at most 1% false alarms on test.
Certified: at the threshold that ships, chosen on the calibration rows so that at most 1% of new
negatives raise an alarm, with {:.0}% confidence; the test rows only measure it.
cross-entropy, weighted: the weight of the positives chosen on validation. Setpoint: trained for
the goal from there. All are stopped and chosen by the goal's value on the same held-out rows.

Curves, tables and what another threshold would give, of the first split: open {REPORT}

{seconds:.1} s. The same for your own file:

  setpoint train your.csv --label COLUMN --goal \"{GOAL}\" -o model.safetensors --report report.html
  setpoint evaluate model.safetensors more.csv
  setpoint predict model.safetensors new.csv -o decisions.csv
",
        100.0 * CONFIDENCE
    )
}
