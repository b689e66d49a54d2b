//! `setpoint reproduce`: the paper's tables on real data.

use std::path::{Path, PathBuf};

use setpoint_experiments::{ExperimentError, JOURNAL, Plan, Study, Task, Watch, run, trees, uci};
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
                None => conduct(&plan, &study, Files::default(), args.study.json, quiet),
            }
        }
        ReproduceCommand::Images(args) => {
            let (plan, study) = args.study().map_err(Failure::input)?;
            conduct(&plan, &study, Files::default(), args.common.study.json, quiet)
        }
        ReproduceCommand::Networks(args) => {
            let (plan, study) = args.study();
            conduct(&plan, &study, Files::default(), args.common.study.json, quiet)
        }
        ReproduceCommand::Trees(args) => {
            let peers = args.peers.as_deref().map_or_else(|| Ok(Vec::new()), trees::peers);
            let (plan, study) = args.study(peers.map_err(failure)?);
            let files = Files::default().read_any("the results of other tools", args.peers.as_ref());
            match &args.export {
                Some(to) => export(&plan, to, |task, seed| study.export(&plan.data, task, seed, to), quiet),
                None => conduct(&plan, &study, files, args.study.json, quiet),
            }
        }
    }
}

/// The data files of a study, and what else is read.
fn data_files(plan: &Plan, files: Files) -> Files {
    let names = plan.tasks.iter().flat_map(|task| task.source.files());
    names.fold(files, |files, name| files.read("the data", &plan.data.join(name)))
}

/// Writes the splits for other tools.
fn export(
    plan: &Plan,
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

/// Runs a study, prints its tables and says where its results are.
fn conduct(plan: &Plan, study: &impl Study, files: Files, json: bool, quiet: bool) -> Result<(), Failure> {
    let (output, name) = (&plan.output, plan.experiment.name());
    let ends = ["md", "html", "json"].map(|end| format!("{name}.{end}"));
    // Nothing replaces what it is made from.
    let written = ends.iter().map(String::as_str).chain([JOURNAL]);
    let files = data_files(plan, files);
    written.fold(files, |files, name| files.write_in("--output", output, name)).check()?;
    let tally = Tally::new(quiet);
    let record = run(plan, study, &tally).map_err(failure)?;
    tally.finish();
    print(&if json { to_json(&record)? } else { record.text() })?;
    for end in ends[..2].iter().filter(|_| !quiet) {
        line(&format!("wrote {}", output.join(end).display()));
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
