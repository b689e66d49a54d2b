"""Rows by the million: makes a table, and times two builds on it, in turn.

    python bench/scale.py make 1000000 rows.parquet
    python bench/scale.py train BEFORE AFTER rows.parquet --runs 5
    python bench/scale.py predict BEFORE AFTER rows.parquet --runs 3

The table has 30 columns of numbers, correlated as those of real tables are, and about 6% of positives. Times are of
the whole command; for training also as the run itself reports them, without reading. Needs numpy and pyarrow.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

COLUMNS = 30
BLOCK = 250_000
# Beyond so many rows numbers come again, in other rows.
DRAWN = 10_000_000
GOAL = "recall @ fpr<=1%"


def make(rows: int, path: Path) -> None:
    """Writes a Parquet file of so many rows, a block at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(7)
    mix = np.eye(COLUMNS) + 0.9 * np.eye(COLUMNS, k=1) + 0.3 * draw.normal(size=(COLUMNS, COLUMNS)) / COLUMNS**0.5
    weights, bend = draw.normal(size=COLUMNS), draw.normal(size=COLUMNS)
    writer, base = None, np.empty((0, COLUMNS))
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        if first < DRAWN or base.shape[0] != count:
            base = draw.normal(size=(count, COLUMNS))
        else:
            # Other rows of the same numbers: each column is turned by itself, which is faster than drawing anew.
            base = np.column_stack([np.roll(base[:, column], draw.integers(count)) for column in range(COLUMNS)])
        values = (base @ mix).astype(np.float32)
        score = 0.5 * base @ weights + 0.5 * np.maximum(base[:, 0] * base[:, 1], 0) + 0.15 * np.abs(base @ bend)
        labels = (score + 1.2 * draw.logistic(size=count) > 5.5).astype(np.int8)
        names = [f"x{column}" for column in range(COLUMNS)]
        table = pa.table(
            [*(pa.array(values[:, column]) for column in range(COLUMNS)), pa.array(labels)], [*names, "y"]
        )
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def run(command: list[str]) -> tuple[float, float, int, str]:
    """Seconds by the clock and of the processor, the largest resident memory in KiB, and what was printed."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        out.seek(0)
        printed = out.read()
    if child.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {printed}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, printed


def train(binary: str, data: str, folder: str) -> dict[str, float]:
    """One run of training, by its record."""
    model = Path(folder) / "model.safetensors"
    model.unlink(missing_ok=True)
    command = [
        binary,
        "train",
        data,
        "--label",
        "y",
        "--goal",
        GOAL,
        "--model",
        "linear",
        "-o",
        str(model),
        "--json",
        "-q",
    ]
    wall, processor, memory, printed = run(command)
    record = json.loads(printed)
    return {
        "wall": wall,
        "processor": processor,
        "memory": memory / 1024,
        "training": record["seconds"]["train"],
        "evaluations": record["steps"],
        "passes": record.get("passes", record["steps"]),
        "validation": 100 * record["objective"]["validation"],
        "calibration": 100 * record["objective"]["calibration"],
    }


def predict(binary: str, data: str, folder: str) -> dict[str, float]:
    """One run of predict with the model that is in the folder."""
    out = Path(folder) / "decisions.parquet"
    wall, processor, memory, _ = run(
        [binary, "predict", str(Path(folder) / "model.safetensors"), data, "-o", str(out), "-q"]
    )
    return {"wall": wall, "processor": processor, "memory": memory / 1024}


def main() -> None:
    """Makes or measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("rows", type=int)
    making.add_argument("path", type=Path)
    for name in ("train", "predict"):
        timing = commands.add_parser(name)
        timing.add_argument("binaries", nargs=2, metavar=("BEFORE", "AFTER"))
        timing.add_argument("data")
        timing.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    if args.command == "make":
        make(args.rows, args.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.command == "predict":
            train(args.binaries[0], args.data, folder)
        measure = train if args.command == "train" else predict
        found: list[list[dict[str, float]]] = [[], []]
        for _ in range(args.runs):
            for place, binary in enumerate(args.binaries):
                found[place].append(measure(binary, args.data, folder))
                print(place, json.dumps(found[place][-1]), flush=True)
    for what in found[0][0]:
        before, after = (sorted(one[what] for one in runs)[len(runs) // 2] for runs in found)
        print(
            f"{what:12} {before:10.2f} {after:10.2f}   ratio {before / after:.2f}" if after else f"{what:12} {before}"
        )


if __name__ == "__main__":
    main()
