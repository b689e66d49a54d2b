"""`setpoint train` with no flag beyond label and goal, beside tuned boosters and tf-idf with logistic regression.

Raw tables: Give Me Some Credit, Adult, KDD Cup 1999 (r2l against the rest), protein homology, clothing reviews (without
Rating), employment-MA, Communities with its names. By seed, a fifth of the rows is for testing (whole queries of
protein homology); of more than `--rows` others as many are drawn, the same for every method. Rivals choose among 12
configurations (drawn by the seed, the first are the defaults) and their rounds by the goal's value on a quarter of
their rows, and are shown as they are and fitted again on all their rows with what was chosen ("again"); Setpoint shares
its rows out itself. Shown is the goal's value on test rows at its own condition there.
Every fit is a line of FILE, so that an interrupted run goes on.

    cargo build --release
    python3 -m venv .venv-tables && .venv-tables/bin/pip install lightgbm xgboost-cpu catboost scikit-learn pandas pyarrow
    SETPOINT_DATA=path/to/data .venv-tables/bin/python bench/peers/tables.py --out FILE [--sets ...] [--seeds 0-9]
        [--rows N] [--only setpoint|rivals] [--table]
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from costs import DATA, adult, credit

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("SETPOINT_BINARY", ROOT / "target" / "release" / "setpoint"))
GOALS = ["recall @ fpr<=1%", "precision @ recall>=0.8"]
CONFIGURATIONS, ROUNDS = 12, 400
R2L = "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster".split()
TEXTS = ["Title", "Review Text"]


def kdd():
    frame = pd.read_csv(DATA / "kddcup.data_10_percent.gz", header=None)
    frame.columns = [f"c{place}" for place in range(frame.shape[1] - 1)] + ["label"]
    frame["label"] = frame["label"].str.rstrip(".").isin(R2L).astype(int)
    return frame.drop_duplicates().reset_index(drop=True)


def communities():
    frame = pd.read_csv(DATA / "communities.data", header=None, na_values="?")
    frame.columns = [f"c{place}" for place in range(frame.shape[1] - 1)] + ["label"]
    return frame.assign(label=(frame["label"] > 0.28).astype(int)).drop(columns="c4")


def protein():
    frame = pd.read_parquet(DATA / "protein-homology.parquet")
    query, _, label = frame.columns[:3]
    return frame.rename(columns={label: "label", query: "query"}).drop(columns=frame.columns[1])


def reviews():
    frame = pd.read_parquet(DATA / "clothing-reviews.parquet").drop(columns="Rating")
    frame["label"] = (frame.pop("Recommended IND").astype(int) == 0).astype(int)
    return frame


def employment():
    frame = pd.read_parquet(DATA / "employment-MA.parquet")
    drop = [name for name in ("id", "year", "prediction", "predicted_probability") if name in frame]
    return frame.drop(columns=drop).rename(columns={"employed": "label"}).astype({"label": int})


SETS = {
    "credit": lambda: credit(0).drop(columns=["saved", "lost"]),
    "adult": lambda: adult(0),
    "kdd": kdd,
    "protein": protein,
    "reviews": reviews,
    "employment": employment,
    "communities": communities,
}


def shared(frame, seed, rows, share=0.2):
    """Train and test rows; whole queries where there are any."""
    rng = np.random.default_rng(seed)
    if "query" in frame:
        queries = rng.permutation(frame["query"].unique())
        test = frame["query"].isin(queries[: round(share * len(queries))]).to_numpy()
    else:
        test = np.zeros(len(frame), bool)
        for label in (0, 1):
            at = rng.permutation(np.flatnonzero(frame["label"] == label))
            test[at[: round(share * len(at))]] = True
    train = rng.permutation(np.flatnonzero(~test))
    return np.sort(train[:rows]), np.flatnonzero(test)


def value(goal, y, s):
    """The goal's value at its condition on these rows, in %."""
    order = np.argsort(-s, kind="stable")
    ends = np.append(np.diff(s[order]) != 0, True)
    tp, fp = np.cumsum(y[order])[ends], np.cumsum(1 - y[order])[ends]
    if goal == GOALS[0]:
        return 100 * max(tp[fp <= 0.01 * (1 - y).sum()], default=0) / y.sum()
    held = tp >= 0.8 * y.sum()
    return 100 * (tp / (tp + fp))[held].max()


def ours(frame, train, test, goal, seed):
    with tempfile.TemporaryDirectory() as folder:
        frame.iloc[train].to_csv(f"{folder}/train.csv", index=False)
        frame.iloc[test].drop(columns="label").to_csv(f"{folder}/test.csv", index=False)
        command = [BINARY, "train", "train.csv", "--label", "label", "--positive", "1", "--goal", goal]
        command += ["--seed", str(seed), "--json", "-q", "-o", "m"]
        if "query" in frame:
            command += ["--split-by", "query"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise RuntimeError(done.stderr)
        record = json.loads(done.stdout)
        subprocess.run([BINARY, "predict", "m", "test.csv", "-q", "-o", "out.csv"], cwd=folder, check=True)
        kinds = {one["model"]: one["validation"] for one in record["kinds"]}
        return pd.read_csv(f"{folder}/out.csv")["score"].to_numpy(), {"kept": record["model"], "kinds": kinds}


def drawn(seed, grid):
    """The defaults, then draws."""
    rng = np.random.default_rng(seed)
    yield {name: values[0] for name, values in grid.items()}
    for _ in range(CONFIGURATIONS - 1):
        yield {name: values[rng.integers(len(values))] for name, values in grid.items()}


def lightgbm(X, y, held, seed):
    import lightgbm as lgb

    grid = {
        "learning_rate": [0.1, 0.05, 0.03],
        "num_leaves": [31, 7, 15, 63],
        "min_child_samples": [20, 5, 50],
        "reg_lambda": [0.0, 1.0, 10.0],
        "colsample_bytree": [1.0, 0.8, 0.6],
        "scale_pos_weight": [1.0, 3.0, 10.0],
    }
    for one in drawn(seed, grid):
        model = lgb.LGBMClassifier(n_estimators=ROUNDS, n_jobs=1, verbose=-1, random_state=seed, **one)
        stop = lgb.early_stopping(40, verbose=False)
        model.fit(X[0], y, eval_set=[(X[1], held)], eval_metric="average_precision", callbacks=[stop])
        rounds = model.best_iteration_ or ROUNDS
        again = lgb.LGBMClassifier(n_estimators=rounds, n_jobs=1, verbose=-1, random_state=seed, **one)
        yield model, again, lambda model, part: model.predict_proba(part)[:, 1], X


def xgboost(X, y, held, seed):
    import xgboost as xgb

    grid = {
        "learning_rate": [0.3, 0.1, 0.05],
        "max_depth": [6, 3, 4, 8],
        "min_child_weight": [1, 5, 20],
        "reg_lambda": [1.0, 0.1, 10.0],
        "colsample_bytree": [1.0, 0.8, 0.6],
        "scale_pos_weight": [1.0, 3.0, 10.0],
    }
    for one in drawn(seed, grid):
        how = {"enable_categorical": True, "early_stopping_rounds": 40, "eval_metric": "aucpr", "tree_method": "hist"}
        model = xgb.XGBClassifier(n_estimators=ROUNDS, n_jobs=1, random_state=seed, **how, **one)
        model.fit(X[0], y, eval_set=[(X[1], held)], verbose=False)
        del how["early_stopping_rounds"]
        again = xgb.XGBClassifier(n_estimators=model.best_iteration + 1, n_jobs=1, random_state=seed, **how, **one)
        yield model, again, lambda model, part: model.predict_proba(part)[:, 1], X


def catboost(X, y, held, seed):
    import catboost

    grid = {"learning_rate": [None, 0.1, 0.05], "depth": [6, 4, 8], "l2_leaf_reg": [3.0, 1.0, 10.0]}
    grid["scale_pos_weight"] = [1.0, 3.0, 10.0]
    coded = [name for name in X[0] if X[0][name].dtype == "category"]
    X = [part.assign(**{name: part[name].astype(object).fillna("").astype(str) for name in coded}) for part in X]
    for one in drawn(seed, grid):
        how = {"thread_count": 1, "verbose": False, "allow_writing_files": False, "cat_features": coded}
        model = catboost.CatBoostClassifier(iterations=ROUNDS, random_seed=seed, **how, **one)
        model.fit(X[0], y, eval_set=(X[1], held), early_stopping_rounds=40)
        rounds = model.get_best_iteration() + 1
        one = {**one, "learning_rate": one["learning_rate"] or model.learning_rate_}
        again = catboost.CatBoostClassifier(iterations=rounds, random_seed=seed, **how, **one)
        yield model, again, lambda model, part: model.predict_proba(part)[:, 1], X


def histogram(X, y, held, seed):
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Codes, since scikit-learn takes at most 255 categories.
    X = [pd.DataFrame({n: p[n].cat.codes if p[n].dtype == "category" else p[n] for n in p}) for p in X]
    model = HistGradientBoostingClassifier(max_iter=ROUNDS, early_stopping=True, random_state=seed).fit(X[0], y)
    again = HistGradientBoostingClassifier(max_iter=model.n_iter_, early_stopping=False, random_state=seed)
    yield model, again, lambda model, part: model.predict_proba(part)[:, 1], X


def words(X, y, held, seed):
    from sklearn.base import clone
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    kinds = [(TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2)), name) for name in TEXTS]
    encode = make_column_transformer(*kinds)
    X = [part.fillna({name: "" for name in TEXTS}) for part in X]
    rows = [encode.fit_transform(X[0])]
    for c in (0.01, 0.1, 1, 10, 100):
        for weight in (None, "balanced"):
            model = LogisticRegression(C=c, class_weight=weight, max_iter=300)
            again = make_pipeline(clone(encode), clone(model))
            model = make_pipeline(encode, model.fit(rows[0], y))
            yield model, again, lambda model, part: model.decision_function(part), X


def encoded(frame):
    X = frame.drop(columns=["label", "query"], errors="ignore")
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    return X.astype({name: "category" for name in texts})


RIVALS = {"LightGBM": lightgbm, "XGBoost": xgboost, "CatBoost": catboost, "HistGradientBoosting": histogram}


def rival(fit, frame, train, test, seed):
    """The test scores for each goal, by the goal's value on a quarter of the rows."""
    inner, held = shared(frame.iloc[train].reset_index(drop=True), 1000 + seed, len(train), 0.25)
    parts = [train[inner], train[held], test]
    X = frame.drop(columns=["label", "query"], errors="ignore") if fit is words else encoded(frame)
    if fit in RIVALS.values():
        X = X.drop(columns=[name for name in TEXTS if name in X])
    y = frame["label"].to_numpy()
    best = {}
    for model, again, score, X in fit([X.iloc[part] for part in parts], y[parts[0]], y[parts[1]], seed):
        on_held = score(model, X[1])
        for goal in GOALS:
            found = value(goal, y[parts[1]], on_held)
            if goal not in best or found > best[goal][0]:
                best[goal] = found, score(model, X[2]), again
    for _, _, again in {id(again): (0, 0, again) for _, _, again in best.values()}.values():
        again.fit(pd.concat(X[:2]), np.concatenate([y[part] for part in parts[:2]]))
    return {goal: {"": scores, ", again": score(again, X[2])} for goal, (_, scores, again) in best.items()}


def run(arguments):
    done = {(line["set"], line["seed"], line["method"], line["goal"]) for line in lines(arguments.out)}
    frames = {name: SETS[name]() for name in arguments.sets}
    for seed, (name, frame) in itertools.product(arguments.seeds, frames.items()):
        rivals = {**RIVALS, **({"tf-idf, logistic regression": words} if name == "reviews" else {})}
        train, test = shared(frame, seed, arguments.rows)
        y = frame["label"].to_numpy()[test]

        def put(method, goal, scores, seconds, more, seed=seed, y=y, name=name):
            line = {"set": name, "seed": seed, "method": method, "goal": goal, "value": value(goal, y, scores)}
            with open(arguments.out, "a") as file:
                file.write(json.dumps({**line, "seconds": seconds, **more}) + "\n")
            print(json.dumps({**line, **more}), flush=True)

        for goal in GOALS:
            if (name, seed, "Setpoint", goal) not in done and arguments.only != "rivals":
                clock = children()
                scores, more = ours(frame, train, test, goal, seed)
                put("Setpoint", goal, scores, children() - clock, more)
        for method, fit in rivals.items():
            if (name, seed, method, GOALS[0]) in done or arguments.only == "setpoint":
                continue
            clock = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = rival(fit, frame, train, test, seed)
            for goal, by in found.items():
                for how, scores in by.items():
                    put(method + how, goal, scores, time.process_time() - clock, {})


def children():
    """Seconds of processor time of the commands that were run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lines(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def table(arguments, sets=SETS):
    found = collections.defaultdict(dict)
    for line in lines(arguments.out):
        found[(line["set"], line["goal"], line["method"])][line["seed"]] = line
    print("| set | goal | seeds | Setpoint | the best rival | difference | seconds: Setpoint, all rivals |")
    print("|---|---|---|---|---|---|---|")
    for name in sets:
        for goal in GOALS:
            mine = found.get((name, goal, "Setpoint"))
            others = {key[2]: by for key, by in found.items() if key[:2] == (name, goal) and key[2] != "Setpoint"}
            if not mine or not others:
                continue
            seeds = sorted(set(mine).intersection(*others.values()))
            means = {method: np.mean([by[seed]["value"] for seed in seeds]) for method, by in others.items()}
            best = max(means, key=means.get)
            d = np.array([mine[seed]["value"] - others[best][seed]["value"] for seed in seeds])
            error = f" ± {d.std(ddof=1) / len(d) ** 0.5:.2f}" if len(d) > 1 else ""
            own = np.mean([mine[seed]["value"] for seed in seeds])
            # Of a rival that was fitted again, both lines have the time of both.
            rivals = [by for method, by in others.items() if f"{method}, again" not in others]
            times = [np.mean([by[seed]["seconds"] for seed in seeds]) for by in (mine, *rivals)]
            rival = f"{means[best]:.2f} ({best}) | {d.mean():+.2f}{error}"
            print(f"| {name} | {goal} | {len(seeds)} | {own:.2f} | {rival} | {times[0]:.0f}, {sum(times[1:]):.0f} |")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", required=True)
parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS))
parser.add_argument(
    "--seeds", type=lambda text: range(int(text.split("-")[0]), int(text.split("-")[-1]) + 1), default=range(10)
)
parser.add_argument("--rows", type=int, default=10**9, help="most rows to train on")
parser.add_argument("--only", choices=["setpoint", "rivals"])
parser.add_argument("--table", action="store_true")

if __name__ == "__main__":
    given = parser.parse_args()
    table(given) if given.table else run(given)
