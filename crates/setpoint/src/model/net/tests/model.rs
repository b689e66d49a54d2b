//! The promises of [`Model`].

use super::*;

fn step(network: &mut Network, parameters: &[f32], rows: &[u32], step: u64) -> (Vec<f32>, Vec<f32>) {
    let mut scores = vec![0.0; rows.len()];
    let mut gradient = vec![f32::NAN; parameters.len()];
    network.learn(parameters, &Batch { rows, seed: 1, step }, &mut scores).unwrap();
    let v = random(11, rows.len());
    network.backward(parameters, &v, &mut gradient).unwrap();
    (scores, gradient)
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    let mlp = Architecture::mlp(9, &[33, 17], 0.2);
    for (architecture, inputs) in [(everything(), images(200, [9, 8, 2])), (mlp, matrix(900, 9))] {
        let rows: Vec<u32> = (0..inputs.rows() as u32).rev().collect();
        let run = |threads| {
            let (mut network, mut parameters) = network(architecture.clone(), inputs.clone());
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let first = step(&mut network, &parameters, &rows, 3);
                network.observe(&mut parameters);
                let mut scores = vec![0.0; rows.len()];
                network.scores(&parameters, Rows::All, &mut scores).unwrap();
                (first, parameters, scores)
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
    }
}

#[test]
fn a_selected_network_scores_the_rows_of_the_whole() {
    let (mut whole, parameters) = network(everything(), images(30, [9, 8, 2]));
    let rows = [4, 4, 29, 0];
    let mut part = whole.selected(&[29, 0, 4]).unwrap();
    assert!(Arc::ptr_eq(whole.inputs(), part.inputs()));
    assert_eq!(part.rows(), 3);
    assert_eq!(step(&mut whole, &parameters, &rows, 0), step(&mut part, &parameters, &[2, 2, 0, 1], 0));

    let mut of_part = part.select(&[1]).unwrap().unwrap();
    let (mut one, mut all) = ([0.0], [0.0; 30]);
    of_part.scores(&parameters, Rows::All, &mut one).unwrap();
    whole.scores(&parameters, Rows::All, &mut all).unwrap();
    assert!((one[0] - all[0]).abs() < 1e-6 * all[0].abs().max(1.0));
    assert_eq!(whole.selected(&[30]).unwrap_err(), ModelError::Row { row: 30, rows: 30 });
}

#[test]
fn sparse_and_dense_rows_give_the_same_scores() {
    let dense = matrix(7, 5);
    let mut values = [0.0; 35];
    (0..7).for_each(|row| dense.copy(row, &mut values[row * 5..][..5]));
    // Each value as two halves, in reverse order: repeated columns add up.
    let halves: Vec<f32> = values.iter().flat_map(|value| [value / 2.0, value / 2.0]).collect();
    let columns = (0..70).map(|i| i / 2 % 5).collect();
    let sparse = Sparse {
        columns: 5,
        starts: (0..=7).map(|row| row * 10).collect(),
        indices: columns,
        values: halves,
    };
    let sparse: Arc<Features> = Features::from_csr(sparse).unwrap().into();
    let (mut network, parameters) = network(Architecture::mlp(5, &[6], 0.0), dense);
    let mut over = network.over(Inputs::from(sparse)).unwrap();
    let (mut one, mut other) = ([0.0; 7], [0.0; 7]);
    network.scores(&parameters, Rows::All, &mut one).unwrap();
    over.scores(&parameters, Rows::All, &mut other).unwrap();
    assert_eq!(one, other);
    assert!(network.over(matrix(3, 6)).is_err());
}

#[test]
fn the_start_follows_from_the_seed_and_breaks_symmetry() {
    let (network, _) = network(everything(), images(2, [9, 8, 2]));
    let start = network.initial(0);
    assert_eq!(start, network.initial(0));
    assert_ne!(start, network.initial(1));
    let decayed: usize = network.decayed().iter().map(Range::len).sum();
    assert_eq!(decayed, 18 * 5 + 45 * 18 + 72 * 6 + 6 * 7 + 84 * 11 + 11);
    for range in network.decayed() {
        assert!(start[range].iter().all(|weight| *weight != 0.0));
    }
    // The first batch norm: scale, shift, running mean, running variance.
    assert_eq!(start[90..110], [[1.0; 5], [0.0; 5], [0.0; 5], [1.0; 5]].concat());
}

#[test]
fn what_is_observed_has_no_gradient_and_moves_towards_the_batch() {
    let (mut network, mut parameters) = network(Architecture::cnn_small(8, 8, 1), images(20, [8, 8, 1]));
    let rows: Vec<u32> = (0..20).collect();
    let observed = 9 * 16 + 2 * 16..9 * 16 + 4 * 16;
    let (_, gradient) = step(&mut network, &parameters, &rows, 0);
    assert!(gradient[observed.clone()].iter().all(|slope| *slope == 0.0));

    let before = parameters.clone();
    network.observe(&mut parameters);
    assert!(before[observed.clone()].iter().zip(&parameters[observed.clone()]).all(|(a, b)| a != b));
    assert_eq!(before[..observed.start], parameters[..observed.start]);
    // Averages over many steps with the same batch: scoring is then as learning.
    for _ in 0..400 {
        network.observe(&mut parameters);
    }
    let (learnt, _) = step(&mut network, &parameters, &rows, 1);
    let mut used = vec![0.0; 20];
    network.scores(&parameters, Rows::All, &mut used).unwrap();
    // The unbiased variance of 20 x 1 x 1 values (the last layer) is 5% larger.
    let size = learnt.iter().fold(0.0f32, |size, score| size.max(score.abs()));
    assert!(learnt.iter().zip(&used).all(|(a, b)| (a - b).abs() < 0.06 * size), "{learnt:?} {used:?}");
}

#[test]
fn one_row_is_normalised_by_the_running_statistics() {
    let layers = vec![
        Layer::Dense { outputs: 4, bias: true },
        Layer::BatchNorm,
        Layer::Relu,
        Layer::Dense { outputs: 1, bias: true },
    ];
    let (mut network, mut parameters) =
        network(Architecture { input: InputShape::Columns(3), layers }, matrix(5, 3));
    let (learnt, gradient) = step(&mut network, &parameters, &[2], 0);
    let before = parameters.clone();
    network.observe(&mut parameters);
    assert_eq!(before, parameters);
    let mut used = [0.0];
    network.scores(&parameters, Rows::At(&[2]), &mut used).unwrap();
    assert_eq!(learnt, used);
    assert!(gradient.iter().all(|slope| slope.is_finite()) && gradient.iter().any(|slope| *slope != 0.0));
    // No rows at all: no scores, no slopes.
    let (none, gradient) = step(&mut network, &parameters, &[], 0);
    assert!(none.is_empty() && gradient.iter().all(|slope| *slope == 0.0));
}

#[test]
fn many_rows_are_scored_in_parts_as_they_are_alone() {
    let (mut network, parameters) = network(Architecture::mlp(3, &[4], 0.0), matrix(10_000, 3));
    let mut all = vec![0.0; 10_000];
    network.scores(&parameters, Rows::All, &mut all).unwrap();
    let some = [0, 4095, 4096, 9999];
    let mut few = [0.0; 4];
    network.scores(&parameters, Rows::At(&some), &mut few).unwrap();
    for (row, score) in some.iter().zip(few) {
        assert!((all[*row as usize] - score).abs() < 1e-6, "{row}");
    }
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let (mut network, parameters) = network(Architecture::mlp(3, &[4], 0.0), matrix(5, 3));
    let (mut scores, mut gradient) = (vec![0.0; 2], vec![0.0; parameters.len()]);
    let batch = Batch { rows: &[1, 2], seed: 0, step: 0 };
    assert_eq!(network.backward(&parameters, &[0.0; 2], &mut gradient), Err(ModelError::NoForward));
    assert!(network.learn(&parameters[1..], &batch, &mut scores).is_err());
    assert!(network.learn(&parameters, &batch, &mut scores[..1]).is_err());
    assert!(network.learn(&parameters, &Batch { rows: &[1, 5], ..batch }, &mut scores).is_err());
    network.learn(&parameters, &batch, &mut scores).unwrap();
    assert!(network.backward(&parameters, &[0.0; 3], &mut gradient).is_err());
    assert!(network.backward(&parameters, &[0.0; 2], &mut gradient[1..]).is_err());
    assert!(network.backward_head(&parameters, &[0.0; 2], &[0.0; 1], &mut gradient).is_err());
    network.backward(&parameters, &[0.0; 2], &mut gradient).unwrap();
    // Scoring keeps nothing.
    network.scores(&parameters, Rows::At(&[1, 2]), &mut scores).unwrap();
    assert_eq!(network.backward(&parameters, &[0.0; 2], &mut gradient), Err(ModelError::NoForward));
}

#[test]
fn memory_is_kept_from_step_to_step() {
    let (mut network, parameters) = network(everything(), images(300, [9, 8, 2]));
    let rows: Vec<u32> = (0..300).collect();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one_thread.install(|| {
        let first = step(&mut network, &parameters, &rows, 0);
        let places = network.workspace.places();
        // A smaller batch and scoring need no other memory, and leave nothing behind.
        step(&mut network, &parameters, &rows[..150], 1);
        network.scores(&parameters, Rows::All, &mut [0.0; 300]).unwrap();
        assert_eq!(first, step(&mut network, &parameters, &rows, 0));
        assert_eq!(places, network.workspace.places());
    });
}
