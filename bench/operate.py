"""What docs/results/operate.md tells: how soon a broken certificate is told, and how many labels a new one takes.

    python -m venv v && v/bin/pip install mapie==1.6.0 pandas pyarrow target/wheels/*.whl
    v/bin/python bench/operate.py delay
    v/bin/python bench/operate.py labels DATA --repetitions 200
    v/bin/python bench/operate.py year DATA OUT

`delay` simulates negatives of which 1% are false alarms, and from some row on 1.5, 2 or 3%. Everything is given a
chance of 5% to raise an alarm while the rate is 1%: MAPIE's RiskMonitoring gets test_level=0.2, since it keeps half
for a reference that is known here, and half of the rest for a side that is not looked at. Its bound is its own
class, tabulated; it counts from the row at which that is past 1%. `labels` draws pools with replacement from rows
that the model has not seen, whose rates are therefore known exactly.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

ALPHA, TARGET = 0.05, 0.01
RATES = (0.015, 0.02, 0.03)
R2L = ["ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"]


def one_score():
    """A model that decides a row by its only column: positive from 1 on, and certified for fpr<=1%."""
    import setpoint

    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.3
    x = np.where(y, 1.0, 0.0) + rng.normal(0, 0.2, y.size)
    model = setpoint.SetpointClassifier("recall @ fpr<=1%").fit(x[:, None], y).model_
    assert model.predict([[-5.0]])[0] == 0 and model.predict([[5.0]])[0] == 1
    return model


class Ours:
    """A watch that goes from state to state, without what `Monitor.update` tells after each batch."""

    def __init__(self, model, batch):
        self.model, self.batch, self.rows = model, batch, {}

    def begin(self):
        from setpoint import _setpoint

        return _setpoint.monitor_begin(self.model._inner, ALPHA)

    def alarm(self, state, batches):
        """The number of the batch after which the alarm is raised, none if it is not, and the state then."""
        from setpoint import _setpoint

        for place, bad in enumerate(batches):
            if bad not in self.rows:
                X = np.full((self.batch, 1), -5.0)
                X[:bad] = 5.0
                self.rows[bad] = self.model._features(X)
            names, features, _ = self.rows[bad]
            labels = np.zeros(self.batch, dtype=bool)
            state, _ = _setpoint.monitor_add(self.model._inner, state, features, names, labels, None, None, None)
            # There is one condition, and no row without a label.
            if '"alarm":null' not in state:
                return place + 1, state
        return None, state


class Mapie:
    """The lower bound of RiskMonitoring, by its own mixture bound, tabulated over the variance it depends on."""

    def __init__(self):
        from mapie.exchangeability_testing import RiskMonitoring
        from mapie.exchangeability_testing.bounds import GammaExponentialMixtureBound

        level = RiskMonitoring(risk="fpr", test_level=4 * ALPHA, threshold=TARGET).test_level_online / 2
        bound = GammaExponentialMixtureBound(v_opt=1, c=1, alpha_opt=level)
        self.v = np.concatenate([np.linspace(0, 20, 400), np.geomspace(20.1, 20_000, 2000)])
        self.bound = np.array([bound(v=float(v), alpha=level) for v in self.v])

    def alarm(self, rows):
        """The row at which the bound is past the target; none if it never is."""
        t = np.arange(1, rows.size + 1)
        sums = np.cumsum(rows)
        before = np.append(0.5, (sums / t)[:-1])
        variance = np.cumsum((rows - before) ** 2)
        past = (sums - np.interp(variance, self.v, self.bound)) / t > TARGET
        return int(np.argmax(past)) + 1 if past.any() else None


def nightly(batches, batch, nights=365, so_far=False):
    """The night of the exact test that alarms, at ALPHA / nights: of the night's rows, or of all so far."""
    from scipy.stats import binom

    bad = np.cumsum(batches) if so_far else batches
    rows = batch * np.arange(1, batches.size + 1) if so_far else batch
    past = binom.sf(bad - 1, rows, TARGET) <= ALPHA / nights
    return int(np.argmax(past)) + 1 if past.any() else None


def delay(args):
    model, mapie = one_score(), Mapie()
    print(f"{args.streams} streams; mean delay in labelled rows after the change (false alarms before it left out)")
    names = ("setpoint", "mapie", "nightly", "nightly, all so far")
    for quiet in args.quiet:
        for batch in args.batches:
            watch = Ours(model, batch)
            found = {(name, rate): [] for rate in RATES for name in names}
            false = {(name, rate): 0 for rate in RATES for name in names}
            for stream in range(args.streams):
                rng = np.random.default_rng([stream, quiet, batch])
                before = (rng.random(quiet // batch * batch) < TARGET).astype(float)
                early, state = watch.alarm(watch.begin(), counted(before, batch))
                for rate in RATES:
                    horizon = int(min(400_000, 60_000 * (0.005 / (rate - TARGET)) ** 1.5 + 20_000))
                    after = (rng.random(horizon // batch * batch) < rate).astype(float)
                    late, _ = (None, None) if early else watch.alarm(state, counted(after, batch))
                    rows = np.concatenate([before, after])
                    batches = counted(rows, batch)
                    at = mapie.alarm(rows)
                    ends = (
                        early or (late and late + before.size // batch),
                        None if at is None else -(-at // batch),
                        nightly(batches, batch),
                        nightly(batches, batch, so_far=True),
                    )
                    for name, end in zip(names, ends):
                        if end is not None and end * batch <= before.size:
                            false[name, rate] += 1
                        else:
                            # A stream that ends without an alarm counts as one at its end.
                            found[name, rate].append((len(batches) if end is None else end) * batch - before.size)
            for (name, rate), rows in found.items():
                error = np.std(rows, ddof=1) / np.sqrt(len(rows))
                print(
                    f"quiet {quiet:6} batch {batch:5} to {100 * rate:.1f}%  {name:20} "
                    f"{np.mean(rows):8.0f} ± {error:5.0f}  false {false[name, rate]}",
                    flush=True,
                )


def counted(rows, batch):
    """False alarms in each batch."""
    return rows.reshape(-1, batch).sum(1).astype(int)


def read(name, data):
    import pandas as pd

    if name == "credit":
        rows = pd.read_csv(data / "give-me-some-credit.csv.gz").drop(columns="id", errors="ignore")
        rows = rows.loc[:, ~rows.columns.str.startswith("Unnamed")]
        return rows.drop(columns="SeriousDlqin2yrs"), rows["SeriousDlqin2yrs"].to_numpy() == 1
    rows = pd.read_csv(data / "kddcup.data_10_percent.gz", header=None)
    rows.columns = [f"c{column}" for column in rows.columns]
    return rows.drop(columns="c41"), rows["c41"].str.rstrip(".").isin(R2L).to_numpy()


def labels(args):
    import setpoint

    for name in args.sets:
        X, y = read(name, args.data)
        order = np.random.default_rng(0).permutation(len(y))
        learn, rest = order[: len(y) // 4], order[len(y) // 4 :]
        found = setpoint.SetpointClassifier("recall @ fpr<=1%", model=args.model).fit(X.iloc[learn], y[learn])
        model = found.model_
        scores, truth = model.scores(X.iloc[rest]), y[rest]
        sizes = {"uniform": args.uniform, "sample": args.sampled}
        recall = {kind: {size: [] for size in some} for kind, some in sizes.items()}
        broken = {kind: dict.fromkeys(some, 0) for kind, some in sizes.items()}
        for repetition in range(args.repetitions):
            rng = np.random.default_rng([7, repetition])
            pool = rest[rng.integers(rest.size, size=args.pool)]
            for kind, some in sizes.items():
                for size in some:
                    if kind == "uniform":
                        rows, inclusion = pool[:size], None
                    else:
                        drawn = setpoint.sample(model, X.iloc[pool], size, random_state=repetition)
                        rows, inclusion = pool[drawn.rows], drawn.inclusion
                    try:
                        new = setpoint.recertify(model, X.iloc[rows], y[rows], inclusion=inclusion).model
                        decided = scores >= new.thresholds[0]
                        caught, alarms = decided[truth].mean(), decided[~truth].mean()
                    except setpoint.InfeasibleError:
                        caught, alarms = 0.0, 0.0
                    recall[kind][size].append(caught)
                    broken[kind][size] += alarms > TARGET
        print(f"{name}: {rest.size} rows, {truth.mean():.2%} positive, pool of {args.pool}, {args.repetitions} draws")
        best = scores[~truth]
        print(f"  recall where fpr is 1%: {(scores[truth] > np.quantile(best, 0.99)).mean():.4f}")
        means = {size: np.mean(some) for size, some in recall["uniform"].items()}
        for kind, some in recall.items():
            for size, values in some.items():
                error = np.std(values, ddof=1) / np.sqrt(len(values))
                line = f"  {kind:8} {size:6} labels: recall {np.mean(values):.4f} ± {error:.4f}"
                line += f", broken {broken[kind][size]} of {args.repetitions}"
                if kind == "sample":
                    needed = np.interp(np.mean(values), list(means.values()), list(means))
                    past = np.mean(values) > max(means.values())
                    line += f", as uniform {'>' if past else ''}{needed:.0f}: {size / needed:.2f} of the labels"
                print(line, flush=True)


def year(args):
    """employment-MA: trained on 2015, watched in batches of 5,000 rows to 2018, labels a batch late."""
    import pandas as pd

    rows = pd.read_parquet(args.data / "employment-MA.parquet").drop(
        columns=["id", "prediction", "predicted_probability"]
    )
    if args.shuffle:
        rows = rows.sample(frac=1, random_state=0).sort_values("year", kind="stable")
    args.out.mkdir(parents=True, exist_ok=True)
    rows[rows.year == 2015].drop(columns="year").to_csv(args.out / "2015.csv", index=False)
    setpoint = [sys.executable, "-m", "setpoint"]

    def run(*arguments, show=True):
        done = subprocess.run([*setpoint, *arguments], cwd=args.out, capture_output=True, text=True, check=False)
        if show or done.returncode > 1:
            print("$ setpoint", *arguments, f"-> {done.returncode}", flush=True)
            print(done.stdout or done.stderr, flush=True)
        return done

    run(
        "train",
        "2015.csv",
        "--label",
        "employed",
        "--goal",
        args.goal,
        "--model",
        args.model,
        "-o",
        "jobs.safetensors",
    )
    later = rows[rows.year > 2015]
    before, hinted, alarmed = None, False, False
    firsts = range(0, len(later), 5000)
    for place, first in enumerate([*firsts, None]):
        batch = None if first is None else later[first : first + 5000]
        last = f"batch {place + 1} of {len(firsts)}"
        if batch is not None:
            batch.drop(columns=["year", "employed"]).to_csv(args.out / "new.csv", index=False)
            arguments = [
                "monitor",
                "jobs.safetensors",
                "new.csv",
                "--unlabelled",
                "--state",
                "watch.json",
                "--json",
                "-q",
            ]
            found = json.loads(run(*arguments, show=False).stdout)
            if found["hint"] and not hinted:
                hinted = True
                print(f"first hint: with {last}, {batch.year.iloc[-1]}, without labels", flush=True)
        if before is not None:
            before.drop(columns="year").to_csv(args.out / "labelled.csv", index=False)
            arguments = [
                "monitor",
                "jobs.safetensors",
                "labelled.csv",
                "--state",
                "watch.json",
                "--report",
                "watch.html",
            ]
            done = run(*arguments, show=batch is None)
            if done.returncode == 1 and not alarmed:
                alarmed = True
                print(f"first alarm: when {last} is scored, by the labels of the one before it", flush=True)
                print(done.stdout, flush=True)
        before = batch


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("delay")
    one.add_argument("--streams", type=int, default=200)
    one.add_argument("--batches", type=int, nargs="+", default=[500, 1000])
    one.add_argument("--quiet", type=int, nargs="+", default=[0, 50_000, 180_000])
    one.set_defaults(run=delay)
    one = commands.add_parser("labels")
    one.add_argument("data", type=pathlib.Path)
    one.add_argument("--sets", nargs="+", default=["credit", "kdd"])
    one.add_argument("--model", default="linear")
    one.add_argument("--pool", type=int, default=50_000)
    one.add_argument("--sampled", type=int, nargs="+", default=[500, 1000, 2000])
    one.add_argument("--uniform", type=int, nargs="+", default=[500, 1000, 2000, 4000, 8000, 16000])
    one.add_argument("--repetitions", type=int, default=200)
    one.set_defaults(run=labels)
    one = commands.add_parser("year")
    one.add_argument("data", type=pathlib.Path)
    one.add_argument("out", type=pathlib.Path)
    one.add_argument("--goal", default="recall @ fpr<=10%")
    one.add_argument("--shuffle", action="store_true", help="rows of each year in an order of chance")
    one.add_argument("--model", default="linear")
    one.set_defaults(run=year)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
