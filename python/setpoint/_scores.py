"""What the scores of any model come to on labelled rows, and a page that shows it."""

import json
import os
from typing import Any, Optional, Union

import numpy as np

from . import _setpoint
from ._arrays import Measured, measured, pays, scored
from ._certify import Certificate
from ._errors import InputError, tell, tell_uncertified
from ._settings import page_name, probability, read_goal, refuse, setting


def evaluate(
    y: Any,
    scores: Any,
    goal: str,
    *,
    threshold: Optional[float] = None,
    certificate: Union[Certificate, dict[str, Any], None] = None,
    shared_threshold: bool = False,
    sample_weight: Any = None,
    groups: Any = None,
    entities: Any = None,
    positive: Any = None,
    amounts: Any = None,
    confidence: float = 0.95,
    _page: Optional[tuple[str, str]] = None,
) -> dict[str, Any]:
    """Metrics of any model's scores with intervals, at the goal's condition and at a threshold.

    The threshold is the one given, or that of a `certificate`, which is tested on these rows (`drift`). Without
    either it is chosen on these rows, as `certify` does, or exactly where that is refused, with a warning
    (UncertifiedWarning); the rows must then not be those that the model was trained on. `confidence` is that of
    the certificate and of the intervals. `amounts` are those of a goal in money that takes them from columns: a
    mapping by its names, or the values alone. The result is that of `setpoint evaluate --json`.
    """
    truth, values = scored(y, scores, positive)
    column = read_goal(goal)[1] or (None if groups is None else "groups")
    return measure(
        goal,
        measured(truth, values, sample_weight, groups, column, entities),
        chosen(threshold, certificate),
        paid=pays(goal, truth, amounts),
        positive=positive,
        shared_threshold=setting("shared_threshold", shared_threshold, bool),
        level=probability("confidence", confidence),
        page=_page,
    )


def report(
    y: Any,
    scores: Any,
    goal: str,
    path: Union[str, "os.PathLike[str]"] = "setpoint-report.html",
    *,
    title: str = "scores",
    **given: Any,
) -> dict[str, Any]:
    """Writes the report of any model's scores, a page to look at; takes and returns what `evaluate` does."""
    return evaluate(y, scores, goal, _page=page_name(path, title), **given)


def chosen(threshold: Any, certificate: Any) -> Optional["_setpoint.Chosen"]:
    """Thresholds from elsewhere, if there are any."""
    if threshold is not None and certificate is not None:
        raise InputError("threshold and certificate: give one of them")
    if threshold is not None:
        why = "the threshold was given without a certificate"
        return [setting("threshold", threshold, float)], [], None, None, why
    if certificate is None:
        return None
    record = certificate.record if isinstance(certificate, Certificate) else certificate
    if not isinstance(record, dict):
        raise refuse("certificate", certificate, "what setpoint.certify returns, or a certificate_")
    return [], [], json.dumps(record), None, None


def measure(
    goal: str,
    rows: Measured,
    found: Optional["_setpoint.Chosen"],
    *,
    paid: Optional[np.ndarray] = None,
    positive: Any = None,
    here: bool = False,
    shared_threshold: bool = False,
    level: float = 0.95,
    page: Optional[tuple[str, str]] = None,
) -> dict[str, Any]:
    """The record of rows as `measured` has them; `here` says that thresholds were chosen on these very rows."""
    named = None if positive is None else str(positive)
    text, refused = _setpoint.evaluate_scores(goal, *rows, paid, named, found, here, shared_threshold, level, page)
    record = json.loads(text)
    tell(record["notes"])
    if found is None:
        tell_uncertified(refused)
    return record
