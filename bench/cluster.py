"""Training on a Dask cluster of this machine beside one process, on the same Parquet file.

    python bench/cluster.py --rows 1000000 --directory DIR [RUN ...]

Writes the rows there (and removes them, unless told to --keep them), trains in one process with two threads, then on
clusters of 1, 2 and 4 workers with one thread each, once with a worker killed on the way, trees, and dask-ml's
LogisticRegression beside; or what is named of `alone 1 2 4 killed trees peer`. One JSON object for each run.
"""

import argparse
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np

GOAL = "recall @ fpr<=1%"
COLUMNS = 30


def rows_of(rows, seed):
    """Two normal classes that share a third of their columns; outliers far out on the negative side."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.05
    X = rng.normal(size=(rows, COLUMNS)).astype(np.float32)
    X[:, : COLUMNS // 3] += 0.5 * y[:, None].astype(np.float32)
    far = rng.random(rows) < 0.02
    X[far & ~y, :3] += 4
    return X, y


def write(path, rows, group=250_000):
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for number, start in enumerate(range(0, rows, group)):
        X, y = rows_of(min(group, rows - start), number)
        columns = {f"x{i}": X[:, i] for i in range(COLUMNS)}
        batch = pa.table({**columns, "fraud": y.astype(np.int8)})
        writer = writer or pq.ParquetWriter(path, batch.schema, compression="zstd")
        writer.write_table(batch, row_group_size=group)
    writer.close()


def tell(**what):
    print(json.dumps(what), flush=True)


def value(scores):
    import setpoint

    _, y = rows_of(200_000, 10_000_019)
    return round(setpoint.metrics.value_at(y, scores, GOAL), 4)


def test_frame():
    import pandas as pd

    X, _ = rows_of(200_000, 10_000_019)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(COLUMNS)])


def one_process(path, threads):
    """In a process of its own, whose number of threads is said before it starts."""
    command = [sys.executable, __file__, "--alone", path]
    done = subprocess.run(
        command, env={**os.environ, "RAYON_NUM_THREADS": str(threads)}, capture_output=True, text=True
    )
    sys.stderr.write(done.stderr)
    print(done.stdout, end="", flush=True)


def alone(path):
    import pandas as pd

    import setpoint

    start = time.perf_counter()
    frame = pd.read_parquet(path)
    model = setpoint.SetpointClassifier(GOAL, model="linear").fit(frame.drop(columns="fraud"), frame["fraud"])
    seconds = time.perf_counter() - start
    found = value(model.decision_function(test_frame()))
    tell(what="one process", threads=os.environ.get("RAYON_NUM_THREADS"), seconds=round(seconds, 2), test=found)


def on_cluster(path, workers, shard_rows, kill=False, peer=False, model="linear"):
    from distributed import Client, LocalCluster

    import setpoint.dask as sd

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        client.run(__import__, "setpoint.dask")
        if peer:
            return dask_ml(path)
        mapped = sd.DaskExecutor.map

        def kill_one(self, function, shards, broadcast):
            if self.rounds == 20:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            return mapped(self, function, shards, broadcast)

        sd.DaskExecutor.map = kill_one if kill else mapped
        start = time.perf_counter()
        model = sd.SetpointClassifier(GOAL, client=client, model=model)
        model.fit(path, label="fraud", shard_rows=shard_rows)
        seconds = time.perf_counter() - start
        sd.DaskExecutor.map = mapped
        digest = hashlib.sha256(model.model_._inner.to_bytes()).hexdigest()[:16]
        found = value(model.to_local().decision_function(test_frame()))
        tell(
            what=f"dask, {model.report_['model']}" + (", a worker killed" if kill else ""),
            workers=workers,
            seconds=round(seconds, 2),
            rounds=model.report_["rounds"],
            passes=model.report_.get("passes"),
            test=found,
            bytes=digest,
        )


def dask_ml(path):
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    start = time.perf_counter()
    frame = dd.read_parquet(path, split_row_groups=1).persist()
    X = frame.drop(columns="fraud").to_dask_array(lengths=True)
    y = frame["fraud"].to_dask_array(lengths=True)
    model = LogisticRegression(solver="lbfgs", max_iter=100).fit(X, y)
    seconds = time.perf_counter() - start
    scores = test_frame().to_numpy() @ np.asarray(model.coef_).reshape(-1)
    tell(what="dask-ml LogisticRegression (lbfgs)", workers=2, seconds=round(seconds, 2), test=value(scores))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--directory", default=".")
    parser.add_argument("--shard-rows", type=int, default=250_000)
    parser.add_argument("--alone")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("runs", nargs="*", default=["alone", "1", "2", "4", "killed", "trees", "peer"])
    given = parser.parse_args()
    if given.alone:
        return alone(given.alone)
    path = os.path.join(given.directory, f"setpoint-bench-{given.rows}.parquet")
    if not os.path.exists(path):
        write(path, given.rows)
    runs = {
        "alone": lambda: one_process(path, 2),
        **{str(count): functools.partial(on_cluster, path, count, given.shard_rows) for count in (1, 2, 4)},
        "killed": lambda: on_cluster(path, 2, given.shard_rows, kill=True),
        "trees": lambda: on_cluster(path, 2, given.shard_rows, model="trees"),
        "peer": lambda: on_cluster(path, 2, given.shard_rows, peer=True),
    }
    try:
        for run in given.runs:
            try:
                runs[run]()
            except Exception as error:
                tell(what=run, failed=f"{type(error).__name__}: {error}"[:200])
    finally:
        if not given.keep:
            os.remove(path)


if __name__ == "__main__":
    main()
