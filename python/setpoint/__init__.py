"""Train classifiers for the operating point they will run at, and prove the threshold on held-out data.

Only numpy is needed. What needs scikit-learn, PyTorch, LightGBM or XGBoost is in the module of that
name and imports it there.
"""

from typing import TYPE_CHECKING, Any

from . import metrics
from ._certify import Bound, Certificate, certify, certify_queries
from ._engine import Step, step
from ._errors import (
    DataWarning,
    GoalError,
    InfeasibleError,
    InputError,
    SetpointError,
    StoppedError,
    UncertifiedWarning,
)
from ._model import Model, load
from ._onnx import certify_onnx
from ._operate import Monitor, Recertified, ToLabel, recertify, sample
from ._scores import evaluate, report
from ._setpoint import __version__

if TYPE_CHECKING:
    from .sklearn import SetpointClassifier, SetpointLabels, SetpointRanker, SetpointThreshold

__all__ = [
    "Bound",
    "Certificate",
    "DataWarning",
    "GoalError",
    "InfeasibleError",
    "InputError",
    "Model",
    "Monitor",
    "Recertified",
    "SetpointClassifier",
    "SetpointError",
    "SetpointLabels",
    "SetpointRanker",
    "SetpointThreshold",
    "Step",
    "StoppedError",
    "ToLabel",
    "UncertifiedWarning",
    "__version__",
    "certify",
    "certify_onnx",
    "certify_queries",
    "evaluate",
    "load",
    "metrics",
    "recertify",
    "report",
    "sample",
    "step",
]


def __getattr__(name: str) -> Any:
    # Imported when first used, so that `import setpoint` does not need scikit-learn.
    if name in ("SetpointClassifier", "SetpointLabels", "SetpointRanker", "SetpointThreshold"):
        from . import sklearn

        return getattr(sklearn, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
