"""What setpoint raises: one base class, and a few kinds; and how it warns."""

import os
import sys
import warnings
from collections.abc import Iterable
from typing import Optional

from . import _setpoint

HERE = os.path.dirname(__file__)


class SetpointError(Exception):
    """The base of every error of setpoint."""


class InputError(SetpointError, ValueError):
    """Data or settings that cannot be used as they are."""


class GoalError(InputError):
    """A goal that does not parse; the message points at the place."""


class InfeasibleError(SetpointError, ValueError):
    """It ran, and the answer is no: the goal cannot be met, or not be certified, on this data."""


class StoppedError(SetpointError):
    """A run that was ended from outside."""


class DataWarning(UserWarning):
    """What there is to know of the data where all was done as asked: the notes of the command line."""


class UncertifiedWarning(UserWarning):
    """Thresholds that were chosen, and that nothing proves to hold on new data: it says why, and where they fail."""


def refuse_set(of: object, name: str) -> AttributeError:
    """What to raise where an attribute is set that nothing would follow."""
    kind = type(of).__name__
    return AttributeError(
        f"{kind}.{name} cannot be set: nothing would follow it; settings are given when a {kind} is made, and a "
        "threshold of your own is compared with the scores"
    )


def tell(notes: Iterable[str], kind: type[Warning] = DataWarning) -> None:
    """One warning with all notes of a call, at the line outside of this package that made it."""
    text = "\n".join(notes)
    if text:
        frame, depth = sys._getframe(1), 2
        while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == HERE:
            frame, depth = frame.f_back, depth + 1
        warnings.warn(text, kind, stacklevel=depth)


def tell_uncertified(reason: Optional[str], unmet: Optional[str] = None, classes: bool = False) -> None:
    """Warns of a threshold (or shifts) without a proof that was wanted, and of a goal that is not met."""
    said = None if reason is None else _setpoint.uncertified(classes, reason)
    tell([text for text in (said, unmet) if text is not None], UncertifiedWarning)
