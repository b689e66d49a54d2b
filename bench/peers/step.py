"""Milliseconds per full-batch ico step: Setpoint beside PyTorch (autograd) and a TensorFlow graph.

All three do the same step on data of the same shape: scores of a linear model, m smooth recall
thresholds held at the current scores (solved in Setpoint, which makes it do more; held fixed in the
peers), mean precision there, its gradient through the thresholds, and the gradient by the weights.
Runs are interleaved; the table shows medians and ratios.

    python3 -m venv .venv-peers && .venv-peers/bin/pip install numpy torch tensorflow-cpu
    .venv-peers/bin/python bench/peers/step.py [ROWS COLUMNS THRESHOLDS]

PyPI's Linux wheel of torch is the CUDA build (about 5 GB installed); it runs on the CPU here.
"""

import os
import statistics
import subprocess
import sys
import time

ROWS, COLUMNS, BINS = (int(a) for a in (sys.argv[1:4] or ["50000", "22", "5"]))
ROUNDS, STEPS = 7, 60
SHARPNESS = 10.0


def data():
    import numpy as np

    rng = np.random.default_rng(0)
    labels = np.arange(ROWS) % 10 == 0
    features = rng.uniform(-1, 1, (ROWS, COLUMNS)).astype(np.float32)
    features[labels] += 0.4
    return features, labels


def worker_torch(threads):
    """One forward and one backward pass: the ratio r is a constant, as the paper has it."""
    import torch

    torch.set_num_threads(threads)
    features, labels = data()
    x, y = torch.from_numpy(features), torch.from_numpy(labels)
    positive, negative = x[y], x[~y]
    weights = torch.full((COLUMNS,), 0.1, requires_grad=True)
    quantiles = torch.linspace(0.0, 0.1, 2 * BINS + 1)[1::2]
    with torch.no_grad():
        thresholds = torch.quantile(positive @ weights, quantiles)

    def step():
        p = torch.sigmoid(SHARPNESS * ((positive @ weights)[:, None] - thresholds))
        n = torch.sigmoid(SHARPNESS * ((negative @ weights)[:, None] - thresholds))
        tp, fp = p.sum(0), n.sum(0)
        with torch.no_grad():
            slope_p = (SHARPNESS * p * (1 - p)).sum(0)
            slope_n = (SHARPNESS * n * (1 - n)).sum(0)
            df_dt = (fp * slope_p - tp * slope_n) / (tp + fp) ** 2 / BINS
            ratio = df_dt / (-slope_p / len(p))
        loss = -(tp / (tp + fp)).mean() - (ratio * (tp / len(p))).sum()
        (gradient,) = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            weights.sub_(0.05 * gradient)

    return step


def worker_tensorflow(threads, published=False):
    """The same as a compiled graph; `published`: with the separate gradients of the authors' code."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    features, labels = data()
    positive, negative = tf.constant(features[labels]), tf.constant(features[~labels])
    weights = tf.Variable(tf.fill((COLUMNS, 1), 0.1))
    quantiles = np.linspace(0.0, 0.1, 2 * BINS + 1)[1::2]
    thresholds = tf.constant(np.quantile((features[labels] * 0.1).sum(1), quantiles).astype(np.float32))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            p = tf.sigmoid(SHARPNESS * (positive @ weights - thresholds))
            n = tf.sigmoid(SHARPNESS * (negative @ weights - thresholds))
            tp, fp = tf.reduce_sum(p, 0), tf.reduce_sum(n, 0)
            count = tf.cast(tf.shape(p)[0], tf.float32)
            slope_p = tf.reduce_sum(SHARPNESS * p * (1 - p), 0)
            slope_n = tf.reduce_sum(SHARPNESS * n * (1 - n), 0)
            ratio = tf.stop_gradient((fp * slope_p - tp * slope_n) / (tp + fp) ** 2 / BINS / (-slope_p / count))
            loss = -tf.reduce_mean(tp / (tp + fp)) - tf.reduce_sum(ratio * (tp / count))
        weights.assign_sub(0.05 * tape.gradient(loss, weights))

    @tf.function
    def step_as_published():
        """Two gradient passes: of f by weights and thresholds, then of r.g by the weights."""
        positives = tf.cast(tf.shape(positive)[0], tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(thresholds)
            tp = tf.reduce_sum(tf.sigmoid(SHARPNESS * (positive @ weights - thresholds)), 0)
            fp = tf.reduce_sum(tf.sigmoid(SHARPNESS * (negative @ weights - thresholds)), 0)
            loss = -tf.reduce_mean(tp / (tp + fp))
        by_weights, by_thresholds = tape.gradient(loss, [weights, thresholds])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(thresholds)
            recall = tf.reduce_sum(tf.sigmoid(SHARPNESS * (positive @ weights - thresholds)), 0) / positives
            total = tf.reduce_sum(recall)
        ratio = by_thresholds / tape.gradient(total, thresholds)
        with tf.GradientTape() as tape:
            recall = tf.reduce_sum(tf.sigmoid(SHARPNESS * (positive @ weights - thresholds)), 0) / positives
            weighted = tf.reduce_sum(tf.stop_gradient(ratio) * recall)
        weights.assign_sub(0.05 * (by_weights - tape.gradient(weighted, weights)))

    return step_as_published if published else step


def serve(name, threads):
    """Child process: one line in, one timing out."""
    workers = {
        "torch": worker_torch,
        "tensorflow": worker_tensorflow,
        "published": lambda threads: worker_tensorflow(threads, published=True),
    }
    step = workers[name](threads)
    for _ in range(5):
        step()
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        print(1e3 * (time.perf_counter() - start) / STEPS, flush=True)


def main():
    bench = ["cargo", "bench", "-q", "-p", "setpoint", "--bench", "fit", "--", "step", str(ROWS), str(COLUMNS), str(BINS)]
    print(f"{ROWS} x {COLUMNS}, {BINS} thresholds; milliseconds per step, median of {ROUNDS} interleaved rounds of {STEPS} steps")
    peers = {"torch": "torch", "tensorflow": "TF graph", "published": "TF, as published"}
    print(f"{'threads':>8} {'setpoint':>10}" + "".join(f" {name:>17} {'x':>5}" for name in peers.values()))
    for threads in (1, 2):
        children = {
            name: subprocess.Popen(
                [sys.executable, __file__, str(ROWS), str(COLUMNS), str(BINS), "serve", name, str(threads)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
            for name in peers
        }
        times = {name: [] for name in ("setpoint", *peers)}
        for _ in range(ROUNDS):
            out = subprocess.run([*bench, str(threads), str(STEPS)], check=True, capture_output=True, text=True)
            times["setpoint"].append(float(out.stdout.split()[-1]))
            for name, child in children.items():
                child.stdin.write("go\n")
                child.stdin.flush()
                times[name].append(float(child.stdout.readline()))
        for child in children.values():
            child.stdin.close()
            child.wait()
        median = {name: statistics.median(values) for name, values in times.items()}
        row = "".join(f" {median[name]:>17.3f} {median[name] / median['setpoint']:>5.1f}" for name in peers)
        print(f"{threads:>8} {median['setpoint']:>10.3f}{row}")


if __name__ == "__main__":
    if sys.argv[4:5] == ["serve"]:
        serve(sys.argv[5], int(sys.argv[6]))
    else:
        main()
