"""Leaf values refitted for the goal on held-out rows: what their change adds to retrained boosters.

The recipe is that of docs/results/trees/leaves.md, which was written before the seeds it names were run. Base: twelve
configurations of LightGBM on the training rows, rounds and the three best by the mean of the goal's value on validation at
0.5, 1, 2 and 4 times its rate; those three grown again on training and validation rows together, averaged in units of
their spread. Refit: these rows in three folds; the three configurations are grown on two of them, and the values of
all their leaves changed by ten steps of L-BFGS on the third, for the goal's smooth loss or (`log loss`) for that, with a
penalty on the changes. What the changes add to a row, the mean of nine, is added to the base. Shown is the goal's value
on test rows. Every seed of a set is a line of FILE for each goal.

    setpoint reproduce trees --seeds 30-49 --export SPLITS
    pip install setpoint[trees] scipy pandas pyarrow
    SETPOINT_DATA=path/to/data python bench/leaves.py SPLITS --out FILE [--seeds 30-49] [--tables credit,...] [--table]
"""

import argparse
import collections
import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
GOALS = ["recall @ fpr<=1%", "recall @ fpr<=0.1%", "pr-auc @ recall in 0.95..1"]
ROUNDS, LOOK_EVERY, PATIENCE, TOGETHER, FOLDS = 400, 20, 120, 3, 3
STEPS, PENALTY = 10, 3.0
ROWS = 60_000
STEADY = {
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
    "feature_pre_filter": False,
}
NAMES = {"leaves": "num_leaves", "min_leaf_rows": "min_data_in_leaf", "column_share": "feature_fraction"}
NAMES |= {"shrinkage": "lambda_l2", "positive_weight": "scale_pos_weight", "learning_rate": "learning_rate"}


def around(goal):
    """The goal at 0.5, 1, 2 and 4 times its rate; one with a range as it is."""
    head, _, rate = goal.partition("<=")
    return [f"{head}<={float(rate[:-1]) * by:g}%" for by in (0.5, 1, 2, 4)] if rate else [goal]


def merit(truth, scores, goal):
    from setpoint import metrics

    return float(np.mean([metrics.value_at(truth, scores, one) for one in around(goal)]))


def grown(x, y, configuration, seed, categorical, rounds):
    import lightgbm

    parameters = {NAMES[key]: value for key, value in configuration.items() if key in NAMES}
    if configuration["row_share"] < 1:
        parameters |= {"bagging_fraction": configuration["row_share"], "bagging_freq": 1}
    rows = lightgbm.Dataset(x, y, categorical_feature=categorical, params=STEADY)
    booster = lightgbm.Booster({**parameters, **STEADY, "objective": "binary", "seed": seed}, rows)
    for _ in range(rounds):
        booster.update()
        yield booster


def raw(booster, x, start=0, rounds=-1):
    return booster.predict(x, raw_score=True, num_threads=1, start_iteration=start, num_iteration=rounds)


def search(parts, notes, seed):
    """For each goal the configurations in order, best first, each with its rounds."""
    (x, y), (held, truth) = parts[:2]
    found = collections.defaultdict(list)
    for place, configuration in enumerate(notes["configurations"]):
        scores, best, since = 0.0, {}, 0
        for done, booster in enumerate(grown(x, y, configuration, seed + place, notes["categorical"], ROUNDS), 1):
            if done % LOOK_EVERY:
                continue
            scores, since = scores + raw(booster, held, done - LOOK_EVERY, LOOK_EVERY), since + LOOK_EVERY
            for goal in GOALS:
                value = merit(truth, scores, goal)
                if value > best.get(goal, (-1, 0))[0]:
                    best[goal], since = (value, done), 0
            if since >= PATIENCE:
                break
        for goal, (value, rounds) in best.items():
            found[goal].append((value, place, rounds))
    return {goal: sorted(those, key=lambda one: -one[0])[:TOGETHER] for goal, those in found.items()}


def leaves(booster, x):
    """The leaf of each tree that each row falls into."""
    return booster.predict(x, pred_leaf=True, num_threads=1).reshape(len(x), -1)


def values(booster, places):
    """What the leaves of each tree add to a score, up to the last one of these places."""
    lasts = enumerate(places.max(0))
    return [[booster.get_leaf_output(tree, leaf) for leaf in range(last + 1)] for tree, last in lasts]


def as_ones(places, width):
    """A row's leaves as ones, in as many columns a tree as named."""
    from scipy import sparse

    columns = (places + np.arange(places.shape[1]) * width).astype(np.int32).ravel()
    starts = np.arange(0, len(columns) + 1, places.shape[1])
    return sparse.csr_matrix((np.ones(len(columns)), columns, starts), (len(places), places.shape[1] * width))


def changed(start, ones, truth, goal):
    """The change of each leaf's value that is best for the goal (None: log loss) on these rows, with a penalty."""
    import setpoint
    from scipy.optimize import minimize

    spread = start.std()
    if goal is not None:
        sharpness = setpoint._setpoint.sharpness(goal, start.astype(np.float32), truth, None, "0.5tail")
    label = truth.astype(float)
    warm = None

    def loss(change):
        nonlocal warm
        scores = start + ones @ change
        if goal is None:
            value = np.mean(np.logaddexp(0, scores) - label * scores)
            v = (1 / (1 + np.exp(-scores)) - label) / len(scores)
        else:
            step = setpoint.step(truth, scores.astype(np.float32), goal, sharpness=sharpness, thresholds=warm)
            warm, value, v = step.thresholds, step.loss, step.gradient
        return value + PENALTY * (change @ change) / spread**2, ones.T @ v + 2 * PENALTY * change / spread**2

    return minimize(loss, np.zeros(ones.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x


def trial(parts, notes, seed):
    from setpoint import metrics

    best = search(parts, notes, seed)
    (x, y), (held, truth), (test, test_truth) = parts
    x, y = np.vstack([x, held]), np.concatenate([y, truth])
    more = (len(y) / len(parts[0][1])) ** (1 / 3)
    fold = np.random.default_rng(seed).integers(0, FOLDS, len(y))
    places = sorted({place for those in best.values() for _, place, _ in those})
    longest = {p: max(r for those in best.values() for _, place, r in those if place == p) for p in places}
    again, folded = {}, {}  # of a fold: the leaves of its rows and of the test rows, and what they add
    for place in places:
        how = notes["configurations"][place], seed + place, notes["categorical"]
        *_, again[place] = grown(x, y, *how, round(more * longest[place]))
        for out in range(FOLDS):
            *_, booster = grown(x[fold != out], y[fold != out], *how, longest[place])
            found = leaves(booster, x[fold == out]), leaves(booster, test)
            worth = values(booster, np.vstack(found))
            width = max(map(len, worth))
            worth = np.concatenate([np.pad(those, (0, width - len(those))) for those in worth])
            folded[place, out] = *found, worth, width
    for goal, those in best.items():
        base, added = 0.0, collections.Counter()
        for _, place, rounds in those:
            scores = raw(again[place], test, 0, round(more * rounds))
            base = base + scores / scores.std() / len(those)
            for out in range(FOLDS):
                here, there, worth, width = folded[place, out]
                ones, on_test = as_ones(here[:, :rounds], width), as_ones(there[:, :rounds], width)
                start, rows = ones @ worth[: rounds * width], fold == out
                for kind, aim in (("ico", goal), ("log loss", None)):
                    change = changed(start, ones, y[rows] > 0, aim)
                    added[kind] = added[kind] + on_test @ change / start.std() / (FOLDS * len(those))
        line = {"seed": seed, "goal": goal, "base": metrics.value_at(test_truth, base, goal)}
        for kind, change in added.items():
            line[kind] = metrics.value_at(test_truth, base + change, goal)
        yield line


def splits(folder, seeds):
    import trees

    for path in sorted(folder.glob("*.safetensors")):
        name, _, seed = path.stem.rpartition("-")
        if int(seed) in seeds:
            yield name, int(seed), lambda path=path: trees.load(path)


def drawn(names, seeds, configurations):
    """Parts of raw tables, categories as codes; whole queries of protein homology."""
    import tables

    for name in names:
        frame = tables.SETS[name]()
        x = tables.encoded(frame)
        coded = [place for place, column in enumerate(x) if x[column].dtype == "category"]
        codes = {column: x[column].cat.codes.replace(-1, np.nan) for column in x if x[column].dtype == "category"}
        values, label = x.assign(**codes).to_numpy(np.float32), frame["label"].to_numpy(np.float32)

        def parts(seed, frame=frame, values=values, label=label, coded=coded):
            rest, test = tables.shared(frame, seed, ROWS * 3 // 4, 0.25)
            train, held = tables.shared(frame.iloc[rest].reset_index(drop=True), 1000 + seed, len(rest), 1 / 3)
            notes = {"configurations": configurations, "categorical": coded}
            return [(values[rows], label[rows]) for rows in (rest[train], rest[held], test)], notes

        for seed in seeds:
            yield name, seed, lambda seed=seed, parts=parts: parts(seed)


def run(given):
    import trees

    done = {(line["set"], line["seed"]) for line in lines(given.out)}
    notes = trees.load(next(given.splits.glob("*.safetensors")))[1]
    here = list(splits(given.splits, given.seeds)) if not given.tables else []
    here += drawn(given.tables, given.seeds, notes["configurations"])
    for name, seed, load in sorted(here, key=lambda one: one[1]):
        if (name, seed) in done:
            continue
        for line in list(trial(*load(), seed)):
            with open(given.out, "a") as file:
                file.write(json.dumps({"set": name, **line}) + "\n")
            print(name, json.dumps(line), flush=True)


def lines(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def table(given):
    found = collections.defaultdict(list)
    for line in lines(given.out):
        found[line["set"], line["goal"]].append(line)
    print("| set | goal | seeds | retrained | and leaves for the goal | and leaves for log loss |")
    print("|---|---|---|---|---|---|")
    means = collections.defaultdict(list)
    for (name, goal), those in found.items():
        base = 100 * np.array([line["base"] for line in those])
        shown = []
        for kind in ("ico", "log loss"):
            d = 100 * np.array([line[kind] for line in those]) - base
            shown.append(f"{d.mean():+.2f} ± {d.std(ddof=1) / len(d) ** 0.5:.2f}")
            means[kind].append((d.mean(), d.var(ddof=1) / len(d)))
        print(f"| {name} | {goal} | {len(those)} | {base.mean():.2f} | {' | '.join(shown)} |")
    shown = [
        f"{np.mean([m for m, _ in v]):+.2f} ± {sum(e for _, e in v) ** 0.5 / len(v):.2f}" for v in means.values()
    ]
    print(f"| all | | | | {' | '.join(shown)} |")


def seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("splits", type=pathlib.Path)
parser.add_argument("--out", required=True)
parser.add_argument("--seeds", type=seeds, default=seeds("30-49"))
parser.add_argument("--tables", type=lambda text: text.split(","), default=[])
parser.add_argument("--table", action="store_true")

if __name__ == "__main__":
    arguments = parser.parse_args()
    table(arguments) if arguments.table else run(arguments)
