"""Estimators for scikit-learn: train for the goal, rank within queries, or choose the threshold of any classifier."""

from ._classifier import SetpointClassifier
from ._labels import SetpointLabels
from ._ranker import SetpointRanker
from ._threshold import SetpointThreshold

__all__ = ["SetpointClassifier", "SetpointLabels", "SetpointRanker", "SetpointThreshold"]
