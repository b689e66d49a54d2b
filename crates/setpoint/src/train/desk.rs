//! Stages side by side: each asks for what it needs and waits, and one walk over the rows answers all that wait.
//!
//! ```text
//!  stage 1 ─┐ look on validation        served first, all at once
//!  stage 2 ─┼ counts of kept scores     then these
//!  stage 3 ─┘ a walk over the features  once every stage waits for one, coarse rows before fine ones
//! ```
//!
//! A stage runs on a thread of its own, which only waits and thinks: everything that grows with the rows is done here,
//! on the threads of the caller. What a stage comes to does not depend on the stages beside it.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::full_batch::Penalty;
use super::method::Loss;
use super::selection::{Best, Selection};
use super::stage::{Reporter, Running};
use super::{Candidate, Detail, TrainError};
use crate::examples::{Answer, Examples, Question};
use crate::shard::Shard;

/// Scores that are held for losses which need all of them at once: beyond that, stages take turns.
const SCORES: usize = 1 << 25;

/// The rows that stages learn from: all of them, then ever fewer, to come close on.
pub(super) struct Level<'a> {
    pub(super) examples: &'a mut (dyn Examples + 'a),
    pub(super) rows: &'a dyn Shard,
    /// Scores for each row.
    pub(super) outputs: usize,
}

/// Runs a stage at its desk.
type Run<'a> = Box<dyn FnOnce(&mut Desk) -> Result<Best, TrainError> + Send + 'a>;

/// A stage to be run.
pub(super) struct Job<'a> {
    /// Which stage of the run it is.
    pub(super) index: usize,
    pub(super) run: Run<'a>,
}

/// What a loss came to, with the scores and the gradient.
type Evaluated = (Result<f64, TrainError>, Vec<f32>, Vec<f64>);

/// A loss that is elsewhere for a while.
type Lent = Box<dyn Loss>;

/// What to do with a loss and the scores of some parameters.
enum Errand {
    Evaluate(Penalty),
    Correct,
    /// The scores went there from these.
    Follow(Vec<f32>),
}

enum Request {
    Ask(usize, Question),
    Lend(usize, Lent, Vec<f32>, Errand),
    Look(Vec<f32>),
    Step { step: u64, steps: u64, loss: f64, validation: Option<f64>, detail: Option<Detail> },
    Save(Running),
    Done(Result<Best, TrainError>, u64),
}

enum Reply {
    Answer(Answer),
    Returned(Lent, Result<f64, TrainError>, Vec<f32>, Vec<f64>),
    Looked(Option<f64>, Vec<f32>),
}

/// Where a stage asks.
pub(super) struct Desk {
    requests: Sender<Request>,
    replies: Receiver<Reply>,
    /// Where its scores are kept.
    pub(super) column: usize,
    /// What a checkpoint has of it.
    pub(super) resume: Option<Running>,
    /// Whether there are checkpoints.
    pub(super) saves: bool,
    /// Its gradient evaluations so far.
    pub(super) evaluations: u64,
}

impl Desk {
    /// Says something that needs no reply.
    fn tell(&mut self, request: Request) -> Result<(), TrainError> {
        // Nobody is there once another stage has ended the run.
        self.requests.send(request).map_err(|_| TrainError::Stopped)
    }

    fn request(&mut self, request: Request) -> Result<Reply, TrainError> {
        self.tell(request)?;
        self.replies.recv().map_err(|_| TrainError::Stopped)
    }

    /// Asks about the rows of a level.
    pub(super) fn ask(&mut self, level: usize, question: Question) -> Result<Answer, TrainError> {
        match self.request(Request::Ask(level, question))? {
            Reply::Answer(answer) => Ok(answer),
            _ => Err(TrainError::Stopped),
        }
    }

    fn lend(
        &mut self,
        level: usize,
        loss: &mut Option<Lent>,
        parameters: &[f32],
        errand: Errand,
    ) -> Result<Evaluated, TrainError> {
        let lent = loss.take().ok_or(TrainError::Stopped)?;
        match self.request(Request::Lend(level, lent, parameters.to_vec(), errand))? {
            Reply::Returned(returned, value, scores, gradient) => {
                *loss = Some(returned);
                Ok((value, scores, gradient))
            }
            _ => Err(TrainError::Stopped),
        }
    }

    /// Loss, gradient and scores, of a loss that needs all scores at once.
    pub(super) fn evaluate(
        &mut self,
        level: usize,
        loss: &mut Option<Lent>,
        parameters: &[f32],
        penalty: &Penalty,
    ) -> Result<Evaluated, TrainError> {
        self.lend(level, loss, parameters, Errand::Evaluate(penalty.clone()))
    }

    /// [Corrects](Loss::correct) the loss, or tells it of a [step](Loss::after_step) from these scores.
    pub(super) fn correct(
        &mut self,
        loss: &mut Option<Lent>,
        parameters: &[f32],
        before: Option<Vec<f32>>,
    ) -> Result<Result<f64, TrainError>, TrainError> {
        let errand = before.map_or(Errand::Correct, Errand::Follow);
        Ok(self.lend(0, loss, parameters, errand)?.0)
    }

    /// The goal's value on validation, and the scores there.
    pub(super) fn look(&mut self, parameters: &[f32]) -> Result<(Option<f64>, Vec<f32>), TrainError> {
        match self.request(Request::Look(parameters.to_vec()))? {
            Reply::Looked(value, scores) => Ok((value, scores)),
            _ => Err(TrainError::Stopped),
        }
    }

    /// Tells the observer.
    pub(super) fn step(
        &mut self,
        step: u64,
        steps: u64,
        loss: f64,
        validation: Option<f64>,
        detail: Option<Detail>,
    ) -> Result<(), TrainError> {
        self.tell(Request::Step { step, steps, loss, validation, detail })
    }

    /// Keeps where the stage is, if there are checkpoints.
    pub(super) fn save(&mut self, running: impl FnOnce() -> Running) -> Result<(), TrainError> {
        if self.saves { self.tell(Request::Save(running())) } else { Ok(()) }
    }
}

/// Runs the jobs side by side; what they come to, in their order.
pub(super) fn serve(
    levels: &mut [Level<'_>],
    selection: &mut Selection<'_>,
    reporter: &mut Reporter<'_>,
    jobs: Vec<Job<'_>>,
) -> Result<Vec<Candidate>, TrainError> {
    std::thread::scope(|scope| {
        let mut stages = Vec::with_capacity(jobs.len());
        for (column, Job { index, run }) in jobs.into_iter().enumerate() {
            let ((requests, inbox), (outbox, replies)) = (channel(), channel());
            let (resume, saves) = (reporter.resume(index), reporter.saves());
            let mut desk = Desk { requests, replies, column, resume, saves, evaluations: 0 };
            let work = move || {
                // What little work a stage does stays on a thread of its own: those of the caller may be waiting for it.
                let best = match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                    Ok(alone) => alone.install(|| run(&mut desk)),
                    Err(error) => Err(TrainError::Threads { message: error.to_string() }),
                };
                let _ = desk.requests.send(Request::Done(best, desk.evaluations));
            };
            let name = format!("stage {index}");
            std::thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, work)
                .map_err(|error| TrainError::Threads { message: error.to_string() })?;
            stages.push(Waiting { index, inbox, outbox, request: None, done: None });
        }
        let mut hall = Hall { levels, selection, reporter, stages };
        while hall.turn()? {}
        Ok(hall.stages.into_iter().filter_map(|stage| stage.done).collect())
    })
}

/// A stage, seen from here.
struct Waiting {
    index: usize,
    inbox: Receiver<Request>,
    outbox: Sender<Reply>,
    request: Option<Request>,
    done: Option<Candidate>,
}

impl Waiting {
    /// Takes note of a step, a checkpoint or the end, or of what the stage waits for.
    fn note(&mut self, request: Request, reporter: &mut Reporter<'_>) -> Result<(), TrainError> {
        match request {
            Request::Step { step, steps, loss, validation, detail } => {
                let told = reporter.step(self.index, step, steps, loss, validation, detail);
                if told == ControlFlow::Break(()) {
                    return Err(TrainError::Stopped);
                }
            }
            Request::Save(running) => reporter.save(self.index, running)?,
            Request::Done(best, evaluations) => {
                self.done = Some(reporter.end(self.index, best?, evaluations)?);
            }
            waiting => self.request = Some(waiting),
        }
        Ok(())
    }

    fn reply(&mut self, reply: Reply) {
        self.request = None;
        // A stage that has ended wants no reply.
        let _ = self.outbox.send(reply);
    }
}

struct Hall<'h, 'l, 's, 'r> {
    levels: &'h mut [Level<'l>],
    selection: &'h mut Selection<'s>,
    reporter: &'h mut Reporter<'r>,
    stages: Vec<Waiting>,
}

impl Hall<'_, '_, '_, '_> {
    /// Waits until every stage waits, and serves what comes first; false once all stages are done.
    fn turn(&mut self) -> Result<bool, TrainError> {
        for stage in &mut self.stages {
            while stage.done.is_none() && stage.request.is_none() {
                let request = stage.inbox.recv().map_err(|_| TrainError::Stopped)?;
                stage.note(request, self.reporter)?;
            }
        }
        if self.stages.iter().all(|stage| stage.done.is_some()) {
            return Ok(false);
        }
        if self.looks()? || self.counts()? {
            return Ok(true);
        }
        self.walk()?;
        Ok(true)
    }

    /// Looks at validation.
    fn looks(&mut self) -> Result<bool, TrainError> {
        let looks = self.stages.iter_mut().filter(|stage| matches!(stage.request, Some(Request::Look(_))));
        let mut looks: Vec<&mut Waiting> = looks.collect();
        let any = !looks.is_empty();
        let together = (SCORES / self.selection.size().max(1)).max(1);
        for looks in looks.chunks_mut(together) {
            let parameters = looks.iter_mut().filter_map(|stage| match stage.request.take() {
                Some(Request::Look(parameters)) => Some(parameters),
                _ => None,
            });
            let values = self.selection.values(parameters.collect())?;
            looks.iter_mut().zip(values).for_each(|(stage, (value, scores))| {
                stage.reply(Reply::Looked(value, scores));
            });
        }
        Ok(any)
    }

    /// Sums over scores that are kept.
    fn counts(&mut self) -> Result<bool, TrainError> {
        let mut any = false;
        for level in 0..self.levels.len() {
            let is_count =
                |question: &Question| matches!(question, Question::Count { .. } | Question::Slopes { .. });
            any |= self.ask(level, is_count)?;
        }
        Ok(any)
    }

    /// Hands the questions of a level that are of one kind to the rows, in one go; whether there were any.
    fn ask(&mut self, level: usize, is: impl Fn(&Question) -> bool) -> Result<bool, TrainError> {
        let (mut asking, mut questions) = (Vec::new(), Vec::new());
        for (place, stage) in self.stages.iter_mut().enumerate() {
            match stage.request.take() {
                Some(Request::Ask(of, question)) if of == level && is(&question) => {
                    asking.push(place);
                    questions.push(question);
                }
                other => stage.request = other,
            }
        }
        let answers = match questions.is_empty() {
            true => Vec::new(),
            false => self.levels[level].examples.answer(&questions)?,
        };
        for (place, answer) in asking.into_iter().zip(answers) {
            self.stages[place].reply(Reply::Answer(answer));
        }
        Ok(!questions.is_empty())
    }

    /// A walk over the features of the coarsest rows that a stage waits for.
    fn walk(&mut self) -> Result<(), TrainError> {
        let level = self.stages.iter().filter_map(|stage| match stage.request {
            Some(Request::Ask(level, _) | Request::Lend(level, ..)) => Some(level),
            _ => None,
        });
        let Some(level) = level.max() else { return Ok(()) };
        let mut walks = u64::from(self.ask(level, |_| true)?);
        let is = |stage: &&mut Waiting| matches!(stage.request, Some(Request::Lend(of, ..)) if of == level);
        let mut lending: Vec<&mut Waiting> = self.stages.iter_mut().filter(is).collect();
        let Level { examples, rows, outputs } = &mut self.levels[level];
        let together = (SCORES / (rows.rows() * *outputs).max(1)).max(1);
        for lending in lending.chunks_mut(together) {
            let mut lent = Vec::with_capacity(lending.len());
            for stage in lending.iter_mut() {
                if let Some(Request::Lend(_, loss, parameters, errand)) = stage.request.take() {
                    lent.push((loss, parameters, errand));
                }
            }
            walks += 2;
            let returned = run_errands(&mut **examples, *rows, *outputs, lent)?;
            lending.iter_mut().zip(returned).for_each(|(stage, returned)| stage.reply(returned));
        }
        self.reporter.walked(walks, self.levels[level].rows.rows());
        Ok(())
    }
}

/// Scores by one walk, then every loss in turn, then gradients by another walk.
fn run_errands(
    examples: &mut dyn Examples,
    rows: &dyn Shard,
    outputs: usize,
    lent: Vec<(Lent, Vec<f32>, Errand)>,
) -> Result<Vec<Reply>, TrainError> {
    let scores =
        |(_, parameters, _): &(Lent, Vec<f32>, Errand)| Question::Scores { parameters: parameters.clone() };
    let scored = examples.answer(&lent.iter().map(scores).collect::<Vec<_>>())?;
    let (mut returned, mut pulls, mut backward) = (Vec::new(), Vec::new(), Vec::new());
    for ((mut loss, parameters, errand), Answer { scores, .. }) in lent.into_iter().zip(scored) {
        let value = match errand {
            Errand::Correct => loss.correct(rows, &scores).map(|()| 0.0),
            Errand::Follow(before) => loss.after_step(rows, &before, &scores).map(|()| 0.0),
            Errand::Evaluate(penalty) => {
                let mut v = vec![0.0; scores.len()];
                let value = loss.evaluate(rows, &scores, &mut v);
                value.map(|value| {
                    let added = penalty.add_to_scores(&parameters, outputs, rows, &scores, &mut v);
                    pulls.push((returned.len(), penalty, added));
                    backward.push(Question::Backward { parameters: parameters.clone(), v });
                    value + added.0
                })
            }
        };
        returned.push((loss, value, scores, Vec::new()));
    }
    if !backward.is_empty() {
        let answers = examples.answer(&backward)?;
        for (((place, penalty, (_, pull)), answer), question) in pulls.into_iter().zip(answers).zip(&backward)
        {
            let Question::Backward { parameters, .. } = question else { continue };
            returned[place].3 = penalty.pulled(parameters, outputs, pull, answer.gradient);
        }
    }
    let reply = |(loss, value, scores, gradient)| Reply::Returned(loss, value, scores, gradient);
    Ok(returned.into_iter().map(reply).collect())
}
