"""A trained model: scores, decisions, what is known of it."""

import json
import os
from typing import Any, Optional, Union

import numpy as np

from . import _setpoint
from ._arrays import Groups, Labelled, array, binary, class_codes, coded, group_name, measured, pays
from ._errors import InputError, refuse_set, tell
from ._frames import MISSING, beside, for_model, is_frame, some_rows, texts
from ._queries import query_codes, ranked, taken
from ._settings import file_name, page_name, probability, setting


class Model:
    """A model file, ready to score: one that `setpoint train` wrote, or `SetpointClassifier.save`.

    Decisions are `score >= threshold`; of several classes, the largest of score minus shift. `X` is a data frame with
    the columns of training by name, or an array with the columns in the order of `feature_names`.
    """

    def __init__(self, inner: _setpoint.Model) -> None:
        vars(self).update(_inner=inner, document=json.loads(inner.document()))

    _inner: _setpoint.Model
    document: dict[str, Any]
    """What the file says."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise refuse_set(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self._inner.to_bytes(),)

    def __repr__(self) -> str:
        of = f"classes {self.classes}" if self.classes else f"thresholds {self.thresholds.tolist()}"
        if self._per_query is not None:
            of = f"queries by {self.query_column!r}"
        return f"<setpoint.Model for {self.goal!r}, {of}>"

    @property
    def goal(self) -> str:
        """What it was trained for."""
        return str(self.document["goal"])

    @property
    def feature_names(self) -> list[str]:
        """The columns of training, as far as the file knows them; all that it needs are among them."""
        known = self.document["settings"].get("columns")
        inputs = self._inner.inputs()
        if known:
            return list(known)
        return [name for name, _ in inputs] if inputs else []

    @property
    def thresholds(self) -> np.ndarray:
        """One, or one for each of `groups`."""
        return self._inner.thresholds()

    @property
    def _several(self) -> dict[str, Any]:
        return (self.document.get("decision") or {}).get("classes", {})

    @property
    def classes(self) -> list[str]:
        """The classes that it decides among; none where it decides by threshold."""
        return list(self._several.get("names", []))

    @property
    def shifts(self) -> np.ndarray:
        """What is subtracted from the score of each class before the largest is taken."""
        return np.array(self._several.get("shifts", []))

    @property
    def _per_query(self) -> Optional[dict[str, Any]]:
        return (self.document.get("decision") or {}).get("queries")

    @property
    def query_column(self) -> Optional[str]:
        """The column that the queries of training came from, of a model for a goal per query."""
        return (self._per_query or {}).get("column")

    @property
    def groups(self) -> list[str]:
        """The groups that have thresholds of their own."""
        return list(self.document["groups"]["names"]) if self.document["groups"] else []

    @property
    def certificate(self) -> Optional[dict[str, Any]]:
        """What held-out data proves about the thresholds."""
        return self.document["certificate"]

    @property
    def approximate(self) -> Optional[dict[str, Any]]:
        """What takes its place where rows came in too few entities for a proof: likely, and not proved."""
        return self.document.get("approximate")

    @property
    def label(self) -> Optional[dict[str, Any]]:
        """The label's column and what makes a row positive."""
        return self.document["features"].get("label")

    def scores(self, X: Any) -> np.ndarray:
        """The score of each row, or of each class; the same bits as `setpoint predict`."""
        names, features, notes = self._features(X)
        scores, more = self._inner.scores(features, names)
        tell([*notes, *more])
        return scores.reshape(-1, len(self.classes)) if self.classes else scores

    def _features(self, X: Any) -> tuple[list[str], Any, list[str]]:
        """The columns of X that it needs, their names, and notes on X."""
        roles = [self.label, self.document["groups"]]
        unused = [*self.document["features"].get("unused", []), *(role["column"] for role in roles if role)]
        unused += [self.query_column] if self.query_column else []
        return for_model(X, self._inner.inputs(), self.feature_names, unused)

    def _groups(self, groups: Any, rows: int) -> Optional[Groups]:
        known = self.document["groups"]
        if known and groups is None:
            raise InputError(f"the model has a threshold for each group of {known['column']!r}: pass groups=")
        found = coded(groups, known["column"], rows) if known else None
        note = None if found is None else self._inner.unknown_groups(found)
        tell([] if note is None else [note])
        return found

    def decision_function(self, X: Any, groups: Any = None) -> np.ndarray:
        """Score minus threshold: positive decisions are those of 0 or more. Of several classes score minus
        shift, of two of them the difference between both.
        """
        return self._margins(self.scores(X), groups)

    def _margins(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        if self.classes:
            margins = scores.astype(np.float64) - self.shifts
            return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins
        band = self._inner.band()
        if band is not None:
            return scores.astype(np.float64) - 0.5 * (np.float64(band[0]) + np.float64(band[1]))
        return self._inner.margins(scores, self._groups(groups, len(scores)))

    def predict(self, X: Any, groups: Any = None, *, query: Any = None) -> np.ndarray:
        """1 for positive, else 0, and -1 for rows left undecided; of several classes their names; of a goal per query
        1 for the first k of each.
        """
        if self._per_query is not None:
            placed = self._ranked(X, query)
            if "decision" not in placed:
                raise InputError(f"{self.goal!r} looks at all results, and decides nothing: see predict_frame")
            return placed["decision"]
        scores = self.scores(X)
        if self.classes:
            return np.array(self.classes)[decided(self._margins(scores, groups))]
        return self._decisions(scores, groups)

    def _decisions(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        band = self._inner.band()
        if band is not None:
            return np.where(scores >= band[0], 1, np.where(scores < band[1], 0, -1))
        return (self._margins(scores, groups) >= 0).astype(np.int64)

    def _ranked(self, X: Any, query: Any) -> dict[str, np.ndarray]:
        """What a frame of places within queries holds."""
        _, of, column = taken(X, query, self.query_column)
        return self._placed(self.scores(X), query_codes(of, len(of), column))

    def _placed(self, scores: np.ndarray, queries: Groups) -> dict[str, np.ndarray]:
        if len(scores) != len(queries[2]):
            raise InputError(f"query has {len(queries[2])} values: expected {len(scores)}, one for each row")
        places, first = self._inner.places(np.ascontiguousarray(scores), queries)
        decision = {} if first is None else {"decision": first.astype(np.int64)}
        return {"score": scores, "place": places.astype(np.int64), **decision}

    def _columns(self, scores: np.ndarray, labels: Any) -> dict[str, np.ndarray]:
        """What a frame of decisions among several classes holds."""
        probabilities = self._probabilities(scores)
        columns = {f"score({name})": scores[:, at] for at, name in enumerate(self.classes)}
        if probabilities is not None:
            columns |= {f"probability({name})": probabilities[:, at] for at, name in enumerate(self.classes)}
        return {**columns, "decision": np.asarray(labels)[decided(self._margins(scores, None))]}

    def _probabilities(self, scores: np.ndarray) -> Optional[np.ndarray]:
        found = self._inner.probabilities(np.ascontiguousarray(scores).reshape(-1))
        return found if found is None or not self.classes else found.reshape(scores.shape)

    def _codes(self, y: Any) -> tuple[Groups, np.ndarray]:
        """The classes of labelled rows, as the compiled half takes them, and which rows have one: others may have
        been left out in training.
        """
        label = self.label or {}
        rule = label.get("rule", {}).get("classes", {})
        names = [group_name(name) for name in self.classes]
        codes = class_codes(y, names, rule.get("pooled", ()), rule.get("others_left_out", False))
        kept = codes < len(names)
        if not kept.any():
            raise InputError(f"y holds none of the classes {', '.join(names)}")
        return (label.get("column", "label"), self.classes, codes[kept]), kept

    def _labelled(
        self, X: Any, y: Any, positive: Any, weights: Any, groups: Any, column: Optional[str], entities: Any
    ) -> tuple[list[str], Any, Labelled, list[str]]:
        """Names and features of labelled rows; their labels, weights, groups or classes, and entities, as the
        compiled half takes them; and notes.
        """
        names, features, notes = self._features(X)
        if not self.classes:
            labels = self._labels(y, positive)
            rows = measured(labels, labels, weights, groups, column, entities)
            return names, features, rows[1:], notes
        if positive is not None or groups is not None:
            raise InputError("positive= and groups= are for models of two classes: leave them out")
        codes, kept = self._codes(y)
        if not kept.all():
            features = some_rows(features, kept)
            weights, entities = (None if one is None else array(one, "rows")[kept] for one in (weights, entities))
            notes = [*notes, f"{(~kept).sum()} rows of other classes were left out"]
        labels = np.ones(len(codes[2]), dtype=bool)
        rows = measured(labels, labels, weights, None, None, entities)
        return names, features, (labels, rows[2], codes, rows[4]), notes

    def predict_frame(self, X: Any, groups: Any = None, *, query: Any = None, keep: Any = None) -> Any:
        """Score, probability and decision (1 for positive) of each row, as columns of a frame; of a goal per query
        score, place and decision (1 for the first k).

        Beside them are the columns of X that `keep` names, or "all"; the index is that of X.
        """

        if self._per_query is not None:
            placed = self._ranked(X, query)
            return beside(X, keep, None, lambda _: placed)

        def decide(X: Any) -> dict[str, np.ndarray]:
            scores = self.scores(X)
            if self.classes:
                return self._columns(scores, self.classes)
            probability = self._inner.probabilities(scores)
            chance = {} if probability is None else {"probability": probability}
            return {"score": scores, **chance, "decision": self._decisions(scores, groups)}

        return beside(X, keep, self.feature_names, decide)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The chance of each class, negative first: a logistic curve through the calibration rows, or of several
        classes a softmax with one slope and a shift for each.
        """
        positive = self._probabilities(self.scores(X))
        if positive is None:
            raise InputError("this model file holds no probabilities: train it again with this version")
        if self.classes:
            return positive
        return np.column_stack([1 - positive, positive])

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        entities: Any = None,
        query: Any = None,
        positive: Any = None,
        amounts: Any = None,
        importance: int = 10,
        confidence: float = 0.95,
        volume: Optional[float] = None,
        _page: Optional[tuple[str, str]] = None,
    ) -> dict[str, Any]:
        """Metrics with intervals at the goal's condition and at the threshold, as `setpoint evaluate --json`.

        `entities` says which rows belong together, for intervals and tests that count those. `positive` is the
        label that counts as positive, by default that of training. Of a goal per query, `y` are grades and `query`
        says which query each row is a result of, or names a column of X. `amounts` are those of a goal in money that
        takes them from columns; columns of X need not be given. `importance` is the number of columns whose worth for
        the goal is measured, those that matter most; 0 for none, which is faster. `volume` is the number of rows
        a day that the report counts by where a model leaves rows undecided, by default 1,000.
        """
        level = probability("confidence", confidence)
        columns = setting("importance", importance, int)
        paid = None
        if self._per_query is not None:
            if not all(one is None for one in (sample_weight, groups, entities)):
                raise InputError("sample_weight=, groups= and entities= are not for a goal per query: leave them out")
            _, of, queries = taken(X, query, self.query_column)
            graded = ranked(y, query_codes(of, len(of), queries), positive or self._relevant())
            names, features, notes = self._features(X)
            rows: tuple[Any, Any, Any, Any, Any] = (graded.relevant, graded.grades, None, None, graded.queries)
        elif query is not None:
            raise InputError("query= is for models of a goal per query: leave it out")
        else:
            column = self.document["groups"]["column"] if self.document["groups"] else None
            names, features, labelled, notes = self._labelled(X, y, positive, sample_weight, groups, column, entities)
            rows = (labelled[0], None, *labelled[1:])
            paid = None if self.classes else pays(self.document["goal"], labelled[0], amounts, X)
        found = self._inner.evaluate(
            features, names, *rows, paid, columns, level, setting("volume", volume, Optional[float]), _page
        )
        record = json.loads(found)
        record["notes"] = [*notes, *record["notes"]]
        tell(record["notes"])
        return record

    def importance(self, X: Any, y: Any, *, columns: int = 10, **given: Any) -> Any:
        """The columns that the goal's value is owed to, those that matter most first, as a frame.

        `loss` is what the value at the goal's condition loses when the column is shuffled (none where the condition
        cannot be met without it), between `lower` and `upper`; `adds` says, of a linear model, what a unit of a
        number, a category or a word adds to the score. Takes what `evaluate` does, whose record has more of them.
        """
        found = (self.evaluate(X, y, importance=columns, **given).get("importance") or {}).get("columns", [])
        added = [[f"{one['of']} {one['weight']:+.3g}" for one in column.get("weights", [])] for column in found]
        named: dict[str, Any] = {
            "column": [column["column"] for column in found],
            "loss": [column["loss"] for column in found],
            **{end: [(column["interval"] or {}).get(end) for column in found] for end in ("lower", "upper")},
            "adds": [", ".join(weights) for weights in added],
        }
        if is_frame(X) and not hasattr(X, "index"):
            return type(X)(named)
        from pandas import DataFrame

        return DataFrame(named)

    def report(
        self, path: Union[str, "os.PathLike[str]"], X: Any, y: Any, *, title: str = "labelled rows", **given: Any
    ) -> dict[str, Any]:
        """Writes the report on labelled rows, a page to look at; takes and returns what `evaluate` does."""
        return self.evaluate(X, y, _page=page_name(path, title), **given)

    def _labels(self, y: Any, positive: Any) -> np.ndarray:
        """True for positives: by the two labels of training, where these are such."""
        pair = (self.label or {}).get("rule", {}).get("pair")
        if pair and positive is None:
            labels = array(y, "y")
            values, codes = np.unique(labels, return_inverse=True) if labels.dtype.kind in "biuf" else texts(labels)
            names = [group_name(value) for value in values]
            if {*names} <= {*map(group_name, pair.values())} and not (codes == MISSING).any():
                return np.array([name == group_name(pair["positive"]) for name in names], dtype=bool)[codes]
        return binary(y, positive)

    def _relevant(self) -> Optional[str]:
        """Which grades were relevant in training."""
        rule = (self.label or {}).get("rule", {}).get("grades")
        return None if rule in (None, "auto") else rule

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model file: whole, or not at all."""
        self._inner.save(file_name(path))

    def to_onnx(self, path: Union[str, "os.PathLike[str]"], X: Any = None, groups: Any = None) -> None:
        """Writes an ONNX file that takes the raw columns and gives `score`, `probability` and `decision`.

        Decisions are those of `predict` in any runtime, of several classes the name as a text. Scores of networks
        differ in their last digits: pass rows as `X`, those of training for instance, and their thresholds or shifts
        keep a distance from the scores around them.
        """
        scores = None if X is None else self.scores(X)
        found = None if scores is None else self._groups(groups, len(scores))
        self._inner.to_onnx(file_name(path), None if scores is None else scores.ravel(), found)


def decided(margins: np.ndarray) -> np.ndarray:
    """The place of the class that wins, by margins of each class or by the difference between two."""
    return (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)


def _from_bytes(data: bytes) -> Model:
    return Model(_setpoint.Model.from_bytes(data))


def load(path: Union[str, "os.PathLike[str]"], label: Optional[str] = None) -> Model:
    """Opens a model file that the command line or an estimator's `save` wrote; of a file of several labels, the model
    of `label`.
    """
    name = file_name(path)
    if not os.path.exists(name):
        raise FileNotFoundError(f"no model file at {name!r}")
    return Model(_setpoint.Model.load(name, setting("label", label, Optional[str])))
