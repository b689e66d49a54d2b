"""Which rows are results of the same query, and how relevant each is."""

from typing import Any, NamedTuple, Optional

import numpy as np

from . import _setpoint
from ._arrays import Groups, array, coded, group_name, vector
from ._errors import InputError
from ._frames import frame_names, is_frame
from ._settings import refuse, setting

# What a query counts in which nothing is relevant, as a text.
EMPTY = {"skip": "skip", "0": "0", "1": "1", 0: "0", 1: "1"}


class Ranked(NamedTuple):
    """Rows in queries, as the compiled half takes them."""

    queries: Groups
    grades: np.ndarray
    relevant: np.ndarray


def query_goal(goal: Any) -> str:
    """A goal per query as it is printed."""
    return _setpoint.check_query_goal(setting("goal", goal, str))


def taken(X: Any, query: Any, known: Optional[str] = None) -> tuple[Any, Any, str]:
    """X without the column of its queries, the query of each row, and the name of that column, if it is one.

    `query` is a value for each row, or the name of a column of X, by default the one `known` from training.
    """
    name = known if query is None else query
    rest = without(X, name if isinstance(name, str) else known)
    if isinstance(name, str) and is_frame(X):
        found = next((key for key in X.columns if str(key) == name), None)
        if found is None:
            raise InputError(f"query={name!r}: X has no such column, but {', '.join(frame_names(X)[:12])}")
        return rest, X[found], name
    if query is None or isinstance(query, str):
        raise InputError("query= says which query each row is a result of: a value for each row, or a column of X")
    return rest, query, str(getattr(query, "name", None) or "")


def without(X: Any, column: Optional[str]) -> Any:
    """A frame without a column, if it has it; anything else as it is."""
    if column is None or not is_frame(X) or column not in frame_names(X):
        return X
    return X[[key for key in X.columns if str(key) != column]]


def query_codes(query: Any, rows: int, column: str = "") -> Groups:
    """The queries of rows, by name and code."""
    if query is None:
        raise InputError("query= says which query each row is a result of: a value for each row")
    found = coded(query, str(column), rows, "query")
    if found is None or group_name(None) in found[1]:
        raise InputError("query is missing in some rows: fill it in, or leave the rows out")
    return found


def sized_codes(sizes: Any, rows: int) -> Groups:
    """The same of queries that follow each other, by the number of rows of each."""
    counts = array(sizes, "query sizes").astype(np.int64)
    if counts.sum() != rows or (counts < 0).any():
        raise InputError(f"the sizes of queries sum to {counts.sum()}: expected {rows}, the number of rows")
    return (
        "",
        [str(place + 1) for place in range(len(counts))],
        np.repeat(np.arange(len(counts), dtype=np.uint32), counts),
    )


def grades_of(y: Any, name: str = "y") -> np.ndarray:
    """How relevant each row is."""
    grades = vector(y, name, np.float32)
    if (grades < 0).any():
        row = int(np.argmax(grades < 0))
        raise InputError(f"{name} holds {grades[row]:g} (row {row}): grades are numbers from 0 on")
    return grades


def ranked(y: Any, queries: Groups, positive: Optional[str] = None) -> Ranked:
    """Graded rows in queries; relevant are grades above 0, or those that `positive` says (">=2")."""
    grades = grades_of(y)
    if len(grades) != len(queries[2]):
        counts = f"{len(grades)} grades, {len(queries[2])} queries"
        raise InputError(f"Found input variables with inconsistent numbers of samples: {counts}")
    rule = "auto" if positive is None else setting("positive", positive, str)
    return Ranked(queries, grades, _setpoint.relevant(rule, grades))


def scored_rows(
    y: Any, scores: Any, query: Any, positive: Optional[str] = None, dtype: Any = np.float64
) -> tuple[Ranked, np.ndarray]:
    """Graded rows in queries, and their scores."""
    values, grades = vector(scores, "scores", dtype), grades_of(y)
    if len(values) != len(grades):
        counts = f"y has {len(grades)} values, scores {len(values)}"
        raise InputError(f"Found input variables with inconsistent numbers of samples: {counts}")
    return ranked(grades, query_codes(query, len(values)), positive), values


def empty_name(value: Any) -> str:
    """What a query counts in which nothing is relevant, as a text."""
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool) and value in EMPTY:
        return EMPTY[value]
    raise refuse("empty_queries", value, '"skip", 0 or 1')
