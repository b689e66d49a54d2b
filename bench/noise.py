"""Flipped labels: what is robust of a linear model for a low false-alarm rate.

Labels of training, validation and calibration rows are flipped with the same chance, whatever the row; those of test
rows are clean, and recall at the rate of false alarms is counted there. Nobody tells a method how many were flipped:
`metrics.fpr_on_flipped` estimates that by the scores of a logistic regression, out of fold. Beside
cross-entropy and `auto` (which has ico) as they are, `auto` with

    corrected    the rate of the goal as it shows on flipped labels, where it is the goal's own on true ones
    both         the mean of that and of `auto` as it is, each of unit spread
    trimmed      as many labelled negatives left out as are estimated to be positives, the highest out-of-fold scores
    half         half as many
    co-teaching  as many rows left out as are estimated to be flipped, those with the greatest loss out of fold
    posterior    each row under both labels, weighed by what score and label say of the true one
    wide         ico's bandwidth 0.1 + 2 times the estimate, in standard deviations (`ico`: 0.1)

Every draw is a line of FILE for each rate; `shipped` are the true rate of false alarms and recall at the threshold
that ships, the one that holds on flipped calibration rows.

    pip install setpoint scikit-learn
    SETPOINT_DATA=path/to/data python bench/noise.py --out FILE [--sets ...] [--seeds 0-9] [--methods ...] [--table]
"""

import argparse
import collections
import io
import itertools
import json
import warnings

import numpy as np
from heads import DATA, ijcnn1, letter, lines, recall

NOISES = [0.0, 0.05, 0.1, 0.2]
RATES = {"1%": 0.01, "5%": 0.05}
METHODS = ["cross-entropy", "auto", "ico", "corrected", "both", "trimmed", "half", "co-teaching", "posterior", "wide"]
ROWS, TEST = 12_000, 30_000


def spambase():
    cells = np.loadtxt(DATA / "spambase.data", delimiter=",", dtype=np.float32)
    return cells[:, :-1], cells[:, -1] > 0


def adult():
    from sklearn.datasets import load_svmlight_files

    files = [io.BytesIO((DATA / name).read_bytes()) for name in ("a9a", "a9a.t")]
    a, b, c, d = load_svmlight_files(files, n_features=123)
    return np.vstack([a.toarray(), c.toarray()]).astype(np.float32), np.concatenate([b, d]) > 0


SETS = {"Letter": letter, "IJCNN1": ijcnn1, "Adult": adult, "Spambase": spambase}


def out_of_fold(X, y, seed):
    """Probabilities of the labels as they are, of rows that the fit had not seen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]


def shares(y, flipped):
    """Of labelled positives and negatives, the shares that are truly positive."""
    true = (y.mean() - flipped) / (1 - 2 * flipped)
    return (1 - flipped) * true / y.mean(), flipped * true / (1 - y.mean())


def scores(method, X, y, p, test, rate, seed):
    from setpoint import SetpointClassifier, metrics

    shown, flipped = metrics.fpr_on_flipped(y, p, rate)
    keep, weight, how = np.ones(len(y), bool), None, {"method": "auto"}
    if method in ("cross-entropy", "ico"):
        how["method"] = method
    elif method == "wide":
        how = {"method": "ico", "bandwidth": f"{0.1 + 2 * flipped:.3f}sd"}
    elif method == "corrected":
        rate = shown
    elif method in ("trimmed", "half"):
        negatives = np.flatnonzero(~y)
        many = round(shares(y, flipped)[1] * len(negatives) * (0.5 if method == "half" else 1))
        keep[negatives[np.argsort(-p[negatives], kind="stable")[:many]]] = False
    elif method == "co-teaching":
        keep[np.argsort(np.where(y, p, 1 - p), kind="stable")[: round(flipped * len(y))]] = False
    elif method == "posterior":
        clean = np.clip((p - flipped) / (1 - 2 * flipped), 0.001, 0.999)
        odds = clean / (1 - clean) * np.where(y, (1 - flipped) / max(flipped, 1e-6), flipped / (1 - flipped))
        X, y = np.vstack([X, X]), np.repeat([True, False], len(y))
        weight = np.concatenate([odds / (1 + odds), 1 / (1 + odds)])
        keep = weight > 0.001
        weight = weight[keep]
    goal = f"recall @ fpr<={100 * rate:.4f}%"
    model = SetpointClassifier(goal, model="linear", rotations=3, confidence=None, random_state=seed, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[keep], y[keep], sample_weight=weight)
        return model.decision_function(test), model.predict(test).astype(bool)


def run(arguments):
    from setpoint import metrics

    done = {(line["set"], line["seed"], line["noise"], line["rate"]) for line in lines(arguments.out)}
    data = {name: SETS[name]() for name in arguments.sets}
    for seed, (name, (X, y)) in itertools.product(arguments.seeds, data.items()):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        train = order[: min(ROWS, len(y) * 3 // 4)]
        test = order[len(train) : len(train) + TEST]
        chance = rng.random(len(train))
        for noise in NOISES:
            seen = y[train] ^ (chance < noise)
            p = out_of_fold(X[train], seen, seed)
            for rate, share in RATES.items():
                if (name, seed, noise, rate) in done:
                    continue
                line = {"set": name, "seed": seed, "noise": noise, "rate": rate}
                shown, flipped = metrics.fpr_on_flipped(seen, p, share)
                line |= {"estimate": round(flipped, 4), "shown": round(shown, 4)}
                found = {}
                for method in arguments.methods:
                    if method == "both":
                        found[method] = sum(found[one] / found[one].std() for one in ("auto", "corrected"))
                    else:
                        found[method], decided = scores(method, X[train], seen, p, X[test], share, seed)
                        shipped = [100 * decided[y[test] == label].mean() for label in (False, True)]
                        line[f"{method}, shipped"] = [round(rate, 3) for rate in shipped]
                    line[method] = recall(y[test], found[method], share)
                with open(arguments.out, "a") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def table(arguments):
    found = collections.defaultdict(list)
    for line in lines(arguments.out):
        found[line["set"], line["rate"], line["noise"]].append(line)
    others = [method for method in METHODS if method != "auto" and all(method in here[0] for here in found.values())]
    print(f"| set | false alarms | flipped, estimate | seeds | auto | {' | '.join(others)} |")
    print("|---" * (5 + len(others)) + "|")
    sums = collections.defaultdict(list)
    for (name, rate, noise), here in sorted(found.items()):
        base = np.array([line["auto"] for line in here])
        cells = []
        for method in others:
            d = np.array([line[method] for line in here]) - base
            error = d.std(ddof=1) / len(d) ** 0.5 if len(d) > 1 else np.nan
            cells.append(f"{d.mean():+.2f} ± {error:.2f}")
            sums[noise, method].append((d.mean(), error**2))
        about = f"{100 * noise:g}%, {100 * np.mean([line['estimate'] for line in here]):.1f}%"
        print(f"| {name} | {rate} | {about} | {len(here)} | {base.mean():.1f} | {' | '.join(cells)} |")
    for noise in NOISES:
        means = [np.array(sums[noise, method]) for method in others if sums[noise, method]]
        cells = [f"{m[:, 0].mean():+.2f} ± {m[:, 1].sum() ** 0.5 / len(m):.2f}" for m in means]
        print(f"| all | | {100 * noise:g}% | | | {' | '.join(cells)} |")


def seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", required=True)
parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS))
parser.add_argument("--seeds", type=seeds, default=seeds("0-9"))
parser.add_argument("--methods", type=lambda text: text.split(","), default=METHODS)
parser.add_argument("--table", action="store_true")

if __name__ == "__main__":
    given = parser.parse_args()
    table(given) if given.table else run(given)
