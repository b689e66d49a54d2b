//! Progress on stderr: a bar on a terminal, a line now and then elsewhere.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use setpoint::train::{Observer, Progress};

use crate::interrupt;

/// Least time between two lines.
const PAUSE: Duration = Duration::from_secs(5);

/// Draws a run's progress, and ends it on Ctrl-C.
pub struct Display {
    kind: Kind,
    /// Put in front of every stage, such as `seed 2`.
    prefix: String,
}

enum Kind {
    Silent,
    /// With how far each stage is, in thousandths: some run side by side.
    Bar(ProgressBar, BTreeMap<usize, u64>),
    Lines {
        last: Instant,
        stage: Option<usize>,
    },
}

impl Display {
    /// A display for this stderr.
    pub fn new(quiet: bool) -> Self {
        let kind = if quiet {
            Kind::Silent
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24} {wide_msg}");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            Kind::Bar(bar, BTreeMap::new())
        } else {
            Kind::Lines { last: Instant::now(), stage: None }
        };
        Self { kind, prefix: String::new() }
    }

    /// Shows what is going on besides training.
    pub fn show(&mut self, message: &str) {
        if let Kind::Bar(bar, _) = &self.kind {
            bar.set_message(message.to_owned());
        }
    }

    /// Says something worth keeping.
    pub fn say(&mut self, message: &str) {
        match &self.kind {
            Kind::Silent => {}
            Kind::Bar(bar, _) => bar.println(message),
            Kind::Lines { .. } => line(message),
        }
    }

    /// Puts a text in front of every stage.
    pub fn prefix(&mut self, prefix: String) {
        self.prefix = prefix;
    }

    /// That text.
    pub fn prefixed(&self) -> &str {
        &self.prefix
    }

    /// The bar, to count on; hidden where there is none.
    pub fn bar(&self) -> ProgressBar {
        match &self.kind {
            Kind::Bar(bar, _) => bar.clone(),
            Kind::Silent | Kind::Lines { .. } => ProgressBar::hidden(),
        }
    }

    /// Removes the bar.
    pub fn finish(&mut self) {
        if let Kind::Bar(bar, _) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Display {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        match &mut self.kind {
            Kind::Silent => {}
            Kind::Bar(bar, stages) => {
                bar.set_length(progress.stages as u64 * 1000);
                let within = 1000 * progress.step.min(progress.steps) / progress.steps.max(1);
                stages.insert(progress.stage_index, within);
                bar.set_position(bar.position().max(stages.values().sum()));
                bar.set_message(describe(&self.prefix, progress));
            }
            Kind::Lines { last, stage } => {
                let entered = *stage != Some(progress.stage_index);
                if last.elapsed() >= PAUSE && (entered || last.elapsed() >= 2 * PAUSE) {
                    line(&describe(&self.prefix, progress));
                    *last = Instant::now();
                    *stage = Some(progress.stage_index);
                }
            }
        }
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Counts models over a whole experiment, from several threads.
pub struct Tally {
    bar: ProgressBar,
    quiet: bool,
    last: Mutex<Instant>,
}

impl Tally {
    /// A count for this stderr.
    pub fn new(quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos} of {len} models, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, quiet, last: Mutex::new(Instant::now()) }
    }

    /// How many there will be.
    pub fn expect(&self, models: u64) {
        self.bar.set_length(models);
    }

    /// One more is done; without a bar, a line now and then says how many.
    pub fn advance(&self) {
        self.bar.inc(1);
        if self.quiet || !self.bar.is_hidden() {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.elapsed() >= 2 * PAUSE {
            *last = Instant::now();
            line(&format!("{} of {} models", self.bar.position(), self.bar.length().unwrap_or_default()));
        }
    }

    /// Says something worth keeping.
    pub fn say(&self, message: &str) {
        if !self.quiet {
            self.bar.suspend(|| line(message));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn describe(prefix: &str, progress: &Progress) -> String {
    let Progress { stage, stage_index, stages, step, steps, loss, validation, .. } = progress;
    let validation =
        validation.map_or_else(String::new, |value| format!(", validation {:.2}%", 100.0 * value));
    let at = stage_index + 1;
    format!("{prefix}{at}/{stages} {stage}: step {step}/{steps}, loss {loss:.4}{validation}")
}

/// Writes a line; a closed stderr is not worth ending a run for.
pub fn line(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}
