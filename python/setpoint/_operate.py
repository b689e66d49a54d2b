"""A model after training: watched, certified anew, and the rows to have labelled for that."""

import json
import os
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _setpoint
from ._arrays import vector
from ._errors import InputError, tell
from ._model import Model
from ._settings import file_name, page_name, probability, refuse, setting


class Monitor:
    """Watches a model's certificate: an alarm when it is broken, however often one looks.

    While every certified condition holds, the chance that it ever raises an alarm is at most `alpha`. Batches may
    have any size and order and come late. Rows without labels (`y=None`) give hints only.
    """

    def __init__(self, model: Model, *, alpha: float = 0.05) -> None:
        self._model = model
        self._state = _setpoint.monitor_begin(model._inner, probability("alpha", alpha))

    def __repr__(self) -> str:
        standing = "alarm" if self.alarm else "quiet"
        return f"<setpoint.Monitor of {self._model.goal!r}, {standing}>"

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        entities: Any = None,
        positive: Any = None,
    ) -> dict[str, Any]:
        """Adds a batch and returns where the watch stands, as `setpoint monitor --json`.

        A batch without rows changes nothing.
        """
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if rows == 0:
            return self.status()
        inner, state = self._model._inner, self._state
        if y is None:
            names, features, notes = self._model._features(X)
            known = self._model._groups(groups, rows)
            self._state, more = _setpoint.monitor_add_unlabelled(inner, state, features, names, known)
        else:
            names, features, about, notes = self._model._labelled(
                X, y, positive, sample_weight, groups, _column(self._model), entities
            )
            self._state, more = _setpoint.monitor_add(inner, state, features, names, *about)
        tell([*notes, *more])
        return self.status()

    def status(self) -> dict[str, Any]:
        """Where every condition stands, and what rows without labels hint at."""
        found: dict[str, Any] = json.loads(_setpoint.monitor_status(self._model._inner, self._state, None)[0])
        return found

    def report(self, path: Union[str, "os.PathLike[str]"], *, title: str = "a model") -> None:
        """Writes a page with evidence and rates over time."""
        _setpoint.monitor_status(self._model._inner, self._state, page_name(path, title))

    @property
    def alarm(self) -> bool:
        """Whether a condition is broken, or was at some time."""
        return bool(self.status()["alarm"])

    def __str__(self) -> str:
        return _setpoint.monitor_status(self._model._inner, self._state, None)[1]

    def state(self) -> str:
        """All there is to keep: a text of fixed size, whatever was seen, as `setpoint monitor --state` keeps it."""
        return self._state

    @classmethod
    def load(cls, model: Model, state: str) -> "Monitor":
        """Goes on from a state; that of another model is refused."""
        text = setting("state", state, str)
        _setpoint.monitor_check(model._inner, text)
        monitor = cls.__new__(cls)
        monitor._model, monitor._state = model, text
        return monitor

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the state: whole, or not at all."""
        _setpoint.write_file(file_name(path), f"{self._state}\n".encode())


class Recertified(NamedTuple):
    """A model certified anew."""

    model: Model
    """The model with its new thresholds and certificate; the old one is kept in its document."""
    record: dict[str, Any]
    """What changed, as `setpoint recertify --json`."""
    text: str
    """The same in words."""

    def __str__(self) -> str:
        return self.text


def recertify(
    model: Model,
    X: Any,
    y: Any,
    *,
    inclusion: Any = None,
    prevalence: Optional[float] = None,
    unlabelled: Any = None,
    groups: Any = None,
    entities: Any = None,
    positive: Any = None,
    confidence: float = 0.95,
) -> Recertified:
    """New thresholds and a new certificate from new labelled rows, the model as it is; of several classes new shifts,
    chosen on a third of the rows and proved on the others, which must be draws of what the model will score.

    Rows are draws of what the model will score, unless `inclusion` has the chance with which each was sampled from
    that, as `sample` returns it; such a certificate may be tried again with more labels at any time. `prevalence` is
    another share of positives to certify for, and `unlabelled` are rows whose share is estimated: both take each
    class to score as in these rows (label shift), and the record has tests of that.

    Raises InfeasibleError where the rows do not suffice.
    """
    given = {"inclusion": inclusion, "prevalence": prevalence, "unlabelled": unlabelled}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} say different things of the rows: give one of them")
    names, features, rows, notes = model._labelled(X, y, positive, None, groups, _column(model), entities)
    labels, _, grouped, together = rows
    chances = None if inclusion is None else vector(inclusion, "inclusion").tolist()
    share = None if prevalence is None else probability("prevalence", prevalence)
    others = None
    if unlabelled is not None:
        other_names, other_features, more = model._features(unlabelled)
        others, notes = (other_features, other_names), [*notes, *more]
    level = probability("confidence", confidence)
    inner, record, text = _setpoint.recertify(
        model._inner, features, names, labels, grouped, together, chances, share, others, level
    )
    found = json.loads(record)
    found["notes"] = [*notes, *found["notes"]]
    tell(found["notes"])
    return Recertified(Model(inner), found, text)


class ToLabel(NamedTuple):
    """Rows to have labelled."""

    rows: np.ndarray
    """Their numbers, from 0, ascending."""
    inclusion: np.ndarray
    """The chance with which each was drawn, for `recertify`."""


def sample(model: Model, X: Any, labels: int, *, groups: Any = None, random_state: int = 0) -> ToLabel:
    """Which of these rows to have labelled, about `labels` of them, so that they certify as much as possible.

    All near the threshold, few elsewhere, as suits the conditions of the goal.
    """
    count = setting("labels", labels, int)
    if count == 0:
        raise refuse("labels", labels, "a whole number of at least 1")
    names, features, notes = model._features(X)
    known = model._groups(groups, X.shape[0] if hasattr(X, "shape") else len(X))
    seed = setting("random_state", random_state, int)
    (rows, chances), more = _setpoint.sample(model._inner, features, names, known, count, seed)
    tell([*notes, *more])
    return ToLabel(rows.astype(np.int64), chances)


def _column(model: Model) -> Optional[str]:
    """The column whose groups the model has thresholds or a certificate for."""
    if model.document["groups"]:
        return str(model.document["groups"]["column"])
    return (model.certificate or {}).get("column")
