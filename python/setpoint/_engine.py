"""The engine for a training loop of one's own: scores in, their gradient out."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _setpoint
from ._arrays import scored, vector, weighted
from ._settings import read_goal, setting, shape


class Step(NamedTuple):
    """What one step found."""

    thresholds: np.ndarray
    """The thresholds of this step."""
    loss: float
    """The smooth objective as something to minimise: minus the rate where more is better."""
    constraints: np.ndarray
    """Each condition's rate less its target: 0 where it holds with equality, below 0 inside a limit."""
    gradient: np.ndarray
    """v: the loss's derivative by each score, through the thresholds."""


def step(
    y: Any,
    scores: Any,
    goal: str,
    *,
    weights: Any = None,
    groups: Any = None,
    thresholds: Union[float, Sequence[float], None] = None,
    surrogate: str = "sigmoid",
    sharpness: Optional[float] = None,
    solve: str = "smooth",
) -> Step:
    """Solves the goal's thresholds on these scores, and differentiates its loss through them.

    `solve` says where thresholds come from: `smooth` (the smooth conditions: the gradient is exact),
    `exact` (the conditions as counted) or `hold` (those given). `thresholds` are a warm start for
    `smooth`. `sharpness` is how fast the surrogate switches per unit of score; by default 10 over the
    standard deviation of the scores.
    """
    truth, values = scored(y, scores, dtype=np.float32)
    _, column, _ = read_goal(goal)
    surrogate, solve = setting("surrogate", surrogate, str), setting("solve", solve, str)
    truth, values, weight, coded_groups = weighted(truth, values, weights, groups, column, "weights")
    if sharpness is None:
        sharpness = _setpoint.sharpness(goal, values, truth, weight, "0.1sd")
    given: Any = [thresholds] if shape(thresholds) == () else thresholds
    start = None if thresholds is None else vector(given, "thresholds").tolist()
    found, loss, constraints, gradient = _setpoint.step(
        goal, values, truth, weight, coded_groups, start, surrogate, setting("sharpness", sharpness, float), solve
    )
    if weights is not None and len(gradient) != len(np.atleast_1d(weights)):
        # Rows of weight 0 move nothing.
        whole = np.zeros(len(np.atleast_1d(weights)), dtype=np.float32)
        whole[np.asarray(weights).reshape(-1) > 0] = gradient
        gradient = whole
    return Step(np.array(found), loss, np.array(constraints), gradient)
