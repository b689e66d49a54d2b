"""A program as users write it, for mypy and pyright: `./task python` checks it, and nothing runs it."""

import numpy as np

import setpoint
from setpoint import SetpointClassifier, SetpointThreshold, metrics

X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
model = SetpointClassifier("recall @ fpr<=1%", model="linear").fit(X, y)
decisions: np.ndarray = model.predict(X)
model.save("m.safetensors")
opened: setpoint.Model = setpoint.load("m.safetensors")
scores: np.ndarray = opened.decision_function(X)
certificate: setpoint.Certificate = setpoint.certify(y, scores, "recall @ fpr<=1%", confidence=0.9)
threshold: "float | None" = certificate.threshold
area: float = metrics.roc_auc(y, scores)
point: metrics.OperatingPoint = metrics.operating_point(y, scores, "recall @ fpr<=1%")
best: float = point.value
monitor = setpoint.Monitor(opened, alpha=0.05)
state: str = monitor.state()
wrapped = SetpointThreshold(object(), "recall @ fpr<=1%", prefit=True)
step: setpoint.Step = setpoint.step(y, scores, "recall @ fpr<=1%")
gradient: np.ndarray = step.gradient
