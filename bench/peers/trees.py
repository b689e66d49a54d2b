"""XGBoost (or LightGBM's own Python package) as people tune it, on the splits of `reproduce trees`.

Twelve configurations, positive weights among them, of at most 400 rounds; a booster ends when no goal's
value on validation has risen for 120 rounds. Rounds and configuration are chosen on validation by the
goal's own metric; the best alone and the three best together are tested. One line of JSON for each task,
seed and goal; lines that OUT has already are not run again.

    setpoint reproduce trees --export splits
    python3 -m venv .venv-trees && .venv-trees/bin/pip install xgboost lightgbm .
    .venv-trees/bin/python bench/peers/trees.py splits out.jsonl [--tool XGBoost|LightGBM] [--processes 2]
    setpoint reproduce trees --peers out.jsonl

With `--tool LightGBM` the configurations are those of Setpoint's own search: the figures then are those of
the LightGBM columns that `reproduce trees` makes itself.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import pathlib

import numpy as np

from setpoint import metrics

GOALS = ["recall @ fpr<=1%", "recall @ fpr<=0.1%", "pr-auc @ recall in 0.95..1", "precision @ k=100"]
ROUNDS, LOOK_EVERY, PATIENCE, TOGETHER = 400, 20, 120, 3

# XGBoost's defaults (but for a smaller step) come first; each value occurs beside several of the others.
NAMES = ["eta", "max_depth", "max_leaves", "min_child_weight"]
NAMES += ["colsample_bytree", "subsample", "lambda", "scale_pos_weight"]
XGBOOST = [
    dict(zip(NAMES, row))
    for row in [
        (0.1, 6, 0, 1, 1.0, 1.0, 1, 1),
        (0.05, 8, 0, 1, 0.8, 0.8, 1, 1),
        (0.1, 4, 0, 1, 0.8, 1.0, 1, 3),
        (0.05, 10, 0, 5, 0.6, 0.8, 5, 3),
        (0.1, 6, 0, 1, 0.6, 0.8, 1, 10),
        (0.05, 8, 0, 5, 0.8, 1.0, 1, 30),
        (0.1, 0, 63, 1, 0.6, 0.8, 5, 1),
        (0.1, 4, 0, 5, 1.0, 0.8, 1, 10),
        (0.05, 0, 31, 1, 0.6, 0.8, 5, 3),
        (0.1, 0, 127, 1, 0.8, 0.8, 10, 1),
        (0.1, 6, 0, 5, 0.8, 0.8, 1, 30),
        (0.05, 4, 0, 1, 0.6, 1.0, 1, 1),
    ]
]


def load(path):
    """The parts as (features, labels), and the file's notes."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])

    def tensor(key):
        begin, end = header[key]["data_offsets"]
        return np.frombuffer(data[start + begin : start + end], "<f4").reshape(header[key]["shape"])

    notes = {key: json.loads(text) for key, text in header["__metadata__"].items()}
    return [(tensor(f"{part}.x"), tensor(f"{part}.y")) for part in ("train", "validation", "test")], notes


def xgboost_rounds(parts, notes, seed):
    """Each configuration's name and the scores of validation and test rows, look by look, as it grows."""
    import xgboost

    types = ["c" if column in notes["categorical"] else "q" for column in range(parts[0][0].shape[1])]
    options = {"feature_types": types, "enable_categorical": True, "nthread": 1}
    train, validation, test = (xgboost.DMatrix(*part, **options) for part in parts)
    for index, configuration in enumerate(XGBOOST):
        policy = "lossguide" if configuration["max_leaves"] else "depthwise"
        more = {"objective": "binary:logistic", "tree_method": "hist", "grow_policy": policy, "seed": seed + index}
        booster = xgboost.Booster({**configuration, **more, "nthread": 1}, [train, validation, test])

        def looks(booster=booster):
            for done in range(ROUNDS):
                booster.update(train, done)
                if (done + 1) % LOOK_EVERY == 0:
                    yield [booster.predict(part, output_margin=True) for part in (validation, test)]

        yield looks()


def lightgbm_rounds(parts, notes, seed):
    """As `xgboost_rounds`."""
    import lightgbm

    steady = {"num_threads": 1, "deterministic": True, "force_col_wise": True, "verbosity": -1}
    steady |= {"feature_pre_filter": False}
    names = {"leaves": "num_leaves", "min_leaf_rows": "min_data_in_leaf", "column_share": "feature_fraction"}
    names |= {"shrinkage": "lambda_l2", "positive_weight": "scale_pos_weight", "learning_rate": "learning_rate"}
    train = lightgbm.Dataset(*parts[0], categorical_feature=notes["categorical"], params=steady)
    for index, configuration in enumerate(notes["configurations"]):
        parameters = {names[key]: value for key, value in configuration.items() if key in names}
        if configuration["row_share"] < 1:
            parameters |= {"bagging_fraction": configuration["row_share"], "bagging_freq": 1}
        booster = lightgbm.Booster({**parameters, **steady, "objective": "binary", "seed": seed + index}, train)

        def looks(booster=booster):
            scores = [0.0, 0.0]
            for done in range(ROUNDS):
                booster.update()
                if (done + 1) % LOOK_EVERY == 0:
                    new = {"start_iteration": done + 1 - LOOK_EVERY, "num_iteration": LOOK_EVERY}
                    for part, (x, _) in enumerate(parts[1:]):
                        scores[part] = scores[part] + booster.predict(x, raw_score=True, num_threads=1, **new)
                    yield list(scores)

        yield looks()


def trial(tool, path, task, seed):
    """What the tool comes to for each goal."""
    parts, notes = load(path)
    (_, truth), (_, test_truth) = parts[1:]
    judged = [goal + f" of {len(test_truth)}" if "k=" in goal else goal for goal in GOALS]
    rounds, version = TOOLS[tool]
    best = {goal: [] for goal in GOALS}
    for looks in rounds(parts, notes, seed):
        own, since = {}, 0
        for scores in looks:
            since += LOOK_EVERY
            for goal, text in zip(GOALS, judged):
                value = metrics.value_at(truth, scores[0], text)
                if goal not in own or value > own[goal][0]:
                    own[goal], since = (value, scores), 0
            if since >= PATIENCE:
                break
        for goal in GOALS:
            best[goal].append(own[goal])
    found = []
    for goal in GOALS:
        chosen = sorted(best[goal], key=lambda entry: -entry[0])[:TOGETHER]
        together = sum(test / np.std(validation) for _, (validation, test) in chosen)
        found.append(
            {
                "peer": tool,
                "version": version(),
                "task": task,
                "seed": seed,
                "goal": goal,
                "single": float(metrics.value_at(test_truth, chosen[0][1][1], goal)),
                "average": float(metrics.value_at(test_truth, together, goal)),
            }
        )
    return found


def version_of(package):
    import importlib.metadata

    return lambda: importlib.metadata.version(package)


TOOLS = {"XGBoost": (xgboost_rounds, version_of("xgboost")), "LightGBM": (lightgbm_rounds, version_of("lightgbm"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("splits", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tool", choices=TOOLS, default="XGBoost")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    lines = asked.out.read_text().splitlines() if asked.out.exists() else []
    known = {(line["peer"], line["task"], line["seed"]) for line in map(json.loads, lines)}
    jobs = []
    for path in asked.splits.glob("*.safetensors"):
        task, _, seed = path.stem.rpartition("-")
        if (asked.tool, task, int(seed)) not in known:
            jobs.append((int(seed), task, path))
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(asked.processes, mp_context=spawn) as pool:
        running = [pool.submit(trial, asked.tool, path, task, seed) for seed, task, path in sorted(jobs)]
        for done, result in enumerate(concurrent.futures.as_completed(running), 1):
            with open(asked.out, "a") as file:
                file.writelines(json.dumps(line) + "\n" for line in result.result())
            print(f"{done} of {len(running)}", flush=True)


if __name__ == "__main__":
    main()
