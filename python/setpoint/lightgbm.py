"""Objectives and metrics for LightGBM: `lgb.train` and the scikit-learn classes.

```python
booster = lgb.train({"objective": objective(goal), "metric": "None"}, data, valid_sets=[validation],
                    feval=metric(goal), callbacks=[lgb.early_stopping(20)])
```
"""

from typing import Any

import numpy as np

from ._boost import Metric, Objective

__all__ = ["metric", "objective"]


class _Objective(Objective):
    def __call__(self, first: Any, second: Any, weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        # lgb.train calls with (raw scores, Dataset), the scikit-learn classes with (labels, raw scores).
        if hasattr(second, "get_label"):
            return self.derivatives(second.get_label(), first, second.get_weight())
        return self.derivatives(first, second, weight)


class _Metric(Metric):
    def __call__(self, first: Any, second: Any, weight: Any = None) -> tuple[str, float, bool]:
        if hasattr(second, "get_label"):
            value = self.value(second.get_label(), first, second.get_weight())
        else:
            value = self.value(first, second, weight)
        return self.goal, value, self.higher_is_better


def objective(
    goal: str, *, bandwidth: str = "0.5tail", surrogate: str = "sigmoid", amounts: Any = None
) -> _Objective:
    """A custom objective that boosts for the goal: log loss, and the goal's gradient on top.

    `amounts` are those of the training rows, of a goal in money that takes them from columns.
    """
    return _Objective(goal, bandwidth, surrogate, amounts)


def metric(goal: str, *, amounts: Any = None) -> _Metric:
    """The goal's exact value on the evaluation rows, with its direction, for early stopping; `amounts` are those
    of these rows."""
    return _Metric(goal, amounts)
