"""A linear head on frozen features: the goal's own gradient beside tuned weighted cross-entropy, with growing rows.

Features that no row of the head's has made: random convolutions of faces (UTKFace, 60 years or older) and of
CIFAR's pictures (cats), words and pairs of words of reviews (hashed, tf-idf), their mean word vectors
(wordllama, from its wheel), and the leaves of a booster (LightGBM, 40 trees on a fifth of the rows) of ijcnn1,
employment and credit. By seed, as many rows as named are drawn for training, and a fifth of all tests (none of
the booster's). All heads are `SetpointClassifier(model="linear")`, averages over three rotations of training
and validation rows: `cross-entropy`, the best on validation of ten or more weights and shrinkages; `ico`, the
goal's own gradient, from there; and `auto`, which has both and keeps cross-entropy where ico is not clearly
ahead. Shown is recall at the rate of false alarms on test rows. Every draw is a line of FILE.

    pip install setpoint lightgbm scikit-learn pandas pyarrow tokenizers safetensors wordllama
    SETPOINT_DATA=path/to/data python bench/heads.py --out FILE [--sets ...] [--seeds 0-4] [--table]
"""

import argparse
import collections
import gzip
import importlib.util
import io
import json
import os
import pathlib
import time
import warnings

import numpy as np

DATA = pathlib.Path(os.environ.get("SETPOINT_DATA", "../shared/data"))
RATES = {"0.1%": 0.001, "1%": 0.01, "5%": 0.05}
METHODS = ["ico", "auto", "cross-entropy"]
SIZES = [2000, 8000, 32_000, 128_000]


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
    return leaves(np.vstack([a.toarray(), c.toarray()]), np.concatenate([b, d]) > 0)


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
    return leaves(frame.drop(columns="id", errors="ignore").to_numpy(np.float64), y)


SETS = {
    "faces, convolutions": faces,
    "cats, convolutions": cats,
    "reviews, hashed": hashed,
    "reviews, vectors": vectors,
    "ijcnn1, leaves": ijcnn1,
    "employment, leaves": employment,
    "credit, leaves": credit,
}


def recall(y, scores, rate):
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.diff(scores[order]) != 0, True)
    tp, fp = np.cumsum(y[order])[ends], np.cumsum(~y[order])[ends]
    return 100 * max(tp[fp <= rate * (~y).sum()], default=0) / y.sum()


def run(arguments):
    from sklearn.metrics import roc_auc_score

    from setpoint import SetpointClassifier

    done = {(line["set"], line["rows"], line["seed"], line["rate"]) for line in lines(arguments.out)}
    for name in arguments.sets:
        X, y, taken = SETS[name]()
        free = np.flatnonzero(~taken) if taken is not None else np.arange(len(y))
        for seed in arguments.seeds:
            order = np.random.default_rng(seed).permutation(free)
            for rows in [size for size in SIZES if size <= 0.8 * len(free)]:
                train, test = np.sort(order[:rows]), np.sort(order[-max(len(free) // 5, 1) :])
                for rate, share in RATES.items():
                    if (name, rows, seed, rate) in done:
                        continue
                    line = {"set": name, "rows": rows, "seed": seed, "rate": rate, "columns": X.shape[1]}
                    line["positives"] = int(y[train].sum())
                    for method in METHODS:
                        clock = time.process_time()
                        goal = f"recall @ fpr<={rate}"
                        how = {"method": method, "rotations": 3, "random_state": seed}
                        model = SetpointClassifier(goal, model="linear", **how)
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            scores = model.fit(X[train], y[train]).decision_function(X[test])
                        line[method] = recall(y[test], scores, share)
                        line[f"{method} seconds"] = time.process_time() - clock
                    line["auc"] = roc_auc_score(y[test], scores)
                    with open(arguments.out, "a") as file:
                        file.write(json.dumps(line) + "\n")
                    print(json.dumps(line), flush=True)


def lines(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


def table(arguments):
    found = collections.defaultdict(list)
    for line in lines(arguments.out):
        found[line["set"], line["columns"], line["rows"], line["rate"]].append(line)
    print("| features | columns | rows, positives | false alarms | cross-entropy | ico less that | auto less that |")
    print("|---|---|---|---|---|---|---|")
    for (name, columns, rows, rate), here in found.items():
        base = np.array([line["cross-entropy"] for line in here])
        shown = []
        for method in METHODS[:2]:
            d = np.array([line[method] for line in here]) - base
            shown.append(f"{d.mean():+.2f} ± {d.std(ddof=1) / len(d) ** 0.5:.2f}")
        positives = np.mean([line["positives"] for line in here])
        about = f"{columns} | {rows:,}, {positives:,.0f} | {rate}"
        print(f"| {name} | {about} | {base.mean():.1f} | {' | '.join(shown)} |")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", required=True)
parser.add_argument("--sets", type=lambda text: text.split(";"), default=list(SETS), help="divided by semicolons")
parser.add_argument(
    "--seeds", type=lambda text: range(int(text.split("-")[0]), int(text.split("-")[-1]) + 1), default=range(5)
)
parser.add_argument("--table", action="store_true")

if __name__ == "__main__":
    given = parser.parse_args()
    table(given) if given.table else run(given)
