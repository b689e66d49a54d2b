"""Thresholds that hold on new data, for any model's scores."""

import json
from typing import Any, NamedTuple, Optional

from . import _setpoint
from ._arrays import coded, scored, together
from ._errors import InputError
from ._queries import empty_name, query_goal, scored_rows
from ._settings import probability, read_goal, setting


class Certificate(NamedTuple):
    """Thresholds, and what held-out data proves about them."""

    threshold: Optional[float]
    """The threshold; none where each group has its own."""
    thresholds: list[float]
    """One, or one for each of `groups`."""
    groups: list[str]
    confidence: float
    """The chance, over calibration samples, that every condition holds on new data."""
    examples: int
    entities: Optional[dict[str, Any]]
    """How many entities the examples belong to, where those are counted."""
    caution: Optional[str]
    """What speaks against taking the rows for independent draws."""
    conditions: list[dict[str, Any]]
    """Each condition: its text, group, target, observed rate, counts and method."""
    text: str
    """All of it in words."""
    record: dict[str, Any]
    """All of it as plain data, as files of certificates hold it."""

    def __str__(self) -> str:
        return self.text


def certify(
    y: Any,
    scores: Any,
    goal: str,
    *,
    confidence: float = 0.95,
    groups: Any = None,
    entities: Any = None,
    approximate: bool = False,
    positive: Any = None,
) -> Certificate:
    """A threshold at which the conditions hold on new data, with this confidence.

    The scores may come from any model, but not from rows it was trained or tuned on. `goal` is one or
    more conditions (`"fpr<=1%"`), or a goal whose objective chooses among the thresholds allowed. Only
    the order of the scores counts, with all their digits.

    `entities` says which rows belong together (patient, customer, query): those are the draws then, not
    the rows. Where they are too few for a proof, `approximate=True` gives a limit from draws of whole
    entities that holds about as often as asked for; it is not a certificate, and says so.

    Raises InfeasibleError where the examples are too few; the message says how many are needed.
    """
    level = probability("confidence", confidence)
    truth, values = scored(y, scores, positive)
    if len(values) != len(truth):
        raise InputError(f"{len(truth)} labels and {len(values)} scores: expected one score for each label")
    column = None
    if groups is not None:
        column = _column(goal)
    elif _column(goal) is not None:
        raise InputError(f"the conditions are on {_column(goal)!r}: pass groups=, the group of each row")
    found, text = _setpoint.certify(
        goal,
        values,
        truth,
        coded(groups, column, len(truth)),
        together(entities, len(truth)),
        setting("approximate", approximate, bool),
        level,
    )
    record = json.loads(found)
    own = {key: record.get(key) for key in Certificate._fields if key not in ("text", "record")}
    return Certificate(text=text, record=record, **own)


class Bound(NamedTuple):
    """What held-out queries prove about the mean of a metric over new ones."""

    lower: float
    """It is at least this."""
    mean: float
    """That of the queries at hand."""
    draws: int
    """How many they are."""
    confidence: float
    text: str
    """All of it in words."""

    def __str__(self) -> str:
        return self.text


def certify_queries(
    y: Any,
    scores: Any,
    goal: str,
    *,
    query: Any,
    at_least: Optional[float] = None,
    confidence: float = 0.95,
    positive: Optional[str] = None,
    empty_queries: Any = "skip",
) -> Bound:
    """What the order of any model's scores is worth at least, on average over new queries, by a goal per query.

    `y` are grades, `query` says which query each row is a result of; the scores must not come from rows that the
    model was trained or tuned on. Raises InfeasibleError where the queries do not prove `at_least`; the message says
    how many would.
    """
    rows, values = scored_rows(y, scores, query, positive)
    least = setting("at_least", at_least, Optional[float])
    found, text = _setpoint.certify_queries(
        query_goal(goal), rows, values, empty_name(empty_queries), probability("confidence", confidence), least
    )
    record = json.loads(found)
    return Bound(text=text, **{name: record[name] for name in ("lower", "mean", "draws", "confidence")})


def _column(goal: str) -> Optional[str]:
    """The group column that conditions name."""
    text = setting("goal", goal, str)
    return read_goal(text if "@" in text else f"accuracy @ {text}")[1]
