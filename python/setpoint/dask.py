"""Training and scoring on a Dask cluster.

```python
from setpoint.dask import SetpointClassifier
model = SetpointClassifier("recall @ fpr<=1%", client=client).fit(frame, label="fraud")
model.predict(frame)                        # a Dask collection
model.to_local().save("model.safetensors")
```
"""

import glob
import os
import warnings
from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any, Optional, Union

import numpy as np
from distributed import Client, Future, default_client, get_worker, wait

from . import _classifier
from ._errors import InputError
from ._settings import read_goal
from .distributed import Booster, Shard, fit, row_groups

__all__ = ["DaskExecutor", "SetpointClassifier"]


def _call(number: int, source: Any, function: Callable[[Any, Any], Any], broadcast: Any) -> Any:
    # As many threads as the worker has; said before the first of them is started.
    os.environ.setdefault("RAYON_NUM_THREADS", str(get_worker().state.nthreads))
    return function(Shard(number, source), broadcast)


def _same(source: Any) -> Any:
    return source


def _shape(part: tuple[Any, ...]) -> tuple[int, int, bool]:
    return (*part[0].shape, part[2] is not None)


class _InOrder:
    """A client that says who has futures in the order in which it was asked: LightGBM takes rows and workers in that
    order, and otherwise a different one each time."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def who_has(self, futures: Sequence[Future]) -> dict[Any, Any]:
        found = self._client.who_has(futures)
        return {future.key: found[future.key] for future in futures}


class DaskExecutor:
    """Runs functions on the workers of a cluster. A worker that dies is the scheduler's to replace."""

    def __init__(self, client: Optional[Client] = None) -> None:
        self.client = default_client() if client is None else client
        self.rounds = 0
        self._homes: dict[Any, str] = {}

    def map(self, function: Callable[[Any, Any], Any], shards: Sequence[Any], broadcast: Any) -> list[Any]:
        self.rounds += 1
        numbers, sources = [shard.number for shard in shards], [shard.source for shard in shards]
        # One message to the scheduler for all shards.
        futures = self.client.map(_call, numbers, sources, function=function, broadcast=broadcast, pure=False)
        return list(self.client.gather(futures))

    def place(self, sources: Sequence[Any], in_order: bool) -> list[Future]:
        """Shares sources out among the workers; in order, the first worker has the first of them."""
        # A task with a home waits for ever where no worker is left when it is to run again.
        if not in_order:
            return [self.client.submit(_same, source, pure=False) for source in sources]
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        names = sorted(
            workers, key=lambda address: (len(str(workers[address]["name"])), str(workers[address]["name"]))
        )
        futures = []
        for number, source in enumerate(sources):
            home = names[number * len(names) // len(sources)]
            futures.append(self.client.submit(_same, source, workers=[home], allow_other_workers=True, pure=False))
            self._homes[futures[-1].key] = home
        return futures

    def booster(self, function: Callable[[Any, Any], Any], shards: Sequence[Any], broadcast: Any) -> Booster:
        """Trees that LightGBM grows on the workers, over connections of its own."""
        import dask.array as da
        from dask import delayed
        from lightgbm.dask import DaskLGBMRegressor

        # What trees come out depends on which worker has which rows: none is to take another's.
        there = self.client.who_has([shard.source for shard in shards])
        parts = []
        for shard in shards:
            home = self._homes.get(shard.source.key)
            found = there[shard.source.key]
            home = home if home in found else found[0]
            part = self.client.submit(
                _call, shard.number, shard.source, function, broadcast, workers=[home], pure=False
            )
            parts.append(part)
        shapes = self.client.gather(self.client.map(_shape, parts, pure=False))
        held = [(part, shape) for part, shape in zip(parts, shapes) if shape[0]]

        def array(place: int, dimensions: int) -> Any:
            chunks = [
                da.from_delayed(delayed(getitem)(part, place), shape[:dimensions], np.float32) for part, shape in held
            ]
            return da.concatenate(chunks)

        X, y, weights = array(0, 2), array(1, 1), array(2, 1) if held[0][1][2] else None

        def grow(parameters: dict[str, Any], rounds: int, categorical: list[int]) -> str:
            # Labels stay 0 and 1, where those of a classifier are numbered by each worker on its own.
            client: Any = _InOrder(self.client)
            model = DaskLGBMRegressor(client=client, n_estimators=rounds, **parameters)
            with warnings.catch_warnings():
                # It is the default of a parameter that is not used.
                warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
                model.fit(X, y, sample_weight=weights, categorical_feature=categorical)
            return str(model.booster_.model_to_string())

        return grow


class SetpointClassifier:
    """`setpoint.SetpointClassifier` for rows on a cluster: a linear model or trees, trained where the rows are.

    Parameters are those of `setpoint.SetpointClassifier`, and `client`, by default that of this thread. `weight`,
    `split_by` and `split_time` name columns: weights of rows, what keeps rows together in one part, and times, the
    later of which are held out.

    `report_`, `classes_`, `thresholds_` and `certificate_` are as there; `to_local()` is such an estimator, fitted.
    """

    def __init__(
        self,
        goal: str = "recall @ fpr<=1%",
        *,
        client: Optional[Client] = None,
        weight: Optional[str] = None,
        split_by: Optional[str] = None,
        split_time: Optional[str] = None,
        model: str = "linear",
        **settings: Any,
    ) -> None:
        self.client, self.weight, self.split_by, self.split_time = client, weight, split_by, split_time
        self._local = _classifier.SetpointClassifier(goal, model=model, **settings)

    def fit(
        self, X: Any, y: Any = None, *, label: Optional[str] = None, shard_rows: int = 500_000
    ) -> "SetpointClassifier":
        """Trains on a Dask frame with a column of labels, on a frame or array and its labels, or on Parquet files.

        Files are named by paths or patterns that every worker can read; a shard is as many row groups as have
        `shard_rows` rows. Of frames, partitions are the shards. The model is the same for the same shards, whatever
        the number of workers.
        """
        executor = DaskExecutor(self.client)
        if isinstance(X, (str, os.PathLike)) or (isinstance(X, (list, tuple)) and X and isinstance(X[0], str)):
            if label is None or y is not None:
                raise InputError("files have their labels in a column: say which with label=")
            paths = _files([X] if isinstance(X, (str, os.PathLike)) else X)
            shards, meta = row_groups(paths, shard_rows)
            # A task goes where what it needs is: there, what is kept of the shard is found again.
            sources = executor.place([shard.source for shard in shards], in_order=self._local.model == "trees")
        else:
            frame, label = _labelled(X, y, label)
            meta = frame._meta
            sources = executor.client.compute(frame.to_delayed())
        wait(sources)
        shards = [Shard(number, source) for number, source in enumerate(sources)]
        fit(
            self._local,
            executor,
            shards,
            meta,
            label=label,
            weight=self.weight,
            split_by=self.split_by,
            split_time=self.split_time,
        )
        self._local.report_["rounds"] = executor.rounds
        return self

    def to_local(self) -> _classifier.SetpointClassifier:
        """The fitted estimator of one process, which saves, evaluates and exports."""
        if not hasattr(self._local, "model_"):
            raise InputError("the estimator is not fitted yet: call fit before")
        return self._local

    def predict(self, X: Any) -> Any:
        """The class of each row, as a Dask collection."""
        return self._apply(X, "predict", self.to_local().classes_[:1])

    def decision_function(self, X: Any) -> Any:
        """Score minus threshold of each row, as a Dask collection."""
        return self._apply(X, "decision_function", np.zeros(1, dtype=np.float32))

    def predict_proba(self, X: Any) -> Any:
        """The chance of the positive class for each row, as a Dask collection."""
        return self._apply(X, "predict_proba", np.zeros(1))

    def _apply(self, X: Any, method: str, like: np.ndarray) -> Any:
        import pandas

        frame = _frame(X)
        names = list(self.to_local().feature_names_in_)
        group = (
            read_goal(self._local.goal)[1] if self._local.groups_ is not None and method != "predict_proba" else None
        )
        kept = frame[names] if group is None else frame[[*names, group]]
        meta = pandas.Series(like[:0], name=method, index=kept._meta.index)
        return kept.map_partitions(_applied, self._local, method, group, like.dtype, meta=meta)

    report_ = property(lambda self: self.to_local().report_)
    model_ = property(lambda self: self.to_local().model_)
    classes_ = property(lambda self: self.to_local().classes_)
    thresholds_ = property(lambda self: self.to_local().thresholds_)
    certificate_ = property(lambda self: self.to_local().certificate_)


def _applied(frame: Any, local: _classifier.SetpointClassifier, method: str, group: Optional[str], dtype: Any) -> Any:
    import pandas

    found = np.empty(0, dtype=dtype)
    if len(frame):
        groups = () if group is None else (frame[group],)
        found = getattr(local, method)(frame if group is None else frame.drop(columns=group), *groups)
    return pandas.Series(found[:, 1] if found.ndim == 2 else found, index=frame.index, name=method)


def _files(given: Sequence[Union[str, "os.PathLike[str]"]]) -> list[str]:
    found: list[str] = []
    for one in [os.fspath(path) for path in given]:
        pattern = os.path.join(one, "*.parquet") if os.path.isdir(one) else one
        paths = sorted(glob.glob(pattern))
        if not paths:
            raise InputError(f"{one}: there is no such file")
        found.extend(paths)
    return found


def _frame(X: Any) -> Any:
    """A Dask frame; columns of an array are x0, x1, ..."""
    import dask.array as da
    import dask.dataframe as dd

    if isinstance(X, da.Array):
        return dd.from_dask_array(X, columns=[f"x{column}" for column in range(X.shape[1])])
    if not isinstance(X, dd.DataFrame):
        raise InputError(
            f"X is of type {type(X).__name__}: expected a Dask frame or array, or paths of Parquet files"
        )
    return X


def _labelled(X: Any, y: Any, label: Optional[str]) -> tuple[Any, str]:
    """A Dask frame with a column of labels, and its name."""
    import dask.array as da
    import dask.dataframe as dd

    frame = _frame(X)
    if (label is None) == (y is None):
        raise InputError("say which column holds the labels with label=, or pass them as y")
    if label is not None:
        return frame, label
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and not isinstance(y, da.Array) and name not in frame.columns else "label"
    while name in frame.columns:
        name += "_"
    if isinstance(y, da.Array):
        y = dd.from_dask_array(y, columns=name)
    if frame.npartitions != y.npartitions:
        raise InputError(f"X has {frame.npartitions} partitions and y {y.npartitions}: expected the same")
    return dd.concat([frame, y.rename(name)], axis=1) if frame.known_divisions else frame.assign(**{name: y}), name
