//! `setpoint reproduce`: the paper's tables on real data.

use std::path::{Path, PathBuf};

use setpoint_experiments::{ExperimentError, JOURNAL, Study, StudyPlan, Task, Watch, run, trees, uci};
use setpoint_report::to_json;
use setpoint_run::Failure;

use super::print;
use super::progress::{Tally, line};
use crate::args::ReproduceCommand;
use crate::interrupt;
use crate::plan::Files;

/// Regenerates an experiment.
pub fn reproduce(experiment: &ReproduceCommand, quiet: bool) -> Result<(), Failure> {
    match experiment {
        ReproduceCommand::Uci(args) => {
            let (plan, study) = args.study();
            match &args.export {
                Some(to) => export(&plan, to, |task, seed| uci::export(&plan.data, task, seed, to), quiet),
                None => conduct(&plan, &study, args.study.json, quiet),
            }
        }
        ReproduceCommand::Images(args) => {
            let (plan, study) = args.study().map_err(Failure::input)?;
            conduct(&plan, &study, args.common.study.json, quiet)
        }
        ReproduceCommand::Networks(args) => {
            let (plan, study) = args.study();
            conduct(&plan, &study, args.common.study.json, quiet)
        }
        ReproduceCommand::Classes(args) => {
            let (plan, study) = args.study();
            conduct(&plan, &study, args.study.json, quiet)
        }
        ReproduceCommand::Trees(args) => {
            let (plan, mut study) = args.study();
            if let Some(to) = &args.export {
                return export(&plan, to, |task, seed| study.export(&plan.data, task, seed, to), quiet);
            }
            if let Some(peers) = &args.peers {
                check(&plan, Files::default().read("the results of other tools", peers))?;
                study.peers = trees::peers(peers).map_err(failure)?;
            }
            conduct(&plan, &study, args.study.json, quiet)
        }
    }
}

/// The data files of a study, and what else is read.
fn data_files(plan: &StudyPlan, files: Files) -> Files {
    let names = plan.tasks.iter().flat_map(|task| task.source.files());
    names.fold(files, |files, name| files.read("the data", &plan.data.join(name)))
}

/// Writes the splits for other tools.
fn export(
    plan: &StudyPlan,
    to: &Path,
    write: impl Fn(&Task, u64) -> Result<PathBuf, ExperimentError>,
    quiet: bool,
) -> Result<(), Failure> {
    let splits = || plan.seeds.iter().flat_map(|seed| plan.tasks.iter().map(|task| (task, *seed)));
    let mut files = data_files(plan, Files::default());
    for (task, seed) in splits() {
        files = files.write_in("--export", to, &format!("{}-{seed}.safetensors", task.name));
    }
    files.check()?;
    for (task, seed) in splits() {
        interrupt::check()?;
        let path = write(task, seed).map_err(failure)?;
        if !quiet {
            line(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

/// Refuses results that would replace what they are made from.
fn check(plan: &StudyPlan, files: Files) -> Result<(), Failure> {
    let ends = ["md", "html", "json"].map(|end| format!("{}.{end}", plan.experiment.name()));
    let written = ends.iter().map(String::as_str).chain([JOURNAL]);
    let files = data_files(plan, files);
    written.fold(files, |files, name| files.write_in("--output", &plan.output, name)).check()
}

/// Runs a study, prints its tables and says where its results are.
fn conduct(plan: &StudyPlan, study: &impl Study, json: bool, quiet: bool) -> Result<(), Failure> {
    check(plan, Files::default())?;
    let tally = Tally::new(quiet);
    let record = run(plan, study, &tally).map_err(failure)?;
    tally.finish();
    print(&if json { to_json(&record)? } else { record.text() })?;
    for end in ["md", "html"].iter().filter(|_| !quiet) {
        let name = format!("{}.{end}", plan.experiment.name());
        line(&format!("wrote {}", plan.output.join(name).display()));
    }
    Ok(())
}

fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Stopped => Failure::interrupted(error),
        ExperimentError::Train { what, error } => Failure::from(*error).context(what),
        ExperimentError::Trees { what, error } => Failure::from(*error).context(what),
        error => Failure::input(error),
    }
}

impl Watch for Tally {
    fn begin(&self, fits: u64, known: usize, cells: usize) {
        if known > 0 {
            self.say(&format!("{known} of {cells} cells are known from an earlier run"));
        }
        self.expect(fits);
    }

    fn fitted(&self) {
        self.advance();
    }

    fn stop(&self) -> bool {
        interrupt::asked()
    }
}
