"""Times training a linear model on a table of categories, several binaries of Setpoint side by side.

    cargo build --release -p setpoint-cli
    python bench/categories.py /path/to/older/setpoint target/release/setpoint --write docs/results/categories.md

Needs numpy. Makes a table of 200,000 rows with 7 numeric and 33 categorical columns (about 400 columns once
each category has its own) in a temporary directory, and takes `adult.data` from `SETPOINT_DATA` where that is
set. Each binary trains in turn, in a fresh process; ratios are those of the medians, first binary over last.
"""

import argparse
import datetime
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import tempfile

GOAL = "recall @ fpr<=1%"
NUMBERS = 7
# Categories of each column: 393 in all, so 400 columns with the numbers.
CATEGORIES = [2] * 6 + [4] * 7 + [7] * 6 + [10] * 5 + [20] * 4 + [30] * 3 + [45, 46]


def make(directory, rows):
    import numpy as np

    assert len(CATEGORIES) == 33 and sum(CATEGORIES) + NUMBERS == 400
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((rows, NUMBERS))
    score = numbers[:, :3] @ [0.8, -0.5, 0.3] + 0.4 * numbers[:, 3] ** 2
    columns = []
    for column, count in enumerate(CATEGORIES):
        share = 1.0 / np.arange(1, count + 1) ** 0.7
        codes = rng.choice(count, rows, p=share / share.sum())
        if column % 2 == 0:
            score += rng.normal(0.0, 0.5, count)[codes]
        columns.append(codes)
    labels = score + rng.logistic(size=rows) > np.quantile(score, 0.95)
    path = os.path.join(directory, "categories.csv")
    names = [f"x{i}" for i in range(NUMBERS)] + [f"c{i}" for i in range(len(columns))] + ["y"]
    with open(path, "w") as file:
        file.write(",".join(names) + "\n")
        for row in zip(numbers.tolist(), zip(*columns), labels.tolist()):
            cells = [f"{value:.4f}" for value in row[0]] + [f"v{code}" for code in row[1]] + [str(int(row[2]))]
            file.write(",".join(cells) + "\n")
    return path


def run(binary, data, directory):
    """Wall seconds, seconds of training, peak memory (MB) and the objective on held-out rows."""
    command = [binary, "train", *data, "--goal", GOAL, "--model", "linear", "--json"]
    command += ["-o", os.path.join(directory, "model.safetensors")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    record = json.loads(out)
    seconds, objective = record["seconds"], record["objective"]
    held_out = objective["test"] if objective.get("test") is not None else objective["calibration"]
    return seconds["total"], seconds["load"], seconds["train"], usage.ru_maxrss / 1024, held_out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", help="write the figures to this Markdown file")
    args = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        # In a process of its own: a child's peak memory counts from what its parent held.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            path = pool.apply(make, (directory, args.rows))
        tables = {f"categories, {args.rows:,} rows": [path, "--label", "y"]}
        if adult := os.environ.get("SETPOINT_DATA"):
            adult = os.path.join(adult, "adult.data")
            tables["Adult"] = [adult, "--label", "15", "--positive", ">50K", "--header", "no"]
        for name, data in tables.items():
            results = {binary: [] for binary in args.binaries}
            for _ in range(args.runs):
                for binary, runs in results.items():
                    runs.append(run(binary, data, directory))
            medians = {
                binary: [statistics.median(column) for column in zip(*runs)] for binary, runs in results.items()
            }
            for binary, (total, load, train, memory, objective) in medians.items():
                label = "before" if binary == args.binaries[0] and len(args.binaries) > 1 else "now"
                cells = f"{total:.2f} | {load:.2f} | {train:.2f} | {memory:.0f} | {objective:.4f}"
                lines.append(f"| {name} | {label} | {cells} |")
                print(lines[-1], flush=True)
            if len(args.binaries) > 1:
                first, last = medians[args.binaries[0]], medians[args.binaries[-1]]
                ratios = [f"{a / b:.1f}x" for a, b in zip(first[:4], last[:4])]
                lines.append(f"| {name} | ratio | {' | '.join(ratios)} | |")
                print(lines[-1], flush=True)
    if args.write:
        command = "python bench/categories.py BEFORE target/release/setpoint"
        version = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
        with open(args.write, "w") as file:
            file.write(
                f"""# Categories as codes

`setpoint train --goal "{GOAL}"`, the linear model, two builds in turn, medians of {args.runs} runs. The table has
7 numeric and 33 categorical columns, 400 columns as the model counts them; *before* wrote each of them out as a
32-bit number, *now* keeps one code for each categorical column. Memory is the peak of the process; the objective is
on rows that were not trained on.

| Table | Build | Seconds | of them load | of them train | Peak MB | Objective |
|---|---|---|---|---|---|---|
"""
                + "\n".join(lines)
                + f"""

{datetime.date.today()}; `{command}`; rustc {version}; a shared virtual machine with {os.cpu_count()}
{platform.machine()} cores, other builds running at times.
"""
            )


if __name__ == "__main__":
    main()
