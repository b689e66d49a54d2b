"""What the estimators that train share: their settings, their rows, and the file."""

import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar, Union

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ._arrays import MISSING_TEXTS, array
from ._decide import seed
from ._frames import (
    aligned,
    csr,
    frame_columns,
    frame_names,
    is_frame,
    is_numeric,
    is_sparse,
    missing_rows,
    refuse_twice,
)
from ._model import Model
from ._settings import TRAINING, setting

_Init = TypeVar("_Init", bound=Callable[..., None])


def with_training(init: _Init) -> _Init:
    """Puts the settings of training into the signature that scikit-learn reads the parameters from."""
    signature = inspect.signature(init)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    vars(init)["__signature__"] = signature.replace(parameters=[*own, *TRAINING.values()])
    return init


class Trains(BaseEstimator):
    """An estimator that trains a model; `_fit_data` and `_scores` bring rows to the compiled half."""

    model_: Model

    def _take(self, given: dict[str, Any], training: dict[str, Any]) -> None:
        """Keeps the parameters of `__init__`, those of training among them."""
        own = {name: value for name, value in given.items() if name not in ("self", "training", "__class__")}
        own.update((name, training.pop(name, parameter.default)) for name, parameter in TRAINING.items())
        for name in training:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {name!r}")
        self.__dict__.update(own)

    def _settings(self, kind: type, *own: str) -> dict[str, Any]:
        """The settings of this kind of estimator by the names that the command line and the model file have for
        them; `own` are left out.
        """
        kinds = inspect.signature(kind).parameters
        values = {
            name: setting(name, value, kinds[name].annotation)
            for name, value in self.get_params(deep=False).items()
            if name not in (*own, "random_state", "classes", "text", "memory", "scratch")
        }
        del values["allow_nan"], values["verbose"]
        values["text"] = None if self.text is None else [str(name) for name in array(self.text, "text")]
        values["seed"] = seed(self.random_state)
        return {name.replace("_", "-"): value for name, value in values.items()}

    def _fit_data(self, X: Any, y: Any) -> tuple[Any, np.ndarray, list[str]]:
        """X as the compiled half takes it, y as a vector, and the names of the columns."""
        name = getattr(self, "_named", None) or getattr(y, "name", None)
        if is_frame(X):
            refuse_twice(frame_names(X))
        if is_frame(X) and not is_numeric(X):
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, X, reset=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            names, columns = frame_columns(X)
            features: Any = columns
            self._refuse_missing(names, columns)
        else:
            X, y = validate_data(self, X, y, **self._accepts(X))
            features = csr(X) if is_sparse(X) else aligned(X)
            known = getattr(self, "feature_names_in_", None)
            if is_sparse(X):
                names = []
            else:
                names = [f"x{i}" for i in range(self.n_features_in_)] if known is None else [str(n) for n in known]
        self._label = str(name) if isinstance(name, str) and name not in names else "label"
        while self._label in names:
            self._label += "_"
        return features, y, names

    def _takes_missing(self) -> bool:
        return bool(self.allow_nan) or self.model == "trees"

    def _accepts(self, X: Any) -> dict[str, Any]:
        """What scikit-learn is to accept as a matrix."""
        finite = "allow-nan" if self._takes_missing() and not is_sparse(X) else True
        return {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": finite}

    def _refuse_missing(self, names: list[str], columns: list[Any], fitted: bool = False) -> None:
        if self._takes_missing():
            return
        for name, column in zip(names, columns):
            if missing_rows(column).any():
                raise ValueError("Input X contains NaN or None; allow_nan=True fills them in and flags them.")
            texts = column[0] if isinstance(column, tuple) and len(column) == 3 and not fitted else []
            for text in texts:
                if text.strip().lower() in MISSING_TEXTS:
                    raise ValueError(
                        f"Input X contains {text!r} in column {name!r}, which counts as missing, as NaN does; "
                        "allow_nan=True fills them in and flags them."
                    )

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        if not hasattr(self, "n_features_in_"):
            return self.model_.scores(X)
        inputs = self.model_._inner.inputs()
        # A column of texts in training may hold numbers alone in these rows.
        if is_frame(X) and not (is_numeric(X) and all(number for _, number in inputs or [])):
            _check_feature_names(self, X, reset=False)
            if not self._takes_missing():
                self._refuse_missing(*frame_columns(X), fitted=True)
            return self.model_.scores(X)
        X = validate_data(self, X, reset=False, **self._accepts(X))
        if is_sparse(X) and inputs is not None:
            X = X.toarray()
        elif not is_sparse(X) and inputs is None:
            from scipy.sparse import csr_matrix

            X = csr_matrix(X)
        return self.model_.scores(X)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model file, for `setpoint.load` and the command line."""
        check_is_fitted(self, "model_")
        self.model_.save(path)
