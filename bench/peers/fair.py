"""Setpoint under fairness rules, beside cross-entropy with thresholds by group and fairlearn.

Adult (by sex, by race) and COMPAS (by race); demographic parity (positive rates within 0.02), equal
opportunity (recalls within 0.02) and the 80% rule (no positive rate below 0.8 of another). The same
rows for every method: 50% to train, 25% to validate (what thresholds are chosen on), 25% to test;
fairlearn's methods fit on the first two. Every run is a line of JSON in target/fairness-*.jsonl, so
that an interrupted run goes on: remove that file to start anew. The table shows mean ± sd over seeds
on the test rows.

    cargo build --release
    python3 -m venv .venv-fair && .venv-fair/bin/pip install fairlearn
    SETPOINT_DATA=path/to/data .venv-fair/bin/python bench/peers/fair.py [FIRST_SEED [SEEDS]] > docs/results/fairness.md
"""

import collections
import csv
import datetime
import importlib.metadata
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from fair import data
from fair.peer import PEERS, Split, rates_by_group

FIRST, COUNT = int((sys.argv[1:2] or ["0"])[0]), int((sys.argv[2:3] or ["5"])[0])
SEEDS = range(FIRST, FIRST + COUNT)
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = ROOT / "target" / "release" / "setpoint"
RUNS = ROOT / "target" / f"fairness-{FIRST}-{COUNT}.jsonl"
Rule = collections.namedtuple("Rule", "kind rate target")
RULES = {
    "demographic parity": Rule("gap", "positive-rate", 0.02),
    "equal opportunity": Rule("gap", "recall", 0.02),
    "80% rule": Rule("ratio", "positive-rate", 0.8),
}
CASES = [("Adult", "sex"), ("Adult", "race"), ("COMPAS", "race")]
SETPOINT = {"Setpoint, threshold by group": [], "Setpoint, one threshold": ["--shared-threshold"]}


def goal(rule, column):
    relation = "<=" if rule.kind == "gap" else ">="
    return f"accuracy @ {rule.kind}({rule.rate}, {column}){relation}{rule.target}"


def setpoint(header, rows, parts, column, rule, seed, more):
    """Decisions on the test rows, by the command line; the column `order` puts train rows first."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, places in [("fit.csv", parts[0] + parts[1]), ("test.csv", parts[2])]:
            with open(folder / name, "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(header + ["order"])
                writer.writerows(rows[place] + [order] for order, place in enumerate(places))
        share = len(parts[0]) / (len(parts[0]) + len(parts[1]))
        command = [BINARY, "train", "fit.csv", "--label", "label", "--goal", goal(rule, column), "--split-time", "order"]
        command += ["--split", f"train={share},validation={1 - share}", "--seed", str(seed), "--quiet", "-o", "model"]
        command += ["--model", "linear"]
        trained = subprocess.run(command + more, cwd=folder, capture_output=True, text=True)
        if trained.returncode == 1:
            return None
        trained.check_returncode()
        subprocess.run([BINARY, "predict", "model", "test.csv", "--quiet", "-o", "out.csv"], cwd=folder, check=True)
        with open(folder / "out.csv", newline="") as file:
            return np.array([row["decision"] == "1" for row in csv.DictReader(file)])


def measure(decisions, split, rule):
    """Accuracy, recall and what the rule limits, on the test rows."""
    _, labels, groups = split.test
    rates = rates_by_group(rule.rate, labels, decisions, groups)
    limited = rates.max() - rates.min() if rule.kind == "gap" else rates.min() / max(rates.max(), 1e-9)
    return {"accuracy": (decisions == labels).mean(), "recall": decisions[labels == 1].mean(), "limited": limited}


def run(done):
    """Every case that is not done yet."""
    for name, column in CASES:
        header, raw = data.TABLES[name]()
        rows = data.pooled(header, raw, column)
        for seed in SEEDS:
            parts = data.split(rows, seed)
            split = Split(header, rows, parts, column)
            for title, rule in RULES.items():
                for method in [*PEERS, *SETPOINT]:
                    key = (name, column, title, method, seed)
                    if key in done:
                        continue
                    if method in PEERS:
                        decisions = PEERS[method](split, rule, seed)
                    else:
                        decisions = setpoint(header, rows, parts, column, rule, seed, SETPOINT[method])
                    done[key] = None if decisions is None else measure(decisions, split, rule)
                    with open(RUNS, "a") as file:
                        file.write(json.dumps({"key": key, "result": done[key]}) + "\n")
                    print(*key, done[key], file=sys.stderr)


def spread(values, scale=100):
    """Mean ± sd, in points."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{scale * statistics.mean(values):.1f} ± {scale * deviation:.1f}"


def table(done):
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout.strip()
    names = ["fairlearn", "scikit-learn", "numpy"]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    print("# Fairness rules, beside peers\n")
    print(f"{datetime.date.today()}, {version}, {versions}, Python {platform.python_version()}; linear models;")
    print("`SETPOINT_DATA=... .venv-fair/bin/python bench/peers/fair.py > docs/results/fairness.md`.")
    print(f"Seeds {SEEDS.start}..{SEEDS.stop - 1}, test rows, mean ± sd in %; the script says how rows are shared.\n")
    print("The last column is what the rule limits, on the test rows: a rule that holds where it was set")
    print("(validation) holds on new rows only up to the noise of both, which is large for small groups.")
    print("*By group* says whether the group must be known when the model decides; *random*, whether two")
    print("people alike in everything may be decided differently.\n")
    for name, column in CASES:
        for title, rule in RULES.items():
            limited = f"{rule.kind} of {rule.rate}, {'at most' if rule.kind == 'gap' else 'at least'} {100 * rule.target:.0f}"
            print(f"## {name} by {column}, {title}: `{goal(rule, column)}`\n")
            print(f"| method | by group | random | accuracy | recall | {limited} |\n|---|---|---|---|---|---|")
            for method in [*PEERS, *SETPOINT]:
                results = [done[name, column, title, method, seed] for seed in SEEDS]
                known = [result for result in results if result]
                by_group = "yes" if "by group" in method or "Optimizer" in method else "no"
                random = "yes" if "fairlearn" in method else "no"
                cells = [spread([result[what] for result in known]) if known else "-" for what in ["accuracy", "recall", "limited"]]
                refused = f" (refused on {len(results) - len(known)} splits)" if len(known) < len(results) else ""
                print(f"| {method}{refused} | {by_group} | {random} | {' | '.join(cells)} |")
            print()
    print("Files, SHA-256:\n")
    for name, digest in data.hashes().items():
        print(f"- `{name}` {digest}")


def main():
    done = {}
    if RUNS.exists():
        for line in RUNS.read_text().splitlines():
            entry = json.loads(line)
            done[tuple(entry["key"])] = entry["result"]
    run(done)
    table(done)


if __name__ == "__main__":
    main()
