"""Rows by the million: makes a table, and times two builds on it, in turn.

    python bench/scale.py make 1000000 rows.parquet
    python bench/scale.py train BEFORE AFTER rows.parquet --runs 5
    python bench/scale.py predict BEFORE AFTER rows.parquet --runs 3
    python bench/scale.py disk SETPOINT rows.parquet --memory 1GB

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
# Beyond so many rows they come again.
DRAWN = 2_000_000
GOAL = "recall @ fpr<=1%"


def make(rows: int, path: Path) -> None:
    """Writes a Parquet file of so many rows, a block at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(7)
    mix = np.eye(COLUMNS) + 0.9 * np.eye(COLUMNS, k=1) + 0.3 * draw.normal(size=(COLUMNS, COLUMNS)) / COLUMNS**0.5
    weights, bend = draw.normal(size=COLUMNS), draw.normal(size=COLUMNS)
    writer = None
    blocks: list[tuple[np.ndarray, np.ndarray]] = []
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        if first < DRAWN:
            base = draw.normal(size=(count, COLUMNS))
            values = (base @ mix).astype(np.float32)
            score = 0.5 * base @ weights + 0.5 * np.maximum(base[:, 0] * base[:, 1], 0) + 0.15 * np.abs(base @ bend)
            labels = (score + 1.2 * draw.logistic(size=count) > 5.5).astype(np.int8)
            blocks.append((values, labels))
        else:
            # The same rows a little larger, so that no two are equal: drawing them all would take an hour.
            again, block = divmod(first // BLOCK, len(blocks))
            values, labels = blocks[block][0][:count] * np.float32(1 + 1e-4 * again), blocks[block][1][:count]
        names = [f"x{column}" for column in range(COLUMNS)]
        table = pa.table(
            [*(pa.array(values[:, column]) for column in range(COLUMNS)), pa.array(labels)], [*names, "y"]
        )
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, use_dictionary=False, compression="none")
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


def train(binary: str, data: str, folder: str, more: tuple[str, ...] = ()) -> dict[str, float]:
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
        *more,
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


def read_alone(data: str) -> float:
    """Bytes a second of reading the file from one end to the other."""
    began, size = time.perf_counter(), 0
    with open(data, "rb", buffering=0) as file:
        while found := file.read(1 << 23):
            size += len(found)
    return size / (time.perf_counter() - began)


def copy_alone(data: str, folder: str) -> float:
    """Seconds of reading all columns and writing as many as `predict` does, with pyarrow and its threads."""
    import pyarrow.parquet as pq

    began, source = time.perf_counter(), pq.ParquetFile(data)
    out = None
    for batch in source.iter_batches(1 << 18):
        some = batch.select(["x0", "x1", "y"])
        out = out or pq.ParquetWriter(Path(folder) / "copy.parquet", some.schema)
        out.write_batch(some)
    if out is not None:
        out.close()
    return time.perf_counter() - began


def disk(binary: str, data: str, memory: str, folder: str) -> None:
    """Training with a limit of memory, then predict and evaluate, beside reading and writing alone."""
    parts = {}
    parts["read alone, GB/s"] = read_alone(data) / 1e9
    found = train(binary, data, folder, ("--memory", memory, "--scratch", folder))
    parts |= {f"train, {what}": value for what, value in found.items()}
    parts |= {f"predict, {what}": value for what, value in predict(binary, data, folder).items()}
    parts["copy alone, s"] = copy_alone(data, folder)
    model = str(Path(folder) / "model.safetensors")
    wall, processor, memory_used, _ = run([binary, "evaluate", model, data, "-q", "--importance", "0"])
    parts |= {"evaluate, wall": wall, "evaluate, processor": processor, "evaluate, memory": memory_used / 1024}
    for what, value in parts.items():
        print(f"{what:24} {value:10.2f}", flush=True)


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
    timing = commands.add_parser("disk")
    timing.add_argument("binary")
    timing.add_argument("data")
    timing.add_argument("--memory", default="1GB")
    timing.add_argument("--folder", help="where the scratch file goes")
    args = parser.parse_args()
    if args.command == "make":
        make(args.rows, args.path)
        return
    with tempfile.TemporaryDirectory(dir=getattr(args, "folder", None)) as folder:
        if args.command == "disk":
            disk(args.binary, args.data, args.memory, folder)
            return
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
