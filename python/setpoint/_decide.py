"""What the estimators for scikit-learn share: two classes, weights, decisions by threshold."""

import reprlib
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _setpoint
from ._arrays import Groups, as_numpy, binary, coded, group_name, plain, vector
from ._errors import InputError, refuse_set
from ._frames import beside, frame_names, is_frame
from ._settings import read_goal, setting, shape
from .metrics import value_at

# The class that takes in the small ones, as the command line calls it.
OTHER_CLASSES = "(other)"


def pair(y: np.ndarray) -> Optional[np.ndarray]:
    """The two values of whole numbers or booleans, without sorting them; none where it is not so simple."""
    if y.dtype.kind not in "biu" or len(y) == 0:
        return None
    low, high = y.min(), y.max()
    return np.array([low, high]) if low != high and np.all((y == low) | (y == high)) else None


def two_classes(y: Any, positive: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The classes, negative first; for each row whether it is positive; and what to say of the choice."""
    notes = []
    found = pair(y)
    if found is None:
        check_classification_targets(y)
        found = np.unique(y)
    classes = found
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported by this goal or estimator. The type of the target is "
            f"{type_of_target(y)}: {len(classes)} classes."
        )
    refuse_one(classes)
    if positive is not None:
        if shape(positive) != () or positive not in classes:
            raise InputError(f"positive={reprlib.repr(positive)} is not one of the labels {classes.tolist()}")
        classes = np.array([value for value in classes if value != positive] + [positive], dtype=classes.dtype)
    else:
        known = plain(classes)
        if known is None or known[0] == known[1]:
            low, high = classes.tolist()
            greater = f"{high!r} counts as positive, the greater of the labels {low!r} and {high!r}"
            notes = [f"{greater}: say which with positive="]
        elif known[0]:
            classes = classes[::-1]
    return classes, np.ascontiguousarray(y == classes[1]), notes


def refuse_one(classes: np.ndarray) -> None:
    """Refuses labels that are all the same."""
    if len(classes) < 2:
        raise ValueError(
            "Classifier can't train when only one class is present: this solver needs samples of at least "
            f"2 classes in the data, but the data contains only one class: {classes[0]!r}"
        )


def several_classes(
    y: Any, column: str, order: Optional[Sequence[Any]] = None, least: Optional[int] = None
) -> tuple[np.ndarray, Groups, list[str]]:
    """The classes in order, the class of each row with the names that goals have for them, and the names of those
    with fewer rows than `least`, which are one, the last.
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    names = [group_name(value) for value in classes]
    if len({*names}) < len(names):
        raise InputError(f"labels that are written alike: {sorted(names)}")
    places = np.arange(len(names))
    if order is not None:
        wanted = [group_name(value) for value in order]
        for at, name in enumerate(wanted):
            if name in wanted[:at]:
                raise InputError(f"classes={reprlib.repr(order)}: {name!r} is named twice")
            if name not in names:
                raise InputError(f"classes={reprlib.repr(order)}: no label is {name!r}; there are {', '.join(names)}")
        places = np.array([names.index(name) for name in wanted])
    refuse_one(classes)
    counts = np.bincount(codes.reshape(-1))
    small = [place for place in places if least is not None and counts[place] < least]
    large = [place for place in places if place not in small]
    pooled = [names[place] for place in small]
    if small and least is not None and counts[small].sum() < least:
        raise InputError(
            f"min_class={least}: {', '.join(pooled)} have {counts[small].sum()} rows together, fewer than that; pass "
            "classes= to leave them out"
        )
    if len(large) + bool(small) < 2:
        raise InputError(f"min_class={least}: fewer than two classes are left")
    found, kept = np.empty(len(names), dtype=np.uint32), classes[large]
    found[large], found[small] = np.arange(len(large)), len(large)
    named = [names[place] for place in large]
    if small:
        of_texts = kept.dtype.kind in "US"
        kept = np.array([*kept.tolist(), OTHER_CLASSES], dtype=None if of_texts else object)
        named.append(OTHER_CLASSES)
    return kept, (column, named, found[codes.reshape(-1)]), pooled


def counting_rows(sample_weight: Any, labels: np.ndarray) -> tuple[Optional[np.ndarray], np.ndarray]:
    """The weights of the rows that count (those of weight 0 do not), none where all are equal; and which."""
    if sample_weight is None:
        return None, np.ones(len(labels), dtype=bool)
    rows = len(labels)
    scalar = np.isscalar(sample_weight)
    weights = np.full(rows, sample_weight) if scalar else as_numpy(sample_weight, "sample_weight")
    if weights.shape != (rows,):
        raise InputError(f"sample_weight.shape == {weights.shape}, expected ({rows},)!")
    weights = vector(weights, "sample_weight")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`")
    counting = weights > 0
    if not counting.any():
        raise ValueError("sample_weight must contain at least one non-zero number: all are zero")
    if len(np.unique(labels[counting])) < 2:
        raise ValueError("only one class is left once the rows of weight 0 are left out")
    weights = weights[counting]
    return (None if (weights == weights[0]).all() else weights), counting


def seed(random_state: Any) -> int:
    """A seed as scikit-learn has it: a whole number, a generator to draw it from, or None for any."""
    if isinstance(random_state, np.random.RandomState) or random_state is None:
        return int(check_random_state(random_state).randint(2**31 - 1))
    return int(setting("random_state", random_state, int))


class Decides(ClassifierMixin):
    """What both estimators share: decisions by threshold, and the goal as the score."""

    def __setattr__(self, name: str, value: Any) -> None:
        own = name.startswith("_") or name.endswith("_") or name in self._get_param_names()
        if not own or isinstance(getattr(type(self), name, None), property):
            raise refuse_set(self, name)
        super().__setattr__(name, value)

    def _column(self) -> Optional[str]:
        return read_goal(self.goal)[1]

    def _coded(self, groups: Any, rows: int) -> Optional[Groups]:
        return coded(groups, self._column(), rows)

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """The class of each row: positive where the score is at or above the threshold."""
        check_is_fitted(self, "classes_")
        return self._decide(self._scores(X), groups)

    def _decide(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        return self.classes_[(self._margins(scores, groups) > 0).astype(int)]

    def decision_function(self, X: Any, groups: Any = None) -> np.ndarray:
        """Score minus threshold; a score right at its threshold, which is positive, gets the smallest number."""
        return self._margins(self._scores(X), groups)

    def predict_frame(self, X: Any, groups: Any = None, *, keep: Any = None) -> Any:
        """Score, probability of the positive class where there is one, and decision, as columns of a frame.

        Beside them are the columns of X that `keep` names, or "all"; those that the model was not fitted on
        are not shown to it. The index is that of X.
        """
        check_is_fitted(self, "classes_")

        def decide(X: Any) -> dict[str, np.ndarray]:
            scores = self._scores(X)
            columns = {
                "score": scores,
                "probability": self._probability(scores),
                "decision": self._decide(scores, groups),
            }
            return {name: column for name, column in columns.items() if column is not None}

        return beside(X, keep, getattr(self, "feature_names_in_", None), decide)

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, amounts: Any = None) -> float:
        """The goal's value where its conditions hold on this data; higher is better.

        Where less of the objective is better (`fnr`), its negative. This ranks models; what the shipped
        threshold gives, `setpoint.metrics.rates_at` tells.
        """
        check_is_fitted(self, "classes_")
        truth = binary(column_or_1d(y), self.classes_[1])
        scores = self._scores(X)
        value = value_at(
            truth,
            scores,
            self.goal,
            sample_weight=sample_weight,
            groups=groups,
            shared_threshold=getattr(self, "shared_threshold", False),
            amounts=_amounts(self.goal, amounts, X),
        )
        return value if read_goal(self.goal)[2] else -value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


def _amounts(goal: str, amounts: Any, X: Any) -> Any:
    """The amounts given, or those that X has in columns that the goal names."""
    columns = _setpoint.amount_columns(goal) or []
    if amounts is not None or not (columns and is_frame(X)):
        return amounts
    return {name: X[name] for name in columns if name in frame_names(X)}


def strict(margins: np.ndarray) -> np.ndarray:
    """Margins whose sign decides: scikit-learn takes 0 for negative, and a score at its threshold is positive."""
    margins[margins == 0] = np.finfo(margins.dtype).tiny
    return margins
