"""Objectives and metrics for XGBoost: `xgb.train` and the scikit-learn classes.

```python
stop = xgb.callback.EarlyStopping(rounds=20, maximize=True)
booster = xgb.train({"disable_default_eval_metric": 1}, data, 500, obj=objective(goal),
                    custom_metric=metric(goal), evals=[(validation, "validation")], callbacks=[stop])
```
"""

from typing import Any

import numpy as np

from ._boost import Metric, Objective

__all__ = ["metric", "objective"]


class _Objective(Objective):
    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        # xgb.train calls with (raw scores, DMatrix), the scikit-learn classes with (labels, raw scores).
        if hasattr(second, "get_label"):
            return self.derivatives(second.get_label(), first, second.get_weight())
        return self.derivatives(first, second, sample_weight)


class _Metric(Metric):
    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        if hasattr(second, "get_label"):
            # XGBoost writes its log as `name:value`, with blanks between.
            return self.goal.replace(" ", ""), self.value(second.get_label(), first, second.get_weight())
        # The scikit-learn classes minimise what a metric returns.
        value = self.value(first, second, sample_weight)
        return -value if self.higher_is_better else value


def objective(
    goal: str, *, bandwidth: str = "0.5tail", surrogate: str = "sigmoid", amounts: Any = None
) -> _Objective:
    """A custom objective that boosts for the goal: log loss, and the goal's gradient on top.

    `amounts` are those of the training rows, of a goal in money that takes them from columns.
    """
    return _Objective(goal, bandwidth, surrogate, amounts)


def metric(goal: str, *, amounts: Any = None) -> _Metric:
    """The goal's exact value on the evaluation rows.

    XGBoost takes lower for better unless told: `EarlyStopping(..., maximize=True)` for goals such as
    recall. As `eval_metric` of the scikit-learn classes it is the negative there, which they minimise.
    """
    return _Metric(goal, amounts)
