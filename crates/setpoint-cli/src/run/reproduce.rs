//! `setpoint reproduce`: the paper's tables on real data.

use std::path::{Path, PathBuf};

use setpoint_experiments::uci::{self, Plan};
use setpoint_experiments::{ExperimentError, JOURNAL, Watch, network, trees};
use setpoint_report::to_json;
use setpoint_run::Failure;

use super::print;
use super::progress::{Tally, line};
use crate::args::{ImagesArgs, NetworksArgs, ReproduceCommand, TreesArgs, UciArgs};
use crate::interrupt;
use crate::plan::Files;

/// The paper's number of trials.
const TRIALS: u64 = 5;
/// Of the comparison of trees.
const TREE_TRIALS: u64 = 10;

/// The data files of an experiment.
fn data_files<'n>(data: &Path, names: impl IntoIterator<Item = &'n &'static str>) -> Files {
    names.into_iter().fold(Files::default(), |files, name| files.read("the data", &data.join(name)))
}

/// Refuses results that would replace what they are made from.
fn check_results(files: Files, output: &Path, name: &str) -> Result<(), Failure> {
    let ends = ["md", "html", "json"].map(|end| format!("{name}.{end}"));
    let written = ends.iter().map(String::as_str).chain([JOURNAL]);
    written.fold(files, |files, name| files.write_in("--output", output, name)).check()
}

/// Regenerates an experiment.
pub fn reproduce(experiment: &ReproduceCommand, quiet: bool) -> Result<(), Failure> {
    match experiment {
        ReproduceCommand::Uci(args) => match &args.export {
            Some(to) => {
                let write = |set, seed| uci::export(set, &args.data, seed, to);
                let files = data_files(&args.data, args.sets.iter().flat_map(|set| set.files()));
                let named: Vec<_> = args.sets.iter().map(|set| (set.name(), *set)).collect();
                export(&named, &args.trials.seeds(TRIALS), (files, to), write, quiet)
            }
            None => uci(args, quiet),
        },
        ReproduceCommand::Images(args) => images(args, quiet),
        ReproduceCommand::Networks(args) => networks(args, quiet),
        ReproduceCommand::Trees(args) => match &args.export {
            Some(to) => {
                let configurations = args.settings().configurations;
                let write = |task, seed| trees::export(task, &args.data, seed, &configurations, to);
                let files = data_files(&args.data, args.sets.iter().flat_map(|task| task.names()));
                let named: Vec<_> = args.sets.iter().map(|task| (task.name(), *task)).collect();
                export(&named, &args.trials.seeds(TREE_TRIALS), (files, to), write, quiet)
            }
            None => forests(args, quiet),
        },
    }
}

/// Writes the splits for other tools.
fn export<T: Copy>(
    sets: &[(&'static str, T)],
    seeds: &[u64],
    (mut files, to): (Files, &Path),
    write: impl Fn(T, u64) -> Result<PathBuf, ExperimentError>,
    quiet: bool,
) -> Result<(), Failure> {
    for (seed, (name, _)) in seeds.iter().flat_map(|seed| sets.iter().map(move |set| (seed, set))) {
        files = files.write_in("--export", to, &format!("{name}-{seed}.safetensors"));
    }
    files.check()?;
    for seed in seeds {
        for (_, set) in sets {
            interrupt::check()?;
            let path = write(*set, *seed).map_err(failure)?;
            if !quiet {
                line(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(())
}

/// Runs the tables and writes the results.
fn uci(args: &UciArgs, quiet: bool) -> Result<(), Failure> {
    let files = data_files(&args.data, args.sets.iter().flat_map(|set| set.files()));
    check_results(files, &args.output, "uci")?;
    let plan = Plan {
        data: args.data.clone(),
        output: args.output.clone(),
        seeds: args.trials.seeds(TRIALS),
        sets: args.sets.clone(),
        tables: args.tables(),
        methods: args.methods(),
        anew: args.anew.clone(),
        threads: rayon::current_num_threads(),
        command: command(),
    };
    let tally = Tally::new(quiet);
    let results = plan.run(&tally).map_err(failure)?;
    tally.say("drawing the pictures");
    results.save(&plan.output, &tally).map_err(failure)?;
    tally.finish();
    print(&if args.json { to_json(&results.record)? } else { uci::text(&results.record) })?;
    wrote(&plan.output, "uci", quiet);
    Ok(())
}

/// Runs the paper's image experiments.
fn images(args: &ImagesArgs, quiet: bool) -> Result<(), Failure> {
    args.check().map_err(Failure::input)?;
    let plan = network::Plan {
        protocol: args.protocol(),
        data: args.common.data.clone(),
        output: args.common.output.clone(),
        seeds: args.seeds(),
        tasks: args.tasks().map_err(Failure::input)?,
        goals: args.goals(),
        methods: args.methods(),
        anew: args.common.anew.clone(),
        cache: setpoint_data::default_cache(),
        threads: rayon::current_num_threads(),
        command: command(),
    };
    study(&plan, args.common.json, quiet)
}

/// Runs the comparison at equal compute.
fn networks(args: &NetworksArgs, quiet: bool) -> Result<(), Failure> {
    let plan = network::Plan {
        protocol: args.protocol(),
        data: args.common.data.clone(),
        output: args.common.output.clone(),
        seeds: args.seeds(),
        tasks: args.sets.clone(),
        goals: args.goals(),
        methods: args.methods(),
        anew: args.common.anew.clone(),
        cache: setpoint_data::default_cache(),
        threads: rayon::current_num_threads(),
        command: command(),
    };
    study(&plan, args.common.json, quiet)
}

/// Runs a study of networks and writes its results.
fn study(plan: &network::Plan, json: bool, quiet: bool) -> Result<(), Failure> {
    let files = data_files(&plan.data, plan.tasks.iter().flat_map(|task| task.source.files()));
    check_results(files, &plan.output, plan.protocol.study.name())?;
    let tally = Tally::new(quiet);
    let record = &plan.run(&tally).map_err(failure)?;
    network::save(record, &plan.output).map_err(failure)?;
    tally.finish();
    print(&if json { to_json(record)? } else { network::text(record) })?;
    wrote(&plan.output, record.experiment, quiet);
    Ok(())
}

/// Runs the comparison of boosted trees.
fn forests(args: &TreesArgs, quiet: bool) -> Result<(), Failure> {
    let files = data_files(&args.data, args.sets.iter().flat_map(|task| task.names()));
    let files = files.read_any("the results of other tools", args.peers.as_ref());
    check_results(files, &args.output, "trees")?;
    let peers = args.peers.as_deref().map_or_else(|| Ok(Vec::new()), trees::record::peers);
    let plan = trees::Plan {
        data: args.data.clone(),
        output: args.output.clone(),
        seeds: args.trials.seeds(TREE_TRIALS),
        tasks: args.sets.clone(),
        settings: args.settings(),
        anew: args.anew,
        peers: peers.map_err(failure)?,
        threads: rayon::current_num_threads(),
        command: command(),
    };
    let tally = Tally::new(quiet);
    let record = plan.run(&tally).map_err(failure)?;
    trees::save(&record, &plan.output).map_err(failure)?;
    tally.finish();
    print(&if args.json { to_json(&record)? } else { trees::text(&record) })?;
    wrote(&plan.output, "trees", quiet);
    Ok(())
}

/// Says where the results are.
fn wrote(output: &Path, name: &str, quiet: bool) {
    for end in ["md", "html"].iter().filter(|_| !quiet) {
        line(&format!("wrote {}", output.join(format!("{name}.{end}")).display()));
    }
}

/// What was typed, but for the data directory: it is different on every machine.
fn command() -> String {
    let mut words = vec!["setpoint".to_owned()];
    let mut typed = std::env::args().skip(1);
    while let Some(word) = typed.next() {
        if word == "--data" {
            typed.next();
        } else if !word.starts_with("--data=") {
            words.push(word);
        }
    }
    words.join(" ")
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
