//! `setpoint sample`: which rows to have labelled.

use std::io::{self, Write};

use setpoint::artifact::write_atomically;
use setpoint_data::Codes;
use setpoint_run::{Drawn, Failure, open, sample as drawn_for};

use crate::args::{ImageArgs, PredictArgs, QueryArgs, SampleArgs};
use crate::plan::Files;
use crate::run::predict::{quoted, scored_rows, text_of};
use crate::run::progress::{Display, line};
use crate::run::say_notes;

/// The columns that are written beside those of the file.
const OWN: [&str; 3] = ["row", "score", "inclusion"];

/// Draws rows and writes them.
pub fn sample(args: &SampleArgs, quiet: bool) -> Result<(), Failure> {
    Files::default()
        .read("the model", &args.model)
        .read("the data", &args.data)
        .write("-o", &args.output)
        .check()?;
    if args.output.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("csv")) {
        let name = args.output.display();
        return Err(Failure::input(format!("-o {name}: expected a name that ends in .csv")));
    }
    let (_, model) = open(&args.model, args.label.as_deref())?;
    model.schema.encoder()?;
    let mut display = Display::new(quiet);
    let rows = PredictArgs {
        abstain: None,
        model: args.model.clone(),
        data: args.data.clone(),
        output: args.output.clone(),
        keep: Some("all".to_owned()),
        queries: QueryArgs::default(),
        read: args.read.clone(),
        images: ImageArgs::default(),
    };
    let mut rows = scored_rows(&rows, &model, &mut display)?;
    rows.note_groups(&model);
    let drawn = drawn_for(&model, &rows.scores, rows.groups.as_ref(), args.labels, args.seed)?;
    let kept: Vec<&Codes> = rows.kept.iter().filter(|codes| !OWN.contains(&codes.column.as_str())).collect();
    write_atomically(&args.output, |out| write(out, &kept, &drawn, &rows.scores))?;
    display.finish();
    if !quiet {
        say_notes(&rows.notes);
        let sure = drawn.chances.iter().filter(|chance| **chance >= 1.0).count();
        line(&format!(
            "{} of {} rows, {sure} of them certain to be drawn",
            drawn.rows.len(),
            rows.scores.len()
        ));
        line(&format!("wrote {}", args.output.display()));
    }
    Ok(())
}

fn write(out: &mut dyn Write, kept: &[&Codes], drawn: &Drawn, scores: &[f32]) -> io::Result<()> {
    kept.iter().try_for_each(|codes| write!(out, "{},", quoted(&codes.column)))?;
    writeln!(out, "{}", OWN.join(","))?;
    for (row, chance) in drawn.rows.iter().zip(&drawn.chances) {
        for codes in kept {
            write!(out, "{},", quoted(text_of(codes, *row).unwrap_or_default()))?;
        }
        writeln!(out, "{},{},{chance}", row + 1, scores[*row])?;
    }
    Ok(())
}
