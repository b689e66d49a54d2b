"""Labels, scores, weights and groups as the arrays that the compiled half takes.

Nothing is copied that has the right type and layout already.
"""

import re
import reprlib
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from . import _setpoint
from ._errors import InputError
from ._frames import MISSING, aligned, frame_names, is_frame, is_missing, texts, written
from ._settings import refuse, shape

# Weights are summed as numbers of 32 bits in places.
HEAVIEST = 1e30

Groups = tuple[str, list[str], np.ndarray]

# Labels, scores, weights, groups and entities of rows.
Labelled = tuple[np.ndarray, Optional[np.ndarray], Optional[Groups], Optional[Groups]]
Measured = tuple[np.ndarray, np.ndarray, Optional[np.ndarray], Optional[Groups], Optional[Groups]]

# What means a missing value in a file, in lower case.
MISSING_TEXTS = frozenset(["", *(text.lower() for text in _setpoint.MISSING_TEXTS)])
# Labels that need no explanation, as texts.
PLAIN_LABELS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "-1": False, "no": False}


def as_numpy(values: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{name}: expected one value for each row: {error}") from None


def array(values: Any, name: str) -> np.ndarray:
    """A vector of anything; a single column counts as one."""
    found = as_numpy(values, name)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"{name} has shape {found.shape}: expected one value for each row")
    return found


def vector(values: Any, name: str, dtype: Any = np.float64) -> np.ndarray:
    """A contiguous vector of finite numbers; a single column counts as one."""
    found = array(values, name)
    try:
        if found.dtype == object or found.dtype.kind in "US":
            found = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: expected numbers: {error}") from None
    if found.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {found.dtype}: expected numbers")
    with np.errstate(over="ignore"):
        numbers = aligned(np.ascontiguousarray(found, dtype=dtype))
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"{name} contains NaN or infinity (first at {row}: {found[row]}): expected finite numbers")
    return numbers


def binary(y: Any, positive: Any = None, name: str = "y") -> np.ndarray:
    """True for positives.

    Booleans, 0 and 1, -1 and 1, or texts of them, and no and yes are read as they are; for other labels
    `positive` says which.
    """
    labels = array(y, name)
    missing = [is_missing(label) for label in labels] if labels.dtype == object else labels != labels
    if np.any(missing):
        row = int(np.argmax(missing))
        raise InputError(f"{name} contains NaN or None (first at {row}): leave the rows without a label out")
    if positive is not None:
        if shape(positive) != ():
            raise refuse("positive", positive, f"one of the values of {name}")
        try:
            truth = np.ascontiguousarray(labels == positive, dtype=bool)
        except OverflowError:
            # A whole number beyond all floats is none of them.
            truth = np.zeros(len(labels), dtype=bool)
        if not truth.any() and labels.dtype.kind in "OUST":
            # True and "True", 1 and "1.0" say the same.
            wanted = group_name(positive)
            truth = np.array([group_name(label) == wanted for label in labels], dtype=bool)
        others = [] if truth.any() else np.unique(labels.astype(str)).tolist()
        # A part of the data may lack the positives; two other values cannot both be the negatives.
        if len(others) == 2:
            raise InputError(f"positive={reprlib.repr(positive)} is not one of the values of {name}: {others}")
        return truth
    if labels.dtype == bool:
        return np.ascontiguousarray(labels)
    if labels.dtype.kind in "iuf":
        ones = labels == 1
        if np.all(ones | (labels == 0)) or np.all(ones | (labels == -1)):
            return np.ascontiguousarray(ones)
    elif labels.dtype.kind in "OUST":
        known = plain(labels)
        if known is not None:
            return known
    found = ", ".join(reprlib.repr(value) for value in np.unique(labels.astype(str))[:5].tolist())
    raise InputError(f"{name} holds {found}: expected 0 and 1 or booleans; say which is positive with positive=")


def plain(labels: Any) -> Optional[np.ndarray]:
    """True for positives, where labels need no explanation."""
    names = [group_name(label).lower() for label in labels]
    found = set(names)
    if found <= PLAIN_LABELS.keys() and not {"0", "-1"} <= found:
        return np.array([PLAIN_LABELS[name] for name in names], dtype=bool)
    return None


def class_names(classes: Any) -> list[str]:
    """The names of classes as goals write them."""
    names = [group_name(one) for one in array(classes, "classes")]
    if len(names) < 2 or len(set(names)) < len(names):
        raise refuse("classes", classes, "at least two names, none of them twice")
    return names


def class_codes(y: Any, names: list[str], pooled: Sequence[str] = (), others: bool = False) -> np.ndarray:
    """The place of each label among the names, the last for those `pooled`, one beyond for `others` if they may."""
    places = {name: place for place, name in enumerate(names)} | {name: len(names) - 1 for name in pooled}
    codes = np.array([places.get(group_name(label), len(names)) for label in array(y, "y")], dtype=np.uint32)
    if not others and (codes == len(names)).any():
        row = int(np.argmax(codes == len(names)))
        raise InputError(
            f"y holds {reprlib.repr(array(y, 'y')[row])} (row {row}): expected one of {', '.join(names)}"
        )
    return codes


ORDER = "the order is (y, scores, goal), labels first"


def scored(y: Any, scores: Any, positive: Any = None, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores; the order of earlier versions is refused, and this one named."""
    if isinstance(y, str):
        raise InputError(f"y={reprlib.repr(y)}: expected labels, and the goal last; {ORDER}")
    try:
        truth = binary(y, positive)
    except InputError as error:
        if _are_labels(scores, positive):
            raise InputError(f"{error}; {ORDER}, and scores hold labels") from None
        raise
    if positive is not None and not truth.any() and _are_labels(scores, positive):
        raise InputError(f"y holds no positive={reprlib.repr(positive)}, and scores do; {ORDER}")
    return truth, vector(scores, "scores", dtype)


def _are_labels(values: Any, positive: Any) -> bool:
    try:
        return bool(binary(values, positive).any())
    except InputError:
        return False


def weighted(
    labels: np.ndarray,
    scores: np.ndarray,
    sample_weight: Any,
    groups: Any,
    column: Optional[str],
    name: str = "sample_weight",
) -> tuple[np.ndarray, np.ndarray, Optional[np.ndarray], Optional[Groups]]:
    """The rows that count, with weights and groups; those of weight 0 are left out."""
    if len(labels) != len(scores):
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: {len(labels)} labels, {len(scores)} scores"
        )
    coded_groups = coded(groups, column, len(labels))
    weights = None
    if sample_weight is not None:
        weights = vector(sample_weight, name)
        if len(weights) != len(labels):
            raise InputError(f"{name} has {len(weights)} values: expected {len(labels)}, one for each row")
        if (weights < 0).any():
            raise InputError(f"{name} holds negative weights: expected numbers of 0 or more")
        if not weights.any() and len(weights):
            raise InputError(f"{name} holds zeros only: no row would count")
        if weights.max(initial=1) > HEAVIEST or weights[weights > 0].min(initial=1) < 1 / HEAVIEST:
            raise InputError(f"{name}: expected weights between {1 / HEAVIEST:g} and {HEAVIEST:g}, or 0")
        if not weights.all():
            kept = weights > 0
            labels, scores, weights = labels[kept], scores[kept], weights[kept]
            if coded_groups is not None:
                coded_groups = coded(array(groups, "groups")[kept], column, len(labels))
    return labels, scores, weights, coded_groups


def measured(
    labels: np.ndarray, scores: np.ndarray, sample_weight: Any, groups: Any, column: Optional[str], entities: Any
) -> Measured:
    """Rows to be measured, all of which count, with weights, groups and entities."""
    if sample_weight is not None and not np.all(vector(sample_weight, "sample_weight") > 0):
        raise InputError("sample_weight holds weights that are not positive: leave those rows out")
    return (*weighted(labels, scores, sample_weight, groups, column), together(entities, len(labels)))


def pays(goal: str, labels: np.ndarray, amounts: Any, X: Any = None) -> Optional[np.ndarray]:
    """What each row pays if it is decided negative, and if positive; none where the goal is not in money.

    `amounts` holds a value for each row: a mapping or frame by the names that the goal has for columns, or the values
    alone where it names one. Columns that it lacks are looked for in X, if that is a frame.
    """
    columns = _setpoint.amount_columns(goal)
    if columns is None or not columns:
        if amounts is not None:
            raise InputError(f"amounts=: {goal!r} takes none from columns; leave it out")
        return None if columns is None else _setpoint.pays(goal, labels, [])
    named = amounts if hasattr(amounts, "keys") or is_frame(amounts) else None
    if named is None and amounts is not None:
        if len(columns) > 1:
            raise InputError(f"amounts=: expected a mapping with {', '.join(map(repr, columns))}")
        named = {columns[0]: amounts}
    found = []
    for name in columns:
        source = next((one for one in (named, X) if one is not None and _has(one, name)), None)
        if source is None:
            raise InputError(f"the goal takes amounts from {name!r}: pass amounts=, a value for each row")
        values = vector(source[name], f"amounts of {name!r}")
        if len(values) != len(labels):
            raise InputError(
                f"amounts of {name!r} have {len(values)} values: expected {len(labels)}, one for each row"
            )
        found.append(values)
    return _setpoint.pays(goal, labels, found)


def _has(source: Any, name: str) -> bool:
    """Whether a mapping or frame has a column of a name."""
    if not (hasattr(source, "keys") or is_frame(source)):
        return False
    return name in (frame_names(source) if is_frame(source) else source)


def coded(groups: Any, column: Optional[str], rows: int, name: str = "groups") -> Optional[Groups]:
    """Groups or entities as names in alphabetical order, and a code for each row."""
    if column is None:
        return None
    if groups is None:
        raise InputError(f"the goal has conditions on {column!r}: pass groups=, the group of each row")
    rows_of = array(groups, name)
    if len(rows_of) != rows:
        raise InputError(f"{name} has {len(rows_of)} values: expected {rows}, one for each row")
    if rows_of.dtype.kind in "biuf":
        values, codes = np.unique(rows_of, return_inverse=True)
        found = [group_name(value) for value in values]
    else:
        values, codes = texts(rows_of)
        found = [group_name(value) for value in values]
        if (codes == MISSING).any():
            codes = np.where(codes == MISSING, len(found), codes)
            found.append(group_name(None))
    # Alphabetical, and names that say the same joined.
    names, places = np.unique(np.array(found, dtype=object), return_inverse=True)
    return column, [str(one) for one in names], places.reshape(-1)[codes.reshape(-1)].astype(np.uint32)


def together(entities: Any, rows: int) -> Optional[Groups]:
    """Which rows belong together, where that is said."""
    if entities is None:
        return None
    found = coded(entities, "entities", rows, "entities")
    if found is not None and group_name(None) in found[1]:
        raise InputError("entities are missing in some rows: fill them in or leave the rows out")
    return found


def group_name(value: Any) -> str:
    """The name of a group as files have it: `1` for `1.0`, `true` for `True`, `(missing)`."""
    text = "" if is_missing(value) else written(value).strip()
    lower = text.lower()
    if lower in MISSING_TEXTS:
        return "(missing)"
    if lower in ("true", "false"):
        return lower
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text, flags=re.ASCII)
