"""Rows that belong together: how often certificates are given and broken, and what they cost.

    python bench/entities.py --data DIR [--trainings 200] [--draws 300]

Needs the Python package, scikit-learn is not needed, polars reads the Parquet file.

1. Trainings on entities of 20 rows whose scores are mostly in common. A linear model is trained on some
   entities, its threshold chosen on others: counting rows, proved by entity, or approximate by entity. Broken
   means that the rate on 4,000 new entities is past its target.
2. Protein homology (153 queries of about 950 rows): a linear model trained on half of the queries; 31 of the
   others are drawn again and again, with all of the others as the population.
"""

import argparse
import hashlib
import os
import time

import numpy as np

import setpoint
from setpoint import SetpointClassifier


def visits(entities, rng, rows=20):
    """Features, labels and entities: nine tenths of the first feature are the entity's."""
    who = np.repeat(np.arange(entities), rows)
    y = rng.random(len(who)) < 0.2
    x = np.sqrt(0.9) * rng.normal(size=entities)[who] + np.sqrt(0.1) * rng.normal(size=len(who)) + 1.5 * y
    return np.column_stack([x, rng.normal(size=len(who)) + y]), y.astype(int), who


def chosen(scores, y, who, goal):
    """The threshold of each way to choose it; None where it is refused."""
    ways = {}
    for way, options in {
        "rows": {},
        "entities": {"entities": who},
        "approximate": {"entities": who, "approximate": True},
    }.items():
        try:
            ways[way] = setpoint.certify(y, scores, goal, **options).threshold
        except setpoint.InfeasibleError:
            ways[way] = None
    return ways


def summary(title, found):
    """One line a way: given, broken, recall where given."""
    print(title)
    for way in ("rows", "entities", "approximate"):
        given = [(rate, target, recall) for ways, target in found for rate, recall in [ways[way]] if rate is not None]
        broken = sum(rate > target for rate, target, _ in given)
        recall = f"{100 * np.mean([recall for *_, recall in given]):.1f}%" if given else "-"
        mean = f"{100 * np.mean([rate for rate, *_ in given]):.2f}%" if given else "-"
        print(
            f"  {way:12} given {len(given):4} of {len(found)}, broken {broken:4}, fpr {mean:>7}, recall {recall:>6}"
        )


def correlated(trainings):
    for calibration, target in [(30, 0.1), (60, 0.1), (150, 0.1), (600, 0.1), (600, 0.02)]:
        found, start = [], time.time()
        for seed in range(trainings):
            rng = np.random.default_rng(seed)
            X, y, who = visits(120, rng)
            model = SetpointClassifier(
                f"recall @ fpr<={target}",
                model="linear",
                method="cross-entropy",
                confidence=None,
                split="train=0.75,validation=0.25",
            ).fit(X, y, entities=who)
            X, y, who = visits(calibration, rng)
            ways = chosen(model._scores(X), y, who, f"fpr<={target}")
            X, y, _ = visits(4000, rng)
            scores = model._scores(X)
            rates = {
                way: (None, None) if t is None else (np.mean(scores[y == 0] >= t), np.mean(scores[y == 1] >= t))
                for way, t in ways.items()
            }
            found.append((rates, target))
        seconds = time.time() - start
        summary(f"\n{calibration} calibration entities x 20 rows, fpr<={target:.0%} ({seconds:.0f} s)", found)


def protein(path, draws):
    import polars

    table = polars.read_parquet(path)
    print(f"\nprotein homology, sha256 {hashlib.sha256(open(path, 'rb').read()).hexdigest()[:16]}")
    query, y = table["query"].to_numpy(), table["target"].to_numpy()
    X = table.drop(["query", "id", "target"]).to_numpy().astype(np.float64)
    for target in (0.01, 0.05):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            queries = rng.permutation(np.unique(query))
            training = np.isin(query, queries[:76])
            model = SetpointClassifier(
                f"recall @ fpr<={target}", confidence=None, split="train=0.75,validation=0.25", model="linear"
            )
            model.fit(X[training], y[training], entities=query[training])
            rest = queries[76:]
            rows = {one: np.flatnonzero(query == one) for one in rest}
            scores = model._scores(X)
            everyone = np.concatenate([rows[one] for one in rest])
            found = []
            for _ in range(draws):
                drawn = rng.choice(rest, 31)
                picked = np.concatenate([rows[one] for one in drawn])
                who = np.repeat(np.arange(31), [len(rows[one]) for one in drawn])
                ways = chosen(scores[picked], y[picked], who, f"fpr<={target}")
                of = scores[everyone], y[everyone]
                rates = {
                    way: (None, None)
                    if t is None
                    else (np.mean(of[0][of[1] == 0] >= t), np.mean(of[0][of[1] == 1] >= t))
                    for way, t in ways.items()
                }
                found.append((rates, target))
            summary(f"fpr<={target:.0%}, seed {seed}, {draws} draws of 31 of {len(rest)} queries", found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("SETPOINT_DATA"))
    parser.add_argument("--trainings", type=int, default=200)
    parser.add_argument("--draws", type=int, default=300)
    arguments = parser.parse_args()
    correlated(arguments.trainings)
    file = os.path.join(arguments.data or "", "protein-homology.parquet")
    if os.path.exists(file):
        protein(file, arguments.draws)
    else:
        print(f"\n{file}: not there, skipped")
