"""Exact metrics: the value of a goal, curves, areas, rates and intervals.

An example is predicted positive when `score >= threshold`. Scores and weights are counted with all
their digits.
"""

from typing import Any, NamedTuple, Optional

import numpy as np

from . import _setpoint
from ._arrays import pays, scored, vector, weighted
from ._errors import InfeasibleError, InputError
from ._queries import empty_name, query_goal, scored_rows
from ._settings import probability, read_goal, refuse, setting, shape

__all__ = [
    "Curve",
    "Flipped",
    "Interval",
    "OperatingPoint",
    "PerQuery",
    "average_precision",
    "fpr_on_flipped",
    "interval",
    "operating_point",
    "per_query",
    "pr_auc",
    "pr_curve",
    "rates_at",
    "roc_auc",
    "roc_curve",
    "value_at",
]


# More would take hours, or all memory.
MOST_REPLICATES = 10_000_000


class OperatingPoint(NamedTuple):
    """The best that a goal's conditions allow, and where."""

    value: float
    thresholds: np.ndarray
    """The thresholds that attain it: one, one for each group, upper and lower, or none for an area."""
    counts: Optional[dict[str, float]]
    """True and false positives and negatives there, where one threshold decides."""


class Curve(NamedTuple):
    """A curve from nobody predicted positive to everybody: a point at each different score."""

    x: np.ndarray
    y: np.ndarray
    thresholds: np.ndarray
    """The lowest score that is predicted positive; infinity for nobody."""


class Interval(NamedTuple):
    """A value, and how far the population's may be from it."""

    value: float
    lower: float
    upper: float
    confidence: float
    method: str


class Flipped(NamedTuple):
    """What flipped labels make of a rate of false alarms."""

    fpr: float
    """The rate that they show."""
    share: float
    """The share of them that are flipped, as given or estimated."""


class PerQuery(NamedTuple):
    """What scores are worth in each query."""

    value: float
    """The mean over the queries that count."""
    values: np.ndarray
    """The value of each query, in the order in which they first occur; NaN where one is left out."""


def per_query(
    y: Any,
    scores: Any,
    goal: str,
    *,
    query: Any,
    positive: Optional[str] = None,
    empty_queries: Any = "skip",
    ties: str = "expected",
) -> PerQuery:
    """The exact value of a goal per query, such as "ndcg @ k=10 per query".

    `y` are grades from 0 on, `query` says which query each row is a result of. `positive` is a rule such as ">=2" for
    metrics that need yes or no. `empty_queries` is what a query counts in which nothing is relevant: "skip", 0 as
    scikit-learn has it, or 1 as LightGBM has it. Rows of equal scores share their places in expectation, as of
    scikit-learn's `ndcg_score`; with `ties="order"` the first of them comes first, as in LightGBM.
    """
    if setting("ties", ties, str) not in ("expected", "order"):
        raise refuse("ties", ties, "expected or order")
    rows, values = scored_rows(y, scores, query, positive)
    found, mean = _setpoint.query_values(query_goal(goal), rows, values, empty_name(empty_queries), ties == "order")
    if mean is None:
        raise InfeasibleError("no query has a relevant row: the metric is undefined")
    return PerQuery(mean, found)


def operating_point(
    y: Any,
    scores: Any,
    goal: str,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    shared_threshold: bool = False,
    positive: Any = None,
    amounts: Any = None,
) -> OperatingPoint:
    """The best value of the goal's objective where its conditions hold exactly on this data, and where.

    Conditions on groups are met with a threshold for each group, or with `shared_threshold` by one for all. `amounts`
    are those of a goal in money that takes them from columns. A goal of coverage has two thresholds, the upper first.
    """
    _, column, _ = read_goal(goal)
    truth, given = scored(y, scores, positive)
    paid = pays(goal, truth, amounts)
    labels, values, weights, coded = weighted(truth, given, sample_weight, groups, column)
    if paid is not None and len(labels) != len(truth):
        # Rows of weight 0 pay nothing.
        paid = np.ascontiguousarray(paid.reshape(-1, 2)[vector(sample_weight, "sample_weight") > 0]).reshape(-1)
    shared = setting("shared_threshold", shared_threshold, bool)
    value, thresholds, counts = _setpoint.value_at(goal, labels, values, weights, coded, shared, paid)
    names = ("true_positives", "false_negatives", "false_positives", "true_negatives")
    named = None if counts is None else dict(zip(names, counts))
    return OperatingPoint(value, np.array(thresholds), named)


def value_at(
    y: Any,
    scores: Any,
    goal: str,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    shared_threshold: bool = False,
    positive: Any = None,
    amounts: Any = None,
) -> float:
    """The best value of the goal's objective where its conditions hold exactly on this data."""
    return operating_point(
        y,
        scores,
        goal,
        sample_weight=sample_weight,
        groups=groups,
        shared_threshold=shared_threshold,
        positive=positive,
        amounts=amounts,
    ).value


def rates_at(
    y: Any, scores: Any, threshold: float, *, sample_weight: Any = None, positive: Any = None
) -> dict[str, Optional[float]]:
    """Every rate of the decisions `score >= threshold`; None where its denominator is zero."""
    labels, values, weights, _ = weighted(*scored(y, scores, positive), sample_weight, None, None)
    return dict(_setpoint.rates_at(labels, values, weights, _threshold(threshold)))


def _threshold(threshold: Any) -> float:
    """A number; infinity, as of a curve's first point, is one too."""
    if isinstance(threshold, (float, np.floating)) and abs(threshold) == np.inf:
        return float(threshold)
    return setting("threshold", threshold, float)


def _range(name: str, limits: Any) -> tuple[float, float]:
    """Two numbers."""
    if shape(limits) != (2,):
        raise refuse(name, limits, "two numbers, as in (0.95, 1)")
    low, high = (setting(name, limit, float) for limit in limits)
    return low, high


def _counts(y: Any, scores: Any, sample_weight: Any, positive: Any) -> tuple[np.ndarray, ...]:
    labels, values, weights, _ = weighted(*scored(y, scores, positive), sample_weight, None, None)
    return _setpoint.curve(labels, values, weights)


def roc_curve(y: Any, scores: Any, *, sample_weight: Any = None, positive: Any = None) -> Curve:
    """fpr (x) against recall (y)."""
    true, false, thresholds = _counts(y, scores, sample_weight, positive)
    if not (true[-1] > 0 and false[-1] > 0):
        raise InputError("y holds one class only: a ROC curve needs both")
    return Curve(false / false[-1], true / true[-1], thresholds)


def fpr_on_flipped(
    y: Any, scores: Any, fpr: float, *, share: Optional[float] = None, positive: Any = None
) -> Flipped:
    """The rate of false alarms that labels show, some of them flipped, where the true one is `fpr`.

    Every label is taken to be flipped with the chance `share`, whatever the row. Of labelled positives a share r is
    then positive in truth, of labelled negatives a share w, and

        fpr' = (1 - w) fpr + w recall,    recall' = (1 - r) fpr + r recall

    are the rates that show: solved for the true ones at every threshold. Scores must be of rows that their model has
    not seen. Without `share` it is what the surest scores say: the positives among the fifth of the rows that scores
    lowest, or the negatives among as many of the highest as a fifth of the positives, whichever is less. That is too
    much where the surest scores are wrong, and nothing tells the difference.
    """
    labels, values = scored(y, scores, positive)
    rate, curve, seen = probability("fpr", fpr), roc_curve(labels, values), labels.mean()
    most = min(seen, 1 - seen)
    if share is None:
        order = np.argsort(values, kind="stable")
        lowest = labels[order[: max(len(labels) // 5, 1)]].mean()
        highest = 1 - labels[order[-max(int(labels.sum()) // 5, 1) :]].mean()
        flipped = float(min(lowest, highest, 0.9 * most))
    else:
        flipped = setting("share", share, float)
        if not 0 <= flipped < most:
            raise refuse("share", share, f"a number from 0 and below {most:.3g}, the share of the rarer label")
    true = (seen - flipped) / (1 - 2 * flipped)
    r, w = (1 - flipped) * true / seen, flipped * true / (1 - seen)
    false_alarms = (r * curve.x - w * curve.y) / (r - w)
    return Flipped(float(max(rate, curve.x[false_alarms <= rate].max())), flipped)


def pr_curve(y: Any, scores: Any, *, sample_weight: Any = None, positive: Any = None) -> Curve:
    """Recall (x) against precision (y), from the strictest threshold that predicts anybody positive."""
    true, false, thresholds = (part[1:] for part in _counts(y, scores, sample_weight, positive))
    if not true[-1] > 0:
        raise InputError("y holds no positives: a precision-recall curve needs them")
    return Curve(true / true[-1], true / (true + false), thresholds)


def roc_auc(
    y: Any,
    scores: Any,
    *,
    fpr: Optional[tuple[float, float]] = None,
    recall: Optional[tuple[float, float]] = None,
    sample_weight: Any = None,
    positive: Any = None,
) -> float:
    """The area under the ROC curve, whole or over a range of fpr or recall.

    Over `fpr=(0, b)` with the rescaling of McClish: scikit-learn's `roc_auc_score(max_fpr=b)`.
    """
    if fpr is not None and recall is not None:
        raise InputError("fpr and recall: give one range")
    name, limits = ("fpr", fpr) if fpr is not None else ("recall", recall)
    goal = "roc-auc" if limits is None else "roc-auc @ {} in {}..{}".format(name, *_range(name, limits))
    return value_at(y, scores, goal, sample_weight=sample_weight, positive=positive)


def pr_auc(
    y: Any,
    scores: Any,
    *,
    recall: tuple[float, float] = (0.0, 1.0),
    sample_weight: Any = None,
    positive: Any = None,
) -> float:
    """The mean precision over a range of recall."""
    low, high = _range("recall", recall)
    goal = "pr-auc" if (low, high) == (0, 1) else f"pr-auc @ recall in {low}..{high}"
    return value_at(y, scores, goal, sample_weight=sample_weight, positive=positive)


def average_precision(y: Any, scores: Any, *, sample_weight: Any = None, positive: Any = None) -> float:
    """The area under the precision-recall staircase: scikit-learn's `average_precision_score`."""
    return pr_auc(y, scores, sample_weight=sample_weight, positive=positive)


def interval(
    y: Any,
    scores: Any,
    goal: str,
    *,
    threshold: Optional[float] = None,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    sample_weight: Any = None,
    positive: Any = None,
) -> Interval:
    """A goal's value with a confidence interval, or, at a threshold, that of a rate such as `recall`.

    Clopper-Pearson for rates at a threshold, DeLong for the whole roc-auc, else a bootstrap stratified
    by class.
    """
    labels, values, weights, _ = weighted(*scored(y, scores, positive), sample_weight, None, None)
    drawn = setting("replicates", replicates, int)
    if not 1 <= drawn <= MOST_REPLICATES:
        raise refuse("replicates", replicates, f"a whole number from 1 to {MOST_REPLICATES:,}")
    value, lower, upper, method = _setpoint.interval(
        setting("goal", goal, str),
        labels,
        values,
        weights,
        None if threshold is None else _threshold(threshold),
        probability("confidence", confidence),
        drawn,
        setting("seed", seed, int),
    )
    return Interval(value, lower, upper, confidence, method)
