"""Rows in shards: the same model wherever they are, whoever works, and whoever dies."""

import itertools
import os
import shutil
import signal

import numpy as np
import pandas as pd
import pytest

import setpoint
from setpoint.distributed import Local, Shard, fit, row_groups

GOAL = "recall @ fpr<=5%"


def table(rows=6000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.2
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows) + y * (0.9 if i < 3 else 0.0) for i in range(6)})
    frame["town"] = np.where(
        np.arange(rows) > rows * 0.9, "Bath", np.array(["Leeds", "York"])[rng.integers(0, 2, rows)]
    )
    frame["who"] = rng.integers(0, rows // 3, rows)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(rows), unit="min")
    frame["fraud"] = y.astype(int)
    return frame


def shards(frame, cuts=(0, 1500, 1500, 4000, 6000)):
    return [Shard(i, frame.iloc[a:b]) for i, (a, b) in enumerate(itertools.pairwise(cuts))]


def local(parts, executor=None, goal=GOAL, roles=(), drop=("who", "when"), **settings):
    roles = dict(roles)
    drop = [name for name in drop if name not in roles.values()]
    parts = [Shard(part.number, part.source.drop(columns=drop)) for part in parts]
    estimator = setpoint.SetpointClassifier(goal, model="linear", **settings)
    return fit(estimator, executor or Local(), parts, parts[0].source.iloc[:0], label="fraud", **roles)


def bytes_of(model):
    return model.model_._inner.to_bytes()


def test_a_model_of_shards_is_as_good_as_one_of_the_whole():
    frame = table()
    model = local(shards(frame))
    X, y = frame.drop(columns=["who", "when", "fraud"]), frame["fraud"]
    whole = setpoint.SetpointClassifier(GOAL, model="linear").fit(X, y)
    new = table(seed=1)
    X, y = new.drop(columns=["who", "when", "fraud"]), new["fraud"]
    assert model.score(X, y) > whole.score(X, y) - 0.02
    assert model.certificate_["condition"] == "fpr<=5%"
    rows = model.report_["rows"]
    assert sum(rows.values()) == len(frame) and abs(rows["train"] - 3600) < 200
    assert (model.predict(X)[y.to_numpy() == 0]).mean() < 0.05


class Forgetful(Local):
    """Holds no shard for longer than a round, as if each worker died after it."""

    def map(self, function, shards, broadcast):
        from setpoint import distributed

        distributed._HELD.clear()
        return super().map(function, shards, broadcast)


def test_a_shard_that_is_read_again_answers_the_same():
    parts = shards(table())
    assert bytes_of(local(parts, Forgetful())) == bytes_of(local(parts))


def test_partitions_may_be_empty_or_of_one_class_and_have_categories_of_their_own():
    frame = table().sort_values("fraud", kind="stable")
    frame.loc[frame.index[::7], "x1"] = np.nan
    model = local(shards(frame))
    assert "Bath" in model.model_._inner.document()
    X, y = frame.drop(columns=["who", "when", "fraud"]), frame["fraud"]
    assert model.score(X, y) > setpoint.SetpointClassifier(GOAL, model="linear").fit(X, y).score(X, y) - 0.02


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda frame: frame.assign(fraud=frame["fraud"].where(frame.index != frame.index[7])),
            "1 rows have no label",
        ),
        (lambda frame: frame.drop(columns="x2"), "no column 'x2'"),
        (lambda frame: frame.assign(x2="high"), "'x2' holds texts"),
        (lambda frame: frame.assign(x2=np.inf), "'?\"?x2\"?'?.*infinity"),
    ],
)
def test_a_partition_that_is_not_as_the_others_is_named(change, words):
    parts = shards(table())
    parts[2] = Shard(2, change(parts[2].source))
    with pytest.raises(setpoint.InputError, match=f"partition 2.*{words}"):
        local(parts)


def test_rows_of_an_entity_stay_together_and_later_rows_are_held_out():
    frame = table()
    model = local(shards(frame), roles={"split_by": "who"})
    assert sum(model.report_["rows"].values()) == len(frame)
    assert "who" in str(model.report_["certificate"])
    model = local(shards(frame), roles={"split_time": "when"})
    rows = model.report_["rows"]
    assert [rows[part] for part in ("train", "validation", "calibration")] == [3600, 1200, 1200]
    with pytest.raises(setpoint.InputError, match="cannot be combined"):
        local(shards(frame), roles={"split_by": "who", "split_time": "when"})


def test_weights_of_two_count_as_rows_twice():
    frame = table(3000)
    with_weights = frame.assign(weight=np.where(np.arange(3000) % 2, 2.0, 1.0))
    model = local(shards(with_weights, (0, 1000, 3000)), roles={"weight": "weight"}, confidence=None)
    assert model.report_["rows"]["train"] > 1500


@pytest.mark.parametrize(
    ("goal", "settings", "words"),
    [
        ("macro-f1", {}, "two classes"),
        ("profit(tp=price, fp=-1)", {}, "price"),
        (GOAL, {"min_group": 5}, "min_group"),
        (GOAL, {"method": "pairwise"}, "all rows at once"),
    ],
)
def test_what_shards_cannot_do_is_refused(goal, settings, words):
    with pytest.raises(setpoint.InputError, match=words):
        local(shards(table(1200), (0, 600, 1200)), goal=goal, **settings)


def test_conditions_on_groups_hold_in_each_of_them():
    frame, goal = table(12_000), "recall @ fpr(town)<=10%"
    cuts = (0, 5000, 5000, 9000, 12_000)
    model = local(shards(frame, cuts), goal=goal)
    X, y, towns = frame.drop(columns=["who", "when", "fraud", "town"]), frame["fraud"], frame["town"]
    whole = setpoint.SetpointClassifier(goal, model="linear").fit(X, y, groups=towns)
    new = table(12_000, seed=1)
    X, y, towns = new.drop(columns=["who", "when", "fraud", "town"]), new["fraud"], new["town"]
    assert sorted(model.groups_) == ["Bath", "Leeds", "York"] and len(model.thresholds_) == 3
    assert model.score(X, y, groups=towns) > whole.score(X, y, groups=towns) - 0.03
    decided = model.predict(X, towns)
    for town in model.groups_:
        assert decided[(towns == town) & (y == 0)].mean() < 0.1
    assert bytes_of(local(shards(frame, cuts), Forgetful(), goal=goal)) == bytes_of(model)


def test_many_rows_are_come_close_on_by_few_of_them():
    rng = np.random.default_rng(0)
    y = rng.random(360_000) < 0.2
    frame = pd.DataFrame({f"x{i}": rng.normal(size=len(y)) + 0.9 * y for i in range(2)}).assign(fraud=y.astype(int))
    model = local(shards(frame, (0, 5, 150_000, 360_000)), drop=())
    whole = setpoint.SetpointClassifier(GOAL, model="linear").fit(frame.drop(columns="fraud"), frame["fraud"])
    # A pass over a tenth of the rows counts as a tenth of one; without levels there are as many as here.
    assert model.report_["passes"] <= 1.5 * whole.report_["passes"]
    X, y = frame.drop(columns="fraud"), frame["fraud"]
    assert model.score(X, y) == pytest.approx(whole.score(X, y), abs=0.002)


@pytest.mark.parametrize("goal", ["cost(fp=1, fn=5)", "profit(tp=amount, fp=-3)"])
def test_money_is_earned_on_shards_as_on_the_whole(goal):
    frame = table(12_000).drop(columns=["who", "when"])
    frame["amount"] = 1.0 + np.arange(len(frame)) % 7
    parts = shards(frame, (0, 5000, 5000, 9000, 12_000))
    model = local(parts, goal=goal, drop=())
    assert bytes_of(local(parts, Forgetful(), goal=goal, drop=())) == bytes_of(model)
    X, y = frame.drop(columns="fraud"), frame["fraud"]
    whole = setpoint.SetpointClassifier(goal, model="linear").fit(X, y)
    assert model.score(X, y) == pytest.approx(whole.score(X, y), abs=0.02)
    frame.loc[frame.index[7000], "amount"] = np.nan
    if "amount" in goal:
        with pytest.raises(setpoint.InputError, match=r"partition 2.*amounts"):
            local(shards(frame, (0, 5000, 5000, 9000, 12_000)), goal=goal, drop=())


def test_row_groups_of_parquet_files_are_shards(tmp_path):
    pytest.importorskip("pyarrow")
    frame = table().drop(columns=["who", "when"])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1000)
    parts, meta = row_groups([str(tmp_path / "a.parquet")], rows=2000)
    assert [part.source.groups for part in parts] == [(0, 1), (2, 3), (4, 5)]
    estimator = setpoint.SetpointClassifier(GOAL, model="linear")
    found = fit(estimator, Local(), parts, meta, label="fraud")
    assert bytes_of(found) == bytes_of(local(shards(frame, (0, 2000, 4000, 6000)), drop=()))


def trees(parts, executor=None, **settings):
    estimator = setpoint.SetpointClassifier(GOAL, model="trees", **{"search": 2, "rounds": 40, **settings})
    return fit(estimator, executor or Local(), parts, parts[0].source.iloc[:0], label="fraud")


def test_trees_of_shards_are_as_good_as_those_of_the_whole(tmp_path):
    pytest.importorskip("lightgbm")
    frame = table().drop(columns=["who", "when"])
    frame.loc[frame.index[::7], "x1"] = np.nan
    model = trees(shards(frame))
    whole = setpoint.SetpointClassifier(GOAL, model="trees", search=2, rounds=40)
    whole.fit(frame.drop(columns="fraud"), frame["fraud"])
    new = table(seed=1)
    X, y = new.drop(columns=["who", "when", "fraud"]), new["fraud"]
    assert model.score(X, y) > whole.score(X, y) - 0.04
    assert model.certificate_["condition"] == "fpr<=5%" and model.report_["model"] == "trees"
    assert model.predict(X)[y.to_numpy() == 0].mean() < 0.05
    assert len(model.report_["candidates"]) == 2
    model.save(tmp_path / "model.safetensors")
    again = setpoint.load(tmp_path / "model.safetensors")
    assert (again.scores(X) == model.model_.scores(X)).all()
    assert bytes_of(trees(shards(frame), Forgetful())) == bytes_of(model)


def test_trees_take_weights_and_partitions_of_one_class():
    pytest.importorskip("lightgbm")
    frame = table(3000).drop(columns=["who", "when"]).sort_values("fraud", kind="stable").reset_index(drop=True)
    parts = shards(frame.assign(weight=np.where(np.arange(3000) % 2, 2.0, 1.0)), (0, 1000, 1000, 3000))
    estimator = setpoint.SetpointClassifier(GOAL, model="trees", search=1, rounds=20, confidence=None)
    model = fit(estimator, Local(), parts, parts[0].source.iloc[:0], label="fraud", weight="weight")
    assert model.score(frame.drop(columns="fraud"), frame["fraud"]) > 0.5


def test_an_executor_that_grows_no_trees_is_refused():
    class Maps:
        map = Local.map

    with pytest.raises(setpoint.InputError, match="Maps has no booster"):
        trees(shards(table(1200).drop(columns=["who", "when"]), (0, 600, 1200)), Maps())
    with pytest.raises(setpoint.InputError, match="auto or cross-entropy"):
        trees(shards(table(1200).drop(columns=["who", "when"]), (0, 600, 1200)), method="ico")


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        yield client


def test_a_cluster_has_the_bytes_of_one_process_also_after_workers_were_killed(client, cluster, tmp_path):
    import dask.dataframe as dd

    from setpoint import dask

    frame = table().drop(columns=["who", "when"]).reset_index(drop=True)
    expected = bytes_of(local(shards(frame, (0, 2000, 4000, 6000)), drop=()))
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    model = dask.SetpointClassifier(GOAL, client=client).fit(parts, label="fraud")
    assert bytes_of(model) == expected
    predicted = model.predict(parts).compute()
    assert list(predicted) == list(model.to_local().predict(frame.drop(columns="fraud")))
    model.to_local().save(tmp_path / "model.safetensors")
    assert setpoint.load(tmp_path / "model.safetensors").thresholds.tolist() == model.thresholds_.tolist()

    killed = []
    mapped = dask.DaskExecutor.map

    def map_and_kill(self, function, shards, broadcast):
        # The second before the first is replaced: for a while there is no worker at all.
        if self.rounds in (12, 13):
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[-1], signal.SIGKILL)
        return mapped(self, function, shards, broadcast)

    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2000)
    dask.DaskExecutor.map = map_and_kill
    try:
        again = dask.SetpointClassifier(GOAL, client=client)
        again.fit(str(tmp_path / "*.parquet"), label="fraud", shard_rows=2000)
    finally:
        dask.DaskExecutor.map = mapped
    assert bytes_of(again) == expected and len(set(killed)) == 2

    cluster.scale(4)
    client.wait_for_workers(4)
    X, y = parts.drop(columns="fraud"), parts["fraud"]
    assert bytes_of(dask.SetpointClassifier(GOAL, client=client).fit(X, y)) == expected


def test_a_cluster_grows_trees_with_lightgbm(client, tmp_path):
    import dask.dataframe as dd

    from setpoint import dask

    pytest.importorskip("lightgbm")
    frame = table().drop(columns=["who", "when"]).sort_values("fraud", kind="stable").reset_index(drop=True)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1000)
    path, settings = str(tmp_path / "a.parquet"), {"model": "trees", "search": 2, "rounds": 40}

    def fitted(rows):
        return dask.SetpointClassifier(GOAL, client=client, **settings).fit(rows, label="fraud", shard_rows=1000)

    model = fitted(path)
    assert bytes_of(fitted(path)) == bytes_of(model)
    alone = trees(shards(frame, range(0, 7000, 1000)))
    new = table(seed=1)
    X, y = new.drop(columns=["who", "when", "fraud"]), new["fraud"]
    assert model.to_local().score(X, y) > alone.score(X, y) - 0.04
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    assert len(fitted(parts).predict(parts).compute()) == len(frame)


def test_spark_has_the_bytes_of_one_process(tmp_path):
    pyspark = pytest.importorskip("pyspark", reason="Spark is tested where PySpark is installed (456 MB)")
    if shutil.which("java") is None:
        pytest.skip("Spark is tested where Java is installed")
    from setpoint.spark import SparkExecutor

    frame = table(2000).drop(columns=["who", "when"])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1000)
    parts, meta = row_groups([str(tmp_path / "a.parquet")], rows=1000)
    setup = pyspark.SparkConf().setMaster("local[2]").set("spark.ui.enabled", "false")
    with pyspark.SparkContext(conf=setup) as context:
        estimator = setpoint.SetpointClassifier(GOAL, model="linear", method="cross-entropy")
        found = fit(estimator, SparkExecutor(context), parts, meta, label="fraud")
    expected = local(shards(frame, (0, 1000, 2000)), drop=(), method="cross-entropy")
    assert bytes_of(found) == bytes_of(expected)
