"""Setpoint's defaults against weighted cross-entropy on five public data sets, by its own command line.

For every goal, set and seed: `setpoint train` on a 50/25/25 split (train, validation, test); the value
at the condition on the test rows, for the model kept and for the best weighted cross-entropy (both
chosen on validation). Writes a Markdown table: mean ± sd over seeds, and the mean paired difference with
its standard error, losses included.

    cargo build --release
    SETPOINT_DATA=path/to/data python3 bench/quality.py [SEEDS] > docs/results/quality.md
"""

import datetime
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SEEDS = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
DATA = pathlib.Path(os.environ["SETPOINT_DATA"])
BINARY = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "setpoint"
SETS = {
    "Letter (U)": ["letter-recognition.data", "--label", "1", "--positive", "U"],
    "IJCNN1": ["ijcnn1.gz", "--label", "label"],
    "Adult (a9a)": ["a9a", "--label", "label"],
    "Spambase": ["spambase.data", "--label", "58"],
    "Crime": ["communities.data", "--label", "128", "--positive", ">0.28", "--drop", "1-5"],
}
GOALS = [
    "recall @ fpr<=1%",
    "recall @ fpr<=5%",
    "pr-auc @ recall in 0.95..1",
    "roc-auc @ fpr in 0..5%",
    "precision @ k=100",
]


def train(arguments, goal, seed):
    """The record of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [BINARY, "train", DATA / arguments[0], *arguments[1:], "--goal", goal, "--seed", str(seed)]
        command += ["--split", "train=0.5,validation=0.25,test=0.25", "--json", "--quiet"]
        command += ["--model", "linear", "-o", pathlib.Path(folder) / "model.safetensors"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def spread(values):
    """Mean ± sd, in points."""
    return f"{100 * statistics.mean(values):.1f} ± {100 * statistics.stdev(values):.1f}"


def main():
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout.strip()
    print("# Quality of the defaults\n")
    print(f"{datetime.date.today()}, {version}, seeds {SEEDS.start}..{SEEDS.stop - 1}, linear models, `method auto`;")
    print("`SETPOINT_DATA=... python3 bench/quality.py > docs/results/quality.md`. Test values at the condition, in %,")
    print("mean ± sd; the difference is paired by seed, ± its standard error. The split has no calibration part, so rows do")
    print("not rotate; with rotations: `uci/uci.md`.\n")
    for goal in GOALS:
        print(f"## `{goal}`\n\n| set | cross-entropy, weighted | Setpoint | difference | s per run |\n|---|---|---|---|---|")
        for name, arguments in SETS.items():
            runs = [train(arguments, goal, seed) for seed in SEEDS]
            ours = [run["objective"]["test"] for run in runs]
            base = [run["baseline"]["objective"]["test"] for run in runs]
            gaps = [a - b for a, b in zip(ours, base)]
            error = statistics.stdev(gaps) / len(gaps) ** 0.5
            seconds = statistics.median(run["seconds"]["total"] for run in runs)
            print(f"| {name} | {spread(base)} | {spread(ours)} | {100 * statistics.mean(gaps):+.1f} ± {100 * error:.1f} | {seconds:.2f} |", flush=True)
        print()
    print("Files, SHA-256:\n")
    for arguments in SETS.values():
        print(f"- `{arguments[0]}` {hashlib.sha256((DATA / arguments[0]).read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
