use super::*;
use crate::engine::EngineOptions;
use crate::features::{Features, Layout, Scaling, Sparse, Stored};
use crate::model::{Linear, Model, Rows, StoredLinear};
use crate::sample::Sample;
use crate::shard::{Shard, Shards};
use crate::surrogate::Surrogate;
use crate::train::method::{Asking, CrossEntropy, Ico, Loss};
use crate::train::{Bandwidth, Part};

pub(super) fn rows(first: usize, count: usize) -> (Linear, Sample) {
    let number = |i: usize| (i as f32 * 12.9898).sin();
    let values = (3 * first..3 * (first + count)).map(number).collect();
    let sample = Sample::new((first..first + count).map(|row| row % 5 == 0).collect()).unwrap();
    let weights = (first..first + count).map(|row| 1.0 + (row % 3) as f32).collect();
    (Linear::new(Features::from_row_major(values, 3).unwrap()), sample.with_weights(weights).unwrap())
}

/// Questions as three candidates ask them, in the order of a stage.
pub(super) fn questions() -> Vec<Vec<Question>> {
    let parameters = |scale: f32| vec![scale, -0.5 * scale, 0.25, 0.1];
    let counts = Counts {
        surrogate: Surrogate::Sigmoid,
        sharpness: 3.0,
        groups: 1,
        thresholds: vec![0.2, 0.4],
        curvature: false,
        cells: 4,
    };
    let partials =
        (0..4).map(|k| CellPartial { positive: 0.1 * k as f64, ..CellPartial::default() }).collect();
    let of = Function { counts: counts.clone(), partials, lines: vec![[0.5, -0.25]] };
    let standard = Standard { mean: 0.1, deviation: 0.7, total: 1.0 };
    vec![
        vec![
            Question::Score { column: 1, parameters: parameters(1.0) },
            Question::Gradient { column: None, parameters: parameters(0.5), of: of.clone() },
            Question::Scores { parameters: parameters(2.0) },
        ],
        vec![Question::Count { column: 1, counts }, Question::Slopes { column: 1, of: of.clone(), standard }],
        vec![Question::Gradient { column: Some(1), parameters: parameters(1.0), of }],
    ]
}

#[test]
fn an_answer_does_not_depend_on_the_questions_beside_it() {
    // Beyond a chunk of counts, where questions share a walk.
    let (mut model, sample) = rows(0, 10_000);
    let mut ask = |sizes: usize| -> Vec<Answer> {
        let mut held = Held::new(Part { model: &mut model, sample: &sample });
        let batches = questions()
            .into_iter()
            .flat_map(|batch| batch.chunks(sizes).map(<[Question]>::to_vec).collect::<Vec<_>>());
        batches.flat_map(|batch| held.answer(&batch).unwrap()).collect()
    };
    assert_eq!(ask(3), ask(1));
}

#[test]
fn rows_in_one_place_and_in_parts_answer_alike() {
    let (mut model, sample) = rows(0, 10_000);
    let (mut first, first_sample) = rows(0, 6_000);
    let (mut second, second_sample) = rows(6_000, 4_000);
    let shards: Vec<Box<dyn Shard + Send>> = vec![Box::new(rows(0, 6_000).1), Box::new(rows(6_000, 4_000).1)];
    let (mut again, shards) = (model.clone(), Shards::new(shards).unwrap());
    let mut whole = Held::new(Part { model: &mut model, sample: &sample });
    let mut listed = Held::new(Part { model: &mut again, sample: &shards });
    let mut first = Held::new(Part { model: &mut first, sample: &first_sample });
    let mut second = Held::new(Part { model: &mut second, sample: &second_sample });
    for batch in questions() {
        let expected = whole.answer(&batch).unwrap();
        let mut merged = first.answer(&batch).unwrap();
        merged.iter_mut().zip(second.answer(&batch).unwrap()).for_each(|(sum, next)| sum.merge(next));
        for found in [merged, listed.answer(&batch).unwrap()] {
            for (found, expected) in found.iter().zip(&expected) {
                let numbers = |answer: &Answer| {
                    let cells = answer.cells.iter().flat_map(|c| [c.positive, c.negative, c.positive_slope]);
                    let standard = answer.moments.map(Moments::standard);
                    let moments = standard.into_iter().flat_map(|s| [s.mean, s.deviation, s.total]);
                    let sums = answer.slopes.into_iter().chain(answer.gradient.iter().copied());
                    cells.chain(moments).chain(sums).collect::<Vec<f64>>()
                };
                let (found, expected) = (numbers(found), numbers(expected));
                assert_eq!(found.len(), expected.len());
                for (a, b) in found.iter().zip(&expected) {
                    // f32 sums of 512 rows in another order: 1e-6 of sums of as many terms.
                    assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} is not {b}");
                }
            }
        }
    }
}

/// Entries of some rows in the last of so many columns, none in some.
fn entries(rows: usize, columns: usize, own: usize) -> Sparse {
    let mut entries = Sparse { columns, starts: vec![0], ..Sparse::default() };
    for row in 0..rows {
        for entry in 0..row * row % 7 {
            entries.indices.push((columns - own + (row * 13 + entry * 17) % own) as u32);
            entries.values.push(((row * 3 + entry) as f32).sin());
        }
        entries.starts.push(entries.values.len());
    }
    entries
}

/// Two numbers, a few categories and many, missing here and there; and so many columns of entries.
fn mixed(rows: usize, own: usize) -> Features {
    let mut layout = Layout::default();
    let scalings = |count: usize| vec![Scaling { mean: 0.1, scale: 0.5 }; count];
    layout.add_number();
    layout.add_categories(scalings(3));
    layout.add_number();
    layout.add_categories(scalings(2_000));
    layout.add_entries(own);
    let columns = layout.columns();
    let mut features = Features::zeros(layout.into(), rows);
    let number = |column: usize, own: std::ops::Range<usize>, into: &mut [f32]| {
        into.iter_mut().zip(own).for_each(|(into, row)| *into = ((row * 7 + column) as f32 * 12.9898).sin());
    };
    let place = |field: usize, own: std::ops::Range<usize>, into: &mut [u32]| {
        into.iter_mut().zip(own).for_each(|(into, row)| *into = (row * 31 % [4, 2_001][field]) as u32);
    };
    features.fill(0..rows, number, place);
    match own {
        0 => features,
        own => features.with_entries(entries(rows, columns, own)).unwrap(),
    }
}

#[test]
fn rows_on_disk_answer_as_those_in_memory_to_the_last_bit() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(answer_alike);
    }
}

fn answer_alike() {
    let dense = [(3_000, false), (4_097, true), (40_000, false), (150_001, true)];
    let sparse = [(4_097, true, mixed(4_097, 40)), (150_001, false, mixed(150_001, 300))];
    let csr = |rows| Features::from_csr(entries(rows, 500, 500)).unwrap();
    let cases = dense.map(|(rows, weighted)| (rows, weighted, mixed(rows, 0))).into_iter();
    let cases = cases.chain(sparse).chain([3_000, 60_000].map(|rows| (rows, true, csr(rows))));
    for (rows, weighted, features) in cases {
        let mut sample = Sample::new((0..rows).map(|row| row % 5 == 0).collect()).unwrap();
        if weighted {
            sample = sample.with_weights((0..rows).map(|row| 1.0 + (row % 3) as f32).collect()).unwrap();
        }
        let mut stored = Stored::create(features.layout().clone(), &std::env::temp_dir()).unwrap();
        // In pieces of any size.
        for first in (0..rows).step_by(5_000) {
            let own: Vec<u32> = (first..rows.min(first + 5_000)).map(|row| row as u32).collect();
            stored.push(&features.select(&own).unwrap()).unwrap();
        }
        let (mut here, mut there) = (Linear::new(features), StoredLinear::new(stored.finish().unwrap()));
        let count = here.parameter_count();
        let parameters = |few: &[f32]| (0..count).map(|at| few[at % few.len()] * 0.1).collect::<Vec<f32>>();
        let wide = questions().into_iter().map(|mut batch| {
            for question in &mut batch {
                match question {
                    Question::Score { parameters: own, .. }
                    | Question::Gradient { parameters: own, .. }
                    | Question::Scores { parameters: own } => *own = parameters(own),
                    _ => {}
                }
            }
            batch
        });
        let mut batches: Vec<Vec<Question>> = wide.collect();
        let v = (0..rows).map(|row| (row as f32).cos()).collect();
        batches.push(vec![Question::Backward { parameters: parameters(&[1.0, 0.5]), v }]);
        let mut in_memory = Held::new(Part { model: &mut here, sample: &sample });
        let mut on_disk = Held::new(Part { model: &mut there, sample: &sample });
        for batch in &batches {
            assert_eq!(on_disk.answer(batch).unwrap(), in_memory.answer(batch).unwrap(), "{rows} rows");
        }
        let odd: Vec<u32> = (1..rows as u32).step_by(2).collect();
        let selected = there.select(&odd).unwrap().unwrap();
        let mut joined = there.joined(&[&*selected]).unwrap().unwrap();
        let mut expected = here.joined(&[&*here.select(&odd).unwrap().unwrap()]).unwrap().unwrap();
        let (mut found, by) = (vec![0.0; joined.rows()], parameters(&[1.0, -0.5, 0.25]));
        joined.scores(&by, Rows::All, &mut found).unwrap();
        let mut scores = found.clone();
        expected.scores(&by, Rows::All, &mut scores).unwrap();
        assert_eq!(found, scores);
        let mut gradients = [vec![0.0; count], vec![0.0; count]];
        joined.backward(&by, &found, &mut gradients[0]).unwrap();
        expected.backward(&by, &found, &mut gradients[1]).unwrap();
        assert_eq!(gradients[0], gradients[1]);
        assert!(there.scores(&by, Rows::At(&[1]), &mut [0.0]).is_err());
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let (mut model, sample) = rows(0, 100);
    let mut held = Held::new(Part { model: &mut model, sample: &sample });
    assert!(held.answer(&[Question::Scores { parameters: vec![1.0; 3] }]).is_err());
    // Of a column that was never scored.
    assert!(held.answer(&questions()[1]).is_err());
    let of_nothing = Question::Score { column: 0, parameters: vec![f32::NAN; 4] };
    assert!(!held.answer(&[of_nothing]).unwrap()[0].moments.unwrap().standard().mean.is_finite());
}

#[test]
fn a_loss_by_sums_is_the_loss_by_scores_to_the_last_bit() {
    let (mut model, sample) = rows(0, 9_000);
    let goal = "recall @ fpr<=20%".parse().unwrap();
    let ico = |bandwidth| Ico::new(&goal, &sample, EngineOptions::default(), bandwidth).unwrap();
    let make: [&dyn Fn() -> Box<dyn Loss>; 4] = [
        &|| Box::new(CrossEntropy::new(3.0)),
        &|| Box::new(ico(Bandwidth::Deviations(0.1))),
        &|| Box::new(ico(Bandwidth::Tail(0.5))),
        &|| Box::new(ico(Bandwidth::Score(0.5))),
    ];
    for make in make {
        let (mut by_scores, mut by_sums) = (make(), make());
        for parameters in [[1.0, -0.5, 0.25, 0.1], [0.9, -0.6, 0.3, 0.0]] {
            let (mut scores, mut v, mut gradient) = (vec![0.0; 9_000], vec![0.0; 9_000], [0.0; 4]);
            model.scores(&parameters, Rows::All, &mut scores).unwrap();
            let value = by_scores.evaluate(&sample, &scores, &mut v).unwrap();
            model.backward(&parameters, &v, &mut gradient).unwrap();
            let mut held = Held::new(Part { model: &mut model, sample: &sample });
            let mut ask = |question| Ok(held.answer(&[question])?.remove(0));
            let mut asking = Asking { rows: &sample, column: 0, ask: &mut ask };
            let plan = by_sums.plan(&mut asking, &parameters).unwrap().unwrap();
            let (column, of) = (plan.column, plan.of);
            let answer = ask(Question::Gradient { column, parameters: parameters.to_vec(), of }).unwrap();
            assert_eq!((plan.value)(&answer.cells), value);
            let found: Vec<f32> = answer.gradient.iter().map(|gradient| *gradient as f32).collect();
            assert_eq!(found, gradient);
        }
    }
}
