"""Goals per query beside logistic regression, RankNet, ListNet, LightGBM's lambdarank and XGBoost's rank:ndcg.

    python bench/ranking.py --data DIR --out FILE [--sets ohsumed,mq2008,protein] [--partitions 10,11,12]
                            [--models linear,trees] [--made 125,500,2000,8000] [--only peers|setpoint]
    python bench/ranking.py --out FILE --table

Needs the Python package, scipy, LightGBM and XGBoost; polars reads the Parquet file. Five folds over queries for each
partition, a random order of the queries by its seed; every method trains on four folds and chooses its settings on a
quarter of their queries, by the goal's own metric. FILE has a line for each fit, so that a run that was ended goes
on; `--table` prints the tables. Differences are paired over the test queries, first averaged over partitions.
"""

import argparse
import gzip
import json
import os
import time
from pathlib import Path

import numpy as np

GOALS = {"ndcg": "ndcg @ k=10 per query", "precision": "precision @ k=10 per query", "map": "map per query"}
RIDGES = [1e-4, 1e-3, 1e-2, 1e-1]
LOOKS = [10, 25, 50, 100, 200]
SEARCH = 6


def letor(files):
    """Queries, grades and features of files in SVMLight's form."""
    q, y, rows, ids = [], [], [], {}
    for file in files:
        for line in gzip.decompress(Path(file).read_bytes()).decode().splitlines():
            words = line.split("#")[0].split()
            y.append(float(words[0]))
            q.append(ids.setdefault(words[1], len(ids)))
            rows.append({int(a): float(b) for a, b in (word.split(":") for word in words[2:])})
    x = np.zeros((len(rows), max(max(row) for row in rows)))
    for at, row in enumerate(rows):
        for column, value in row.items():
            x[at, column - 1] = value
    return np.array(q), np.array(y), x[:, x.std(0) > 0]


def load(name, data):
    if name == "ohsumed":
        return letor([data / "OHSUMED-Fold1" / f"{part}set.txt.gz" for part in ("training", "validation", "test")])
    if name == "mq2008":
        return letor([data / "MQ2008-Fold1" / "test.txt.gz"])
    import polars

    table = polars.read_parquet(data / "protein-homology.parquet").to_numpy()
    q = np.unique(table[:, 0], return_inverse=True)[1]
    return q, table[:, 2].astype(float), table[:, 3:].astype(float)


def made(queries, seed, columns=20):
    """Correlated features; one direction says what may be relevant at all, another how much, and only there."""
    rng = np.random.RandomState(seed)
    root = np.linalg.cholesky(0.6 ** np.abs(np.subtract.outer(range(columns), range(columns))))
    w, c = (np.random.RandomState(of).randn(columns) for of in (7, 8))
    w, c = w / np.linalg.norm(root.T @ w), c / np.linalg.norm(root.T @ c)
    q, y, rows = [], [], []
    for query in range(queries):
        count = rng.randint(40, 160)
        x = (rng.randn(count, columns) + 0.5 * rng.randn(columns)) @ root.T
        worth = 2 * np.tanh(1.5 * x @ w) + (x @ c) / (1 + np.exp(-4 * x @ w)) + 0.7 * rng.randn(count)
        q.append(np.full(count, query))
        y.append((worth > 1).astype(float) + (worth > 2.5) + (worth > 3.5))
        rows.append(x)
    return np.concatenate(q), np.concatenate(y), np.concatenate(rows)


def values(goal, q, y, s):
    """The metric of each query with a relevant row, ties in expectation."""
    out = {}
    for query in np.unique(q):
        at = q == query
        grades, scores = y[at], s[at]
        if grades.max() <= 0:
            continue
        gains = 2.0**grades - 1 if goal == "ndcg" else (grades > 0).astype(float)
        order = np.argsort(-scores, kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(scores[order])) + 1)
        discount = 1 / np.log2(np.arange(len(grades)) + 2) * (np.arange(len(grades)) < 10)
        before, hits, total = 0, 0.0, 0.0
        for block in blocks:
            size, gained = len(block), gains[block].sum()
            places = np.arange(before, before + size)
            if goal == "ndcg":
                total += gained / size * discount[places].sum()
            elif goal == "precision":
                total += gained / size * np.clip(10 - before, 0, size) / 10
            elif gained > 0:
                others = (gained - 1) / max(size - 1, 1)
                total += gained / size * ((hits + 1 + np.arange(size) * others) / (places + 1)).sum()
            before, hits = before + size, hits + gained
        if goal == "ndcg":
            total /= (np.sort(gains)[::-1] * discount).sum()
        elif goal == "map":
            total /= gains.sum()
        out[int(query)] = float(total)
    return out


def mean(goal, q, y, s):
    return np.mean(list(values(goal, q, y, s).values()))


def sizes(q):
    return np.diff(np.flatnonzero(np.concatenate([[True], np.diff(q) != 0, [True]])))


def spans(q):
    ends = np.cumsum(sizes(q))
    return list(zip(ends - sizes(q), ends))


def listnet(q, y):
    """The mean over queries of the cross-entropy between shares of gain and the softmax, and its gradient."""
    starts = [a for a, _ in spans(q)]
    gain = 2.0**y - 1
    total = np.repeat(np.add.reduceat(gain, starts), sizes(q))
    differ = np.repeat(np.maximum.reduceat(gain, starts) > np.minimum.reduceat(gain, starts), sizes(q))
    share = np.where(differ, gain / np.maximum(total, 1e-300), 0)
    count = np.maximum(differ[starts].sum(), 1)

    def loss(s):
        e = s - np.repeat(np.maximum.reduceat(s, starts), sizes(q))
        log = e - np.repeat(np.log(np.add.reduceat(np.exp(e), starts)), sizes(q))
        return -(share @ log) / count, np.where(differ, np.exp(log) - share, 0) / count

    return loss


def ranknet(q, y):
    """The mean over queries of the mean over all pairs of the logistic loss, and its gradient."""
    pairs = [np.add(np.nonzero(y[a:b, None] > y[None, a:b]), a) for a, b in spans(q)]
    pairs = [of for of in pairs if of.size]
    i, j = np.concatenate(pairs, axis=1)
    weight = np.concatenate([np.full(of.shape[1], 1 / of.shape[1] / len(pairs)) for of in pairs])

    def loss(s):
        d = s[i] - s[j]
        wrong = weight / (1 + np.exp(np.clip(d, -500, 500)))
        return weight @ np.logaddexp(0, -d), np.bincount(j, wrong, len(s)) - np.bincount(i, wrong, len(s))

    return loss


def logistic(q, y):
    sign = np.where(y > 0, 1, -1)

    def loss(s):
        return np.logaddexp(0, -sign * s).mean(), -sign / (1 + np.exp(np.clip(sign * s, -500, 500))) / len(s)

    return loss


def linear(loss, train, others):
    """Scores of the other parts for each ridge."""
    from scipy.optimize import minimize

    q, y, x = train
    centre, scale = x.mean(0), np.where(x.std(0) > 0, x.std(0), 1)
    x = np.column_stack([(x - centre) / scale, np.ones(len(x))])
    w, loss = np.zeros(x.shape[1]), loss(q, y)
    for ridge in RIDGES[::-1]:

        def objective(w, ridge=ridge):
            value, v = loss(x @ w)
            return value + ridge / 2 * w[:-1] @ w[:-1], x.T @ v + ridge * np.append(w[:-1], 0)

        w = minimize(objective, w, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
        yield [((o[2] - centre) / scale) @ w[:-1] + w[-1] for o in others]


def lightgbm(train, others, seed):
    import lightgbm as lgb

    q, y, x = train
    rng = np.random.RandomState(seed)
    for index in range(SEARCH):
        grid = [0.05, 0.1], [7, 15, 31, 63], [5, 20, 50], [0, 1, 10]
        draw = [rng.choice(v) for v in grid] if index else [0.1, 31, 20, 0]
        parameters = dict(zip(["learning_rate", "num_leaves", "min_data_in_leaf", "lambda_l2"], draw))
        parameters |= {"objective": "lambdarank", "verbosity": -1, "num_threads": 1, "seed": seed}
        if index:
            parameters |= {"feature_fraction": 0.8, "bagging_fraction": 0.8, "bagging_freq": 1}
        booster = lgb.train(parameters, lgb.Dataset(x, y, group=sizes(q)), LOOKS[-1])
        for rounds in LOOKS:
            yield [booster.predict(o[2], num_iteration=rounds, num_threads=1) for o in others]


def xgboost(train, others, seed):
    import xgboost as xgb

    q, y, x = train
    rng = np.random.RandomState(seed)
    for index in range(SEARCH):
        grid = [0.05, 0.1], [3, 4, 6], [0.1, 1, 5], [1, 10]
        draw = [rng.choice(v) for v in grid] if index else [0.1, 6, 1, 1]
        parameters = dict(zip(["eta", "max_depth", "min_child_weight", "lambda"], draw))
        parameters |= {"objective": "rank:ndcg", "nthread": 1, "seed": seed}
        if index:
            parameters |= {"colsample_bytree": 0.8, "subsample": 0.8}
        booster = xgb.train(parameters, xgb.DMatrix(x, y, group=sizes(q)), LOOKS[-1])
        for rounds in LOOKS:
            yield [booster.predict(xgb.DMatrix(o[2]), iteration_range=(0, rounds)) for o in others]


PEERS = {
    "linear": {"logistic": logistic, "RankNet": ranknet, "ListNet": listnet},
    "trees": {"LightGBM": lightgbm, "XGBoost": xgboost},
}


def peer(name, family, train, test, seed):
    """Test scores for each goal, settings chosen on a quarter of the training queries."""
    q, y, x = train
    queries = np.random.RandomState(seed).permutation(np.unique(q))
    chosen = np.isin(q, queries[: len(queries) // 4])
    part = [(q[at], y[at], x[at]) for at in (~chosen, chosen)]
    others = [part[1], test]
    fit = PEERS[family][name]
    tried = linear(fit, part[0], others) if family == "linear" else fit(part[0], others, seed)
    best = {}
    for held, scores in tried:
        for goal in GOALS:
            value = mean(goal, part[1][0], part[1][1], held)
            if goal not in best or value > best[goal][0]:
                best[goal] = (value, scores)
    return {goal: scores for goal, (_, scores) in best.items()}


def ours(goal, family, train, test, seed):
    from setpoint import SetpointRanker

    more = {"search": 2 * SEARCH, "rounds": LOOKS[-1]} if family == "trees" else {}
    more |= {"split": "train=0.75,validation=0.25", "confidence": None, "random_state": seed}
    model = SetpointRanker(GOALS[goal], model=family, **more)
    model.fit(train[2], train[1], query=train[0])
    return model.predict(test[2]), model.report_["winner"]


def journal(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()] if os.path.exists(path) else []


def run(arguments):
    keys = "set", "part", "fold", "family", "method", "goal"
    done = {tuple(line[key] for key in keys) for line in journal(arguments.out)}

    def fits(name, part, fold, family, train, test, peers):
        def put(method, goal, scores, seconds, note=None):
            found = values(goal, test[0], test[1], np.asarray(scores, float))
            line = {"set": name, "part": part, "fold": fold, "family": family, "method": method, "goal": goal}
            with open(arguments.out, "a") as out:
                out.write(json.dumps(line | {"values": found, "seconds": seconds, "note": note}) + "\n")

        for method in peers if arguments.only != "setpoint" else ():
            if all((name, part, fold, family, method, goal) in done for goal in GOALS):
                continue
            clock = time.process_time()
            for goal, scores in peer(method, family, train, test, part).items():
                put(method, goal, scores, time.process_time() - clock)
        for goal in GOALS if arguments.only != "peers" else ():
            if (name, part, fold, family, "Setpoint", goal) in done:
                continue
            clock = time.process_time()
            scores, winner = ours(goal, family, train, test, part)
            put("Setpoint", goal, scores, time.process_time() - clock, winner)

    for part in arguments.partitions:
        for name in arguments.sets:
            q, y, x = load(name, arguments.data)
            fold_of = np.empty(q.max() + 1, int)
            fold_of[np.random.RandomState(part).permutation(q.max() + 1)] = np.arange(q.max() + 1) % 5
            order = np.argsort(q, kind="stable")
            for fold in range(5):
                tests = fold_of[q[order]] == fold
                train, test = ([a[order][at] for a in (q, y, x)] for at in (~tests, tests))
                for family in arguments.models:
                    fits(name, part, fold, family, train, test, PEERS[family])
                print(name, part, fold, flush=True)
    for queries in arguments.made:
        for seed in range(3):
            q, y, x = made(queries + 1000, 100 * seed + queries)
            tests = q >= queries
            train, test = ([a[at] for a in (q, y, x)] for at in (~tests, tests))
            peers = [name for name in PEERS["linear"] if queries <= 2000 or name != "RankNet"]
            fits(f"made {queries}", seed, 0, "linear", train, test, peers)
            print("made", queries, seed, flush=True)


def table(arguments):
    found = {}
    for line in journal(arguments.out):
        key = (line["family"], line["set"], line["goal"])
        for query, value in line["values"].items():
            found.setdefault(key, {}).setdefault(line["method"], {})[(line["part"], query)] = value
    for family in ("linear", "trees"):
        for name in dict.fromkeys(key[1] for key in found if key[0] == family):
            names = [n for n in [*PEERS[family], "Setpoint"] if n in found[(family, name, "ndcg")]]
            print(f"\n{family}, {name}\n\n| | values | {' | '.join(names)} | Setpoint over the best peer |")
            print("|---" * (len(names) + 3) + "|")
            for goal in GOALS:
                by = found.get((family, name, goal), {})
                if "Setpoint" not in by:
                    continue
                common = set.intersection(*(set(by[n]) for n in names if n in by))
                at = {n: 100 * np.mean([by[n][key] for key in common]) for n in names if n in by}
                best = max((n for n in PEERS[family] if n in by), key=lambda n: at[n])
                pairs = {}
                for key in common:
                    one = key if name.startswith("made") else key[1]
                    pairs.setdefault(one, []).append(100 * (by["Setpoint"][key] - by[best][key]))
                d = np.array([np.mean(of) for of in pairs.values()])
                cells = " | ".join(f"{at[n]:.2f}" if n in at else "" for n in names)
                error = d.std(ddof=1) / len(d) ** 0.5
                difference = f"{d.mean():+.2f} ± {error:.2f} ({best})"
                print(f"| {GOALS[goal].removesuffix(' per query')} | {len(common)} | {cells} | {difference} |")


def words(text):
    return [word for word in text.split(",") if word]


def numbers(text):
    return [int(word) for word in words(text)]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", type=Path, default=os.environ.get("SETPOINT_DATA"))
parser.add_argument("--out", required=True)
parser.add_argument("--sets", type=words, default=["ohsumed", "mq2008", "protein"])
parser.add_argument("--models", type=words, default=["linear", "trees"])
parser.add_argument("--partitions", type=numbers, default=[10, 11, 12])
parser.add_argument("--made", type=numbers, default=[])
parser.add_argument("--only", choices=["peers", "setpoint"])
parser.add_argument("--table", action="store_true")

if __name__ == "__main__":
    given = parser.parse_args()
    table(given) if given.table else run(given)
