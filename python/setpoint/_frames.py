"""Matrices, sparse matrices and data frames as the columns that the compiled half takes.

A column becomes an array of numbers (booleans are 0 and 1), `("times", seconds since 1970)`, or
`(texts, codes, whether they are categories whatever they say)`. What texts mean is for the compiled half
to say, which reads them as it reads files.
"""

import datetime
import decimal
import numbers as abstract
import reprlib
from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy as np

from ._errors import InputError

MISSING = np.uint32(0xFFFFFFFF)
CONTAINERS = (list, tuple, dict, set, frozenset, np.ndarray)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def is_frame(X: Any) -> bool:
    """Whether it has named columns: a pandas or polars frame."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape") and not is_sparse(X)


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def frame_names(X: Any) -> list[str]:
    return [str(name) for name in X.columns]


def numbers(column: Any) -> Optional[np.ndarray]:
    """The numbers of a column of a number type, missing ones as NaN; none if it has another type."""
    if is_categories(column):
        return None
    if is_nullable(column):
        array = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        array = column.to_numpy()
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        return None
    return aligned(array if array.dtype in (np.float32, np.float64) else array.astype(np.float64))


def aligned(values: np.ndarray) -> np.ndarray:
    """The same numbers, copied if they start where no number should: those from a network, or of a record, may."""
    return np.require(values, requirements="A")


def is_nullable(column: Any) -> bool:
    """Whether it is one of pandas' own number types, which turn into objects unless told otherwise."""
    dtype = getattr(column, "dtype", None)
    return hasattr(dtype, "na_value") and getattr(dtype, "kind", "O") in "biuf"


def is_categories(column: Any) -> bool:
    """Whether it has a type for categories: pandas' category, polars' Categorical or Enum."""
    dtype = getattr(column, "dtype", None)
    return type(dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return not isinstance(value, (str, *CONTAINERS)) and bool(value != value)


def is_number(value: Any) -> bool:
    return isinstance(value, (abstract.Real, np.bool_, decimal.Decimal))


def is_time(value: Any) -> bool:
    return isinstance(value, (datetime.date, np.datetime64))


def seconds(value: Any) -> float:
    """Seconds since 1970; a time without a zone is one of UTC."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64) / 1e6)
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.timezone.utc)
    return float((value - EPOCH).total_seconds())


def written(value: Any) -> str:
    """As any file would have it: whole numbers without a point, true and false, dates of ISO 8601."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        value = float(value)
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else str(value)
    if is_time(value):
        text = str(value) if isinstance(value, np.datetime64) else value.isoformat()
        return text.removesuffix(".000000000").removesuffix("T00:00:00")
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def texts(values: Any) -> tuple[list[str], np.ndarray]:
    """The different texts of some values, and for each value which it is."""
    seen: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.uint32)
    for row, value in enumerate(values):
        if type(value) is str:
            codes[row] = seen.setdefault(value, len(seen))
        else:
            codes[row] = MISSING if is_missing(value) else seen.setdefault(written(value), len(seen))
    return list(seen), codes


def frame_column(name: str, column: Any) -> Any:
    """A column by its type, or by the types of its values where it may hold anything."""
    found = numbers(column)
    if found is not None:
        return found
    values = column.to_numpy()
    if is_categories(column):
        return (*texts(values), True)
    if values.dtype.kind == "M":
        whole = values.astype("datetime64[us]")
        return "times", np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
    wanted = "expected numbers, texts, booleans or dates"
    if values.dtype.kind not in "OUST" or values.ndim != 1:
        raise InputError(f"X: column {name!r} is of type {getattr(column, 'dtype', 'frame')}: {wanted}")
    kinds = set(map(type, values)) - {type(None)}
    for kind in kinds:
        if issubclass(kind, CONTAINERS) or (hasattr(kind, "to_numpy") and hasattr(kind, "__len__")):
            raise InputError(f"X: column {name!r} holds a value of type {kind.__name__}: {wanted}")
    if str not in kinds:
        held = [value for value in values if not is_missing(value)]
        for is_kind, convert in ((is_number, float), (is_time, seconds)):
            if all(map(is_kind, held)):
                found = np.array(
                    [np.nan if is_missing(value) else convert(value) for value in values], dtype=np.float64
                )
                return found if convert is float else ("times", found)
    return (*texts(values), False)


def missing_rows(column: Any) -> np.ndarray:
    """For each row whether its value in a column of `frame_column` is missing."""
    if isinstance(column, tuple):
        return np.isnan(column[1]) if column[0] == "times" else column[1] == MISSING
    return np.isnan(column)


def take_rows(column: Any, kept: np.ndarray) -> Any:
    """Some rows of a column of `frame_column`."""
    return (column[0], column[1][kept], *column[2:]) if isinstance(column, tuple) else column[kept]


def frame_columns(X: Any, kinds: Optional[dict[str, bool]] = None) -> tuple[list[str], list[Any]]:
    """Names and columns. `kinds` says which names are numbers for a trained model; others are left out."""
    names, columns = [], []
    refuse_twice(frame_names(X))
    for key in X.columns:
        name, column = str(key), X[key]
        if kinds is not None and name not in kinds:
            continue
        if kinds is None or kinds[name]:
            columns.append(frame_column(name, column))
        else:
            columns.append((*texts(column.to_numpy()), True))
        names.append(name)
    return names, columns


def refuse_twice(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"X has more than one column {name!r}: give each a name of its own")
        seen.add(name)


def is_numeric(X: Any) -> bool:
    """Whether every column of a frame has a type for numbers."""
    return all(numbers(X[key]) is not None for key in X.columns)


def beside(X: Any, keep: Any, known: Optional[Sequence[str]], decide: Callable[[Any], dict[str, Any]]) -> Any:
    """A frame with the kept columns of X, and those that `decide` finds for X, by the index of X.

    Kept columns that are not `known`, where that is said, are not shown to it.
    """
    if not is_frame(X):
        if keep is not None:
            raise InputError(f"keep={reprlib.repr(keep)}: X has no columns with names; pass a data frame")
        from pandas import DataFrame

        return DataFrame(decide(X))
    keys = {str(key): key for key in X.columns}
    named = [keep] if isinstance(keep, str) else keep or []
    kept = list(keys) if named == ["all"] else [str(name) for name in named]
    said = f"keep={reprlib.repr(keep)}: X has"
    for name in kept:
        if name not in keys:
            raise InputError(f'{said} no column {name!r}; expected names of its columns, or "all"')
    hidden = set() if known is None else {*kept} - {*known}
    columns = decide(X[[key for name, key in keys.items() if name not in hidden]] if hidden else X)
    for name in kept:
        if name in columns:
            raise InputError(f"{said} a column {name!r} of its own: rename it, or leave it out")
    if hasattr(X, "index"):
        return X[[keys[name] for name in kept]].assign(**columns)
    return type(X)({**{name: X[name] for name in kept}, **columns})


def csr(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Row starts, columns, values and number of columns; entries in order, none twice."""
    X = X.tocsr()
    if not (X.has_canonical_format):
        X = X.copy()
        X.sum_duplicates()
    values = aligned(np.ascontiguousarray(X.data, dtype=np.float32 if X.dtype == np.float32 else np.float64))
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise InputError("Input X contains NaN or infinity, or a value too large for a 32-bit number")
    starts = aligned(np.ascontiguousarray(X.indptr, dtype=np.int64))
    return starts, aligned(np.ascontiguousarray(X.indices, dtype=np.uint32)), values, int(X.shape[1])


def matrix(X: Any) -> np.ndarray:
    """A matrix of 32- or 64-bit numbers, not copied if it is one."""
    try:
        array = np.asarray(X)
        if array.dtype.kind in "Mm":
            raise TypeError(f"{array.dtype} is a type for times; pass a data frame")
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"X: expected numbers: {error}") from None
    if array.ndim != 2:
        raise InputError(f"X has shape {array.shape}: expected a matrix with a row for each example")
    return aligned(array)


def for_model(
    X: Any, inputs: Optional[Sequence[tuple[str, bool]]], names: Sequence[str], unused: Sequence[str]
) -> tuple[list[str], Any, list[str]]:
    """What a trained model needs of X, by name, and notes on it; an array has the columns `names`, or those of
    `inputs`. Columns of `unused` are known to the model, and not needed."""
    if getattr(X, "shape", ())[:1] == (0,):
        raise InputError("X has no rows: expected at least one")
    if is_sparse(X):
        if inputs is not None:
            raise InputError("X is sparse, but the model was trained on a table: pass X.toarray()")
        return [], csr(X), []
    if inputs is None:
        raise InputError("X is not sparse, but the model was trained on sparse rows: pass a scipy.sparse matrix")
    if is_frame(X):
        kinds = dict(inputs)
        notes = []
        extra = [name for name in frame_names(X) if name not in {*kinds, *names, *unused}]
        if extra:
            notes.append(f"X: columns that the model does not know were ignored: {', '.join(extra)}")
        for key in X.columns:
            if kinds.get(str(key)) is False and numbers(X[key]) is not None:
                notes.append(f"X: column {str(key)!r} holds numbers, where the training rows had texts")
        return (*frame_columns(X, kinds), notes)
    array = matrix(X)
    needed = [name for name, _ in inputs]
    for known in (list(names), needed):
        if len(known) == array.shape[1]:
            texts = [name for name, is_number in inputs if not is_number]
            if texts:
                raise InputError(f"columns {texts} hold texts: pass a data frame with the columns by name")
            return known, array, []
    expected = len(names) or len(needed)
    raise InputError(f"X has {array.shape[1]} features, but the model is expecting {expected} features as input")


def some_rows(X: Any, kept: np.ndarray) -> Any:
    """Some rows of features as the compiled half takes them."""
    if isinstance(X, np.ndarray):
        return X[kept]
    if isinstance(X, tuple):
        from scipy.sparse import csr_matrix

        starts, indices, values, columns = X
        return csr(csr_matrix((values, indices, starts), shape=(len(starts) - 1, columns))[kept])
    return [take_rows(column, kept) for column in X]
