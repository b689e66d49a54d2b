//! Goals of every shape, for property tests.

use proptest::prelude::*;

use super::{Area, Constraint, Curve, Goal, Objective, Rate, Relation, Top, check_conditions};

/// Goals that make sense, with plain and odd numbers and column names.
pub(super) fn goals() -> impl Strategy<Value = Goal> {
    prop_oneof![
        3 => conditioned(),
        1 => areas().prop_map(Goal::improve),
    ]
    .prop_filter("makes sense", |goal| goal.check().is_ok())
}

fn conditioned() -> impl Strategy<Value = Goal> {
    let column = prop_oneof![Just("sex".to_owned()), "\\PC{1,12}", any::<String>()]
        .prop_map(|name| if name.is_empty() { "group".to_owned() } else { name });
    (rates(), column, prop::collection::vec(constraints(), 0..5)).prop_map(
        |(objective, column, candidates)| {
            let mut goal = Goal::improve(objective);
            for candidate in candidates {
                let candidate =
                    if candidate.column().is_some() { candidate.per_group(&column) } else { candidate };
                goal.constraints.push(candidate);
                // A candidate that clashes with those before it is left out.
                if check_conditions(&goal.constraints).is_err() {
                    goal.constraints.pop();
                }
            }
            goal
        },
    )
}

fn rates() -> impl Strategy<Value = Rate> {
    prop_oneof![
        4 => prop::sample::select(Rate::ALL.to_vec()),
        1 => prop_oneof![Just(0.5), Just(2.0), 1e-3..1e3f64].prop_map(Rate::FBeta),
    ]
}

fn constraints() -> impl Strategy<Value = Constraint> {
    let relations = prop::sample::select(vec![Relation::Equal, Relation::AtMost, Relation::AtLeast]);
    let tops = prop_oneof![
        numbers().prop_map(Top::Fraction),
        (any::<u64>(), any::<Option<u64>>()).prop_map(|(k, of)| Top::Count { k, of }),
        (1u64..200, 200u64..9000).prop_map(|(k, of)| Top::Count { k, of: Some(of) }),
    ];
    let held = (rates(), relations, numbers(), 0..4).prop_map(|(rate, relation, target, form)| {
        let column = "to be named".to_owned();
        match form {
            0 => Constraint::Rate { rate, relation, target },
            1 => Constraint::PerGroup { rate, column, relation, target },
            2 => Constraint::Gap { rate, column, relation, target },
            _ => Constraint::Ratio { rate, column, relation, target },
        }
    });
    prop_oneof![6 => held, 1 => tops.prop_map(Constraint::Top)]
}

fn areas() -> impl Strategy<Value = Objective> {
    let axes = prop::sample::select(vec![
        (Curve::Roc, Rate::FalsePositiveRate),
        (Curve::Roc, Rate::Recall),
        (Curve::PrecisionRecall, Rate::Recall),
        (Curve::PrecisionRecall, Rate::Precision),
    ]);
    (axes, numbers(), numbers())
        .prop_map(|((curve, axis), a, b)| Objective::Area(Area { curve, axis, from: a.min(b), to: a.max(b) }))
}

/// Numbers between 0 and 1, both included: plain, odd and tiny.
fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            0.01,
            0.05,
            0.5,
            0.95,
            1e-7,
            0.1 + 0.2,
            1e-300,
            f64::MIN_POSITIVE
        ]),
        (0u32..=1000).prop_map(|thousandths| f64::from(thousandths) / 1000.0),
        0.0..=1.0f64,
        (0.0..=1.0f64, -300..0i32).prop_map(|(value, scale)| value * 10f64.powi(scale)),
    ]
}
