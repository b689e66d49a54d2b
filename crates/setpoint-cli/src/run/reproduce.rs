//! `setpoint reproduce`: the paper's tables on real data.

use std::path::Path;

use setpoint_experiments::uci::{self, Plan};
use setpoint_experiments::{ExperimentError, Watch, network};
use setpoint_report::to_json;
use setpoint_run::Failure;

use super::print;
use super::progress::{Tally, line};
use crate::args::{ImagesArgs, NetworksArgs, ReproduceCommand, UciArgs};
use crate::interrupt;

/// The paper's number of trials.
const TRIALS: u64 = 5;

/// Regenerates an experiment.
pub fn reproduce(experiment: &ReproduceCommand, quiet: bool) -> Result<(), Failure> {
    match experiment {
        ReproduceCommand::Uci(args) => match &args.export {
            Some(to) => export(args, to, quiet),
            None => uci(args, quiet),
        },
        ReproduceCommand::Images(args) => images(args, quiet),
        ReproduceCommand::Networks(args) => networks(args, quiet),
    }
}

/// Writes the splits for other tools.
fn export(args: &UciArgs, to: &Path, quiet: bool) -> Result<(), Failure> {
    for seed in args.trials.seeds(TRIALS) {
        for set in &args.sets {
            interrupt::check()?;
            let path = uci::export(*set, &args.data, seed, to).map_err(failure)?;
            if !quiet {
                line(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(())
}

/// Runs the tables and writes the results.
fn uci(args: &UciArgs, quiet: bool) -> Result<(), Failure> {
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
    if !quiet {
        for name in ["uci.md", "uci.html"] {
            line(&format!("wrote {}", plan.output.join(name).display()));
        }
    }
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
    let tally = Tally::new(quiet);
    let record = &plan.run(&tally).map_err(failure)?;
    network::save(record, &plan.output).map_err(failure)?;
    tally.finish();
    print(&if json { to_json(record)? } else { network::text(record) })?;
    if !quiet {
        for end in ["md", "html"] {
            line(&format!("wrote {}", plan.output.join(format!("{}.{end}", record.experiment)).display()));
        }
    }
    Ok(())
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
