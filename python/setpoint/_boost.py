"""Objectives and metrics for boosting, whatever the library.

The gradient mixes log loss with the goal's, g = g_log + 2 a v with a = mean|g_log| / mean|v|, and the
curvature stays positive: h = h_log + |a v|.
"""

import importlib.util
import os
from typing import Any, Optional

import numpy as np

from . import _setpoint
from ._arrays import binary, pays, vector
from ._errors import InfeasibleError, InputError
from ._settings import read_goal, surrogates
from .metrics import value_at


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
