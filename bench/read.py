"""Times reading a CSV and a Parquet file, Setpoint beside polars.

    python -m venv .venv && .venv/bin/pip install polars numpy
    cargo build --release -p setpoint-data --example read
    .venv/bin/python bench/read.py --write docs/results/read.md

Makes a table of 1,000,000 x 30 f32 numbers and a 0/1 label in a temporary
directory, then runs each reader in a fresh process, in turn, and compares the
medians. polars reads the columns as f32 from a given schema, which spares it
the inference that Setpoint does. Each reader uses all cores.
"""

import argparse
import datetime
import importlib.metadata
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
READ = os.path.join(ROOT, "target", "release", "examples", "read")

POLARS = """
import sys, time
import polars as pl
path = sys.argv[1]
start = time.perf_counter()
if path.endswith(".csv"):
    schema = {f"x{i}": pl.Float32 for i in range(30)} | {"y": pl.Int8}
    frame = pl.read_csv(path, schema=schema)
else:
    frame = pl.read_parquet(path)
print(f"{time.perf_counter() - start:.6f} {frame.height} {frame.width - 1}")
"""


def make(directory, rows):
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.standard_normal(rows, dtype=np.float32) for i in range(30)})
    frame = frame.with_columns(y=pl.Series(rng.integers(0, 2, rows, dtype=np.int8)))
    paths = [os.path.join(directory, "table.csv"), os.path.join(directory, "table.parquet")]
    frame.write_csv(paths[0])
    frame.write_parquet(paths[1])
    return paths


def run(command):
    """Seconds inside the reader, CPU seconds and peak memory (MB) of its process."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return float(out.split()[0]), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--write", help="write the figures to this Markdown file")
    args = parser.parse_args()
    polars_version = importlib.metadata.version("polars")
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        # In a process of its own: a child's peak memory counts from what its parent held.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            paths = pool.apply(make, (directory, args.rows))
        for path in paths:
            kind = path.rsplit(".", 1)[1]
            commands = {
                "polars": [sys.executable, "-c", POLARS, path],
                "Setpoint": [READ, path, "y"],
                "Setpoint, with SHA-256": [READ, path, "y", "hash"],
                "Setpoint, with encoding": [READ, path, "y", "encode"],
            }
            results = {name: [] for name in commands}
            for _ in range(args.runs):
                for name, command in commands.items():
                    results[name].append(run(command))
            base = statistics.median(seconds for seconds, _, _ in results["polars"])
            for name, runs in results.items():
                seconds, cpu, memory = (statistics.median(run[i] for run in runs) for i in range(3))
                line = f"| {kind} ({os.path.getsize(path) / 1e6:.0f} MB) | {name} | {seconds:.3f} | {cpu:.2f} | {memory:.0f} | {base / seconds:.2f} |"
                print(line, flush=True)
                lines.append(line)
    if args.write:
        command = "python bench/read.py" + "".join(f" {arg}" for arg in sys.argv[1:])
        version = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
        with open(args.write, "w") as file:
            file.write(
                f"""# Reading tables

{args.rows:,} x 30 f32 numbers and a label, files in the page cache, medians of {args.runs} runs in turn, each in a
fresh process. *Seconds* are those of the read alone; CPU seconds and peak memory are of the whole process,
interpreter included. *Speed* is polars' seconds over ours; the aim is at least 0.5.

| File | Reader | Seconds | CPU seconds | Peak MB | Speed |
|---|---|---|---|---|---|
"""
                + "\n".join(lines)
                + f"""

{datetime.date.today()}; `{command}`; polars {polars_version}, Python {platform.python_version()}, rustc {version};
a shared virtual machine with {os.cpu_count()} {platform.machine()} cores, other builds running at times.
"""
            )


if __name__ == "__main__":
    main()
