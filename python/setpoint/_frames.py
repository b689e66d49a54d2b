"""Matrices, sparse matrices and data frames as the columns that the compiled half takes."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ._errors import InputError

MISSING = np.uint32(0xFFFFFFFF)


def is_frame(X: Any) -> bool:
    """Whether it has named columns: a pandas or polars frame."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape") and not is_sparse(X)


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def frame_names(X: Any) -> list[str]:
    return [str(name) for name in X.columns]


def numbers(column: Any) -> Optional[np.ndarray]:
    """A column's numbers, missing ones as NaN; none if it holds something else."""
    array = column.to_numpy(dtype=None, na_value=np.nan) if is_nullable(column) else column.to_numpy()
    if array.dtype.kind not in "biuf":
        return None
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def is_nullable(column: Any) -> bool:
    """Whether it is one of pandas' own number types, which turn into objects unless told otherwise."""
    dtype = getattr(column, "dtype", None)
    return hasattr(dtype, "na_value") and getattr(dtype, "kind", "O") in "biuf"


def texts(column: Any) -> tuple[list[str], np.ndarray]:
    """A column's different texts, and for each row which it is."""
    values = column.to_numpy()
    seen: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.uint32)
    for row, value in enumerate(values):
        if value is None or value != value or str(value) == "<NA>":
            codes[row] = MISSING
        else:
            codes[row] = seen.setdefault(written(value), len(seen))
    return list(seen), codes


def written(value: Any) -> str:
    """As a file would have it: whole numbers without a point."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def frame_columns(X: Any, kinds: Optional[dict[str, bool]] = None) -> tuple[list[str], list[Any]]:
    """Names and columns. `kinds` says which names are numbers for a trained model; others are left out."""
    names, columns = [], []
    for key in X.columns:
        name, column = str(key), X[key]
        if kinds is None:
            found = numbers(column)
            columns.append(texts(column) if found is None else found)
        elif name in kinds:
            converted: Any = numbers(column) if kinds[name] else texts(column)
            if converted is None:
                raise InputError(f"X: column {name!r} does not hold numbers, as it did in training")
            columns.append(converted)
        else:
            continue
        names.append(name)
    return names, columns


def is_numeric(X: Any) -> bool:
    """Whether every column of a frame holds numbers."""
    return all(numbers(X[key]) is not None for key in X.columns)


def csr(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Row starts, columns, values and number of columns; entries in order, none twice."""
    X = X.tocsr()
    if not (X.has_canonical_format):
        X = X.copy()
        X.sum_duplicates()
    values = np.ascontiguousarray(X.data, dtype=np.float32)
    if not np.isfinite(values).all():
        raise InputError("Input X contains NaN or infinity, or a value too large for a 32-bit number")
    starts = np.ascontiguousarray(X.indptr, dtype=np.int64)
    return starts, np.ascontiguousarray(X.indices, dtype=np.uint32), values, int(X.shape[1])


def matrix(X: Any) -> np.ndarray:
    """A matrix of 32- or 64-bit numbers, not copied if it is one."""
    try:
        array = np.asarray(X)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X: expected numbers: {error}") from None
    if array.ndim != 2:
        raise InputError(f"X has shape {array.shape}: expected a matrix with a row for each example")
    return array


def for_model(X: Any, inputs: Optional[Sequence[tuple[str, bool]]], names: Sequence[str]) -> tuple[list[str], Any]:
    """What a trained model needs of X, by name; an array has the columns `names`, or those of `inputs`."""
    if is_sparse(X):
        if inputs is not None:
            raise InputError("X is sparse, but the model was trained on a table: pass X.toarray()")
        return [], csr(X)
    if inputs is None:
        raise InputError("X is not sparse, but the model was trained on sparse rows: pass a scipy.sparse matrix")
    if is_frame(X):
        return frame_columns(X, dict(inputs))
    array = matrix(X)
    needed = [name for name, _ in inputs]
    for known in (list(names), needed):
        if len(known) == array.shape[1]:
            texts = [name for name, is_number in inputs if not is_number]
            if texts:
                raise InputError(f"columns {texts} hold texts: pass a data frame with the columns by name")
            return known, array
    expected = len(names) or len(needed)
    raise InputError(f"X has {array.shape[1]} features, but the model is expecting {expected} features as input")
