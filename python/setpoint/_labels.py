"""SetpointLabels: several labels, certified together, in one file."""

import json
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import check_is_fitted

from . import _setpoint
from ._arrays import as_numpy
from ._classifier import SetpointClassifier
from ._errors import InputError
from ._frames import frame_names, is_frame
from ._settings import file_name, setting


class SetpointLabels(MultiOutputClassifier):
    """A `SetpointClassifier` for each of several labels, the conditions of all of them certified together.

    `y` has a column for each label, as an array of shape (n, labels) or a data frame. What `predict`, `predict_proba`
    and `score` return is as scikit-learn has it for several outputs: decisions of shape (n, labels), a list with the
    probabilities of each label, and the share of the rows that are right in all of them.

    Parameters
    ----------
    estimator : the `SetpointClassifier` that is fitted for each label; its `confidence` is that of all certificates
        together, and its goal that of labels without another.
    goals : the goals of labels by name, where they differ.

    Attributes
    ----------
    labels_ : the names of the labels: those of the frame's columns, or "y0", "y1", ...
    estimators_ : the classifier of each.
    classes_ : the classes of each.
    certificates_ : what is proved of each, or None.
    together_ : what is proved of all of them: `confidence`, `labels`, those `without` a certificate, and a `text`;
        None where nothing is.
    """

    n_jobs = None

    def __init__(
        self, estimator: Optional[SetpointClassifier] = None, *, goals: Optional[Mapping[str, str]] = None
    ) -> None:
        self.estimator = estimator
        self.goals = goals

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, entities: Any = None) -> Any:
        """Fits a classifier for each column of y; the other parameters are those of `SetpointClassifier.fit`."""
        base = SetpointClassifier() if self.estimator is None else self.estimator
        if not isinstance(base, SetpointClassifier):
            raise InputError(f"estimator is of type {type(base).__name__}: expected a SetpointClassifier")
        names, columns = _columns(y)
        goals = {name: setting("goals", goal, str) for name, goal in (self.goals or {}).items()}
        if unknown := [name for name in goals if name not in names]:
            raise InputError(f"goals: no label {unknown[0]!r}; the labels are {', '.join(names)}")
        own = [str(goals.get(name, base.goal)) for name in names]
        confidence = base.confidence
        if confidence is not None:
            # Each fails with its share of the chance that one of them fails.
            confidence = _setpoint.confidence_of_each(setting("confidence", confidence, float), own)
        self.estimators_ = []
        for name, goal, column in zip(names, own, columns):
            one = clone(base).set_params(goal=goal, confidence=confidence)
            one._named = name
            self.estimators_.append(one.fit(X, column, sample_weight, groups, entities))
        self.labels_ = names
        self.classes_ = [one.classes_ for one in self.estimators_]
        self.n_features_in_ = self.estimators_[0].n_features_in_
        if hasattr(self.estimators_[0], "feature_names_in_"):
            self.feature_names_in_ = self.estimators_[0].feature_names_in_
        return self

    @property
    def certificates_(self) -> list[Optional[dict[str, Any]]]:
        check_is_fitted(self, "estimators_")
        return [one.certificate_ for one in self.estimators_]

    @property
    def together_(self) -> Optional[dict[str, Any]]:
        check_is_fitted(self, "estimators_")
        models = [(name, one.model_._inner) for name, one in zip(self.labels_, self.estimators_)]
        found = _setpoint.together_of(models)
        return None if found is None else json.loads(found)

    def decision_function(self, X: Any, groups: Any = None) -> list[np.ndarray]:
        """What the classifier of each label returns."""
        check_is_fitted(self, "estimators_")
        return [one.decision_function(X, groups) for one in self.estimators_]

    def evaluate(self, X: Any, y: Any, **given: Any) -> dict[str, dict[str, Any]]:
        """What `SetpointClassifier.evaluate` returns, by label."""
        check_is_fitted(self, "estimators_")
        _, columns = _columns(y)
        if len(columns) != len(self.labels_):
            raise InputError(f"y has {len(columns)} columns: expected {len(self.labels_)}, one for each label")
        labelled = zip(self.labels_, self.estimators_, columns)
        return {name: one.evaluate(X, column, **given) for name, one, column in labelled}

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes one file with the models of all labels, for the command line and `setpoint.load(path, label)`."""
        check_is_fitted(self, "estimators_")
        models = [(name, one.model_._inner) for name, one in zip(self.labels_, self.estimators_)]
        _setpoint.save_labels(models, file_name(path))


def _columns(y: Any) -> tuple[list[str], list[Any]]:
    """The names of the labels, and the column of each."""
    if is_frame(y):
        names = [str(name) for name in frame_names(y)]
        columns = [y[name] for name in frame_names(y)]
    else:
        found = as_numpy(y, "y")
        if found.ndim != 2:
            raise InputError(
                f"y has shape {found.shape}: expected a column for each label; of one, SetpointClassifier"
            )
        names, columns = [f"y{place}" for place in range(found.shape[1])], list(found.T)
    if len(names) < 2 or len({*names}) < len(names):
        raise InputError(f"labels {names}: expected two or more, by different names")
    return names, columns
