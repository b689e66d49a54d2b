"""Many columns, few rows: linear models of `setpoint train` beside tuned logistic regression.

Clothing reviews as tf-idf, OHSUMED as yes and no, Communities (numbers alone), Fashion pixels with 1,000 rows (shirts),
reviews hashed into 4,096 columns with 2,000 rows, and made rows: 3,000 x 300, a tenth positive. By seed, a fifth of the
rows (of the last three, 6,000 others) is for testing. Logistic regression takes its C, from 0.01 to 100, and its class
weights by the goal's value on a quarter of its rows, and is fitted again on all of them; also shown is the same on the
four fifths that Setpoint learns from, the rest of its rows being for the proof. Values as in tables.py.

    SETPOINT_DATA=path/to/data python bench/peers/few.py --out FILE [--sets ...] [--seeds 0-9] [--only setpoint|rivals] [--table]
"""

import gzip
import json
import subprocess
import tempfile
import warnings

import numpy as np
import pandas as pd
import tables
from scipy import sparse
from tables import BINARY, DATA, GOALS, TEXTS, children, shared, value

RIVAL = "logistic regression"


def tfidf():
    from sklearn.feature_extraction.text import TfidfVectorizer

    frame = tables.reviews().fillna({name: "" for name in TEXTS})
    texts = frame[TEXTS[0]] + " " + frame[TEXTS[1]]
    return TfidfVectorizer(sublinear_tf=True, min_df=5, ngram_range=(1, 2)).fit_transform(texts), frame["label"], None


def hashed():
    from sklearn.feature_extraction.text import HashingVectorizer

    frame = tables.reviews().fillna({name: "" for name in TEXTS})
    texts = frame[TEXTS[0]] + " " + frame[TEXTS[1]]
    return HashingVectorizer(n_features=4096, alternate_sign=False).fit_transform(texts), frame["label"], 2000


def ohsumed():
    from sklearn.datasets import load_svmlight_files

    parts = load_svmlight_files([str(path) for path in sorted((DATA / "OHSUMED-Fold1").glob("*.txt.gz"))])
    return np.vstack([X.toarray() for X in parts[::2]]), np.concatenate(parts[1::2]) > 0, None


def communities():
    frame = tables.communities()
    numbers = frame.drop(columns=["label", "c0", "c1", "c2", "c3"], errors="ignore")
    numbers = numbers.select_dtypes("number").dropna(axis=1)
    return numbers.to_numpy(float), frame["label"], None


def fashion():
    with gzip.open(DATA / "fashion-10k-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(float)
    with gzip.open(DATA / "fashion-10k-labels-idx1-ubyte.gz") as file:
        return X, np.frombuffer(file.read(), np.uint8, offset=8) == 6, 1000


def made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(23_000, 300))
    s = X @ np.where(rng.random(300) < 0.2, rng.normal(size=300), 0.05 * rng.normal(size=300))
    s += rng.normal(size=len(s)) * s.std()
    return X, s > np.quantile(s, 0.9), 3000


SETS = {
    "reviews": tfidf,
    "ohsumed": ohsumed,
    "communities": communities,
    "fashion": fashion,
    "hashed": hashed,
    "made": made,
}


def ours(X, y, train, test, goal, seed, flags):
    with tempfile.TemporaryDirectory() as folder:
        if sparse.issparse(X):
            from sklearn.datasets import dump_svmlight_file

            names = ["train.svm", "test.svm"]
            for name, rows in zip(names, [train, test], strict=True):
                dump_svmlight_file(X[rows], y[rows], f"{folder}/{name}", zero_based=False)
            how = []
        else:
            names = ["train.csv", "test.csv"]
            for name, rows in zip(names, [train, test], strict=True):
                frame = pd.DataFrame(X[rows], columns=[f"c{place}" for place in range(X.shape[1])])
                frame.assign(label=y[rows]).to_csv(f"{folder}/{name}", index=False)
            how = ["--label", "label", "--positive", "1"]
        command = [BINARY, "train", names[0], *how, "--goal", goal, "--model", "linear", "--seed", str(seed)]
        done = subprocess.run(
            [*command, *flags, "--json", "-q", "-o", "m"], cwd=folder, capture_output=True, text=True
        )
        if done.returncode not in (0, 1) or not done.stdout:
            raise RuntimeError(done.stderr)
        subprocess.run([BINARY, "predict", "m", names[1], "-q", "-o", "out.csv"], cwd=folder, check=True)
        record = json.loads(done.stdout)
        return pd.read_csv(f"{folder}/out.csv")["score"].to_numpy(), {"winner": record["winner"]}


def logistic(X, y, train, seed):
    """Fits for each goal, chosen on a quarter of the rows and fitted again on all."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    best = {}
    inner, held = shared(pd.DataFrame({"label": y[train]}), 1000 + seed, len(train), 0.25)
    for c in (0.01, 0.1, 1, 10, 100):
        for weight in (None, "balanced"):
            steps = [] if sparse.issparse(X) else [StandardScaler()]
            model = make_pipeline(*steps, LogisticRegression(C=c, class_weight=weight, max_iter=300))
            model.fit(X[train[inner]], y[train[inner]])
            scores = model.decision_function(X[train[held]])
            for goal in GOALS:
                found = value(goal, y[train[held]], scores)
                if goal not in best or found > best[goal][0]:
                    best[goal] = found, model
    return {goal: model.fit(X[train], y[train]).decision_function for goal, (_, model) in best.items()}


def run(arguments):
    done = {(line["set"], line["seed"], line["method"], line["goal"]) for line in tables.lines(arguments.out)}
    for name in arguments.sets:
        X, y, rows = SETS[name]()
        y = np.asarray(y).astype(int)
        for seed in arguments.seeds:
            if rows:
                every = np.random.default_rng(seed).permutation(len(y))
                train, test = np.sort(every[:rows]), np.sort(every[rows : rows + 6000])
            else:
                train, test = shared(pd.DataFrame({"label": y}), seed, len(y))

            def put(method, goal, scores, seconds, more, seed=seed, y=y[test], name=name):
                line = {"set": name, "seed": seed, "method": method, "goal": goal, "value": value(goal, y, scores)}
                with open(arguments.out, "a") as file:
                    file.write(json.dumps({**line, "seconds": seconds, **more}) + "\n")
                print(json.dumps({**line, **more}), flush=True)

            for goal in GOALS:
                if (name, seed, arguments.name, goal) not in done and arguments.only != "rivals":
                    clock = children()
                    scores, more = ours(X, y, train, test, goal, seed, arguments.flags)
                    put(arguments.name, goal, scores, children() - clock, more)
            fifths = np.sort(np.random.default_rng(2000 + seed).permutation(train)[: round(0.8 * len(train))])
            for method, part in ((RIVAL, train), (RIVAL + ", four fifths", fifths)):
                if (name, seed, method, GOALS[0]) in done or arguments.only == "setpoint":
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    clock = tables.time.process_time()
                    for goal, scores in logistic(X, y, part, seed).items():
                        put(method, goal, scores(X[test]), tables.time.process_time() - clock, {})


tables.parser.set_defaults(sets=list(SETS))
tables.parser.description = __doc__
tables.parser.add_argument("--name", default="Setpoint", help="what to call our lines")
tables.parser.add_argument("--flags", type=str.split, default=[], help="more flags of train, in one text")

if __name__ == "__main__":
    given = tables.parser.parse_args()
    tables.table(given, SETS) if given.table else run(given)
