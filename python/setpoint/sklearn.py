"""Estimators for scikit-learn: train for the goal, or choose the threshold of any classifier."""

import json
import os
from typing import Any, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import _setpoint
from ._arrays import Groups, binary, coded, vector
from ._errors import InputError
from ._frames import csr, frame_columns, is_frame, is_numeric, is_sparse
from ._model import Model
from ._progress import Line
from .metrics import value_at

__all__ = ["SetpointClassifier", "SetpointThreshold"]


def _pair(y: np.ndarray) -> Optional[np.ndarray]:
    """The two values of whole numbers or booleans, without sorting them; none where it is not so simple."""
    if y.dtype.kind not in "biu" or len(y) == 0:
        return None
    low, high = y.min(), y.max()
    return np.array([low, high]) if low != high and np.all((y == low) | (y == high)) else None


def _two_classes(y: Any, positive: Any) -> tuple[np.ndarray, np.ndarray]:
    """The classes, negative first, and for each row whether it is positive."""
    found = _pair(y)
    if found is None:
        check_classification_targets(y)
        found = np.unique(y)
    classes = found
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}: {len(classes)} classes."
        )
    if len(classes) < 2:
        raise ValueError(
            "Classifier can't train when only one class is present: this solver needs samples of at least "
            f"2 classes in the data, but the data contains only one class: {classes[0]!r}"
        )
    if positive is not None:
        if positive not in classes:
            raise InputError(f"positive={positive!r} is not one of the labels {classes.tolist()}")
        classes = np.array([value for value in classes if value != positive] + [positive], dtype=classes.dtype)
    return classes, np.ascontiguousarray(y == classes[1])


def _counting(sample_weight: Any, labels: np.ndarray) -> tuple[Optional[np.ndarray], np.ndarray]:
    """The weights of the rows that count (those of weight 0 do not), none where all are equal; and which."""
    if sample_weight is None:
        return None, np.ones(len(labels), dtype=bool)
    rows = len(labels)
    weights = np.full(rows, sample_weight) if np.isscalar(sample_weight) else np.asarray(sample_weight)
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({rows},)!")
    weights = vector(weights, "sample_weight")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`")
    counting = weights > 0
    if not counting.any():
        raise ValueError("Sample weights must contain at least one non-zero number: all are zero")
    if len(np.unique(labels[counting])) < 2:
        raise ValueError("only one class is left once the rows of weight 0 are left out")
    weights = weights[counting]
    return (None if (weights == weights[0]).all() else weights), counting


class _Decides(ClassifierMixin):
    """What both estimators share: decisions by threshold, and the goal as the score."""

    def _column(self) -> Optional[str]:
        return _setpoint.check_goal(self.goal)[1]

    def _coded(self, groups: Any, rows: int) -> Optional[Groups]:
        column = self._column()
        if column is not None and groups is None:
            raise InputError(f"the goal has conditions on {column!r}: pass groups=, the group of each row")
        return coded(groups, column, rows)

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """The class of each row: positive where the score is at or above the threshold."""
        check_is_fitted(self, "classes_")
        return self.classes_[(self.decision_function(X, groups) > 0).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The goal's value where its conditions hold on this data; higher is better.

        Where less of the objective is better (`fnr`), its negative. This ranks models; what the shipped
        threshold gives, `setpoint.metrics.rates_at` tells.
        """
        truth = binary(column_or_1d(y), self.classes_[1])
        scores = self._scores(X)
        value = value_at(
            truth,
            scores,
            self.goal,
            sample_weight=sample_weight,
            groups=groups,
            shared_threshold=getattr(self, "shared_threshold", False),
        )
        return value if _setpoint.check_goal(self.goal)[2] else -value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


class SetpointClassifier(_Decides, BaseEstimator):
    """A classifier trained for its goal, with a threshold proved on rows that training never saw.

    `fit` shares out the rows (`split`), trains on one part, chooses between fits on another, and picks
    the threshold on the last so that the goal's conditions hold on new data with `confidence`. Numbers
    are standardised and texts of a data frame one-hot encoded inside, so no scaler is needed.

    Parameters
    ----------
    goal : what to improve, under which conditions (docs/goals.md).
    model : the kind of model: "linear".
    method : "auto", "ico", "cross-entropy", "lagrangian" or "pairwise".
    confidence : of the certificate; None for the threshold that holds on the calibration rows exactly.
    positive : the label that counts as positive; by default the greater of the two.
    split : shares of train, validation and calibration.
    rotations : how often train and validation rows change places, the fits averaged; 1 for never. By
        default 3 for "auto" on at most 100,000 rows. Rows that belong together must not change places.
    min_group : groups with fewer rows are pooled into "(other)".
    shared_threshold : one threshold for all groups; conditions on them are met by the model.
    allow_nan : take NaN and None in X for missing values, filled with the mean and flagged.
    random_state : seed of the split and of mini-batches.
    verbose : 1 shows a progress line on stderr.

    The others are those of `setpoint train --help`, by the same names; None leaves the default.

    Attributes
    ----------
    classes_ : the labels, negative first.
    thresholds_ : one, or one for each of `groups_`.
    certificate_ : what is proved about them, or None; `report_["certificate_refused"]` says why.
    report_ : the record of the run, as `setpoint train --json`.
    model_ : the `setpoint.Model`.
    """

    def __init__(
        self,
        goal: str = "recall @ fpr<=1%",
        *,
        model: str = "linear",
        method: str = "auto",
        confidence: Optional[float] = 0.95,
        positive: Any = None,
        split: str = "train=0.6,validation=0.2,calibration=0.2",
        rotations: Optional[int] = None,
        min_group: Optional[int] = None,
        shared_threshold: bool = False,
        allow_nan: bool = False,
        positive_weight: Union[float, str] = "auto",
        optimizer: str = "auto",
        learning_rate: Optional[float] = None,
        dual_learning_rate: Optional[float] = None,
        batch_size: Optional[int] = None,
        steps: Optional[int] = None,
        patience: Optional[int] = None,
        thresholds: str = "smooth",
        correct_every: Optional[int] = None,
        correct_batches: Optional[int] = None,
        pool: Optional[int] = None,
        mix: Optional[float] = None,
        surrogate: str = "sigmoid",
        bandwidth: Union[float, str, None] = None,
        ridge: Optional[float] = None,
        regulariser: Optional[float] = None,
        inequality: str = "active-set",
        bins: Optional[int] = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.goal = goal
        self.model = model
        self.method = method
        self.confidence = confidence
        self.positive = positive
        self.split = split
        self.rotations = rotations
        self.min_group = min_group
        self.shared_threshold = shared_threshold
        self.allow_nan = allow_nan
        self.positive_weight = positive_weight
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.dual_learning_rate = dual_learning_rate
        self.batch_size = batch_size
        self.steps = steps
        self.patience = patience
        self.thresholds = thresholds
        self.correct_every = correct_every
        self.correct_batches = correct_batches
        self.pool = pool
        self.mix = mix
        self.surrogate = surrogate
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.regulariser = regulariser
        self.inequality = inequality
        self.bins = bins
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> "SetpointClassifier":
        """Trains, chooses the threshold and certifies it.

        `groups` is the group of each row, for goals with conditions on groups.
        """
        X, y, names = self._fit_data(X, y)
        self.classes_, labels = _two_classes(y, self.positive)
        weights, kept = _counting(sample_weight, labels)
        coded_groups = self._coded(groups, len(labels))
        if not kept.all():
            labels, X = labels[kept], _rows(X, kept)
            if coded_groups is not None:
                coded_groups = self._coded(np.asarray(groups)[kept], len(labels))
        if weights is not None:
            weights = weights.astype(np.float32)
        line = Line(type(self).__name__) if self.verbose else None
        negative, positive = (str(value) for value in self.classes_)
        inner, record = _setpoint.fit(
            X,
            names,
            (self._label, positive, negative),
            labels,
            weights,
            coded_groups,
            self._options(names),
            line,
        )
        self.model_ = Model(inner)
        self.report_ = json.loads(record)
        self.thresholds_ = self.model_.thresholds
        self.groups_ = self.model_.groups
        self.certificate_ = self.report_["certificate"]
        if line is not None:
            line.close(f"kept {self.report_['winner']}")
        return self

    def _fit_data(self, X: Any, y: Any) -> tuple[Any, np.ndarray, list[str]]:
        """X as the compiled half takes it, y as a vector, and the names of the columns."""
        name = getattr(y, "name", None)
        if is_frame(X) and not is_numeric(X):
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, X, reset=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            names, columns = frame_columns(X)
            features: Any = columns
            self._refuse_missing(features)
        else:
            finite: Any = "allow-nan" if self.allow_nan and not is_sparse(X) else True
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite
            )
            features = csr(X) if is_sparse(X) else X
            known = getattr(self, "feature_names_in_", None)
            names = [f"x{i}" for i in range(self.n_features_in_)] if known is None else [str(n) for n in known]
            if is_sparse(X):
                names = []
        self._label = str(name) if isinstance(name, str) and name not in names else "label"
        while self._label in names:
            self._label += "_"
        return features, y, names

    def _refuse_missing(self, columns: list[Any]) -> None:
        if self.allow_nan:
            return
        for column in columns:
            found = (column[1] == 0xFFFFFFFF) if isinstance(column, tuple) else np.isnan(column)
            if found.any():
                raise ValueError("Input X contains NaN or None; allow_nan=True fills them in and flags them.")

    def _options(self, names: list[str]) -> str:
        """The settings by the names that the command line and the model file have for them."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        if seed < 0:
            raise InputError(f"random_state={seed}: expected a number of 0 or more")
        own = ("positive", "allow_nan", "random_state", "verbose")
        values = {name: value for name, value in self.get_params(deep=False).items() if name not in own}
        for name in ("positive_weight", "bandwidth"):
            values[name] = None if values[name] is None else str(values[name])
        values.update(seed=int(seed), columns=names)
        try:
            return json.dumps({name.replace("_", "-"): _plain(value) for name, value in values.items()})
        except TypeError as error:
            raise InputError(f"a setting cannot be used: {error}") from None

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        if is_frame(X) and not is_numeric(X):
            _check_feature_names(self, X, reset=False)
            if not self.allow_nan:
                self._refuse_missing(frame_columns(X)[1])
            return self.model_.scores(X)
        finite = "allow-nan" if self.allow_nan and not is_sparse(X) else True
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
        )
        if is_sparse(X) and self.model_._inner.inputs() is not None:
            X = X.toarray()
        elif not is_sparse(X) and self.model_._inner.inputs() is None:
            from scipy.sparse import csr_matrix

            X = csr_matrix(X)
        return self.model_.scores(X)

    def decision_function(self, X: Any, groups: Any = None) -> np.ndarray:
        """Score minus threshold; a score right at its threshold, which is positive, gets the smallest number."""
        scores = self._scores(X)
        return _strict(self.model_._inner.margins(scores, self.model_._groups(groups, len(scores))))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The chance of each class, in the order of `classes_`.

        A logistic curve through the calibration rows (Platt scaling), never falling in the score. The
        decisions of `predict` follow the goal's threshold, not a probability of one half.
        """
        positive = self.model_._inner.probabilities(self._scores(X)) if hasattr(self, "model_") else None
        check_is_fitted(self, "model_")
        assert positive is not None, "fitted models have probabilities"
        return np.column_stack([1 - positive, positive])

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model file, for `setpoint.load` and the command line."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.allow_nan
        return tags


def _strict(margins: np.ndarray) -> np.ndarray:
    """Margins whose sign decides: scikit-learn takes 0 for negative, and a score at its threshold is positive."""
    margins[margins == 0] = np.finfo(margins.dtype).tiny
    return margins


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _rows(X: Any, kept: np.ndarray) -> Any:
    """Some rows of features as the compiled half takes them."""
    if isinstance(X, np.ndarray):
        return X[kept]
    if isinstance(X, tuple):
        from scipy.sparse import csr_matrix

        starts, indices, values, columns = X
        return csr(csr_matrix((values, indices, starts), shape=(len(starts) - 1, columns))[kept])
    return [(c[0], c[1][kept]) if isinstance(c, tuple) else c[kept] for c in X]


class SetpointThreshold(_Decides, MetaEstimatorMixin, BaseEstimator):
    """The threshold of any classifier, chosen for a goal and certified on rows it was not trained on.

    Parameters
    ----------
    estimator : a classifier with `decision_function` or `predict_proba`.
    goal : what to improve, under which conditions.
    confidence : of the certificate; None for the threshold that holds on the calibration rows exactly.
    prefit : the estimator is fitted already; `fit` is then given calibration rows only, which it must
        not have been trained on.
    calibration : the share of the rows that is held out to choose the threshold, stratified, where the
        estimator is not fitted.
    positive : the label that counts as positive; by default the greater of the two.
    random_state : seed of that split.

    Attributes
    ----------
    estimator_ : the fitted classifier.
    classes_ : the labels, negative first.
    thresholds_ : on the classifier's scores; one, or one for each of `groups_`.
    certificate_ : what is proved about them, or None; then `certificate_refused_` says why.
    """

    def __init__(
        self,
        estimator: Any,
        goal: str = "recall @ fpr<=1%",
        *,
        confidence: Optional[float] = 0.95,
        prefit: bool = False,
        calibration: float = 0.3,
        positive: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.goal = goal
        self.confidence = confidence
        self.prefit = prefit
        self.calibration = calibration
        self.positive = positive
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any
    ) -> "SetpointThreshold":
        """Fits the classifier on some of the rows, unless it is fitted, and chooses on the others."""
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        if len(y) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 2 is required.")
        self.classes_, labels = _two_classes(y, self.positive)
        _, counting = _counting(sample_weight, labels)
        rows = np.flatnonzero(counting)
        if self.prefit:
            check_is_fitted(self.estimator)
            self.estimator_, held_out = self.estimator, rows
        else:
            training, held_out = train_test_split(
                rows, test_size=self.calibration, stratify=labels[rows], random_state=self.random_state
            )
            if sample_weight is not None and not np.isscalar(sample_weight):
                fit_params = {**fit_params, "sample_weight": np.asarray(sample_weight)[training]}
            self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, training), y[training], **fit_params)
        known = np.asarray(self.estimator_.classes_)
        if len(known) != 2 or set(known.tolist()) != set(self.classes_.tolist()):
            raise InputError(f"the estimator knows the labels {known.tolist()}, y holds {self.classes_.tolist()}")
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        scores = vector(self._scores(_safe_indexing(X, held_out)), "scores")
        weights = None
        if sample_weight is not None and not np.isscalar(sample_weight):
            weights, _ = _counting(np.asarray(sample_weight)[held_out], labels[held_out])
        coded_groups = None if groups is None else np.asarray(groups)[held_out]
        found = _setpoint.choose(
            self.goal,
            scores,
            np.ascontiguousarray(labels[held_out]),
            weights,
            self._coded(coded_groups, len(scores)),
            self.confidence,
        )
        thresholds, self.groups_, certificate, self.certificate_refused_ = found
        self.thresholds_ = np.array(thresholds)
        self.certificate_ = None if certificate is None else json.loads(certificate)
        return self

    def _scores(self, X: Any) -> np.ndarray:
        """The classifier's score for the positive class."""
        check_is_fitted(self, "estimator_")
        positive_last = np.asarray(self.estimator_.classes_)[1] == self.classes_[1]
        if hasattr(self.estimator_, "decision_function"):
            scores = np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
            return scores if positive_last else -scores
        probabilities = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        return np.ascontiguousarray(probabilities[:, 1 if positive_last else 0])

    def decision_function(self, X: Any, groups: Any = None) -> np.ndarray:
        """Score minus threshold; a score right at its threshold, which is positive, gets the smallest number."""
        scores = self._scores(X)
        if not self.groups_:
            return _strict(scores - self.thresholds_[0])
        found = self._coded(groups, len(scores))
        assert found is not None, "a goal with groups names their column"
        _, names, codes = found
        unknown = [name for name in names if name not in self.groups_]
        if unknown:
            raise InputError(f"groups {unknown}: no threshold is known for them; known are {self.groups_}")
        by_code = self.thresholds_[[self.groups_.index(name) for name in names]]
        return _strict(scores - by_code[codes])

    def predict_proba(self, X: Any) -> np.ndarray:
        """The classifier's probabilities, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        probabilities = self.estimator_.predict_proba(X)
        same = np.array_equal(self.estimator_.classes_, self.classes_)
        return probabilities if same else probabilities[:, ::-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
