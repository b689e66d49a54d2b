"""SetpointClassifier: trained for its goal."""

import json
import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _setpoint
from ._arrays import Groups, array, class_codes, group_name, pays, together, vector
from ._boost import name_lightgbm
from ._decide import Decides, counting_rows, pair, several_classes, strict, two_classes
from ._errors import GoalError, InputError, UncertifiedWarning, tell, tell_uncertified
from ._frames import beside, some_rows
from ._model import Model, decided
from ._progress import Line
from ._settings import file_name, setting, training_help
from ._train_file import NAMES, classes_of, train_file
from ._trains import Trains, with_training


class SetpointClassifier(Decides, Trains):
    """A classifier trained for its goal, with a threshold proved on rows that training never saw.

    `fit` shares out the rows (`split`), trains on one part, chooses between fits on another, and picks
    the threshold on the last so that the goal's conditions hold on new data with `confidence`. Numbers
    are standardised and texts of a data frame one-hot encoded inside, so no scaler is needed.

    Parameters
    ----------
    goal : what to improve, under which conditions (docs/goals.md). With labels of more than two values it is
        one of several classes, such as "macro-f1" or "recall(shirt) @ precision(shirt)>=0.9".
    model : the kind of model: "linear", "mlp" for a network of dense layers, "trees" for boosted trees (grown by
        LightGBM, which must be installed; scoring does without it), or "auto" for the better of linear and, where
        LightGBM is installed, trees: `report_["kinds"]` has both.
    hidden : sizes of the network's hidden layers.
    dropout : share of hidden values left out at random while learning.
    search : how many configurations of trees are tried; by default 12, fewer of many rows.
    rounds : most rounds of boosting.
    time : seconds that training may take, about: what trees have by then is used.
    confidence : of the certificate; None for the threshold that holds on the calibration rows exactly.
    positive : the label that counts as positive; by default the greater of the two.
    classes : of a label of several classes these alone, in this order; rows of others are left out.
    min_class : classes with fewer rows are pooled into "(other)".
    text : columns of a frame to read as texts, word by word, even if they do not look like it.
    split : shares of train, validation and calibration.
    min_group : groups with fewer rows are pooled into "(other)".
    allow_nan : take NaN and None in X for missing values, filled with the mean and flagged; False raises an
        error instead. Trees take them as they are, always.
    random_state : seed of the split and of mini-batches.
    memory : of a file, what rows may take, such as "2GB": more of them go to a scratch file, from which linear
        models of two classes train.
    scratch : folder of the scratch file; by default that of the data.
    abstain : what `predict` gives for rows that a goal of coverage leaves undecided; None for the class whose
        threshold is nearer. `abstained_` says which rows those are.
    verbose : 1 shows a progress line on stderr.
    {training}

    None leaves the default of those that are of training.

    Attributes
    ----------
    classes_ : the labels, negative first; several classes are in order.
    thresholds_ : one, or one for each of `groups_`.
    shifts_ : of several classes, what is subtracted from the score of each before the largest is taken.
    certificate_ : what is proved about them, or None; `report_["certificate_refused"]` says why.
    approximate_ : where rows come in too few entities for a proof: what is likely, and not proved.
    abstained_ : of a goal of coverage, the rows that the last `predict` left undecided.
    report_ : the record of the run, as `setpoint train --json`.
    model_ : the `setpoint.Model`.
    """

    @with_training
    def __init__(
        self,
        goal: str = "recall @ fpr<=1%",
        *,
        model: str = "auto",
        hidden: Sequence[int] = (256, 128),
        dropout: float = 0.0,
        search: Optional[int] = None,
        rounds: Optional[int] = None,
        time: Optional[float] = None,
        confidence: Optional[float] = 0.95,
        positive: Any = None,
        classes: Optional[Sequence[Any]] = None,
        min_class: Optional[int] = None,
        text: Optional[Sequence[str]] = None,
        split: str = "train=0.6,validation=0.2,calibration=0.2",
        min_group: Optional[int] = None,
        allow_nan: bool = True,
        random_state: Any = 0,
        memory: Optional[str] = None,
        scratch: Optional[str] = None,
        abstain: Any = None,
        verbose: Union[bool, int] = 0,
        **training: Any,
    ) -> None:
        self._take(locals(), training)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        entities: Any = None,
        amounts: Any = None,
        *,
        label: Optional[str] = None,
    ) -> "SetpointClassifier":
        """Trains, chooses the threshold and certifies it.

        X may be the path of a file, whose column `label` holds the labels: `sample_weight` and `entities` name
        columns of it then, and the goal names those of groups and amounts.

        `groups` is the group of each row, for goals with conditions on groups. `entities` says which rows
        belong together (patient, customer, query): they stay in one part, and are counted as one draw.
        `amounts` are those of a goal in money: a mapping or frame by the goal's columns, or the values alone where it
        names one; columns of X that the goal names need not be given.
        """
        settings, table = self._settings(SetpointClassifier, "positive", "abstain"), X
        if isinstance(X, (str, os.PathLike)):
            for name, given in [("y", y), ("groups", groups), ("amounts", amounts)]:
                if given is not None:
                    raise InputError(f"{name}=: of a file that is a column, which label= or the goal names")
            roles = {"label": label, "weight": sample_weight, "split-by": entities}
            return self._fit_file(file_name(X), settings, roles)
        for name, given in [("label", label), ("memory", self.memory), ("scratch", self.scratch)]:
            if given is not None:
                raise InputError(f"{name}=: is for files, whose path is in the place of X; leave it out")
        settings["classes"] = (
            None if self.classes is None else [group_name(one) for one in array(self.classes, "classes")]
        )
        X, y, names = self._fit_data(X, y)
        several, pooled = self._is_of_classes(y), list[str]()
        if several:
            if groups is not None:
                raise InputError("groups= is for goals of two classes: leave it out")
            X, y, sample_weight, entities, notes = self._of_classes(X, y, sample_weight, entities)
            self.classes_, codes, pooled = several_classes(y, self._label, self.classes, self.min_class)
            labels = np.ones(len(y), dtype=bool)
            weights, kept = counting_rows(sample_weight, codes[2])
            coded_groups: Optional[Groups] = codes
        else:
            self.classes_, labels, notes = two_classes(y, self.positive)
            weights, kept = counting_rows(sample_weight, labels)
            coded_groups = self._coded(groups, len(labels))
        paid = None if several else pays(self.goal, labels, amounts, table)
        coded_entities = together(entities, len(labels))
        if not kept.all():
            if coded_entities is not None:
                coded_entities = (*coded_entities[:2], coded_entities[2][kept])
            labels, X = labels[kept], some_rows(X, kept)
            paid = None if paid is None else np.ascontiguousarray(paid.reshape(-1, 2)[kept]).reshape(-1)
            if several:
                y = np.asarray(y)[kept]
                self.classes_, coded_groups, pooled = several_classes(y, self._label, self.classes, self.min_class)
            elif coded_groups is not None:
                coded_groups = self._coded(np.asarray(groups)[kept], len(labels))
        if weights is not None:
            weights = weights.astype(np.float32)
        if self.model in ("auto", "trees"):
            name_lightgbm()
        line = Line(type(self).__name__) if self.verbose else None
        rule: Any = (self._label, *map(str, self.classes_[::-1]))
        if several and coded_groups is not None:
            rule = (self._label, coded_groups[1], pooled, self.classes is not None)
        inner, record, warned = _setpoint.fit(
            X,
            names,
            rule,
            labels,
            None,
            weights,
            coded_groups,
            coded_entities,
            paid,
            json.dumps({**settings, "columns": names}),
            line,
        )
        self.model_ = Model(inner)
        self.report_ = json.loads(record)
        self.report_["notes"][:0] = notes
        if line is not None:
            line.close(f"kept {self.report_['winner']}")
        tell(self.report_["notes"])
        tell(warned, UncertifiedWarning)
        return self

    def _fit_file(self, path: str, settings: dict[str, Any], roles: dict[str, Any]) -> "SetpointClassifier":
        if roles["label"] is None:
            raise InputError("a file has its labels in a column: say which with label=")
        if not self.allow_nan:
            raise InputError("allow_nan=False: is for arrays and frames; leave it out for a file")
        if self.model in ("auto", "trees"):
            name_lightgbm()
        own = {**roles, "memory": self.memory, "scratch": self.scratch}
        flags = {name: setting(NAMES.get(name, name), value, Optional[str]) for name, value in own.items()}
        flags.update(positive=self.positive, classes=self.classes)
        self.model_, self.report_, unmet = train_file(path, settings, flags, bool(self.verbose))
        self.classes_ = classes_of(self.model_)
        # Frames are known by the names of their columns, of which the file may have more than the model.
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        tell(self.report_["notes"])
        tell_uncertified(self.report_["certificate_refused"], unmet, bool(self.model_.classes))
        return self

    def _is_of_classes(self, y: Any) -> bool:
        """Whether the goal is one of several classes, with these labels."""
        named = next((name for name in ("classes", "min_class") if getattr(self, name) is not None), None)
        if self.positive is not None:
            if named is not None:
                raise InputError(f"{named}=: with positive= the label has two classes; give one of them")
            return False
        two, classes, queries = _setpoint.kinds_of_goal(setting("goal", self.goal, str))
        if queries:
            raise InputError(f"goal {self.goal!r}: is per query; use SetpointRanker")
        if named is not None and not classes:
            raise InputError(f"{named}=: the goal is of two classes; give one of several, such as macro-f1")
        if self.classes is not None:
            return True
        if not (two and classes):
            return classes
        return pair(np.asarray(y)) is None and len(np.unique(y)) > 2

    def _of_classes(self, X: Any, y: Any, sample_weight: Any, entities: Any) -> tuple[Any, ...]:
        """The rows of the classes that are named, and what to say of the others."""
        notes: list[str] = []
        if self.classes is None:
            return X, y, sample_weight, entities, notes
        kept = class_codes(y, [group_name(one) for one in self.classes], others=True) < len(self.classes)
        if not kept.all():
            notes.append(f"{(~kept).sum()} rows of other classes were left out")
            X, y = some_rows(X, kept), np.asarray(y)[kept]
            if sample_weight is not None and not np.isscalar(sample_weight):
                sample_weight = array(sample_weight, "sample_weight")[kept]
            entities = None if entities is None else array(entities, "entities")[kept]
        return X, y, sample_weight, entities, notes

    # Read from the model: set, they would change nothing, and so they cannot be.
    thresholds_ = property(lambda self: self.model_.thresholds)
    groups_ = property(lambda self: self.model_.groups)
    shifts_ = property(lambda self: self.model_.shifts)
    certificate_ = property(lambda self: self.report_["certificate"])
    approximate_ = property(lambda self: self.report_["approximate"])

    def _margins(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        if self.model_.classes or self.model_._inner.band() is not None:
            return self.model_._margins(scores, groups)
        return strict(self.model_._inner.margins(scores, self.model_._groups(groups, len(scores))))

    def _probability(self, scores: np.ndarray) -> Optional[np.ndarray]:
        return self.model_._probabilities(scores)

    def _decide(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        band = self.model_._inner.band()
        if band is not None:
            undecided, self.abstained_ = self.abstain, (scores < band[0]) & (scores >= band[1])
            found = self.classes_[(self._margins(scores, groups) > 0).astype(int)]
            return found if undecided is None else np.where(self.abstained_, undecided, found.astype(object))
        if self.model_.classes:
            return self.classes_[decided(self._margins(scores, groups))]
        return super()._decide(scores, groups)

    def predict_frame(self, X: Any, groups: Any = None, *, keep: Any = None) -> Any:
        """Scores, probabilities and decision as columns of a frame; of several classes a score and a probability
        for each. Beside them are the columns of X that `keep` names, or "all"; the index is that of X.
        """
        check_is_fitted(self, "classes_")
        if not self.model_.classes:
            return super().predict_frame(X, groups, keep=keep)
        known = getattr(self, "feature_names_in_", None)
        return beside(X, keep, known, lambda X: self.model_._columns(self._scores(X), self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, amounts: Any = None) -> float:
        """The goal's value where its conditions hold on this data, higher is better; of several classes at the
        best shifts for this data. This ranks models; what ships, `evaluate` tells.
        """
        check_is_fitted(self, "classes_")
        if not self.model_.classes:
            return super().score(X, y, sample_weight, groups, amounts)
        codes, kept = self.model_._codes(column_or_1d(y))
        weights = None if sample_weight is None else vector(sample_weight, "sample_weight")[kept]
        scores = np.ascontiguousarray(self._scores(X)[kept])
        return _setpoint.value_of_classes(self.goal, codes, scores.reshape(-1), weights)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The chance of each class, in the order of `classes_`.

        A logistic curve through the calibration rows (Platt scaling), never falling in the score; of several
        classes a softmax with one slope and a shift for each. The
        decisions of `predict` follow the goal's threshold, not a probability of one half.
        """
        positive = self._probability(self._scores(X))
        assert positive is not None, "fitted models have probabilities"
        return positive if self.model_.classes else np.column_stack([1 - positive, positive])

    def evaluate(self, X: Any, y: Any, **given: Any) -> dict[str, Any]:
        """Metrics with intervals on labelled rows; the parameters are those of `setpoint.Model.evaluate`."""
        check_is_fitted(self, "model_")
        return self.model_.evaluate(X, y, **{**self._positive(), **given})

    def importance(self, X: Any, y: Any, **given: Any) -> Any:
        """The columns that the goal's value is owed to, as a frame; the parameters are those of
        `setpoint.Model.importance`."""
        check_is_fitted(self, "model_")
        return self.model_.importance(X, y, **{**self._positive(), **given})

    def report(self, path: Union[str, "os.PathLike[str]"], X: Any, y: Any, **given: Any) -> dict[str, Any]:
        """Writes the report of the model on labelled rows, a page to look at; returns what `evaluate` does."""
        check_is_fitted(self, "model_")
        return self.model_.report(path, X, y, **{**self._positive(), **given})

    def _positive(self) -> dict[str, Any]:
        return {} if self.model_.classes else {"positive": self.classes_[1]}

    def to_onnx(self, path: Union[str, "os.PathLike[str]"], X: Any = None, groups: Any = None) -> None:
        """Writes an ONNX file with the decision inside; see `Model.to_onnx`. It decides 1 for the positive class
        and -1 for rows left undecided, or one of several classes by name."""
        check_is_fitted(self, "model_")
        self.model_.to_onnx(path, X, groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        try:
            of_classes = _setpoint.kinds_of_goal(str(self.goal))[1]
        except GoalError:
            of_classes = False
        tags.classifier_tags.multi_class = of_classes and self.positive is None and self.model != "trees"
        tags.input_tags.allow_nan = self._takes_missing()
        return tags


SetpointClassifier.__doc__ = (SetpointClassifier.__doc__ or "").replace("{training}", training_help())
