//! Several boosters at a time, one on each thread.
//!
//! Boosters of a search do not depend on each other. Growing them side by side keeps all processors busy
//! where the rows are too few for the threads of one booster to share, and no thread waits for another.
//! What is told of them comes in their order, as if one had been grown after the other: the progress of a
//! booster is kept until those before it are done.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};

use rayon::{ThreadPool, ThreadPoolBuilder};
use setpoint::train::{Progress, TrainError};

use crate::error::TreesError;

/// Told of every round; `Break` ends the growth.
pub(crate) type Tell<'t> = &'t mut dyn FnMut(Progress) -> ControlFlow<()>;

/// What becomes of a booster.
enum Event<T> {
    Round(Progress),
    Done(Result<T, TreesError>),
}

/// Grows `count` boosters, `workers` at a time, each with a pool of `threads` of its own: loops over the rows
/// of one booster do not wait for those of another, nor go to the global pool, whose threads a process that
/// was forked does not have. `observe` and `finish` are called on this thread, in the order of the boosters.
pub(crate) fn grow_all<T: Send>(
    count: usize,
    (workers, threads): (usize, usize),
    grow: &(dyn Fn(usize, Tell<'_>) -> Result<T, TreesError> + Sync),
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    finish: &mut dyn FnMut(usize, &T) -> Result<(), TreesError>,
) -> Result<Vec<T>, TreesError> {
    let build = |_| ThreadPoolBuilder::new().num_threads(threads.max(1)).build().ok();
    // As many as the system gives.
    let pools: Vec<ThreadPool> = match workers.min(count) {
        0 | 1 => Vec::new(),
        workers => (0..workers).map_while(build).collect(),
    };
    if pools.is_empty() {
        let one = |index| {
            let grown = grow(index, &mut |progress| observe(&progress))?;
            finish(index, &grown)?;
            Ok(grown)
        };
        return (0..count).map(one).collect();
    }
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for (pool, sender) in pools.iter().zip(std::iter::repeat_n(sender, pools.len())) {
            let (next, stop) = (&next, &stop);
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let grown = grow(index, &mut |progress| {
                        let told = sender.send((index, Event::Round(progress)));
                        let go_on = told.is_ok() && !stop.load(Ordering::Relaxed);
                        if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    });
                    if sender.send((index, Event::Done(grown))).is_err() {
                        break;
                    }
                }
            };
            scope.spawn(move || pool.install(work));
        }
        let grown = in_order(count, &receiver, observe, finish);
        // Also where all went well: the scope waits for its threads.
        stop.store(true, Ordering::Relaxed);
        grown
    })
}

/// Hands events on, those of the first booster that is not done at once, those of others later.
fn in_order<T>(
    count: usize,
    events: &Receiver<(usize, Event<T>)>,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    finish: &mut dyn FnMut(usize, &T) -> Result<(), TreesError>,
) -> Result<Vec<T>, TreesError> {
    let mut waiting: Vec<VecDeque<Event<T>>> = (0..count).map(|_| VecDeque::new()).collect();
    let mut grown = Vec::with_capacity(count);
    while grown.len() < count {
        // All threads are gone only after a failure that has been told.
        let Ok((index, event)) = events.recv() else { return Err(TrainError::Stopped.into()) };
        waiting[index].push_back(event);
        while let Some(event) = waiting.get_mut(grown.len()).and_then(VecDeque::pop_front) {
            match event {
                Event::Round(progress) if observe(&progress).is_break() => {
                    return Err(TrainError::Stopped.into());
                }
                Event::Round(_) => {}
                Event::Done(result) => {
                    let booster = result?;
                    finish(grown.len(), &booster)?;
                    grown.push(booster);
                }
            }
        }
    }
    Ok(grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(stage_index: usize, step: u64) -> Progress {
        Progress {
            kind: setpoint::train::StageKind::Boosting,
            stage: String::new(),
            stage_index,
            stages: 5,
            step,
            steps: 3,
            loss: 0.0,
            validation: None,
            detail: None,
        }
    }

    /// Booster i takes three rounds; the first ones take longest.
    fn grow(index: usize, tell: Tell<'_>) -> Result<usize, TreesError> {
        for step in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(5 * (5 - index as u64)));
            if tell(progress(index, step)).is_break() {
                return Err(TrainError::Stopped.into());
            }
        }
        Ok(index * index)
    }

    #[test]
    fn what_is_told_does_not_depend_on_how_many_grow_at_a_time() {
        let told = |workers| {
            let (mut rounds, mut finished) = (Vec::new(), Vec::new());
            let grown = grow_all(
                5,
                (workers, 1),
                &grow,
                &mut |progress| {
                    rounds.push((progress.stage_index, progress.step));
                    ControlFlow::Continue(())
                },
                &mut |index, grown| {
                    finished.push((index, *grown));
                    Ok(())
                },
            );
            (grown.unwrap(), rounds, finished)
        };
        let alone = told(1);
        assert_eq!(alone.0, [0, 1, 4, 9, 16]);
        assert_eq!(alone.1.len(), 15);
        assert_eq!(told(2), alone);
        assert_eq!(told(8), alone);
    }

    #[test]
    fn a_caller_who_stops_and_a_booster_that_fails_end_all() {
        for workers in [1, 3] {
            let mut rounds = 0;
            let stopped = grow_all(
                5,
                (workers, 1),
                &grow,
                &mut |_| {
                    rounds += 1;
                    if rounds == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                },
                &mut |_, _| Ok(()),
            );
            assert_eq!(stopped, Err(TrainError::Stopped.into()));
            let failing = |index: usize, tell: Tell<'_>| {
                if index == 2 { Err(TrainError::Diverged { step: 7 }.into()) } else { grow(index, tell) }
            };
            let mut finished = 0;
            let failed =
                grow_all(5, (workers, 1), &failing, &mut |_| ControlFlow::Continue(()), &mut |_, _| {
                    finished += 1;
                    Ok(())
                });
            assert_eq!((failed, finished), (Err(TrainError::Diverged { step: 7 }.into()), 2));
        }
    }
}
