"""A linear head on frozen features: the goal's own gradient beside tuned weighted cross-entropy, with growing rows.

Features that no row of the head's has made: random convolutions of faces (UTKFace, 60 years or older) and of
CIFAR's pictures (cats), words and pairs of words of reviews (hashed, tf-idf), their mean word vectors
(wordllama, from its wheel), the leaves of a booster (LightGBM, 40 trees on a fifth of the rows) of ijcnn1,
employment and credit, and a random layer with a rectifier over the columns of ijcnn1, 16, 64 and 256 wide (one task
whose head has more and more capacity), of letter and of credit. By seed, as many rows as named are drawn, of which a
fifth is put aside for a threshold; another fifth of all tests (none of the booster's). All heads are averages over
three rotations of training and validation rows, `SetpointClassifier(model="linear")`: `cross-entropy`, the best on
validation of five weights and two to four shrinkages each; `auto`, the average of the three best of these and of fits
for the goal; and, of up to 6,000 rows, `averaged`, the mean of cross-entropy's three best weights, since `auto`
averages too. With `--trees`, 200 trees of LightGBM on the same features of the most rows up to 18,000: what a model
that is no head finds there. Shown is recall at the rate of false alarms on test rows. Every draw is a line of FILE.

    pip install setpoint lightgbm scikit-learn pandas pyarrow tokenizers safetensors wordllama
    SETPOINT_DATA=path/to/data python bench/heads.py --out FILE [--sets ...] [--seeds 0-4] [--table]
"""

import argparse
import collections
import gzip
import importlib.util
import io
import itertools
import json
import os
import pathlib
import time
import warnings

import numpy as np

DATA = pathlib.Path(os.environ.get("SETPOINT_DATA", "../shared/data"))
RATES = {"0.1%": 0.001, "1%": 0.01, "5%": 0.05}
WEIGHTS, TOGETHER, AVERAGED = [1, 3, 10, 30, 100], 3, 6000
TREES = 18_000
SIZES = [2000, 6000, 18_000, 54_000, 162_000]


def images(paths, label_bytes):
    raw = np.concatenate([np.frombuffer(gzip.decompress((DATA / path).read_bytes()), np.uint8) for path in paths])
    raw = raw.reshape(-1, label_bytes + 3072)
    return raw[:, :label_bytes], raw[:, label_bytes:].reshape(-1, 3, 32, 32).astype(np.float32) / 255


def convolved(pictures, filters=64, size=6):
    """Random patches of the pictures as filters, a rectifier, and means over three by three fields."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, 32 - size, (filters, 2))
    patches = np.stack([pictures[i, :, y : y + size, x : x + size] for i, (y, x) in enumerate(at)])
    patches = patches.reshape(filters, -1) - patches.reshape(filters, -1).mean(1, keepdims=True)
    patches /= np.linalg.norm(patches, axis=1, keepdims=True)
    found = []
    for some in np.array_split(pictures, max(1, len(pictures) // 200)):
        windows = np.lib.stride_tricks.sliding_window_view(some, (size, size), (2, 3))
        windows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(len(some) * (33 - size) ** 2, -1)
        response = windows @ patches.T - windows.mean(1, keepdims=True) * patches.sum(1)
        fields = np.maximum(response, 0).reshape(len(some), 3, 9, 3, 9, filters)
        found.append(fields.mean((2, 4)).reshape(len(some), -1))
    return np.concatenate(found).astype(np.float32)


def faces():
    labels, pictures = images(["utkface32.bin.gz"], 3)
    return convolved(pictures), labels[:, 0] >= 60, None


def cats():
    labels, pictures = images(["cifar10-train8k.bin.gz", "cifar10-test2k.bin.gz"], 1)
    return convolved(pictures), labels[:, 0] == 3, None


def reviews():
    import pandas as pd

    frame = pd.read_parquet(DATA / "clothing-reviews.parquet")
    texts = frame["Title"].fillna("") + " " + frame["Review Text"].fillna("")
    return texts.tolist(), (frame["Recommended IND"].astype(int) == 0).to_numpy()


def hashed():
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    texts, y = reviews()
    counts = HashingVectorizer(n_features=2**14, ngram_range=(1, 2), alternate_sign=False, norm=None).transform(texts)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).astype(np.float32).tocsr(), y, None


def vectors():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    home = pathlib.Path(importlib.util.find_spec("wordllama").origin).parent
    (table,) = load_file(next(home.glob("weights/*.safetensors"))).values()
    tokens = Tokenizer.from_file(str(next(home.glob("tokenizers/*.json"))))
    texts, y = reviews()
    means = [table[tokens.encode(text, add_special_tokens=False).ids or [0]].mean(0) for text in texts]
    return np.stack(means).astype(np.float32), y, None


def leaves(X, y):
    """Which leaf each tree puts a row in, of a booster that learnt from a fifth of the rows."""
    import lightgbm as lgb
    from sklearn.preprocessing import OneHotEncoder

    taken = np.random.default_rng(0).random(len(y)) < 0.2
    booster = lgb.LGBMClassifier(n_estimators=40, num_leaves=31, n_jobs=1, verbose=-1).fit(X[taken], y[taken])
    places = booster.predict(X, pred_leaf=True)
    return OneHotEncoder(dtype=np.float32).fit_transform(places).tocsr(), y, taken


def ijcnn1():
    from sklearn.datasets import load_svmlight_files

    files = [io.BytesIO(gzip.decompress((DATA / name).read_bytes())) for name in ("ijcnn1.gz", "ijcnn1.t.gz")]
    a, b, c, d = load_svmlight_files(files)
    return np.vstack([a.toarray(), c.toarray()]), np.concatenate([b, d]) > 0


def letter():
    cells = [line.split(",") for line in (DATA / "letter-recognition.data").read_text().split()]
    return np.array([row[1:] for row in cells], np.float32), np.array([row[0] == "U" for row in cells])


def layer(X, y, width):
    X = (X - X.mean(0)) / X.std(0)
    rng = np.random.default_rng(0)
    drawn = X @ rng.normal(size=(X.shape[1], width)) / X.shape[1] ** 0.5 + rng.normal(size=width)
    return np.maximum(drawn, 0).astype(np.float32), y, None


def employment():
    import pandas as pd

    frame = pd.read_parquet(DATA / "employment-MA.parquet")
    y = frame.pop("employed").astype(int).to_numpy() == 0
    drop = [name for name in ("id", "year", "prediction", "predicted_probability") if name in frame]
    return leaves(frame.drop(columns=drop).apply(lambda c: pd.factorize(c)[0]).to_numpy(np.float64), y)


def credit():
    import pandas as pd

    frame = pd.read_csv(DATA / "give-me-some-credit.csv.gz")
    label = next(name for name in frame if "dlq" in name.lower())
    y = frame.pop(label).to_numpy() == 1
    return frame.drop(columns="id", errors="ignore").to_numpy(np.float64), y


def ranked(X, y):
    """Columns as their places in order, missing values in the middle: those of credit have long tails."""
    import pandas as pd

    return pd.DataFrame(X).rank(pct=True).fillna(0.5).to_numpy(), y


SETS = {
    "faces, convolutions": faces,
    "cats, convolutions": cats,
    "reviews, hashed": hashed,
    "reviews, vectors": vectors,
    "ijcnn1, layer of 16": lambda: layer(*ijcnn1(), 16),
    "ijcnn1, layer of 64": lambda: layer(*ijcnn1(), 64),
    "ijcnn1, layer of 256": lambda: layer(*ijcnn1(), 256),
    "letter, layer of 64": lambda: layer(*letter(), 64),
    "credit, layer of 16": lambda: layer(*ranked(*credit()), 16),
    "credit, layer of 64": lambda: layer(*ranked(*credit()), 64),
    "ijcnn1, leaves": lambda: leaves(*ijcnn1()),
    "employment, leaves": employment,
    "credit, leaves": lambda: leaves(*credit()),
}


def recall(y, scores, rate):
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.diff(scores[order]) != 0, True)
    tp, fp = np.cumsum(y[order])[ends], np.cumsum(~y[order])[ends]
    return 100 * max(tp[fp <= rate * (~y).sum()], default=0) / y.sum()


def stages(record):
    """The stages of each rotation, the best on its validation rows first."""
    found = collections.defaultdict(list)
    for one in record["candidates"]:
        found[one["name"].partition(":")[0]].append((one["validation"] or 0, "ico" in one["name"]))
    return [sorted(those, key=lambda one: -one[0]) for those in found.values()]


def heads(X, y, test, rate, seed):
    """By method, scores of test rows and the record of the run."""
    from setpoint import SetpointClassifier

    def fit(**how):
        how = {"model": "linear", "rotations": 3, "confidence": None, "random_state": seed, **how}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SetpointClassifier(f"recall @ fpr<={rate}", **how).fit(X, y)
            return model.decision_function(test), model.report_

    for method in ("cross-entropy", "auto"):
        yield method, *fit(method=method)
    if len(y) > AVERAGED:
        return
    fits = [fit(method="cross-entropy", positive_weight=weight) for weight in WEIGHTS]
    best = sorted(fits, key=lambda one: -np.mean([those[0][0] for those in stages(one[1])]))[:TOGETHER]
    yield "averaged", sum(scores / scores.std() for scores, _ in best), None


def boosted(X, y, test, seed):
    import lightgbm as lgb

    how = {"n_estimators": 200, "learning_rate": 0.05, "n_jobs": 1, "random_state": seed, "verbose": -1}
    return lgb.LGBMClassifier(**how).fit(X, y).predict(test, raw_score=True)


def run(arguments):
    from sklearn.metrics import roc_auc_score

    kind = "trees" if arguments.trees else "auto"
    done = {(line["set"], line["rows"], line["seed"], line["rate"]) for line in lines(arguments.out) if kind in line}
    data = {}
    for seed, name in itertools.product(arguments.seeds, arguments.sets):
        X, y, taken = data[name] = data[name] if name in data else SETS[name]()
        free = np.flatnonzero(~taken) if taken is not None else np.arange(len(y))
        order = np.random.default_rng(seed).permutation(free)
        sizes = [size for size in SIZES if size <= 0.8 * len(free)]
        if arguments.trees:
            sizes = [max(size for size in sizes if size <= TREES)]
        for rows in sizes:
            train, test = np.sort(order[:rows]), np.sort(order[-max(len(free) // 5, 1) :])
            grown = boosted(X[train], y[train], X[test], seed) if arguments.trees else None
            for rate, share in RATES.items():
                if (name, rows, seed, rate) in done:
                    continue
                line = {"set": name, "rows": rows, "seed": seed, "rate": rate, "columns": X.shape[1]}
                line |= {"positives": int(y[train].sum()), "test negatives": int((~y[test]).sum())}
                clock = time.process_time()
                if arguments.trees:
                    fitted = [("trees", grown, None)]
                else:
                    fitted = heads(X[train], y[train], X[test], rate, seed)
                for method, scores, record in fitted:
                    line[method] = recall(y[test], scores, share)
                    line[f"{method} seconds"] = round(time.process_time() - clock, 2)
                    clock = time.process_time()
                    if method == "auto":
                        kept = [ico for those in stages(record) for _, ico in those[:TOGETHER]]
                        line["of ico"] = float(np.mean(kept))
                    if method == "cross-entropy":
                        line["auc"] = roc_auc_score(y[test], scores)
                with open(arguments.out, "a") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def lines(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def difference(here, method):
    d = np.array([line[method] - line["cross-entropy"] for line in here if method in line and "auto" in line])
    if len(d) < 2:
        return f"{d[0]:+.1f}" if len(d) else ""
    return f"{d.mean():+.1f} ± {d.std(ddof=1) / len(d) ** 0.5:.1f}"


def table(arguments):
    """Cross-entropy and what `auto` adds to it; then what trees are ahead by, and all averages."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in lines(arguments.out):
        found[line["set"], line["columns"], line["rows"], line["rate"]][line["seed"]] |= line
    cells = {key: list(those.values()) for key, those in sorted(found.items())}
    cells = {key: [line for line in those if "auto" in line] for key, those in cells.items()}
    print(f"| features | columns | rows, positives | seeds | {' | '.join(RATES)} |")
    print("|---" * (4 + len(RATES)) + "|")
    for name, columns, rows in dict.fromkeys(key[:3] for key, those in cells.items() if those):
        shown = []
        for rate in RATES:
            here = cells[name, columns, rows, rate]
            shown.append(f"{np.mean([line['cross-entropy'] for line in here]):.1f}, {difference(here, 'auto')}")
        positives, many = np.mean([line["positives"] for line in here]), len(here)
        print(f"| {name} | {columns} | {rows:,}, {positives:,.0f} | {many} | {' | '.join(shown)} |")
    print("\n| features, rows | false alarms | trees, seed 0 | auto | kept of ico |\n|---|---|---|---|---|")
    for (name, _, rows, rate), here in cells.items():
        ahead = [line["trees"] - line["cross-entropy"] for line in here if "trees" in line]
        if ahead:
            of_ico = np.mean([line["of ico"] for line in here])
            print(
                f"| {name}, {rows:,} | {rate} | {ahead[0]:+.1f} | {difference(here, 'auto')} | {100 * of_ico:.0f}% |"
            )
    ahead = [
        line["averaged"] - line["cross-entropy"] for here in cells.values() for line in here if "averaged" in line
    ]
    print(f"\naveraged less cross-entropy, {len(ahead)} fits: mean {np.mean(ahead):+.2f}, worst {min(ahead):+.2f}")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", required=True)
parser.add_argument("--sets", type=lambda text: text.split(";"), default=list(SETS), help="divided by semicolons")
parser.add_argument(
    "--seeds", type=lambda text: range(int(text.split("-")[0]), int(text.split("-")[-1]) + 1), default=range(5)
)
parser.add_argument("--trees", action="store_true")
parser.add_argument("--table", action="store_true")

if __name__ == "__main__":
    given = parser.parse_args()
    table(given) if given.table else run(given)
