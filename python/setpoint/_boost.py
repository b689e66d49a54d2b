"""Objectives and metrics for boosting, whatever the library.

The gradient mixes log loss with the goal's, g = g_log + 2 a v with a = mean|g_log| / mean|v|, and the
curvature stays positive: h = h_log + |a v|.
"""

import importlib.util
import os
from typing import Any, Optional

import numpy as np

from . import _setpoint
from ._arrays import array, binary, pays, vector
from ._errors import InfeasibleError, InputError
from ._queries import Ranked, query_codes, query_goal, ranked, sized_codes
from ._settings import read_goal, refuse, setting, surrogates
from .metrics import value_at

# Of a goal per query: sharpness in units of the spread of a query's scores, and the least curvature of a row.
SHARPNESS = 8.0
LEAST_CURVATURE = 1e-6


def name_library(package: str, folder: str) -> None:
    """Names this interpreter's library of a package, if it has one, for the compiled half to load."""
    found = importlib.util.find_spec(package)
    if found is not None and found.origin is not None:
        library = os.path.join(os.path.dirname(found.origin), folder)
        if os.path.isdir(library):
            os.environ.setdefault(f"SETPOINT_{package.upper()}", library)


def name_lightgbm() -> None:
    """Names this interpreter's LightGBM."""
    name_library("lightgbm", "lib")


class Objective:
    """Gradient and curvature of a goal's loss by the booster's raw scores."""

    def __init__(
        self, goal: str, bandwidth: str = "0.5tail", surrogate: str = "sigmoid", amounts: Any = None
    ) -> None:
        self.goal = read_goal(goal)[0]
        self.amounts = amounts
        self.bandwidth, self.surrogate = surrogates(bandwidth, surrogate)
        _setpoint.check_loss(self.goal)
        self.__name__ = "setpoint"

    def derivatives(self, labels: Any, raw: Any, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        truth = binary(labels, name="labels")
        scores = vector(raw, "raw scores")
        weights = None if weight is None or len(weight) == 0 else vector(weight, "weight")
        chance = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
        unit = np.ones_like(scores) if weights is None else weights
        g, h = unit * (chance - truth), unit * chance * (1 - chance)
        v = self.pull(truth, scores.astype(np.float32), weights, pays(self.goal, truth, self.amounts))
        size = 0.0 if v is None else float(np.abs(v).mean())
        # Where the training scores are separable v vanishes, and log loss goes on alone.
        if v is None or not size > 0:
            return g, h
        a = float(np.abs(g).mean()) / size
        return g + 2 * a * v, h + np.abs(a * v)

    def pull(
        self, truth: np.ndarray, scores: np.ndarray, weights: Optional[np.ndarray], paid: Optional[np.ndarray] = None
    ) -> Optional[np.ndarray]:
        """The goal's gradient by each score; none where these scores cannot place its thresholds."""
        if weights is not None and not (weights > 0).all():
            raise InputError("weights must be positive: leave the rows of weight 0 out")
        if truth.all() or not truth.any() or scores.min() == scores.max():
            return None
        try:
            sharpness = _setpoint.sharpness(self.goal, scores, truth, weights, self.bandwidth)
            how = (self.surrogate, sharpness, "smooth", paid)
            return _setpoint.step(self.goal, scores, truth, weights, None, None, *how)[3].astype(np.float64)
        except InfeasibleError:
            return None


class Metric:
    """A goal's exact value, for evaluation and early stopping."""

    def __init__(self, goal: str, amounts: Any = None) -> None:
        self.goal, column, self.higher_is_better = read_goal(goal)
        self.amounts = amounts
        if column is not None:
            raise InputError(f"goal {goal!r}: boosters do not tell the groups of {column!r}")
        self.__name__ = "setpoint"

    def value(self, labels: Any, raw: Any, weight: Any) -> float:
        weights = None if weight is None or len(weight) == 0 else weight
        try:
            truth = binary(labels, name="labels")
            return value_at(truth, raw, self.goal, sample_weight=weights, amounts=self.amounts)
        except InfeasibleError:
            # No threshold meets the conditions yet: as bad as it gets.
            return 0.0 if self.higher_is_better else 1.0


def is_per_query(goal: Any) -> bool:
    """Whether a goal is of the first results of each query."""
    return _setpoint.kinds_of_goal(setting("goal", goal, str))[2]


class OfQueries:
    """A goal per query on the rows of a booster: queries are those given, or the groups of its data."""

    def __init__(self, goal: str, query: Any = None, positive: Optional[str] = None, **others: Any) -> None:
        for name, (value, only) in others.items():
            if value != only:
                raise refuse(name, value, f"{only} for a goal per query")
        self.goal, self.positive = query_goal(goal), positive
        self.query = None if query is None else array(query, "query")
        self.__name__ = "setpoint"

    def rows(self, labels: Any, sizes: Any) -> Ranked:
        """Training rows have the queries that were given, where there are as many; others those of the data."""
        if self.query is not None and len(self.query) == len(labels):
            return ranked(labels, query_codes(self.query, len(labels)), self.positive)
        if sizes is None or len(sizes) == 0:
            have = "" if self.query is None else f" of these {len(labels)} rows, where query= has {len(self.query)}"
            raise InputError(f"which rows are of one query{have}? give the data its groups, or pass query=")
        return ranked(labels, sized_codes(sizes, len(labels)), self.positive)

    def called(self, first: Any, second: Any, group: Any) -> tuple[Ranked, np.ndarray]:
        """Rows and raw scores: `train` calls with (raw scores, data), scikit-learn with (labels, raw scores)."""
        if hasattr(second, "get_label"):
            return self.rows(second.get_label(), second.get_group()), vector(first, "raw scores")
        return self.rows(first, group), vector(second, "raw scores")


class QueryObjective(OfQueries):
    """Gradient and curvature of a listwise loss, and the goal's gradient on top.

    The listwise loss is the cross-entropy between softmax(scores) and the gains of a query, which are 2^y - 1.
    """

    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        rows, raw = self.called(first, second, group)
        codes, count = rows.queries[2], len(rows.queries[1])
        top = np.full(count, -np.inf)
        np.maximum.at(top, codes, raw)
        share = np.exp(raw - top[codes])
        share /= np.bincount(codes, share, count)[codes]
        gains = np.exp2(rows.grades.astype(np.float64)) - 1
        total = np.bincount(codes, gains, count)[codes]
        # A query in which nothing is relevant teaches nothing.
        wanted = np.divide(gains, total, out=share.copy(), where=total > 0)
        g, h = share - wanted, share * (1 - share)
        _, v = _setpoint.query_step(self.goal, rows, raw.astype(np.float32), SHARPNESS, 1.0)
        size = float(np.abs(v).mean())
        if size > 0:
            a = float(np.abs(g).mean()) / size
            g, h = g + 2 * a * v, h + np.abs(a * v)
        return g, np.maximum(h, LEAST_CURVATURE)


class QueryMetric(OfQueries):
    """The exact value of a goal per query, for evaluation and early stopping."""

    def value(self, first: Any, second: Any, group: Any) -> float:
        rows, raw = self.called(first, second, group)
        return _setpoint.query_values(self.goal, rows, raw, "skip", False)[1] or 0.0
