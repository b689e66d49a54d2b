//! Goals of labels with several classes: what is wanted of a decision by argmax of score minus shift.
//!
//! The words are those of two classes: a rate of a class is that of deciding for it against all the others.
//!
//! | goal | what is meant |
//! |---|---|
//! | `accuracy`, `error` | over all examples |
//! | `recall(shirt)`, `f1(shirt)` | of one class against the rest |
//! | `coverage(shirt)` | the share decided as this class |
//! | `balanced-accuracy`, `macro-f1` | the mean over the classes |
//! | `worst(recall)` | of the class where it is worst |
//! | `cost(table.csv)` | the mean cost of a decision, by true and decided class |
//!
//! Conditions hold a rate of a class, or of `each`; a coverage may be held at the class's own share, `prior`.

use std::fmt::{self, Display, Formatter};

use super::check::{Clause, Fault};
use super::{Counts, Direction, GoalError, Rate, Relation, column, describe, number, safe_side};

/// A goal for a label of several classes, whose names it knows.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassGoal {
    /// The classes, in the order of their codes.
    pub classes: Vec<String>,
    /// What to improve.
    pub objective: ClassObjective,
    /// What must hold meanwhile.
    pub conditions: Vec<ClassCondition>,
}

/// What a goal of classes improves.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassObjective {
    /// A rate.
    Rate(ClassRate),
    /// The mean cost of a decision.
    Cost {
        /// Where the costs come from, as the goal names it.
        file: String,
        /// The cost of each decision for each true class, true class by true class; empty until it is known.
        table: Vec<f64>,
    },
}

/// A rate, and of which classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassRate {
    /// The rate, of a class against the rest; [`Rate::PositiveRate`] is the coverage.
    pub rate: Rate,
    /// Which classes.
    pub over: Over,
}

/// The classes that a rate is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// All examples: accuracy and error.
    All,
    /// One class, by its code.
    Class(usize),
    /// Each class by itself.
    Each,
    /// The mean over the classes.
    Mean,
    /// The class where it is worst.
    Worst,
}

/// A condition of a goal of classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassCondition {
    /// What is held.
    pub rate: ClassRate,
    /// Which side of the target it must be on.
    pub relation: Relation,
    /// The value asked for.
    pub target: Target,
}

/// The value that a condition asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This value, strictly between 0 and 1.
    Value(f64),
    /// The share of the class among the examples.
    Prior,
}

impl Target {
    /// The value for a class with this share of the examples.
    #[must_use]
    pub fn of(self, prior: f64) -> f64 {
        match self {
            Self::Value(value) => value,
            Self::Prior => prior,
        }
    }
}

impl ClassObjective {
    /// Which way the objective gets better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self {
            Self::Rate(rate) => rate.rate.direction(),
            Self::Cost { .. } => Direction::Down,
        }
    }
}

impl ClassRate {
    /// The value, given the counts of each class against the rest; `None` where a denominator is zero.
    ///
    /// Of `each` class it is the worst.
    #[must_use]
    pub fn of(&self, counts: impl Fn(usize) -> Counts, classes: usize) -> Option<f64> {
        let mut values = (0..classes).map(|class| self.rate.of(&counts(class)));
        let worst = if self.rate.direction() == Direction::Up { f64::min } else { f64::max };
        match self.over {
            // The true positives of all classes are the right decisions.
            Over::All => {
                let (right, all) = (0..classes).fold((0.0, 0.0), |(right, all), class| {
                    let counts = counts(class);
                    (right + counts.true_positives, all + counts.positives)
                });
                let accuracy = right / all;
                Some(if self.rate == Rate::Error { 1.0 - accuracy } else { accuracy })
            }
            Over::Class(class) => self.rate.of(&counts(class)),
            Over::Mean => values.sum::<Option<f64>>().map(|sum| sum / classes as f64),
            Over::Each | Over::Worst => {
                let first = values.next()??;
                values.try_fold(first, |a, b| Some(worst(a, b?)))
            }
        }
    }
}

impl ClassCondition {
    /// The side on which the condition is evaluated.
    #[must_use]
    pub fn side(&self) -> Relation {
        if self.relation == Relation::Equal { safe_side(self.rate.rate) } else { self.relation }
    }
}

impl ClassGoal {
    /// The same goal with the costs of its decisions: `table[y * classes + c]` is what deciding c costs where
    /// y is true.
    ///
    /// # Errors
    /// If the goal names no costs, or there is not one finite number for each pair of classes.
    pub fn with_costs(mut self, costs: Vec<f64>) -> Result<Self, GoalError> {
        let expected = self.classes.len().pow(2);
        if costs.len() != expected || costs.iter().any(|cost| !cost.is_finite()) {
            return Err(GoalError::Costs { expected, classes: self.classes.len() });
        }
        match &mut self.objective {
            ClassObjective::Cost { table, .. } => *table = costs,
            ClassObjective::Rate(_) => return Err(GoalError::NoCosts),
        }
        Ok(self)
    }

    /// What a rate is called in this goal: `recall(shirt)`, `macro-f1`.
    #[must_use]
    pub fn quantity(&self, rate: ClassRate) -> String {
        let name = match rate.rate {
            Rate::PositiveRate => "coverage".to_owned(),
            rate => rate.to_string(),
        };
        match rate.over {
            Over::All => name,
            Over::Class(class) => format!("{name}({})", quote(&self.classes[class])),
            Over::Each => format!("{name}(each)"),
            Over::Mean if rate.rate == Rate::Recall => Rate::BalancedAccuracy.to_string(),
            Over::Mean => format!("macro-{name}"),
            Over::Worst => format!("worst({name})"),
        }
    }

    /// A condition as goals write it: `recall(shirt)>=0.9`.
    #[must_use]
    pub fn condition(&self, condition: &ClassCondition) -> String {
        let target = match condition.target {
            Target::Value(value) => number::target(value),
            Target::Prior => "prior".to_owned(),
        };
        format!("{}{}{target}", self.quantity(condition.rate), condition.relation)
    }

    /// What is improved, as goals write it.
    #[must_use]
    pub fn objective(&self) -> String {
        match &self.objective {
            ClassObjective::Rate(rate) => self.quantity(*rate),
            ClassObjective::Cost { file, .. } => format!("cost({})", column::quote(file)),
        }
    }

    /// Whether the goal makes sense; parsed goals always do.
    ///
    /// # Errors
    /// [`GoalError`] with the first rule that the goal breaks.
    pub fn check(&self) -> Result<(), GoalError> {
        self.check_parts().map_err(|fault| fault.error)
    }

    /// The goal in words, as reports say it.
    ///
    /// ```
    /// use setpoint::goal::ClassGoal;
    ///
    /// let goal = ClassGoal::parse("accuracy @ recall(a)>=0.9", &["a", "b", "c"].map(str::to_owned))?;
    /// assert_eq!(goal.describe(), "the highest accuracy at a recall of a of at least 90%");
    /// # Ok::<(), setpoint::goal::ParseError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        let objective = match &self.objective {
            ClassObjective::Rate(rate) => {
                let best = match (rate.rate, rate.rate.direction()) {
                    (Rate::Recall, _) if rate.over != Over::Mean => "most",
                    (_, Direction::Down) => "lowest",
                    _ => "highest",
                };
                format!("the {best} {}", self.rate_words(*rate))
            }
            ClassObjective::Cost { .. } => "the lowest mean cost of a decision".to_owned(),
        };
        let conditions: Vec<String> =
            self.conditions.iter().map(|condition| self.describe_condition(condition)).collect();
        if conditions.is_empty() { objective } else { format!("{objective} at {}", conditions.join(" and ")) }
    }

    /// A condition in words, as a thing to hold: `a recall of shirt of at least 90%`.
    #[must_use]
    pub fn describe_condition(&self, condition: &ClassCondition) -> String {
        let side = match condition.relation {
            Relation::Equal => "",
            Relation::AtMost => "at most ",
            Relation::AtLeast => "at least ",
        };
        let target = match condition.target {
            Target::Value(value) => number::words(value),
            Target::Prior => "its share of the rows".to_owned(),
        };
        let words = self.rate_words(condition.rate);
        let article = if words.starts_with(['a', 'e', 'F']) { "an" } else { "a" };
        format!("{article} {words} of {side}{target}")
    }

    fn rate_words(&self, rate: ClassRate) -> String {
        let words = match rate.rate {
            Rate::PositiveRate => "coverage".to_owned(),
            rate => describe::rate_words(rate),
        };
        match rate.over {
            Over::All => words,
            Over::Class(class) => format!("{words} of {}", quote(&self.classes[class])),
            Over::Each => format!("{words} of each class"),
            Over::Mean if rate.rate == Rate::Recall => "balanced accuracy".to_owned(),
            Over::Mean => format!("mean {words} of the classes"),
            Over::Worst => format!("{words} of the class where it is worst"),
        }
    }

    /// The rules that a goal must keep, beyond the grammar.
    pub(super) fn check_parts(&self) -> Result<(), Fault> {
        let fault = |clause, error| Err(Fault { clause, error });
        for (index, condition) in self.conditions.iter().enumerate() {
            let (quantity, rate) = (self.quantity(condition.rate), condition.rate.rate);
            if let Target::Value(target) = condition.target
                && !(target > 0.0 && target < 1.0)
            {
                return fault(
                    Clause::Target(index),
                    GoalError::Target { quantity, target, interval: "(0, 1)" },
                );
            }
            let right = safe_side(rate);
            let sided = rate.direction() != Direction::Neither && condition.relation != Relation::Equal;
            if sided && condition.relation != right {
                let target = number::target(condition.target.of(0.5));
                return fault(Clause::Relation(index), GoalError::WrongSide { quantity, right, target });
            }
            let same = |other: &&ClassCondition| {
                let meet = |a, b| a == b || a == Over::Each || b == Over::Each;
                other.rate.rate == rate
                    && meet(other.rate.over, condition.rate.over)
                    && (sided || other.relation == condition.relation || other.relation == Relation::Equal)
            };
            if let Some(first) = self.conditions[..index].iter().find(same) {
                let (first, second) = (self.condition(first), self.condition(condition));
                return fault(Clause::Condition(index), GoalError::Duplicate { first, second });
            }
            if ClassObjective::Rate(condition.rate) == self.objective {
                let condition = self.condition(condition);
                let objective = self.objective();
                return fault(Clause::Condition(index), GoalError::NothingToImprove { objective, condition });
            }
        }
        let ClassObjective::Rate(ClassRate { rate, over }) = self.objective else { return Ok(()) };
        let weighs_both =
            matches!(rate, Rate::Accuracy | Rate::Error | Rate::BalancedAccuracy | Rate::FBeta(_));
        let tied = !self.conditions.is_empty();
        match over {
            Over::Class(_) if rate.direction() == Direction::Neither => {
                fault(Clause::Objective, GoalError::NoDirection { rate })
            }
            Over::Class(class) if !weighs_both && !tied => {
                let of = quote(&self.classes[class]);
                let example = match rate {
                    Rate::Precision | Rate::FalseDiscoveryRate => format!("recall({of})>=0.9"),
                    _ => format!("precision({of})>=0.9"),
                };
                let objective = self.objective();
                fault(Clause::Objective, GoalError::Unconditioned { objective, example })
            }
            _ => Ok(()),
        }
    }
}

impl Display for ClassGoal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.objective())?;
        let mut separator = " @ ";
        for condition in &self.conditions {
            write!(f, "{separator}{}", self.condition(condition))?;
            separator = ", ";
        }
        Ok(())
    }
}

/// A class's name as goals write it; `each` by itself is no class, and numbers need no quotes.
fn quote(class: &str) -> String {
    match class {
        "each" => "\"each\"".to_owned(),
        _ if !class.is_empty() && class.bytes().all(|byte| byte.is_ascii_digit()) => class.to_owned(),
        _ => column::quote(class),
    }
}
