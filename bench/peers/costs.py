"""Goals in money and with a band left to people: Setpoint beside cross-entropy, LightGBM, empulse and MAPIE.

Give Me Some Credit: a credit line is three monthly incomes (missing: the median), within 1,000 and 25,000. Who is
refused and would not have paid saves 75% of it (`saved`), who is refused and would have paid costs 6% (`lost`):
`profit(tp=saved, fp=-lost)`; and `coverage @ precision>=0.5, npv>=0.97`. Adult and KDD Cup 1999 (r2l and u2r
against the rest, 100,000 rows drawn with the seed) with abstention. The same rows for every method: 50% train, 15%
validation, 15% calibration, 20% test, stratified by label. What is shown is what ships, on test rows: thresholds are
chosen on validation and calibration rows, never on test rows. Peers are LightGBM with early stopping on validation.

`gap` is another study: `accuracy @ gap(positive-rate, sex)<=0.05` on Adult, certified at 90% by `setpoint.certify`. A
logistic regression learns from 40% of the rows; the others are split 200 times, 40% to certify, 20% to test, beside
fairlearn's ThresholdOptimizer with that tolerance: how often the gap on test rows is above the target.

Every run is a line of JSON in target/costs-study.jsonl, so that an interrupted run goes on.

    cargo build --release
    python3 -m venv .venv-costs && .venv-costs/bin/pip install . lightgbm empulse MAPIE==1.6 fairlearn pandas
    SETPOINT_DATA=path/to/data .venv-costs/bin/python bench/peers/costs.py [linear|trees|peers|gap|table]... [SEEDS]
"""

import collections
import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("SETPOINT_DATA", ""))
BINARY = pathlib.Path(os.environ.get("SETPOINT_BINARY", ROOT / "target" / "release" / "setpoint"))
RUNS = ROOT / "target" / "costs-study.jsonl"
SEEDS = next((int(word) for word in sys.argv[1:] if word.isdigit()), 10)
WANTED = [word for word in sys.argv[1:] if not word.isdigit()] or ["linear", "peers", "trees", "gap", "table"]
MONEY = "profit(tp=saved, fp=-lost)"
CASES = [
    ("credit", MONEY),
    ("credit", "coverage @ precision>=0.5, npv>=0.97"),
    ("adult", "coverage @ precision>=0.8, npv>=0.95"),
    ("kdd", "coverage @ precision>=0.9, npv>=0.999"),
]
ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country label"
).split()
THREADS = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def credit(_):
    frame = pd.read_csv(DATA / "give-me-some-credit.csv.gz").drop(columns="id")
    frame = frame.rename(columns={"SeriousDlqin2yrs": "label"})
    line = (3 * frame["MonthlyIncome"].fillna(frame["MonthlyIncome"].median())).clip(1000, 25000)
    return frame.assign(saved=0.75 * line, lost=0.06 * line)


def adult(_):
    parts = []
    for name in ["adult.data", "adult.test"]:
        lines = [line for line in (DATA / name).read_text().splitlines() if line.strip() and line[0] != "|"]
        parts += [[cell.strip() for cell in line.split(",")] for line in lines]
    frame = pd.DataFrame(parts, columns=ADULT)
    frame["label"] = frame["label"].str.startswith(">50K").astype(int)
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    return frame.astype({name: float for name in numbers})


def kdd(seed):
    rare = (
        "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster buffer_overflow loadmodule perl rootkit"
    )
    with gzip.open(DATA / "kddcup.data_10_percent.gz", "rt") as file:
        frame = pd.read_csv(file, header=None)
    frame.columns = [f"c{place}" for place in range(frame.shape[1] - 1)] + ["label"]
    frame["label"] = frame["label"].str.rstrip(".").isin(rare.split()).astype(int)
    return frame.sample(100_000, random_state=seed).reset_index(drop=True)


def parts_of(labels, seed, shares=(0.5, 0.15, 0.15)):
    generator = np.random.default_rng(seed)
    parts = [[] for _ in range(len(shares) + 1)]
    for label in (0, 1):
        places = generator.permutation(np.flatnonzero(labels == label))
        cuts = np.round(np.cumsum(shares) * len(places)).astype(int)
        for part, some in zip(parts, np.split(places, cuts)):
            part.extend(some.tolist())
    return [generator.permutation(part) for part in parts]


def trained(frame, parts, goal, seed, more):
    """What ships, on the test rows: 1, 0 or -1 for none; and the certificate."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        fit = np.concatenate(parts[:3])
        frame.iloc[fit].assign(order=np.arange(len(fit))).to_csv(folder / "fit.csv", index=False)
        frame.iloc[parts[3]].assign(order=0).to_csv(folder / "test.csv", index=False)
        shares = [len(part) / len(fit) for part in parts[:3]]
        split = ",".join(f"{name}={share}" for name, share in zip(["train", "validation", "calibration"], shares))
        command = [BINARY, "train", "fit.csv", "--label", "label", "--goal", goal, "--split-time", "order"]
        command += ["--split", split, "--seed", str(seed), "--quiet", "--json", "-o", "model.safetensors", *more]
        if "saved" in frame:
            command += ["--drop", "saved,lost"]
        environment = {**os.environ, **THREADS}
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
        if run.returncode != 0:
            return None, run.stderr[-300:]
        record = json.loads(run.stdout)
        command = [BINARY, "predict", "model.safetensors", "test.csv", "--quiet", "-o", "out.csv"]
        subprocess.run(command, cwd=folder, check=True, env=environment)
        with open(folder / "out.csv", newline="") as file:
            decisions = [{"1": 1, "0": 0}.get(row["decision"], -1) for row in csv.DictReader(file)]
        certified = record["certificate"] is not None
        amount = (record["certificate"] or {}).get("amount") or {}
        return np.array(decisions), {"certified": certified, "bound": amount.get("bound"), "kept": record["winner"]}


def encoded(frame):
    features = frame.drop(columns=[name for name in ("label", "saved", "lost") if name in frame])
    texts = [name for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    return features.astype({name: "category" for name in texts})


def boosted(frame, parts, weights=None):
    import lightgbm

    X, y = encoded(frame), frame["label"].to_numpy()
    train, validation = parts[0], parts[1]
    model = lightgbm.LGBMClassifier(n_estimators=150, learning_rate=0.1, n_jobs=1, verbose=-1)
    model.fit(
        X.iloc[train],
        y[train],
        sample_weight=None if weights is None else weights[train],
        eval_set=[(X.iloc[validation], y[validation])],
        eval_sample_weight=None if weights is None else [weights[validation]],
        callbacks=[lightgbm.early_stopping(20, verbose=False)],
    )
    return model.predict_proba(X)[:, 1]


def best_cut(scores, gains):
    """The threshold at which what positive decisions gain is most."""
    order = np.argsort(-scores, kind="stable")
    total = np.append(0, np.cumsum(gains[order]))
    ends = np.append(0, np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1) + 1)
    cut = ends[np.argmax(total[ends])]
    return np.inf if cut == 0 else scores[order][cut - 1]


def best_band(scores, labels, precision, npv):
    """Upper and lower threshold of the most coverage where both rates hold on these rows."""
    order = np.argsort(-scores, kind="stable")
    s, y = scores[order], labels[order]
    count = np.arange(1, len(y) + 1)
    ends = np.append(np.diff(s) != 0, True)
    upper = np.flatnonzero(ends & (np.cumsum(y) >= precision * count))
    below = y.sum() - np.cumsum(y)
    rest = len(y) - count
    lower = np.flatnonzero(ends & (rest > 0) & (rest - below >= npv * rest))
    high = s[upper[-1]] if len(upper) else np.inf
    low = s[lower[0]] if len(lower) else -np.inf
    return (high, low) if high >= low else (low, low)


def logistic(frame, parts):
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude=np.number)),
    )
    X = encoded(frame)
    encode.fit(X.iloc[parts[0]])
    return encode.transform(X)


def money_peers(frame, parts, seed):
    """Every peer's decisions on the test rows; thresholds by the profit of validation and calibration rows."""
    from empulse.models import CSBoostClassifier, CSLogitClassifier
    from lightgbm import LGBMClassifier

    y = frame["label"].to_numpy()
    gains = np.where(y == 1, frame["saved"], -frame["lost"]).astype(float)
    held = np.concatenate(parts[1:3])
    train, test = parts[0], parts[3]

    def decided(scores):
        return (scores[test] >= best_cut(scores[held], gains[held])).astype(int)

    yield "LightGBM", decided(boosted(frame, parts))
    yield "LightGBM, weighed by amounts", decided(boosted(frame, parts, np.abs(gains) / np.abs(gains).mean()))
    costs = {"fn_cost": frame["saved"].to_numpy()[train], "fp_cost": frame["lost"].to_numpy()[train]}
    matrix = logistic(frame, parts)
    scores = CSLogitClassifier().fit(matrix[train], y[train], **costs).predict_proba(matrix)[:, 1]
    yield "empulse CSLogit", decided(scores)
    booster = LGBMClassifier(n_estimators=100, learning_rate=0.1, n_jobs=1, verbose=-1)
    scores = CSBoostClassifier(booster).fit(matrix[train], y[train], **costs).predict_proba(matrix)[:, 1]
    yield "empulse CSBoost", decided(scores)


def band_peers(frame, parts, goal, seed):
    from mapie.risk_control import BinaryClassificationController, abstention_rate, precision
    from mapie.risk_control import negative_predictive_value as npv

    y = frame["label"].to_numpy()
    targets = [float(word.split(">=")[1]) for word in goal.split("@ ")[1].split(",")]
    scores = boosted(frame, parts)
    test, held = parts[3], np.concatenate(parts[1:3])

    def decided(high, low, s):
        return np.where(s >= high, 1.0, np.where(s < low, 0.0, np.nan))

    def plain(found):
        return np.where(np.isnan(found), -1, found).astype(int)

    yield "LightGBM, two thresholds", plain(decided(*best_band(scores[held], y[held], *targets), scores[test]))
    # Pairs of thresholds fixed on validation; tested on calibration rows by learn-then-test.
    high, low = best_band(scores[parts[1]], y[parts[1]], *targets)
    ranks = np.sort(scores[parts[1]])
    place = np.searchsorted(ranks, [min(high, ranks[-1]), max(low, ranks[0])])
    shares = [0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5]
    uppers = [ranks[min(int(place[0] + share * (len(ranks) - place[0])), len(ranks) - 1)] for share in shares]
    lowers = [ranks[max(int(place[1] * (1 - share)), 0)] for share in shares]
    pairs = np.array([(a, b) for a in uppers for b in lowers if a >= b])
    controller = BinaryClassificationController(
        lambda s, high, low: decided(high, low, s),
        [precision, npv],
        targets,
        confidence_level=0.95,
        best_predict_param_choice=abstention_rate,
        list_predict_params=pairs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.calibrate(scores[parts[2]], y[parts[2]])
        found = controller.predict(scores[test]) if controller.best_predict_param is not None else None
    yield "MAPIE 1.6 on LightGBM", None if found is None else plain(np.asarray(found, dtype=float))


def measured(frame, parts, goal, decisions):
    rows = frame.iloc[parts[3]]
    y = rows["label"].to_numpy()
    if goal == MONEY:
        gains = np.where(y == 1, rows["saved"], -rows["lost"])
        return {"value": float((gains * (decisions == 1)).mean())}
    positive, negative = decisions == 1, decisions == 0
    precision = float((y[positive] == 1).mean()) if positive.any() else None
    npv = float((y[negative] == 0).mean()) if negative.any() else None
    return {"value": float((decisions >= 0).mean()), "precision": precision, "npv": npv}


def done():
    if not RUNS.exists():
        return {}
    lines = [json.loads(line) for line in RUNS.read_text().splitlines()]
    return {(line["set"], line["goal"], line["method"], line["seed"]): line for line in lines}


def put(known, name, goal, method, seed, found):
    line = {"set": name, "goal": goal, "method": method, "seed": seed, **found}
    known[(name, goal, method, seed)] = line
    with open(RUNS, "a") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line), flush=True)


def study(kind, known):
    for seed in range(SEEDS):
        frames = {}
        for name, goal in CASES:
            if kind == "peers":
                methods = {"peers": None}
            else:
                own = ["--model", kind, *(["--search", "6"] if kind == "trees" else [])]
                methods = {
                    f"Setpoint, {kind}": own,
                    f"cross-entropy, {kind}": [*own, "--method", "cross-entropy"],
                }
            if all((name, goal, method, seed) in known for method in methods):
                continue
            if name not in frames:
                frames[name] = {"credit": credit, "adult": adult, "kdd": kdd}[name](seed)
            frame = frames[name]
            parts = parts_of(frame["label"].to_numpy(), seed)
            for method, more in methods.items():
                start = time.time()
                if method == "peers":
                    peers = money_peers(frame, parts, seed) if goal == MONEY else band_peers(frame, parts, goal, seed)
                    for peer, decisions in peers:
                        found = {"value": None} if decisions is None else measured(frame, parts, goal, decisions)
                        put(known, name, goal, peer, seed, {**found, "seconds": time.time() - start})
                        start = time.time()
                    put(known, name, goal, "peers", seed, {})
                    continue
                decisions, more = trained(frame, parts, goal, seed, more)
                found = {"value": None, "refused": more}
                if decisions is not None:
                    found = {**measured(frame, parts, goal, decisions), **more}
                put(known, name, goal, method, seed, {**found, "seconds": time.time() - start})


def gap(known, splits=200):
    """How often the gap on test rows is above the target, certified and by fairlearn."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.linear_model import LogisticRegression

    import setpoint

    frame, target = adult(0), 0.05
    goal = f"accuracy @ gap(positive-rate, sex)<={target}"
    y, groups = frame["label"].to_numpy(), frame["sex"].to_numpy()
    train, rest = parts_of(y, 1000, (0.4,))
    matrix = logistic(frame.drop(columns="sex"), [train])
    regression = LogisticRegression(max_iter=300, solver="newton-cholesky").fit(matrix[train], y[train])
    scores = regression.decision_function(matrix)

    def certified(held, test, seed):
        try:
            proved = setpoint.certify(y[held], scores[held], goal, groups=groups[held], confidence=0.9)
        except setpoint.InfeasibleError:
            return None
        at = dict(zip(proved.groups, proved.thresholds))
        return scores[test] >= np.array([at[name] for name in groups[test]])

    def optimized(held, test, seed):
        constraints, objective = "demographic_parity", "accuracy_score"
        how = {"prefit": True, "predict_method": "predict_proba", "tol": target}
        model = ThresholdOptimizer(estimator=regression, constraints=constraints, objective=objective, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(matrix[held], y[held], sensitive_features=groups[held])
            return model.predict(matrix[test], sensitive_features=groups[test], random_state=seed) == 1

    for method, decide in [("Setpoint, certified", certified), ("fairlearn ThresholdOptimizer", optimized)]:
        for seed in range(splits):
            if ("adult", goal, method, seed) in known:
                continue
            held, test = (rest[part] for part in parts_of(y[rest], 2000 + seed, (2 / 3,)))
            decisions = decide(held, test, seed)
            found = {"certified": False}
            if decisions is not None:
                rates = [decisions[groups[test] == name].mean() for name in np.unique(groups)]
                gap_of = float(abs(rates[0] - rates[1]))
                found = {"gap": gap_of, "value": float((decisions == y[test]).mean()), "certified": True}
            put(known, "adult", goal, method, seed, found)


def table(known):
    lines = [line for line in known.values() if line["method"] != "peers"]
    for name, goal in CASES:
        rows = collections.defaultdict(dict)
        for line in lines:
            if (line["set"], line["goal"]) == (name, goal):
                rows[line["method"]][line["seed"]] = line
        money = goal == MONEY
        unit = "profit a row" if money else "coverage, %"
        print(f"\n### {name}: `{goal}`\n")
        print(
            f"| | seeds | {unit} | "
            + ("certified | " if money else "precision | npv | conditions missed | certified | ")
            + "Setpoint of its kind less it |"
        )
        print("|---|---|---|" + ("---|" if money else "---|---|---|---|") + "---|")
        for method, found in rows.items():
            values = {seed: line["value"] for seed, line in found.items() if line.get("value") is not None}
            scale = 1 if money else 100
            mean = scale * np.mean(list(values.values())) if values else float("nan")
            spread = scale * np.std(list(values.values()), ddof=1) if len(values) > 1 else float("nan")
            cells = [
                f"{len(values)} of {len(found)}",
                "-" if not values else f"{mean:.2f} ± {spread:.2f}".replace(" ± nan", ""),
            ]
            if not money:
                targets = [float(word.split(">=")[1]) for word in goal.split("@ ")[1].split(",")]
                rates = [[line.get(rate) for line in found.values()] for rate in ("precision", "npv")]
                missed = sum(
                    any(
                        line.get(rate) is not None and line[rate] < aim
                        for rate, aim in zip(("precision", "npv"), targets)
                    )
                    for line in found.values()
                )
                cells += [
                    f"{100 * np.mean([r for r in rate if r is not None] or [np.nan]):.2f}".replace("nan", "-")
                    for rate in rates
                ]
                cells.append(f"{missed} of {len(values)}")
            told = [line["certified"] for line in found.values() if "certified" in line]
            cells.append(f"{sum(told)} of {len(told)}" if told else "")
            kind = "linear" if method in ("cross-entropy, linear", "empulse CSLogit") else "trees"
            ours = rows.get(f"Setpoint, {kind}", {})
            pairs = [
                scale * (ours[seed]["value"] - value)
                for seed, value in values.items()
                if ours.get(seed, {}).get("value") is not None
            ]
            if method.startswith("Setpoint") or len(pairs) < 2:
                cells.append("")
            else:
                error = np.std(pairs, ddof=1) / len(pairs) ** 0.5
                wins = sum(pair > 0 for pair in pairs)
                cells.append(f"{np.mean(pairs):+.2f} ± {error:.2f} ({wins} of {len(pairs)} ahead)")
            print(f"| {method} | " + " | ".join(cells) + " |")
    held = collections.defaultdict(list)
    for line in lines:
        if line["goal"].startswith("accuracy @ gap"):
            held[line["method"]].append(line)
    if held:
        print("\n### adult: `accuracy @ gap(positive-rate, sex)<=0.05`, certified at 90%\n")
        print("| | splits | certified | gap above 0.05 on test | mean gap | accuracy, % |\n|---|---|---|---|---|---|")
        for method, found in held.items():
            there = [line for line in found if "gap" in line]
            above = sum(line["gap"] > 0.05 for line in there)
            certified = len(there) if method.startswith("Setpoint") else 0
            mean = np.mean([line["gap"] for line in there])
            accuracy = 100 * np.mean([line["value"] for line in there])
            print(f"| {method} | {len(found)} | {certified or '-'} | {above} | {mean:.4f} | {accuracy:.2f} |")


if __name__ == "__main__":
    RUNS.parent.mkdir(exist_ok=True)
    known = done()
    for word in WANTED:
        {"gap": gap, "table": table}.get(word, lambda known, word=word: study(word, known))(known)
