//! What a goal per query costs against losses of pairs.
//!
//! An evaluation is a loss and its gradient by the scores of 1,000 queries, on one thread; scores move a little from one to
//! the next, and thresholds are solved from where they were. RankNet and LambdaRank go through all pairs of different
//! grades; ListNet is linear in the rows, and knows no places.
//!
//! Every round times each case once, in turn, so that a busy machine slows all alike; the table shows medians, and
//! the fastest.
//!
//! ```text
//! cargo bench -p setpoint --bench queries
//! ```

use std::time::Instant;

use setpoint::Sample;
use setpoint::goal::QueryGoal;
use setpoint::rank::{Queries, QueryEngine, QueryOptions};
use setpoint::train::method::{Compare, Loss, QueryBaseline};

const QUERIES: usize = 1_000;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    println!(
        "| documents of a query | loss | ms, median | ms, fastest | against precision @ k | passes a threshold |"
    );
    println!("|---|---|---|---|---|---|");
    pool.install(|| [(10, 31), (100, 21), (1_000, 5)].map(|(documents, rounds)| compare(documents, rounds)));
}

/// Numbers that look like noise, between -1 and 1.
fn noise(at: usize) -> f32 {
    let mixed = (at as u64 ^ 0x9E37_79B9).wrapping_mul(0xD129_0D3B_3F4B_3F4B);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f32 / 8_388_608.0 - 1.0
}

fn compare(documents: usize, rounds: usize) {
    let rows = QUERIES * documents;
    let keys: Vec<u32> = (0..rows).map(|row| (row / documents) as u32).collect();
    let truth: Vec<f32> = (0..rows).map(|row| noise(row) + noise(row + (1 << 40))).collect();
    // About 60, 20, 12, 6 and 2 in a hundred.
    let grade = |truth: &f32| [0.2, 0.72, 1.13, 1.6].iter().filter(|cut| truth > *cut).count() as f32;
    let queries = Queries::new("query", &keys, truth.iter().map(grade).collect()).expect("queries");
    let sample = Sample::of_queries(queries.clone()).expect("rows");
    // As many results as there are documents would teach nothing.
    let k = if documents > 10 { 10 } else { 5 };
    let goals: Vec<String> = ["precision @ k", "ndcg @ k"]
        .map(|goal| format!("{goal}={k} per query"))
        .into_iter()
        .chain(["map per query".into()])
        .collect();
    let goal = |at: usize| -> QueryGoal { goals[at].parse().expect("a goal") };
    let mut engines: Vec<QueryEngine> = (0..3)
        .map(|at| QueryEngine::new(&goal(at), &queries, QueryOptions::default()).expect("an engine"))
        .collect();
    let mut lists = QueryBaseline::new(&goal(1), Compare::Lists);
    let mut pairs = QueryBaseline::new(&goal(1), Compare::Pairs);
    let names =
        [&goals[..], &["ListNet", "RankNet, all pairs", "LambdaRank, all pairs"].map(str::to_owned)].concat();
    let mut times = vec![Vec::new(); names.len()];
    let mut passes = [0; 3];
    let mut v = vec![0.0; rows];
    for round in 0..rounds {
        let moved =
            |row: usize| truth[row] + noise(row + (2 << 40)) + 0.01 * noise(row + ((3 + round) << 40));
        let scores: Vec<f32> = (0..rows).map(moved).collect();
        for (case, times) in times.iter_mut().enumerate() {
            let clock = Instant::now();
            match case {
                0..3 => passes[case] = engines[case].step(&scores, &mut v).expect("a step").passes,
                3 => drop(lists.evaluate(&sample, &scores, &mut v).expect("a loss")),
                4 => drop(pairs.evaluate(&sample, &scores, &mut v).expect("a loss")),
                _ => lambda_rank(&queries, &scores, &mut v),
            }
            // The first step solves its thresholds from nothing.
            if round > 0 {
                times.push(1e3 * clock.elapsed().as_secs_f64());
            }
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let median = |case: usize| times[case][times[case].len() / 2];
    for (case, name) in names.iter().enumerate() {
        let a_threshold = passes.get(case).map_or(String::new(), |passes| {
            format!("{:.1}", *passes as f64 / engines[case].thresholds().len() as f64)
        });
        let name = name.trim_end_matches(" per query");
        let against = median(case) / median(0);
        println!(
            "| {documents} | {name} | {:.2} | {:.2} | {against:.1}x | {a_threshold} |",
            median(case),
            times[case][0]
        );
    }
}

/// LambdaRank's gradient: pairs weighted by what their exchange changes NDCG by.
fn lambda_rank(queries: &Queries, scores: &[f32], v: &mut [f32]) {
    v.fill(0.0);
    for query in 0..queries.len() {
        let mut order = queries.rows(query).to_vec();
        order.sort_unstable_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        let gain: Vec<f64> =
            order.iter().map(|row| f64::from(queries.grades()[*row as usize]).exp2() - 1.0).collect();
        let discount: Vec<f64> = (0..order.len()).map(|place| 1.0 / (place as f64 + 2.0).log2()).collect();
        let e: Vec<f64> = order.iter().map(|row| f64::from(scores[*row as usize]).exp()).collect();
        let mut best = gain.clone();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        let ideal: f64 = best.iter().zip(&discount).map(|(gain, discount)| gain * discount).sum();
        if ideal == 0.0 {
            continue;
        }
        let mut pull = vec![0.0; order.len()];
        for i in 0..order.len() {
            let mut own = 0.0;
            for j in 0..order.len() {
                if gain[i] > gain[j] {
                    let change = (gain[i] - gain[j]) * (discount[i] - discount[j]).abs();
                    let lambda = change * e[j] / (e[i] + e[j]);
                    own += lambda;
                    pull[j] += lambda;
                }
            }
            pull[i] -= own;
        }
        for (row, pull) in order.iter().zip(pull) {
            v[*row as usize] = (pull / ideal / QUERIES as f64) as f32;
        }
    }
}
