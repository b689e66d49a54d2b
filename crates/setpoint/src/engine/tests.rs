use super::*;
use crate::sample::Sample;
use crate::surrogate::Surrogate;

/// Two overlapping classes on a line, in two groups.
fn sample() -> (Sample, Vec<f32>) {
    let rows = 3000;
    let labels: Vec<bool> = (0..rows).map(|i| i % 5 == 0).collect();
    let scores = (0..rows)
        .map(|i| (i as f32 * 0.618_034).fract() * 4.0 - 2.0 + if i % 5 == 0 { 1.0 } else { 0.0 })
        .collect();
    let groups = (0..rows).map(|i| u32::from(i % 3 == 0)).collect();
    let sample = Sample::new(labels).unwrap().with_groups("g", vec!["a".into(), "b".into()], groups).unwrap();
    (sample, scores)
}

fn goal(text: &str) -> Goal {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn options(solve: Solve) -> EngineOptions {
    EngineOptions { sharpness: 8.0, solve, ..EngineOptions::default() }
}

#[test]
fn every_goal_takes_a_step_with_every_source_of_thresholds() {
    let (sample, scores) = sample();
    let mut gradient = vec![0.0; scores.len()];
    for text in [
        "recall @ fpr<=5%",
        "precision @ recall>=0.9",
        "f1",
        "recall @ precision>=0.4, fpr<=20%",
        "precision @ k=100",
        "pr-auc @ recall in 0.9..1",
        "recall @ fpr(g)<=5%",
        "accuracy @ gap(recall, g)<=0.02",
        "f1 @ gap(fpr, g)<=0.01, positive-rate<=30%",
    ] {
        for solve in [Solve::Smooth, Solve::Exact, Solve::Hold] {
            let mut engine = Engine::new(&goal(text), &sample, options(solve)).unwrap();
            for _ in 0..2 {
                let step = engine
                    .step(&sample, &scores, &mut gradient)
                    .unwrap_or_else(|e| panic!("{text}, {solve:?}: {e}"));
                assert!(step.loss.is_finite() && step.clamped == 0, "{text}, {solve:?}: {step:?}");
                let (sum, size) =
                    gradient.iter().fold((0.0, 0.0), |(s, a), v| (s + f64::from(*v), a + f64::from(v.abs())));
                assert!(size > 0.0 && size.is_finite(), "{text}, {solve:?}");
                // Only thresholds solved on the surrogate make the loss blind to a common shift.
                if solve == Solve::Smooth {
                    assert!(sum.abs() < 1e-3 * size, "{text}: {sum} of {size}");
                }
            }
        }
    }
}

#[test]
fn tracking_follows_a_shift_of_all_scores() {
    let (sample, scores) = sample();
    let mut engine = Engine::new(&goal("recall @ fpr<=5%"), &sample, options(Solve::Hold)).unwrap();
    let mut gradient = vec![0.0; scores.len()];
    let before = engine.step(&sample, &scores, &mut gradient).unwrap().thresholds[0];
    engine.track(&sample, &scores, &vec![0.25; scores.len()]).unwrap();
    assert!((engine.thresholds().unwrap()[0] - before - 0.25).abs() < 1e-5);
}

#[test]
fn a_step_before_tracking_is_required() {
    let (sample, scores) = sample();
    let mut engine = Engine::new(&goal("f1"), &sample, options(Solve::Hold)).unwrap();
    let error = engine.track(&sample, &scores, &scores).unwrap_err();
    assert_eq!(error.to_string(), "track: no thresholds yet; expected a step before it");
}

/// Minimise fpr under fnr <= 0.4 over one weight and the slack: both routes end at the same loss.
#[test]
fn slack_variables_reach_the_optimum_of_the_active_set() {
    let (sample, x) = sample();
    let train = |inequality: Inequality| {
        let options = EngineOptions {
            surrogate: Surrogate::Softplus,
            sharpness: 1.0,
            inequality,
            ..EngineOptions::default()
        };
        let mut engine = Engine::new(&goal("fpr @ fnr<=0.4"), &sample, options).unwrap();
        let (mut weight, mut loss) = (0.5f32, 0.0);
        let mut gradient = vec![0.0; x.len()];
        if engine.slack().is_some() {
            // Start inside the limit; a useful slack variable must find its way to zero.
            engine.set_slack(&[0.2]);
        }
        for _ in 0..400 {
            let scores: Vec<f32> = x.iter().map(|x| weight * x).collect();
            loss = engine.step(&sample, &scores, &mut gradient).unwrap().loss;
            let slope: f32 = x.iter().zip(&gradient).map(|(x, v)| x * v).sum();
            weight -= 0.5 * slope;
            engine.descend_slack(0.05);
        }
        (loss, weight, engine.slack().map_or(0.0, |slack| slack[0]))
    };
    let (active, weight, _) = train(Inequality::ActiveSet);
    let (slacked, slack_weight, slack) = train(Inequality::Slack);
    assert_eq!(slack, 0.0, "fpr always gains from using up the allowed fnr");
    assert!((active - slacked).abs() < 1e-4, "{active} and {slacked}");
    assert!((weight - slack_weight).abs() < 1e-2, "{weight} and {slack_weight}");
}

#[test]
fn slack_variables_need_a_threshold_each() {
    let (sample, _) = sample();
    let options = EngineOptions { inequality: Inequality::Slack, ..EngineOptions::default() };
    let error = Engine::new(&goal("f1 @ fpr<=5%, recall>=0.1"), &sample, options).unwrap_err();
    assert_eq!(error, ThresholdError::TooManySlacks { conditions: 2, thresholds: 1 }.into());
}

#[test]
fn bad_settings_and_bad_scores_are_refused_and_lose_nothing() {
    let (sample, mut scores) = sample();
    let bad = EngineOptions { sharpness: -1.0, ..EngineOptions::default() };
    assert!(matches!(
        Engine::new(&goal("f1"), &sample, bad),
        Err(EngineError::Setting { what: "sharpness", .. })
    ));
    let bad = EngineOptions { free: vec![3], ..EngineOptions::default() };
    assert!(matches!(
        Engine::new(&goal("f1"), &sample, bad),
        Err(EngineError::Setting { what: "free threshold", .. })
    ));
    let mut engine = Engine::new(&goal("recall @ fpr<=5%"), &sample, options(Solve::Smooth)).unwrap();
    assert!(engine.set_thresholds(&[f64::NAN]).is_err());
    let mut gradient = vec![0.0; scores.len()];
    let good = engine.step(&sample, &scores, &mut gradient).unwrap().thresholds.to_vec();
    scores[17] = f32::NAN;
    assert!(matches!(
        engine.step(&sample, &scores, &mut gradient),
        Err(EngineError::Threshold(_) | EngineError::Sample(_))
    ));
    assert_eq!(engine.thresholds().unwrap(), good);
    assert!(engine.step(&sample, &scores[..5], &mut gradient).is_err());
}

#[test]
fn samples_without_what_the_goal_needs_are_refused() {
    let negatives = Sample::new(vec![false; 10]).unwrap();
    let error = Engine::new(&goal("recall @ fpr<=5%"), &negatives, EngineOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "labels hold no positives (0 of 10): recall is undefined; use a larger or stratified sample"
    );
    let error = Engine::new(&goal("recall @ fpr(g)<=5%"), &negatives, EngineOptions::default()).unwrap_err();
    assert!(error.to_string().contains("has no groups"), "{error}");
    let lopsided = Sample::new(vec![true, false, false, false])
        .unwrap()
        .with_groups("g", vec!["a".into(), "b".into()], vec![0, 0, 1, 1])
        .unwrap();
    let error =
        Engine::new(&goal("accuracy @ gap(recall, g)<=5%"), &lopsided, EngineOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "group \"b\" of column \"g\" has no positives: recall is undefined there; pool small groups or drop the condition"
    );
}

/// The fast counts carry rounding of about 1e-7, which a solver must not mistake for being lost.
#[test]
fn coupled_thresholds_settle_at_any_sharpness() {
    let (sample, scores) = sample();
    let mut gradient = vec![0.0; scores.len()];
    for text in [
        "precision @ recall>=0.95",
        "f1",
        "recall @ precision>=0.4, fpr<=20%",
        "accuracy @ gap(recall, g)<=0.02",
    ] {
        for sharpness in [1.0, 4.0, 20.0, 80.0] {
            let options = EngineOptions { sharpness, ..EngineOptions::default() };
            let mut engine = Engine::new(&goal(text), &sample, options).unwrap();
            for shift in [0.0, 0.01, 0.02] {
                let scores: Vec<f32> = scores.iter().map(|s| s * (1.0 + shift)).collect();
                if let Err(error) = engine.step(&sample, &scores, &mut gradient) {
                    panic!("{text} at sharpness {sharpness}: {error}");
                }
            }
        }
    }
}

/// Found by fuzzing: thresholds at infinity and a loss that is no number came back as a step, or nothing came back at all.
#[test]
fn scores_too_far_apart_for_their_sharpness_are_refused() {
    let scores = [0.6, -0.8, 1.1, -0.4, 0.8, 1.6, 2.5, 0.7, 0.0, -1e15, 3e38, -3e38];
    let labels = [false, false, true, false, true, false, true, true, true, true, false, true];
    let mut gradient = [0.0; 12];
    for text in [
        "pr-auc @ recall in 0.5..1",
        "recall @ precision>=0.5, fpr<=40%",
        "coverage @ precision>=0.6, npv>=0.6",
        "profit(tp=3, fp=-5)",
        "f1",
    ] {
        let goal = goal(text);
        let sample = Sample::new(labels.to_vec()).unwrap().paid_by(&goal).unwrap();
        for (sharpness, solve) in
            [1.0, 50.0, 1e6].into_iter().zip([Solve::Smooth, Solve::Smooth, Solve::Exact])
        {
            let options = EngineOptions { sharpness, ..options(solve) };
            let mut engine = Engine::new(&goal, &sample, options).unwrap();
            // The second step starts where the first one ended.
            for _ in 0..2 {
                let Ok(step) = engine.step(&sample, &scores, &mut gradient) else { continue };
                assert!(
                    step.loss.is_finite() && step.thresholds.iter().all(|threshold| threshold.is_finite())
                );
                assert!(gradient.iter().all(|v| v.is_finite()), "{text}, {sharpness}: {gradient:?}");
            }
        }
    }
}
