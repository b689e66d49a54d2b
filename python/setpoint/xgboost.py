"""Objectives and metrics for XGBoost: `xgb.train` and the scikit-learn classes.

```python
stop = xgb.callback.EarlyStopping(rounds=20, maximize=True)
booster = xgb.train({"disable_default_eval_metric": 1}, data, 500, obj=objective(goal),
                    custom_metric=metric(goal), evals=[(validation, "validation")], callbacks=[stop])
```
"""

from typing import Any, Optional, Union

import numpy as np

from ._boost import Metric, Objective, QueryMetric, QueryObjective, is_per_query

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
    goal: str,
    *,
    bandwidth: str = "0.5tail",
    surrogate: str = "sigmoid",
    query: Any = None,
    positive: Optional[str] = None,
    amounts: Any = None,
) -> Union[_Objective, QueryObjective]:
    """A custom objective that boosts for the goal: log loss, and the goal's gradient on top.

    Of a goal per query, labels are grades and a listwise loss takes the place of log loss. Queries are the groups of
    the data, or `query`, a value for each training row; `positive` is a rule such as ">=2". `amounts` are those of
    the training rows, of a goal in money that takes them from columns.
    """
    if is_per_query(goal):
        fixed = {"bandwidth": (bandwidth, "0.5tail"), "surrogate": (surrogate, "sigmoid")}
        return QueryObjective(goal, query, positive, **fixed)
    return _Objective(goal, bandwidth, surrogate, amounts)


class _QueryMetric(QueryMetric):
    def __call__(self, first: Any, second: Any) -> tuple[str, float]:
        return self.goal.replace(" ", ""), self.value(first, second, None)


def metric(
    goal: str, *, query: Any = None, positive: Optional[str] = None, amounts: Any = None
) -> Union[_Metric, _QueryMetric]:
    """The goal's exact value on the evaluation rows; of a goal per query, queries are the groups of the data.

    XGBoost takes lower for better unless told: `EarlyStopping(..., maximize=True)` for goals such as
    recall. As `eval_metric` of the scikit-learn classes it is the negative there, which they minimise.
    """
    return _QueryMetric(goal, query, positive) if is_per_query(goal) else _Metric(goal, amounts)
