"""The engine for a training loop of one's own: scores in, their gradient out."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _setpoint
from ._arrays import as_numpy, class_codes, class_names, pays, scored, vector, weighted
from ._errors import InputError
from ._queries import query_goal, scored_rows
from ._settings import read_goal, refuse, setting, shape


class Step(NamedTuple):
    """What one step found."""

    thresholds: np.ndarray
    """The thresholds of this step; with several classes the shifts, one for each."""
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
    classes: Any = None,
    query: Any = None,
    weights: Any = None,
    groups: Any = None,
    thresholds: Union[float, Sequence[float], None] = None,
    surrogate: str = "sigmoid",
    sharpness: Optional[float] = None,
    solve: str = "smooth",
    amounts: Any = None,
) -> Step:
    """Solves the goal's thresholds on these scores, and differentiates its loss through them.

    `solve` says where thresholds come from: `smooth` (the smooth conditions: the gradient is exact),
    `exact` (the conditions as counted) or `hold` (those given). `thresholds` are a warm start for
    `smooth`. `sharpness` is how fast the surrogate switches per unit of score; by default 10 over the
    standard deviation of the scores. `amounts` are those of a goal in money that takes them from columns.

    With `classes`, the names of the columns of `scores` (one for each class), the goal is one of several classes
    and `y` holds those names: `accuracy @ recall(rare)>=0.9`. `thresholds` are then the shifts that are held
    where no condition ties them, and the gradient has the shape of `scores`.

    With `query`, which says which query each row is a result of, the goal is one per query and `y` holds grades:
    `ndcg @ k=10 per query`. The loss is 1 less the smooth metric; `sharpness` is in units of the spread of a query's
    scores, by default 8. Thresholds and constraints are none: each query has its own, solved in passing.
    """
    if query is not None:
        others = {"classes": classes, "weights": weights, "groups": groups, "thresholds": thresholds}
        for name, value in others.items():
            if value is not None:
                raise refuse(name, value, "none with query=")
        if (solve, surrogate) != ("smooth", "sigmoid"):
            raise InputError("solve= and surrogate=: leave them out with query=")
        return _query_step(y, scores, goal, query, sharpness)
    if classes is not None:
        fixed = {"groups": (groups, None), "solve": (solve, "smooth"), "surrogate": (surrogate, "sigmoid")}
        for name, (value, only) in fixed.items():
            if value is not only and value != only:
                raise refuse(name, value, f"{only} with classes=")
        return _class_step(y, scores, goal, classes, weights, thresholds, sharpness)
    truth, values = scored(y, scores, dtype=np.float32)
    _, column, _ = read_goal(goal)
    paid = pays(goal, truth, amounts)
    rows = len(truth)
    surrogate, solve = setting("surrogate", surrogate, str), setting("solve", solve, str)
    truth, values, weight, coded_groups = weighted(truth, values, weights, groups, column, "weights")
    if paid is not None and len(truth) != rows:
        paid = np.ascontiguousarray(paid.reshape(-1, 2)[np.asarray(weights).reshape(-1) > 0]).reshape(-1)
    if sharpness is None:
        sharpness = _setpoint.sharpness(goal, values, truth, weight, "0.1sd")
    given: Any = [thresholds] if shape(thresholds) == () else thresholds
    start = None if thresholds is None else vector(given, "thresholds").tolist()
    found, loss, constraints, gradient = _setpoint.step(
        goal,
        values,
        truth,
        weight,
        coded_groups,
        start,
        surrogate,
        setting("sharpness", sharpness, float),
        solve,
        paid,
    )
    if weights is not None and len(gradient) != len(np.atleast_1d(weights)):
        # Rows of weight 0 move nothing.
        whole = np.zeros(len(np.atleast_1d(weights)), dtype=np.float32)
        whole[np.asarray(weights).reshape(-1) > 0] = gradient
        gradient = whole
    return Step(np.array(found), loss, np.array(constraints), gradient)


def _query_step(y: Any, scores: Any, goal: str, query: Any, sharpness: Optional[float]) -> Step:
    rows, values = scored_rows(y, scores, query, dtype=np.float32)
    sharp = 8.0 if sharpness is None else setting("sharpness", sharpness, float)
    value, gradient = _setpoint.query_step(query_goal(goal), rows, values, sharp, 0.0)
    return Step(np.array([]), 1 - value, np.array([]), gradient)


def _class_step(
    y: Any, scores: Any, goal: str, classes: Any, weights: Any, shifts: Any, sharpness: Optional[float]
) -> Step:
    names = class_names(classes)
    given = as_numpy(scores, "scores")
    if given.ndim != 2 or given.shape[1] != len(names):
        raise InputError(f"scores have shape {given.shape}: expected a column for each of {len(names)} classes")
    values = vector(given.reshape(-1), "scores", np.float32)
    codes = class_codes(y, names)
    if len(codes) != len(given):
        raise InputError(f"y has {len(codes)} values: expected {len(given)}, one for each row of scores")
    weight = None if weights is None else vector(weights, "weights")
    if weight is not None and (len(weight) != len(codes) or not (weight > 0).all()):
        raise InputError(f"weights: expected {len(codes)} positive numbers, one for each row")
    start = None if shifts is None else vector(shifts, "thresholds").tolist()
    if start is not None and len(start) != len(names):
        raise InputError(f"thresholds has {len(start)} values: expected {len(names)}, a shift for each class")
    sharp = None if sharpness is None else setting("sharpness", sharpness, float)
    found, loss, constraints, gradient = _setpoint.class_step(
        setting("goal", goal, str), names, values, codes, weight, start, sharp
    )
    return Step(np.array(found), loss, np.array(constraints), gradient.reshape(given.shape))
