//! `setpoint recertify`: new thresholds and a new certificate, the model as it is.

use setpoint_report::to_json;
use setpoint_run::{Failure, Meant, open, recertify as certify_anew};

use crate::args::{RecertifyArgs, in_flags};
use crate::interrupt;
use crate::plan::{Files, confidence, share};
use crate::run::evaluate::labelled_rows;
use crate::run::predict::scored_rows;
use crate::run::progress::{Display, line};
use crate::run::{print, say_notes, show};

/// Certifies a model anew and writes its file.
pub fn recertify(args: &RecertifyArgs, quiet: bool) -> Result<(), Failure> {
    Files::default()
        .read("the model", &args.model)
        .read("the data", &args.data)
        .read_any("the rows without labels", args.unlabelled.as_ref())
        .read_any("the label table", args.rows.images.labels.as_ref())
        .write("-o", &args.output)
        .check()?;
    let confidence = confidence(&args.confidence)?;
    let prevalence = args.prevalence.as_deref().map(|text| share("prevalence", text)).transpose()?;
    let (file, model) = open(&args.model, args.rows.label.as_deref())?;
    let mut display = Display::new(quiet);
    let mut measure = args.rows.measure();
    measure.weight = args.inclusion.clone().or(measure.weight);
    let (mut examples, hash, mut notes) =
        labelled_rows(&measure, &args.data, &model, false, None, &mut display)?;
    let scores = examples.scores(&model.scorer)?;
    let meant = match (&args.inclusion, prevalence, &args.unlabelled) {
        (Some(_), ..) => {
            let chances = examples.sample.weights().unwrap_or_default();
            Meant::Sampled(chances.iter().map(|chance| f64::from(*chance)).collect())
        }
        (None, Some(share), _) => Meant::Prevalence(share),
        (None, None, Some(path)) => {
            let rows = scored_rows(&args.rows.predict(&args.model, path), &model, &mut display)?;
            notes.extend(rows.notes);
            Meant::Unlabelled(rows.scores)
        }
        (None, None, None) => Meant::Themselves,
    };
    interrupt::check()?;
    display.show("certifying");
    let found = certify_anew(&file, &model, &examples.sample, &scores, &meant, confidence, hash.as_deref())?;
    let mut record = found.record;
    record.artifact = args.output.display().to_string();
    record.notes.splice(0..0, notes);
    record.sentences().for_each(|text| *text = in_flags(text));
    found.file.save(&args.output)?;
    display.finish();
    if args.json {
        print(&to_json(&record)?)?;
    }
    if !quiet {
        show(&record.to_string(), args.json)?;
        say_notes(&record.notes);
        line(&format!("wrote {}", args.output.display()));
    }
    Ok(())
}
