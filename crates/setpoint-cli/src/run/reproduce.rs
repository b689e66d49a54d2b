//! `setpoint reproduce`: the paper's tables on real data.

use setpoint_experiments::uci;
use setpoint_run::Failure;

use super::progress::line;
use crate::args::{ReproduceCommand, UciArgs};
use crate::interrupt;

/// Regenerates an experiment.
pub fn reproduce(experiment: &ReproduceCommand, quiet: bool) -> Result<(), Failure> {
    match experiment {
        ReproduceCommand::Uci(args) => match &args.export {
            Some(to) => export(args, to, quiet),
            None => Err(Failure::input("not yet")),
        },
    }
}

/// Writes the splits for other tools.
fn export(args: &UciArgs, to: &std::path::Path, quiet: bool) -> Result<(), Failure> {
    for seed in args.seeds() {
        for set in &args.sets {
            interrupt::check()?;
            let path = uci::export(*set, &args.data, seed, to).map_err(Failure::input)?;
            if !quiet {
                line(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(())
}
