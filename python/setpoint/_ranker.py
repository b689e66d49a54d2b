"""SetpointRanker: trained for the first results of each query."""

import json
import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _setpoint
from ._boost import name_lightgbm
from ._errors import UncertifiedWarning, tell
from ._frames import beside
from ._model import Model
from ._progress import Line
from ._queries import Ranked, empty_name, query_codes, query_goal, ranked, taken, without
from ._settings import training_help
from ._trains import Trains, with_training
from .metrics import per_query


class SetpointRanker(Trains):
    """A ranker trained for the first results of each query, such as "ndcg @ k=10 per query".

    `fit` shares out whole queries (`split`), trains on one part, chooses between fits on another, and proves on the
    last how much the goal is worth at least, on average over new queries, with `confidence`.

    Parameters
    ----------
    goal : "ndcg @ k=10 per query", "precision @ k=5 per query", "recall @ top=5% per query", "map per query"
        (docs/goals.md).
    model : "linear", "mlp", "trees" (LightGBM's, which must be installed; scoring does without it), or "auto" for
        the better of linear and trees.
    hidden, dropout, search, rounds, time : as of `SetpointClassifier`.
    confidence : of the certificate; None for none.
    at_least : what is to be proved of new queries; by default whatever can be.
    positive : which grades are relevant where a metric needs yes or no, as in ">=2"; by default those above 0.
    empty_queries : what a query counts in which nothing is relevant: 0, 1, or "skip" to leave it out.
    split : shares of train, validation and calibration.
    text, allow_nan : as of `SetpointClassifier`.
    random_state : seed of the split and of mini-batches.
    verbose : 1 shows a progress line on stderr.
    {training}

    None leaves the default of those that are of training.

    Attributes
    ----------
    certificate_ : what is proved of new queries (`lower`, `mean`, `draws`, `confidence`), or None.
    report_ : the record of the run, as `setpoint train --json`.
    model_ : the `setpoint.Model`.
    """

    @with_training
    def __init__(
        self,
        goal: str = "ndcg @ k=10 per query",
        *,
        model: str = "auto",
        hidden: Sequence[int] = (256, 128),
        dropout: float = 0.0,
        search: Optional[int] = None,
        rounds: Optional[int] = None,
        time: Optional[float] = None,
        confidence: Optional[float] = 0.95,
        at_least: Optional[float] = None,
        positive: Optional[str] = None,
        empty_queries: Union[int, str] = "skip",
        text: Optional[Sequence[str]] = None,
        split: str = "train=0.6,validation=0.2,calibration=0.2",
        allow_nan: bool = True,
        random_state: Any = 0,
        verbose: Union[bool, int] = 0,
        **training: Any,
    ) -> None:
        self._take(locals(), training)

    def fit(self, X: Any, y: Any, query: Any = None) -> "SetpointRanker":
        """Trains on graded rows: `y` says how relevant each is, from 0 on, and `query` which query it is a result of,
        by a value for each row or by the name of a column of X, which is then no feature. Rows of a query need not
        follow each other.
        """
        query_goal(self.goal)
        settings = self._settings(SetpointRanker, "positive", "empty_queries")
        settings["empty-queries"] = empty_name(self.empty_queries)
        X, of, column = taken(X, query)
        X, y, names = self._fit_data(X, y)
        rows = ranked(y, query_codes(of, len(y), column), self.positive)
        if self.model in ("auto", "trees"):
            name_lightgbm()
        line = Line(type(self).__name__) if self.verbose else None
        inner, record, warned = _setpoint.fit(
            X,
            names,
            (self._label, "auto" if self.positive is None else self.positive),
            rows.relevant,
            rows.grades,
            None,
            None,
            rows.queries,
            None,
            json.dumps({**settings, "columns": names}),
            line,
        )
        self.model_ = Model(inner)
        self.report_ = json.loads(record)
        if line is not None:
            line.close(f"kept {self.report_['winner']}")
        tell(self.report_["notes"])
        tell(warned, UncertifiedWarning)
        return self

    certificate_ = property(lambda self: self.report_.get("bound"))

    def predict(self, X: Any) -> np.ndarray:
        """The score of each row: the higher, the earlier among the results of its query."""
        check_is_fitted(self, "model_")
        return self._scores(without(X, self.model_.query_column))

    def places(self, X: Any, query: Any = None) -> np.ndarray:
        """The place of each row among those of its query, from 1."""
        return self._placed(X, query)["place"]

    def predict_frame(self, X: Any, query: Any = None, *, keep: Any = None) -> Any:
        """Score, place and decision (1 for the first k of a query) as columns of a frame; beside them the columns of
        X that `keep` names, or "all". The index is that of X.
        """
        check_is_fitted(self, "model_")
        placed = self._placed(X, query)
        return beside(X, keep, None, lambda _: placed)

    def score(self, X: Any, y: Any, query: Any = None) -> float:
        """The goal's value: the mean of its metric over the queries."""
        X, rows = self._rows(X, y, query)
        scores = self._scores(X)
        return per_query(
            rows.grades,
            scores,
            self.goal,
            query=rows.queries[2],
            positive=self.positive,
            empty_queries=self.empty_queries,
        ).value

    def evaluate(self, X: Any, y: Any, query: Any = None, **given: Any) -> dict[str, Any]:
        """Metrics with intervals by draws of queries; the parameters are those of `setpoint.Model.evaluate`."""
        check_is_fitted(self, "model_")
        return self.model_.evaluate(X, y, query=query, **given)

    def importance(self, X: Any, y: Any, query: Any = None, **given: Any) -> Any:
        """The columns that the goal's value is owed to, as a frame; see `setpoint.Model.importance`."""
        check_is_fitted(self, "model_")
        return self.model_.importance(X, y, query=query, **given)

    def report(self, path: Union[str, "os.PathLike[str]"], X: Any, y: Any, query: Any = None, **given: Any) -> Any:
        """Writes the report on graded rows, a page to look at; returns what `evaluate` does."""
        check_is_fitted(self, "model_")
        return self.model_.report(path, X, y, query=query, **given)

    def to_onnx(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes an ONNX file that gives the score of each row; whoever has a query's rows puts them in order."""
        check_is_fitted(self, "model_")
        self.model_.to_onnx(path)

    def _rows(self, X: Any, y: Any, query: Any) -> tuple[Any, Ranked]:
        check_is_fitted(self, "model_")
        X, of, column = taken(X, query, self.model_.query_column)
        return X, ranked(y, query_codes(of, len(of), column), self.positive)

    def _placed(self, X: Any, query: Any) -> dict[str, np.ndarray]:
        check_is_fitted(self, "model_")
        X, of, column = taken(X, query, self.model_.query_column)
        return self.model_._placed(self._scores(X), query_codes(of, len(of), column))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing()
        tags.target_tags.required = True
        return tags


SetpointRanker.__doc__ = (SetpointRanker.__doc__ or "").replace("{training}", training_help())
