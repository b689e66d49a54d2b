"""Labels, scores, weights and groups as the arrays that the compiled half takes.

Nothing is copied that has the right type and layout already.
"""

import re
from typing import Any, Optional

import numpy as np

from . import _setpoint
from ._errors import InputError
from ._frames import MISSING, is_missing, texts, written

Groups = tuple[str, list[str], np.ndarray]

# What means a missing value in a file, in lower case.
MISSING_TEXTS = frozenset(["", *(text.lower() for text in _setpoint.MISSING_TEXTS)])
# Labels that need no explanation, as texts.
PLAIN_LABELS = {"true": True, "1": True, "false": False, "0": False, "-1": False}


def vector(values: Any, name: str, dtype: Any = np.float64) -> np.ndarray:
    """A contiguous vector of finite numbers; a single column counts as one."""
    try:
        array = np.asarray(values)
        if array.dtype == object or array.dtype.kind in "US":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers: {error}") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}: expected one number for each row")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}: expected numbers")
    if not np.isfinite(array).all():
        raise InputError(f"{name} contains NaN or infinity (first at {int(np.argmin(np.isfinite(array)))})")
    return np.ascontiguousarray(array, dtype=dtype)


def binary(y: Any, positive: Any = None) -> np.ndarray:
    """True for positives.

    Booleans, 0 and 1, or -1 and 1, or texts of them, are read as they are; for other labels `positive` says
    which.
    """
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"labels have shape {array.shape}: expected one label for each row")
    if positive is not None:
        labels = np.ascontiguousarray(array == positive)
        if labels.shape == array.shape and (labels.any() or array.dtype.kind not in "OUST"):
            return labels
        # True and "True", 1 and "1.0" say the same.
        return np.array([group_name(label) == group_name(positive) for label in array], dtype=bool)
    if array.dtype == bool:
        return np.ascontiguousarray(array)
    if array.dtype.kind in "iuf":
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError("labels contain NaN")
        labels = array == 1
        if np.all(labels | (array == 0)) or np.all(labels | (array == -1)):
            return np.ascontiguousarray(labels)
    elif array.dtype.kind in "OUST":
        plain = [group_name(label) for label in array]
        if set(plain) <= PLAIN_LABELS.keys() and not {"0", "-1"} <= set(plain):
            return np.array([PLAIN_LABELS[label] for label in plain], dtype=bool)
    found = ", ".join(repr(value) for value in np.unique(array.astype(str))[:5])
    raise InputError(f"labels hold {found}: expected 0 and 1 or booleans; say which is positive with positive=")


def weighted(
    labels: np.ndarray, scores: np.ndarray, sample_weight: Any, groups: Any, column: Optional[str]
) -> tuple[np.ndarray, np.ndarray, Optional[np.ndarray], Optional[Groups]]:
    """The rows that count, with weights and groups; those of weight 0 are left out."""
    if len(labels) != len(scores):
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: {len(labels)} labels, {len(scores)} scores"
        )
    if column is not None and groups is None:
        raise InputError(f"the goal has conditions on {column!r}: pass groups=, the group of each row")
    weights = None
    if sample_weight is not None:
        weights = vector(sample_weight, "sample_weight")
        if len(weights) != len(labels):
            raise InputError(f"sample_weight has {len(weights)} values: expected {len(labels)}, one for each row")
        if (weights < 0).any():
            raise InputError("sample_weight holds negative weights")
        if not weights.all():
            kept = weights > 0
            labels, scores, weights = labels[kept], scores[kept], weights[kept]
            groups = None if groups is None else np.asarray(groups)[kept]
    return labels, scores, weights, coded(groups, column, len(labels))


def coded(groups: Any, column: Optional[str], rows: int, name: str = "groups") -> Optional[Groups]:
    """Groups or entities as names in alphabetical order, and a code for each row."""
    if groups is None or column is None:
        return None
    array = np.asarray(groups)
    if array.shape != (rows,):
        raise InputError(f"{name} have shape {array.shape}: expected ({rows},), one for each row")
    if array.dtype.kind in "biuf":
        values, codes = np.unique(array, return_inverse=True)
        found = [group_name(value) for value in values]
    else:
        values, codes = texts(array)
        found = [group_name(value) for value in values]
        if (codes == MISSING).any():
            codes = np.where(codes == MISSING, len(found), codes)
            found.append(group_name(None))
    if name == "entities" and group_name(None) in found:
        raise InputError("entities are missing in some rows: fill them in or leave the rows out")
    # Alphabetical, and names that say the same joined.
    names, places = np.unique(np.array(found, dtype=object), return_inverse=True)
    return column, [str(name) for name in names], places.reshape(-1)[codes.reshape(-1)].astype(np.uint32)


def group_name(value: Any) -> str:
    """The name of a group as files have it: `1` for `1.0`, `true` for `True`, `(missing)`."""
    text = "" if is_missing(value) else written(value).strip()
    lower = text.lower()
    if lower in MISSING_TEXTS:
        return "(missing)"
    if lower in ("true", "false"):
        return lower
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text, flags=re.ASCII)
