//! A training run on a terminal.

use std::fmt;

use setpoint::message;

use super::{Confusion, KindRecord, Shipped, TrainRecord};
use crate::classes::{ClassDecisions, ClassesRecord, class_table};
use crate::evaluate::Measured;
use crate::few::{LEAST, alone, dashes};
use crate::gain::GainRecord;
use crate::group::group_table;
use crate::number::{is_money, level, number, percent, value_of};
use crate::queries;
use crate::table::Table;

/// A rate by split: its value, and the examples that it rests on.
pub(crate) type Column = (String, Vec<Option<(f64, u64)>>);

/// Most conditions that the table on a terminal shows; JSON has all.
const MOST_CONDITIONS: usize = 4;

impl fmt::Display for TrainRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, seconds, .. } = self;
        let split_rows: Vec<String> = rows
            .iter()
            .filter(|(_, rows)| **rows > 0)
            .map(|(split, rows)| format!("{rows} {split}"))
            .collect();
        writeln!(f, "goal      {}", self.goal)?;
        writeln!(f, "rows      {} x {} columns", split_rows.join(", "), self.columns)?;
        if let Some(parts) = &self.queries {
            writeln!(f, "queries   {}", queries::counts(parts))?;
        }
        self.tried().iter().try_for_each(|line| writeln!(f, "tried     {line}"))?;
        writeln!(f, "kept      {}", self.winner)?;
        let report = match seconds.report {
            0.0 => String::new(),
            report => format!(", {report:.1} s report"),
        };
        let passes = self.passes.map_or_else(String::new, |passes| format!(" in {passes} passes"));
        writeln!(
            f,
            "time      {:.1} s ({:.1} s reading, {:.1} s training{report}, {} gradient evaluations{passes})\n",
            seconds.total, seconds.load, seconds.train, self.steps
        )?;
        self.write_table(f)?;
        self.write_gain(f)?;
        self.write_thresholds(f)?;
        if let Some((part, paid)) =
            self.money.iter().filter_map(|(part, one)| Some((part, one.as_ref()?))).last()
        {
            writeln!(f, "money     {paid}, on the {part} part")?;
        }
        if let Some((part, band)) =
            self.band.iter().filter_map(|(part, one)| Some((part, one.as_ref()?))).last()
        {
            write!(f, "\non the {part} part\n{band}")?;
        }
        if let Some(part) = self.group_rates_from.as_ref().filter(|_| !self.group_rates.is_empty()) {
            let bounds = self
                .group_rates
                .iter()
                .flat_map(|group| &group.rates)
                .find_map(|rate| rate.interval.as_ref());
            let with = bounds
                .map_or_else(String::new, |bounds| format!(", with {} intervals", level(bounds.confidence)));
            write!(f, "\non the {part} part, by group{with}\n{}", group_table(&self.group_rates))?;
        }
        if let Some(ClassesRecord { shifts, decided, plain, .. }) = &self.classes
            && let Some((part, decided)) =
                decided.iter().filter_map(|(part, one)| Some((part, one.as_ref()?))).last()
        {
            write!(f, "\non the {part} part, by class")?;
            writeln!(f, "{}", if plain.is_some() { "; plain: cross-entropy's largest score" } else { "" })?;
            write!(f, "{}", class_table(decided, shifts, plain.as_ref()))?;
        }
        Ok(())
    }
}

impl TrainRecord {
    /// Parts as rows: the value at the condition for both methods, and what the threshold gives.
    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns_at_threshold();
        let mut heading = vec![String::new(), self.goal.clone(), self.baseline.method.clone()];
        let at = match (&self.classes, &self.queries) {
            (Some(_), _) => "as shipped: ",
            (None, Some(_)) => "",
            (None, None) => "at threshold: ",
        };
        let first = |place: usize| if place == 0 { at } else { "" };
        heading.extend(
            columns
                .iter()
                .enumerate()
                .map(|(place, (name, _))| format!("{}{}", first(place), message::clip(name))),
        );
        let mut table = Table::with_heading(heading);
        let values = self.objective.iter().zip(self.baseline.objective.iter()).zip(self.examples.iter());
        let mut few = false;
        for (place, (((split, value), (_, base)), (_, examples))) in values.enumerate() {
            let goal = [*value, *base].map(|value| Some((value?, *examples)));
            let at_threshold = columns.iter().map(|(_, values)| values[place]);
            if at_threshold.clone().all(|value| value.is_none()) {
                continue;
            }
            let cells = goal.into_iter().chain(at_threshold).enumerate().map(|(column, value)| {
                let told = value.and_then(|(value, examples)| alone(Some(value), examples));
                few |= value.is_some() && told.is_none();
                match told {
                    Some(paid) if column < 3 && is_money(&self.goal) => number(paid),
                    told => value_of(told),
                }
            });
            table.row([split.to_owned()].into_iter().chain(cells));
        }
        write!(f, "{table}")?;
        // Means over classes have no interval anywhere.
        let elsewhere =
            if self.classes.is_some() { "" } else { "; evaluate has such figures with their intervals" };
        if few { writeln!(f, "{}{elsewhere}", dashes()) } else { Ok(()) }
    }

    /// The rates at the threshold that a reader wants first: the objective, the conditions, then
    /// recall, fpr and precision, or those over all classes. Each with its values by split, and the examples behind them.
    fn columns_at_threshold(&self) -> Vec<Column> {
        let shipped = |name: &str, value: fn(&Shipped) -> Option<f64>| {
            let known = |shipped: &Shipped| Some((value(shipped)?, shipped.support.behind(name)));
            self.shipped.iter().map(|(_, shipped)| shipped.as_ref().and_then(known)).collect()
        };
        if let Some(parts) = &self.queries {
            return queries::columns(parts);
        }
        let objective = self.operating.split(" @").next().unwrap_or_default().to_owned();
        let mut columns = vec![(objective.clone(), shipped(&objective, |shipped| shipped.objective))];
        for (place, name) in self.constraint_names.iter().enumerate().take(MOST_CONDITIONS) {
            let rates = self.constraint.zip(&self.constraint_examples);
            let rate = |part: &(&Option<Vec<Option<f64>>>, &Vec<u64>)| {
                Some(((*part.0.as_ref()?.get(place)?)?, *part.1.get(place)?))
            };
            columns.push((name.clone(), rates.iter().map(|(_, part)| rate(part)).collect()));
        }
        if let Some(classes) = &self.classes {
            let decided = classes.decided.iter().zip(self.examples.iter());
            let objective = |((_, decided), (_, examples)): ((_, &Option<ClassDecisions>), (_, &u64))| {
                Some((decided.as_ref()?.objective?, *examples))
            };
            columns[0].1 = decided.map(objective).collect();
            for name in ["accuracy", "balanced-accuracy", "macro-f1"] {
                let overall = |(_, decided): (_, &Option<ClassDecisions>)| {
                    decided.as_ref()?.overall(name).map(Measured::rests)
                };
                columns.push((name.to_owned(), classes.decided.iter().map(overall).collect()));
            }
        } else {
            columns.push(("recall".to_owned(), shipped("recall", |shipped| shipped.recall)));
            columns.push(("fpr".to_owned(), shipped("fpr", |shipped| shipped.fpr)));
            columns.push(("precision".to_owned(), shipped("precision", |shipped| shipped.precision)));
        }
        let mut seen = Vec::new();
        columns.retain(|(name, _)| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        columns
    }

    /// What the kinds of model that were tried came to, a line for each.
    pub(crate) fn tried(&self) -> Vec<String> {
        let amount = |value: f64| match is_money(&self.goal) {
            true => number(value),
            false => value_of(Some(value)),
        };
        let line = |kind: &KindRecord| {
            let value = match (&kind.failed, kind.validation) {
                (Some(why), _) => why.clone(),
                (None, Some(value)) => format!("{} on validation", amount(value)),
                (None, None) => "misses the conditions on validation".to_owned(),
            };
            let error = kind.standard_error.map_or_else(String::new, |error| format!(" ± {}", amount(error)));
            let gain = kind.gain.map_or_else(String::new, |gain| {
                format!(" ({}{}{error})", if gain < 0.0 { "" } else { "+" }, amount(gain))
            });
            format!("{}: {value}{gain}{}", kind.model, if kind.kept { ", kept" } else { "" })
        };
        self.kinds.iter().map(line).collect()
    }

    fn write_gain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nbaseline  {}", self.baseline.name)?;
        let told = |gain: &&GainRecord| {
            gain.interval.is_some()
                || self.examples.get(&gain.part).is_some_and(|examples| *examples >= LEAST)
        };
        match self.gain.as_ref().filter(told) {
            Some(gain) if is_money(&self.goal) => writeln!(f, "gain      {}", gain.as_amount(&self.goal))?,
            Some(gain) => writeln!(f, "gain      {gain}")?,
            None => {}
        }
        for step in &self.recipe {
            writeln!(f, "step      {}: {}", step.name, if step.taken { "taken" } else { "left" })?;
        }
        Ok(())
    }

    fn write_thresholds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parts) = &self.queries {
            return queries::write_bound(f, parts, self.bound.as_ref(), self.certificate_refused.is_some());
        }
        match &self.groups {
            None if self.classes.is_some() => {
                writeln!(f, "shifts    for {}, chosen on the {} part", self.operating, self.thresholds_from)?;
            }
            None => {
                let thresholds: Vec<String> =
                    self.thresholds.iter().map(|one| message::number(*one)).collect();
                let name = if self.band.is_none() { "threshold" } else { "between  " };
                writeln!(f, "{name} {} for {}", thresholds.join(", "), self.operating)?;
            }
            Some(groups) => {
                writeln!(f, "thresholds by {} for {}", message::clip(&groups.column), self.operating)?;
                for (name, threshold) in groups.names.iter().zip(&self.thresholds) {
                    writeln!(f, "  {}: {}", message::clip(name), message::number(*threshold))?;
                }
            }
        }
        if let Some(way) = &self.group_conditions_met_by {
            writeln!(f, "groups    {way}")?;
        }
        match (&self.certificate, &self.certificate_refused) {
            (Some(certificate), _) => {
                let text = certificate.to_string().replace("\n  ", "\n          ");
                writeln!(f, "          {text}")?;
                match self.certificate_caution() {
                    Some(caution) => writeln!(f, "          caution: {caution}"),
                    None => Ok(()),
                }
            }
            (None, reason) => {
                match &self.approximate {
                    Some(limits) => {
                        let text = limits.to_string().replace("\n  ", "\n          ");
                        writeln!(f, "          {text}")?;
                    }
                    None => {
                        let asked = if reason.is_some() { "" } else { " (no certificate was asked for)" };
                        let from = &self.thresholds_from;
                        let met = self.unmet.get(from).is_none_or(Vec::is_empty);
                        let holds = if met { ", where it holds exactly" } else { "" };
                        let holds = if self.constraint_names.is_empty() && self.classes.is_some() {
                            ""
                        } else {
                            holds
                        };
                        writeln!(f, "          not certified{asked}: chosen on the {from} part{holds}")?;
                    }
                }
                self.not_met().map_or(Ok(()), |text| writeln!(f, "not met   {text}"))
            }
        }
    }
}

impl fmt::Display for Shipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = [("recall", self.recall), ("fpr", self.fpr), ("precision", self.precision)];
        let known = rates.iter().filter_map(|(name, value)| Some(format!("{name} {}", percent((*value)?))));
        write!(f, "{}", known.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Confusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "predicted positive", "predicted negative"]);
        let whole = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { number(value) };
        table.row(["positive".to_owned(), whole(self.true_positives), whole(self.false_negatives)]);
        table.row(["negative".to_owned(), whole(self.false_positives), whole(self.true_negatives)]);
        write!(f, "{table}")
    }
}
