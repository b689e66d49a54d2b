"""What setpoint raises: one base class, and a few kinds."""


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
