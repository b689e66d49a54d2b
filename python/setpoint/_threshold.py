"""SetpointThreshold: the threshold of any classifier."""

import json
import os
from typing import Any, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _setpoint
from ._arrays import Groups, array, binary, group_name, measured, pays, together, vector
from ._decide import Decides, counting_rows, seed, strict, two_classes
from ._errors import InputError, tell, tell_uncertified
from ._scores import measure
from ._settings import file_name, page_name, probability, refuse, setting

# What a file keeps of the attributes, besides classes and thresholds.
KEPT = ("groups", "certificate", "approximate", "certificate_refused")


class SetpointThreshold(Decides, MetaEstimatorMixin, BaseEstimator):
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
    threshold_ : on the scale of the classifier's `predict_proba`, where it has one, else of its
        `decision_function`; None where each of `groups_` has its own.
    thresholds_ : the same as an array: one, or one for each of `groups_`.
    certificate_ : what is proved about them, or None; then `certificate_refused_` says why.
    approximate_ : where rows come in too few entities for a proof: what is likely, and not proved.
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
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        entities: Any = None,
        amounts: Any = None,
        **fit_params: Any,
    ) -> "SetpointThreshold":
        """Fits the classifier on some of the rows, unless it is fitted, and chooses on the others.

        `entities` says which rows belong together: they stay on one side, and are counted as one draw. `amounts` are
        those of a goal in money: a mapping or frame by the goal's columns, or the values alone where it names one;
        columns of X need not be given.
        """
        if not (hasattr(self.estimator, "decision_function") or hasattr(self.estimator, "predict_proba")):
            raise refuse("estimator", self.estimator, "a classifier with decision_function or predict_proba")
        if X is None:
            raise refuse("X", X, "a row of features for each label")
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        level = None if self.confidence is None else probability("confidence", self.confidence)
        share = probability("calibration", self.calibration)
        self._coded(groups, len(y))
        coded_entities = together(entities, len(y))
        if len(y) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 2 is required.")
        self.classes_, labels, notes = two_classes(y, self.positive)
        paid = pays(self.goal, labels, amounts, X)
        _, counting = counting_rows(sample_weight, labels)
        rows = np.flatnonzero(counting)
        if setting("prefit", self.prefit, bool):
            check_is_fitted(self.estimator)
            self.estimator_, held_out = self.estimator, rows
        else:
            training, held_out = self._split(rows, labels, share, coded_entities)
            if sample_weight is not None and not np.isscalar(sample_weight):
                fit_params = {**fit_params, "sample_weight": np.asarray(sample_weight)[training]}
            self.estimator_ = clone(self.estimator).fit(_safe_indexing(X, training), y[training], **fit_params)
        self._check_classes()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        scores = vector(self._scores(_safe_indexing(X, held_out)), "scores")
        weights = None
        if sample_weight is not None and not np.isscalar(sample_weight):
            weights, _ = counting_rows(np.asarray(sample_weight)[held_out], labels[held_out])
        coded_groups = None if self._column() is None else array(groups, "groups")[held_out]
        self._rows = (
            np.ascontiguousarray(labels[held_out]),
            scores,
            weights,
            self._coded(coded_groups, len(scores)),
            None if coded_entities is None else (*coded_entities[:2], coded_entities[2][held_out]),
        )
        self._paid = None if paid is None else np.ascontiguousarray(paid.reshape(-1, 2)[held_out].ravel())
        thresholds, self.groups_, certificate, approximate, refused = _setpoint.choose(
            self.goal, *self._rows, self._paid, level
        )
        self._thresholds, self.certificate_refused_ = np.array(thresholds), refused
        self.certificate_ = None if certificate is None else json.loads(certificate)
        self.approximate_ = None if approximate is None else json.loads(approximate)
        tell(notes)
        tell_uncertified(self.certificate_refused_)
        return self

    # What the certificate is of, so it cannot be set.
    thresholds_ = property(lambda self: self._thresholds)
    threshold_ = property(lambda self: None if self.groups_ else float(self._thresholds[0]))

    def _check_classes(self) -> None:
        known = np.asarray(self.estimator_.classes_)
        if len(known) != 2 or set(known.tolist()) != set(self.classes_.tolist()):
            raise InputError(f"the estimator knows the labels {known.tolist()}, y holds {self.classes_.tolist()}")

    def _split(
        self, rows: np.ndarray, labels: np.ndarray, share: float, entities: Optional[Groups]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and rows held out, entities whole."""
        state = seed(self.random_state)
        if entities is None:
            return train_test_split(rows, test_size=share, stratify=labels[rows], random_state=state)
        splitter = GroupShuffleSplit(1, test_size=share, random_state=state)
        training, held_out = next(splitter.split(rows, groups=entities[2][rows]))
        return rows[training], rows[held_out]

    def _scores(self, X: Any) -> np.ndarray:
        """The classifier's score for the positive class."""
        check_is_fitted(self, "estimator_")
        positive_last = np.asarray(self.estimator_.classes_)[1] == self.classes_[1]
        if hasattr(self.estimator_, "predict_proba"):
            probabilities = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
            return np.ascontiguousarray(probabilities[:, 1 if positive_last else 0])
        scores = np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
        return scores if positive_last else -scores

    def _probability(self, scores: np.ndarray) -> Optional[np.ndarray]:
        return scores if hasattr(self.estimator_, "predict_proba") else None

    def _margins(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        if not self.groups_:
            return strict(scores - self.thresholds_[0])
        found = self._coded(groups, len(scores))
        assert found is not None, "a goal with groups names their column"
        _, names, codes = found
        known = [group_name(name) for name in self.groups_]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InputError(f"groups {unknown}: no threshold is known for them; known are {self.groups_}")
        by_code = self.thresholds_[[known.index(name) for name in names]]
        return strict(scores - by_code[codes])

    def predict_proba(self, X: Any) -> np.ndarray:
        """The classifier's probabilities, in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        probabilities = self.estimator_.predict_proba(X)
        same = np.array_equal(self.estimator_.classes_, self.classes_)
        return probabilities if same else probabilities[:, ::-1]

    def evaluate(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        entities: Any = None,
        amounts: Any = None,
        confidence: float = 0.95,
        _page: Optional[tuple[str, str]] = None,
    ) -> dict[str, Any]:
        """Metrics with intervals on labelled rows, and whether the certificate holds there, as `setpoint.evaluate`.

        Without rows those that the threshold was chosen on, which cannot test it. `amounts` as in `fit`.
        """
        check_is_fitted(self, "thresholds_")
        level = probability("confidence", confidence)
        certificate, approximate = (
            None if one is None else json.dumps(one) for one in (self.certificate_, self.approximate_)
        )
        found = (self.thresholds_.tolist(), self.groups_, certificate, approximate, self.certificate_refused_)
        if X is None:
            if not hasattr(self, "_rows"):
                raise refuse("X", X, "labelled rows; those that the threshold was chosen on are not kept in a file")
            about: dict[str, Any] = {"positive": self.classes_[1], "here": True, "level": level, "page": _page}
            return measure(self.goal, self._rows, found, paid=self._paid, **about)
        truth, column = binary(column_or_1d(y), self.classes_[1]), self._column()
        column = column or (None if groups is None else "groups")
        rows = measured(truth, vector(self._scores(X), "scores"), sample_weight, groups, column, entities)
        paid = pays(self.goal, truth, amounts, X)
        return measure(self.goal, rows, found, paid=paid, positive=self.classes_[1], level=level, page=_page)

    def report(
        self,
        path: Union[str, "os.PathLike[str]"],
        X: Any = None,
        y: Any = None,
        *,
        title: Optional[str] = None,
        **given: Any,
    ) -> dict[str, Any]:
        """Writes the report, a page to look at; takes and returns what `evaluate` does."""
        shown = f"{type(self.estimator).__name__}, {'calibration' if X is None else 'labelled'} rows"
        return self.evaluate(X, y, _page=page_name(path, shown if title is None else title), **given)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes goal, thresholds and certificate to a file of JSON; the classifier is its library's to save."""
        check_is_fitted(self, "thresholds_")
        held = {"setpoint": _setpoint.__version__, "goal": self.goal, "classes": self.classes_.tolist()}
        held.update(thresholds=self.thresholds_.tolist(), **{name: getattr(self, f"{name}_") for name in KEPT})
        _setpoint.write_file(file_name(path), (json.dumps(held, indent=2) + "\n").encode())

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"], estimator: Any) -> "SetpointThreshold":
        """The threshold that `save` wrote, for the same classifier, fitted."""
        name = file_name(path)
        with open(name, encoding="utf-8") as file:
            try:
                held = json.load(file)
                found = cls(estimator, held["goal"], prefit=True, positive=held["classes"][1])
                found.classes_, found._thresholds = np.array(held["classes"]), np.array(held["thresholds"], float)
                for kept in KEPT:
                    setattr(found, f"{kept}_", held[kept])
            except (ValueError, KeyError, TypeError, IndexError):
                raise InputError(f"{name}: expected a file that SetpointThreshold.save wrote") from None
        found.estimator_ = estimator
        found._check_classes()
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
