"""TensorFlow Constrained Optimization 0.2 (2020), which still runs in graph mode on current TensorFlow.

Graph mode is its fast way: eager, the same step takes some fifty times as long.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import tensorflow_constrained_optimization as tfco

from method import EVERY, STEPS

SURROGATES = {"hinge": tfco.HingeLoss, "cross-entropy": tfco.SoftmaxCrossEntropyLoss}


def midpoints(start, end, bins):
    return start + (end - start) * (np.arange(bins) + 0.5) / bins


def mean(rates):
    return sum(rates[1:], rates[0]) / len(rates)


def problem(goal, surrogate, scores, labels):
    """The goal in TFCO's terms; its thresholds are variables that train with the weights."""
    smooth = {"penalty_loss": SURROGATES[surrogate]()}
    if goal == "pr-auc @ recall in 0.95..1":
        context = tfco.rate_context(scores, labels=labels)
        targets = midpoints(0.95, 1.0, 5)
        # TFCO's documentation advises the inverse where either would do: the problem is simpler.
        rates = [tfco.inverse_precision_at_recall(context, target, **smooth) for target in targets]
        return tfco.RateMinimizationProblem(mean(rates))
    limits = {
        "fnr @ fpr<=1%": [0.01],
        "fnr @ fpr<=5%": [0.05],
        "roc-auc @ fpr in 0..5%": midpoints(0.0, 0.05, 10),
    }[goal]
    thresholds = tf.compat.v1.get_variable("thresholds", initializer=tf.zeros(len(limits)))
    contexts = [tfco.rate_context(scores - thresholds[i], labels=labels) for i in range(len(limits))]
    return tfco.RateMinimizationProblem(
        mean([tfco.false_negative_rate(context, **smooth) for context in contexts]),
        [tfco.false_positive_rate(c, **smooth) <= limit for c, limit in zip(contexts, limits)],
    )


class Graph:
    """A goal's training graph on one split, kept for all settings: building takes longer than training."""

    def __init__(self, goal, surrogate, x, labels):
        adam = tf.compat.v1.train.AdamOptimizer
        with tf.Graph().as_default():
            self.weights = tf.compat.v1.get_variable("weights", initializer=tf.zeros(x.shape[1]))
            stated = problem(goal, surrogate, tf.linalg.matvec(tf.constant(x), self.weights), tf.constant(labels))
            self.rates = [tf.compat.v1.placeholder_with_default(0.0, ()) for _ in range(2)]
            primal, dual = (adam(rate) for rate in self.rates)
            self.step = tfco.LagrangianOptimizerV1(primal, constraint_optimizer=dual).minimize(stated)
            single = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
            self.session = tf.compat.v1.Session(config=single)
            self.start = tf.compat.v1.global_variables_initializer()

    def train(self, config, track):
        take = self.session.make_callable(self.step, feed_list=self.rates)
        values = config["lr"], config["dual_lr"]
        self.session.run(self.start)
        take(*values)  # TensorFlow optimizes the graph at its first run: not on the clock.
        self.session.run(self.start)
        track.train(lambda: take(*values), lambda: self.session.run(self.weights), STEPS["tfco"], EVERY["tfco"])


GRAPHS = {}


def fit(method, config, data, seed, track):
    (goal,), surrogate = track.goals, config["surrogate"]
    if GRAPHS.get("data") is not data:
        GRAPHS.clear()
        GRAPHS["data"] = data
    if (goal, surrogate) not in GRAPHS:
        GRAPHS[goal, surrogate] = Graph(goal, surrogate, *data["train"])
    GRAPHS[goal, surrogate].train(config, track)
