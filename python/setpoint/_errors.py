"""What setpoint raises: one base class, and a few kinds; and how it warns."""

import os
import sys
import warnings
from collections.abc import Iterable

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


def tell(notes: Iterable[str]) -> None:
    """One warning with all notes of a call, at the line outside of this package that made it."""
    text = "\n".join(notes)
    if text:
        frame, depth = sys._getframe(1), 2
        while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == HERE:
            frame, depth = frame.f_back, depth + 1
        warnings.warn(text, DataWarning, stacklevel=depth)
