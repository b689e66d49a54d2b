"""A certified decision for an ONNX classifier of anyone's."""

import json
import os
from typing import Any, Optional, Union

import numpy as np

from . import _setpoint
from ._certify import Certificate, _column, certify
from ._errors import InputError
from ._frames import frame_names, is_frame, is_missing
from ._settings import file_name

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(string)": object,
}
BATCH = 4096


def certify_onnx(
    onnx: Union[str, "os.PathLike[str]"],
    X: Any,
    y: Any,
    goal: str,
    path: Union[str, "os.PathLike[str]"],
    *,
    score: Optional[str] = None,
    confidence: float = 0.95,
    groups: Any = None,
    entities: Any = None,
    positive: Any = None,
) -> Certificate:
    """Scores rows with an ONNX classifier, certifies a threshold, and writes the classifier with its decision.

    The file at `path` is the one at `onnx` with two outputs more: `score`, and `decision`, 1 where the score
    is at least the threshold. `X` is an array for a classifier with one input, or a data frame or a
    dictionary with a column for each input by its name. The rows must be new to the classifier. `score` names
    the output with the scores, where there is doubt; of two columns, the second is taken.

    Needs onnxruntime. Everything else is as in `certify`.
    """
    import onnxruntime

    source, target = file_name(onnx), file_name(path)
    if os.path.exists(target) and os.path.samefile(source, target):
        raise InputError(f"path {target!r} is the classifier itself, which would be lost; write elsewhere")
    with open(source, "rb") as file:
        content = file.read()
    exposed, value = _setpoint.onnx_scores(content, score)
    session = onnxruntime.InferenceSession(exposed, providers=["CPUExecutionProvider"])
    scores = _run(session, value, _feed(session, X))
    if scores.ndim not in (1, 2) or (scores.ndim == 2 and scores.shape[1] not in (1, 2)):
        raise InputError(
            f"output {value!r} has the shape {scores.shape}: a threshold is for one number of each row, or two of two"
            " classes; decisions among more cannot be certified for a classifier of another's"
        )
    columns = scores.shape[1] if scores.ndim == 2 else 1
    one = scores[:, -1] if scores.ndim == 2 else scores
    certificate = certify(y, one, goal, confidence=confidence, groups=groups, entities=entities, positive=positive)
    known = (_column(goal), certificate.groups) if certificate.groups else None
    record = json.dumps(certificate.record)
    content = _setpoint.onnx_decided(content, score, columns, certificate.thresholds, known, goal, record)
    _setpoint.write_file(target, content)
    return certificate


def _feed(session: Any, X: Any) -> dict[str, np.ndarray]:
    """The inputs of a session from the columns of X, or from X as it is."""
    inputs = session.get_inputs()
    if not (is_frame(X) or isinstance(X, dict)):
        if len(inputs) != 1:
            names = [one.name for one in inputs]
            raise InputError(f"the classifier has the inputs {names}: pass a data frame with these columns")
        return {inputs[0].name: _typed(inputs[0], np.asarray(X))}
    names = frame_names(X) if is_frame(X) else list(X)
    if len(inputs) == 1 and inputs[0].name not in names:
        return {inputs[0].name: _typed(inputs[0], np.column_stack([np.asarray(X[name]) for name in names]))}
    fed = {}
    for one in inputs:
        if one.name not in names:
            raise InputError(f"the classifier takes a column {one.name!r}, which X has not")
        column = np.asarray(X[one.name])
        fed[one.name] = _typed(one, column.reshape(-1, 1) if len(one.shape) == 2 else column)
    return fed


def _typed(one: Any, values: np.ndarray) -> np.ndarray:
    if one.type not in TYPES:
        raise InputError(f"input {one.name!r} takes {one.type}, which cannot be fed from X")
    if one.type == "tensor(string)":
        texts = ["" if is_missing(value) else str(value) for value in values.ravel()]
        return np.array(texts, dtype=object).reshape(values.shape)
    try:
        if one.type == "tensor(int64)" and values.dtype.kind not in "iub":
            numbers = values.astype(np.float64)
            if not np.array_equal(numbers, np.rint(numbers)):
                raise ValueError("X has numbers that are not whole, or missing")
        return values.astype(TYPES[one.type])
    except (TypeError, ValueError) as error:
        raise InputError(f"input {one.name!r} takes {one.type}: {error}") from error


def _run(session: Any, value: str, fed: dict[str, np.ndarray]) -> np.ndarray:
    """The scores of all rows, some thousand at a time."""
    rows = len(next(iter(fed.values())))
    parts = [
        session.run([value], {name: values[start : start + BATCH] for name, values in fed.items()})[0]
        for start in range(0, rows, BATCH)
    ]
    return np.concatenate(parts)
