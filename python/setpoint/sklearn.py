"""Estimators for scikit-learn: train for the goal, or choose the threshold of any classifier."""

from ._classifier import SetpointClassifier
from ._labels import SetpointLabels
from ._threshold import SetpointThreshold

__all__ = ["SetpointClassifier", "SetpointLabels", "SetpointThreshold"]
