"""Long runs in one process: memory that stays flat, threads that share a model, fits beside each other, forks.

    python bench/load.py [--fits 10000] [--rows 300]

Prints one line for each; exits with 1 where something does not hold. The tests do a little of it (test_load.py).
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import setpoint
from setpoint import SetpointClassifier

KINDS = {
    "linear": {"model": "linear"},
    "mlp": {"model": "mlp", "hidden": (8,), "epochs": 2},
    "trees": {"model": "trees", "rounds": 20, "search": 2},
}


def data(rows, seed):
    random = np.random.default_rng(seed)
    y = (random.random(rows) < 0.3).astype(int)
    return random.normal(size=(rows, 4)) + y[:, None], y


def fitted(kind, seed, rows):
    return SetpointClassifier("recall @ fpr<=20%", random_state=seed, **KINDS[kind]).fit(*data(rows, seed))


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--kinds", default="linear,mlp")
    asked = parser.parse_args()
    kinds, sound = asked.kinds.split(","), True

    def say(what, holds):
        nonlocal sound
        sound &= holds
        print(f"{what}: {'holds' if holds else 'DOES NOT HOLD'}", flush=True)

    for _ in range(200):
        fitted("linear", 0, asked.rows)
    before, start, marks = resident(), time.monotonic(), []
    for fit in range(asked.fits):
        fitted("linear", fit, asked.rows)
        if (fit + 1) % max(1, asked.fits // 10) == 0:
            marks.append(resident())
    shown = ", ".join(f"{mark:.1f}" for mark in marks)
    seconds = time.monotonic() - start
    say(
        f"{asked.fits} fits in {seconds:.0f} s, memory {before:.1f} -> {shown} MB, flat within 8 MB",
        max(marks) - before < 8,
    )

    with tempfile.TemporaryDirectory() as folder:

        def kept(kind, seed, name):
            path = Path(folder, name)
            fitted(kind, seed, 2000).save(path)
            return path.read_bytes()

        for kind in kinds:
            kept(kind, 0, "shared")
            model = setpoint.load(Path(folder, "shared"))
            X, _ = data(2000, 5)
            expected = model.decision_function(X)
            with ThreadPoolExecutor(64) as pool:
                same = pool.map(lambda _: np.array_equal(model.decision_function(X), expected), range(2000))  # noqa: B023
                say(f"{kind}: 64 threads share a model, 2000 calls", all(same))
            alone = [kept(kind, seed, f"alone-{seed}") for seed in range(4)]
            with ThreadPoolExecutor(2) as pool:
                beside = list(pool.map(lambda seed: kept(kind, seed, f"beside-{seed}"), range(4)))  # noqa: B023
            say(f"{kind}: four fits in two threads are four alone", beside == alone)
            children = []
            for seed in range(4):
                child = os.fork()
                if child == 0:
                    os._exit(0 if kept(kind, seed, f"forked-{seed}") == alone[seed] else 1)
                children.append(child)
            say(f"{kind}: four forked processes fit the same", all(os.waitpid(one, 0)[1] == 0 for one in children))
    raise SystemExit(not sound)


if __name__ == "__main__":
    main()
