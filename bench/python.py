"""Speed of the Python package, side by side and interleaved.

fit       SetpointClassifier.fit from numpy against the training seconds that `setpoint train` reports
          on the same rows as a file (reading, splitting and encoding not counted there)
value_at  recall at 1% fpr of a million scores, against scikit-learn's roc_curve and a search on it

python bench/python.py [--rounds N]     needs the wheel and target/release/setpoint
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
from sklearn.metrics import roc_curve

from setpoint import SetpointClassifier, metrics

GOAL = "recall @ fpr<=1%"
ROOT = pathlib.Path(__file__).resolve().parents[1]


def cpu_seconds(call) -> float:
    """Processor time: both run on one thread, and a busy machine does not count."""
    start = time.process_time()
    call()
    return time.process_time() - start


def rows(count: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    y = (random.random(count) < 0.1).astype(int)
    X = random.normal(size=(count, columns))
    X[:, :5] += y[:, None]
    return np.round(X, 4).astype(np.float32), y


def fit(rounds: int, count: int, columns: int) -> None:
    X, y = rows(count, columns)
    with tempfile.TemporaryDirectory() as home:
        table = np.column_stack([X, y])
        names = [f"x{i}" for i in range(columns)] + ["label"]
        np.savetxt(f"{home}/d.csv", table, fmt="%.4f", delimiter=",", header=",".join(names), comments="")
        command = [str(ROOT / "target/release/setpoint"), "train", "d.csv", "--label", "label", "--goal", GOAL]
        command += ["--model", "linear"]
        theirs, ours = [], []
        for _ in range(rounds):
            done = subprocess.run([*command, "--json", "-q"], cwd=home, capture_output=True, check=True)
            record = json.loads(done.stdout)
            theirs.append(record["seconds"]["train"])
            model = SetpointClassifier(GOAL, model="linear")
            start = time.perf_counter()
            model.fit(X, y)
            ours.append(time.perf_counter() - start)
    assert [np.float32(t) for t in record["thresholds"]] == model.thresholds_.tolist(), "not the same run"
    ratios = [mine / other for mine, other in zip(ours, theirs)]
    inside = model.report_["seconds"]
    print(
        f"fit, {count} x {columns}: command {statistics.median(theirs):.3f} s, Python "
        f"{statistics.median(ours):.3f} s, ratio {statistics.median(ratios):.3f} "
        f"({min(ratios):.3f} to {max(ratios):.3f}), of the fastest {min(ours) / min(theirs):.3f}; of the last fit, "
        f"{inside['load']:.3f} s splitting and encoding, {inside['train']:.3f} s training"
    )


def best_by_roc_curve(y: np.ndarray, score: np.ndarray) -> float:
    fpr, recall, _ = roc_curve(y, score)
    return float(recall[fpr <= 0.01].max())


def value_at(rounds: int, dtype: type) -> None:
    random = np.random.default_rng(0)
    y = random.random(1_000_000) < 0.1
    score = (random.normal(size=len(y)) + y).astype(dtype)
    assert metrics.value_at(y, score, GOAL) == best_by_roc_curve(y, score)
    theirs, ours = [], []
    for _ in range(rounds):
        theirs.append(cpu_seconds(lambda: best_by_roc_curve(y, score)))
        ours.append(cpu_seconds(lambda: metrics.value_at(y, score, GOAL)))
    ratios = [other / mine for mine, other in zip(ours, theirs)]
    print(
        f"value_at, 1e6 scores of {dtype.__name__}: scikit-learn {1e3 * statistics.median(theirs):.0f} ms, setpoint "
        f"{1e3 * statistics.median(ours):.0f} ms, ratio {statistics.median(ratios):.1f} "
        f"({min(ratios):.1f} to {max(ratios):.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    for dtype in (np.float64, np.float32):
        value_at(arguments.rounds, dtype)
    for count, columns in ((20_000, 16), (200_000, 30)):
        fit(arguments.rounds, count, columns)


if __name__ == "__main__":
    main()
