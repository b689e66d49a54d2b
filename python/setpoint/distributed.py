"""Training on rows that stay where they are, in shards on other machines.

An executor has one method, `map(function, shards, broadcast)`: it calls `function(shard, broadcast)` for every shard,
anywhere, any number of times, and returns the results in the order of the shards. All that travels are the sums that
the compiled half asks for, and the scores of validation and calibration rows. What a process keeps of a shard between
calls is a cache: a shard is read again where it is not there. So the model depends on the shards alone, and not on
who worked when, or died.

Trees are LightGBM's to grow, where the rows are: an executor that can have that done has a second method, `booster`.

`setpoint.dask` is the executor for Dask.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional, Protocol

import numpy as np

from . import _setpoint
from ._arrays import Groups, pays
from ._classifier import SetpointClassifier
from ._decide import two_classes
from ._errors import InputError, UncertifiedWarning, tell
from ._frames import frame_column, frame_columns, frame_names, numbers, refuse_twice, texts
from ._model import Model
from ._progress import Line
from ._settings import read_goal

__all__ = ["Executor", "Local", "RowGroups", "Shard", "fit", "row_groups"]


class Executor(Protocol):
    """Whoever runs functions on shards."""

    def map(self, function: Callable[[Any, Any], Any], shards: Sequence[Any], broadcast: Any) -> list[Any]:
        """`function(shard, broadcast)` of each shard, in their order."""


# Grows a booster by LightGBM's parameters, for so many rounds, with these columns of codes; the text it is saved as.
Booster = Callable[[dict[str, Any], int, list[int]], str]


class Local:
    """Runs everything in this process, one shard after another."""

    def map(self, function: Callable[[Any, Any], Any], shards: Sequence[Any], broadcast: Any) -> list[Any]:
        return [function(shard, broadcast) for shard in shards]

    def booster(self, function: Callable[[Any, Any], Any], shards: Sequence[Any], broadcast: Any) -> Booster:
        """Grows trees on the rows that `function` makes of each shard: features, labels, and weights or none."""
        import lightgbm

        X, y, w = zip(*(part for part in self.map(function, shards, broadcast) if len(part[1])))
        weights = None if w[0] is None else np.concatenate(w)

        def grow(parameters: dict[str, Any], rounds: int, categorical: list[int]) -> str:
            rows = lightgbm.Dataset(
                np.concatenate(X), np.concatenate(y), weight=weights, categorical_feature=categorical
            )
            # Threads that wait for each other cost more than few values do.
            threads = {"num_threads": 1} if sum(map(np.size, X)) < 500_000 else {}
            return str(lightgbm.train({**parameters, **threads}, rows, rounds).model_to_string())

        return grow


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    bytes: int = 0

    def __sizeof__(self) -> int:
        # A scheduler leaves it where it is: the rows that go with it are as large.
        return max(self.bytes, 100)

    def read(self, columns: Sequence[str]) -> Any:
        from pyarrow.parquet import ParquetFile

        return ParquetFile(self.path).read_row_groups(list(self.groups), columns=list(columns)).to_pandas()


@dataclass(frozen=True)
class Shard:
    """A part of the rows: its number, and a data frame or `RowGroups`."""

    number: int
    source: Any


def row_groups(paths: Sequence[str], rows: int = 500_000) -> tuple[list[Shard], Any]:
    """The row groups of Parquet files as shards of about so many rows, and a frame without rows."""
    from pyarrow.parquet import ParquetFile

    shards: list[Shard] = []
    meta = None
    for path in paths:
        file = ParquetFile(path)
        meta = file.schema_arrow.empty_table().to_pandas() if meta is None else meta
        groups, held, size = list[int](), 0, 0
        for group in range(file.num_row_groups):
            groups.append(group)
            held += file.metadata.row_group(group).num_rows
            size += file.metadata.row_group(group).total_byte_size
            if held >= rows or group + 1 == file.num_row_groups:
                shards.append(Shard(len(shards), RowGroups(str(path), tuple(groups), size)))
                groups, held, size = [], 0, 0
    if meta is None or not shards:
        raise InputError("there are no Parquet files with rows")
    return shards, meta


@dataclass(frozen=True)
class _Plan:
    """What every shard is told before training."""

    label: str
    weight: Optional[str]
    split_by: Optional[str]
    split_time: Optional[str]
    group: Optional[str]
    # Whether each feature holds numbers, or times.
    kinds: dict[str, bool]
    text: list[str]
    run: str
    # The groups of all shards.
    groups: tuple[str, ...] = ()
    places: str = ""
    positive: Any = None
    goal: str = ""

    def frame(self, shard: Shard) -> Any:
        roles = (self.label, self.weight, self.split_by, self.split_time, self.group)
        columns = [*self.kinds, *dict.fromkeys(name for name in roles if name is not None)]
        source = shard.source
        if isinstance(source, RowGroups):
            return source.read(columns)
        for name in columns:
            if name not in source.columns:
                raise InputError(f"partition {shard.number}: there is no column {name!r}")
        return source[columns]

    def features(self, shard: Shard, frame: Any) -> tuple[list[str], list[Any]]:
        names, columns = frame_columns(frame, self.kinds)
        for name, column in zip(names, columns):
            if self.kinds[name] and isinstance(column, tuple) and column[0] != "times":
                raise InputError(f"partition {shard.number}: column {name!r} holds texts, where others hold numbers")
        return names, columns

    def entities(self, shard: Shard, frame: Any) -> Optional[Groups]:
        return self.coded(shard, frame, self.split_by, "split_by")

    def grouped(self, shard: Shard, frame: Any) -> Optional[Groups]:
        return self.coded(shard, frame, self.group, "groups")

    def coded(self, shard: Shard, frame: Any, column: Optional[str], role: str) -> Optional[Groups]:
        if column is None:
            return None
        names, codes = texts(frame[column].to_numpy())
        if len(codes) and codes.max() >= len(names):
            raise InputError(f"partition {shard.number}: rows without a value of {column!r} ({role})")
        return column, names, codes

    def times(self, shard: Shard, frame: Any) -> Optional[np.ndarray]:
        if self.split_time is None:
            return None
        found = frame_column(self.split_time, frame[self.split_time])
        found = found[1] if isinstance(found, tuple) and found[0] == "times" else found
        if isinstance(found, tuple) or np.isnan(found).any():
            raise InputError(f"partition {shard.number}: {self.split_time!r} (split_time) is not a time in every row")
        return np.ascontiguousarray(found, dtype=np.float64)

    def amounts(self, shard: Shard, frame: Any) -> dict[str, np.ndarray]:
        found = {}
        for name in _setpoint.amount_columns(self.goal) or []:
            values = numbers(frame[name])
            if values is None or not np.isfinite(values).all():
                raise InputError(f"partition {shard.number}: {name!r} (amounts) is not a number in every row")
            found[name] = values.astype(np.float64)
        return found

    def weights(self, shard: Shard, frame: Any) -> Optional[np.ndarray]:
        if self.weight is None:
            return None
        found = numbers(frame[self.weight])
        if found is None or not ((found > 0) & np.isfinite(found)).all():
            raise InputError(
                f"partition {shard.number}: {self.weight!r} (weight) is not a positive number in every row"
            )
        return np.ascontiguousarray(found, dtype=np.float32)


def _times(shard: Shard, plan: _Plan) -> Any:
    return plan.times(shard, plan.frame(shard))


def _describe(shard: Shard, plan: _Plan) -> tuple[Any, ...]:
    """What the driver is to know of a shard: the values of its labels and which each row has, weights, entities,
    and what an encoding is learnt from."""
    from pandas import factorize

    frame = plan.frame(shard)
    codes, values = factorize(frame[plan.label].to_numpy())
    if (codes < 0).any():
        raise InputError(f"partition {shard.number}: {(codes < 0).sum()} rows have no label {plan.label!r}")
    if len(values) > 255:
        raise InputError(f"partition {shard.number}: {plan.label!r} has {len(values)} values: expected two")
    entities, times = plan.entities(shard, frame), plan.times(shard, frame)
    names, columns = plan.features(shard, frame)
    if isinstance(shard.source, RowGroups):
        _READ[plan.run, shard.number] = frame
    statistics = _setpoint.shard_statistics(columns, names, plan.text, plan.places, shard.number, entities, times)
    groups, amounts = plan.grouped(shard, frame), plan.amounts(shard, frame)
    values, codes, weights = np.asarray(values), codes.astype(np.uint8), plan.weights(shard, frame)
    return values, codes, weights, entities, statistics, groups, amounts


# The shards that this process holds, by run and number.
_HELD: dict[tuple[str, int], _setpoint.ShardRows] = {}


# What was read of them and is not encoded yet.
_READ: dict[tuple[str, int], Any] = {}


def _answer(shard: Shard, broadcast: tuple[_Plan, str, bytes]) -> bytes:
    return _rows(shard, *broadcast[:2]).answer(broadcast[2])


def _training(shard: Shard, broadcast: tuple[_Plan, str, int]) -> tuple[Any, ...]:
    """The training rows of a shard as LightGBM takes them: features in so many columns, labels, weights."""
    values, labels, weights = _rows(shard, *broadcast[:2]).training()
    return values.reshape(len(labels), broadcast[2]), labels, weights


def _rows(shard: Shard, plan: _Plan, setup: str) -> _setpoint.ShardRows:
    run = plan.run
    rows = _HELD.get((run, shard.number))
    if rows is None:
        frame = _READ.pop((run, shard.number), None)
        frame = plan.frame(shard) if frame is None else frame
        names, columns = plan.features(shard, frame)
        labels = np.ascontiguousarray(frame[plan.label].to_numpy() == plan.positive)
        rows = _setpoint.ShardRows(
            columns,
            names,
            labels,
            plan.weights(shard, frame),
            pays(plan.goal, labels, plan.amounts(shard, frame) or None),
            _joined([plan.grouped(shard, frame)], plan.groups),
            plan.entities(shard, frame),
            plan.times(shard, frame),
            shard.number,
            setup,
        )
        _HELD[run, shard.number] = rows
    return rows


def _forget(_: Shard, run: str) -> None:
    held: dict[tuple[str, int], Any]
    for held in (_HELD, _READ):
        for key in [key for key in held if key[0] == run]:
            held.pop(key, None)


def fit(
    estimator: SetpointClassifier,
    executor: Executor,
    shards: Sequence[Shard],
    meta: Any,
    *,
    label: str,
    weight: Optional[str] = None,
    split_by: Optional[str] = None,
    split_time: Optional[str] = None,
) -> SetpointClassifier:
    """Fits an estimator of a linear model or trees on rows in shards; `meta` is a data frame with their columns.

    `weight`, `split_by` (whose rows stay together) and `split_time` (later rows are held out) are columns, and no
    features. Rows are shared out by a hash of their place, so none has to move.
    """
    settings, group = _checked(estimator, executor)
    refuse_twice(frame_names(meta))
    roles = {"label": label, "weight": weight, "split_by": split_by, "split_time": split_time, "groups": group}
    for role, column in roles.items():
        if column is not None and column not in meta.columns:
            raise InputError(f"{role}={column!r}: there is no such column; there are {', '.join(frame_names(meta))}")
    for column in _setpoint.amount_columns(estimator.goal) or []:
        if column not in meta.columns:
            raise InputError(f"goal {estimator.goal!r}: there is no column {column!r} that amounts could come from")
    if split_by is not None and split_time is not None:
        raise InputError("split_by= and split_time= cannot be combined; give one of them")
    features = [name for name in meta.columns if name not in roles.values()]
    if not all(isinstance(name, str) for name in features):
        raise InputError("columns of shards need names that are texts")
    if not features:
        raise InputError("there are no columns to learn from")
    kinds = {name: _is_number(meta[name]) for name in features}
    seed, text = settings["seed"], settings["text"] or []
    run = uuid.uuid4().hex
    plan = _Plan(label, weight, split_by, split_time, group, kinds, text, run, goal=estimator.goal)
    times = None
    if split_time is not None:
        times = np.concatenate(executor.map(_times, shards, plan))
    plan = replace(plan, places=_setpoint.places(settings["split"], seed, times))
    line = Line(type(estimator).__name__) if estimator.verbose else None
    try:
        described = executor.map(_describe, shards, plan)
        values = [found[0] for found in described]
        known = np.unique(np.concatenate([value for value in values if len(value)]))
        estimator.classes_, _, notes = two_classes(known, estimator.positive)
        groups = _joined([found[5] for found in described])
        plan = replace(plan, positive=estimator.classes_[1], groups=() if groups is None else tuple(groups[1]))
        labels = np.concatenate([(value == plan.positive)[found[1]] for value, found in zip(values, described)])
        weights = None if weight is None else np.concatenate([found[2] for found in described])
        amounts = {name: np.concatenate([found[6][name] for found in described]) for name in described[0][6]}
        booster: list[Booster] = []

        def grow(setup: str, parameters: str, rounds: int, columns: int, categorical: list[int]) -> str:
            if not booster:
                booster.append(executor.booster(_training, shards, (plan, setup, columns)))  # type: ignore[attr-defined]
            found = dict(one.split("=", 1) for one in parameters.split())
            found.pop("num_threads")
            return booster[0]({name: _parsed(value) for name, value in found.items()}, rounds, categorical)

        inner, record, warned = _setpoint.fit_shards(
            [found[4] for found in described],
            [len(found[1]) for found in described],
            features,
            (label, *map(str, estimator.classes_[::-1])),
            labels,
            weights,
            pays(plan.goal, labels, amounts or None),
            groups,
            _joined([found[3] for found in described]),
            None if split_time is None or times is None else (split_time, times),
            plan.places,
            json.dumps({**settings, "columns": features}),
            lambda setup, message: executor.map(_answer, shards, (plan, setup, message)),
            grow,
            line,
        )
    finally:
        executor.map(_forget, shards, run)
    estimator.model_, estimator.report_ = Model(inner), json.loads(record)
    estimator.report_["notes"][:0] = notes
    estimator.feature_names_in_, estimator.n_features_in_ = np.array(features, dtype=object), len(features)
    if line is not None:
        line.close(f"kept {estimator.report_['winner']}")
    tell(estimator.report_["notes"])
    tell(warned, UncertifiedWarning)
    return estimator


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _checked(estimator: SetpointClassifier, executor: Executor) -> tuple[dict[str, Any], Optional[str]]:
    """The settings, where they are of what can be trained on shards, and the column of groups."""
    goal = estimator.goal
    two, _, queries = _setpoint.kinds_of_goal(goal)
    if queries or not two:
        raise InputError(f"goal {goal!r}: shards are for goals of two classes")
    if estimator.model not in ("auto", "linear", "trees"):
        raise InputError(f"model={estimator.model!r}: shards train linear models and trees")
    trees = estimator.model == "trees"
    if trees and not hasattr(executor, "booster"):
        raise InputError(f"model='trees': {type(executor).__name__} has no booster(), by which LightGBM grows trees")
    for name in ("classes", "min_class", "min_group", "batch_size", "memory", "scratch"):
        if getattr(estimator, name, None) is not None:
            raise InputError(f"{name}=: is not for shards")
    settings = estimator._settings(SetpointClassifier, "positive", "abstain")
    return {**settings, "model": "trees" if trees else "linear", "classes": None}, read_goal(goal)[1]


def _is_number(column: Any) -> bool:
    """Whether a column without rows is of a type for numbers or times."""
    return numbers(column) is not None or column.to_numpy().dtype.kind == "M"


def _joined(parts: Sequence[Optional[Groups]], known: Sequence[str] = ()) -> Optional[Groups]:
    """The entities or groups of shards, after those that are known: the same name is the same one."""
    seen = {name: code for code, name in enumerate(known)}
    codes = []
    column = ""
    for part in parts:
        if part is None:
            return None
        column, names, of = part
        places = np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.uint32)
        codes.append(places[of] if len(names) else of)
    return column, list(seen), np.concatenate(codes)
