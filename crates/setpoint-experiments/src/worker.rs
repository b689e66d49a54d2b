//! Independent jobs over some threads, each job on a thread of its own.
//!
//! A job's own parallel loops stay on its thread, so that its time is its own and the processors are
//! kept busy by whole jobs. Results do not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::ExperimentError;

/// Runs every job; the results are in the order of the jobs. The first failure stops the rest.
pub fn run<J: Sync, R: Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(&J) -> Result<R, ExperimentError> + Sync,
) -> Result<Vec<R>, ExperimentError> {
    let next = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<R, ExperimentError>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                while !ended.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let result = match &alone {
                        Ok(alone) => alone.install(|| work(job)),
                        Err(error) => Err(ExperimentError::Threads { message: error.to_string() }),
                    };
                    if result.is_err() {
                        ended.store(true, Ordering::Relaxed);
                    }
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..40).collect();
        for threads in [1, 3] {
            let squares = run(&jobs, threads, |job| Ok(job * job)).unwrap();
            assert_eq!(squares, jobs.iter().map(|job| job * job).collect::<Vec<_>>());
        }
        assert!(run(&[], 2, |job: &u64| Ok(*job)).unwrap().is_empty());
    }

    #[test]
    fn a_job_has_one_thread() {
        let threads = run(&[(), ()], 2, |()| Ok(rayon::current_num_threads())).unwrap();
        assert_eq!(threads, [1, 1]);
    }

    #[test]
    fn a_failure_ends_the_run() {
        let jobs: Vec<u64> = (0..1000).collect();
        let seen = AtomicUsize::new(0);
        let result = run(&jobs, 2, |job| {
            seen.fetch_add(1, Ordering::Relaxed);
            if *job == 3 { Err(ExperimentError::Stopped) } else { Ok(()) }
        });
        assert!(matches!(result, Err(ExperimentError::Stopped)));
        assert!(seen.load(Ordering::Relaxed) < 1000);
    }
}
