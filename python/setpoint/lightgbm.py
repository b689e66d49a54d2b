"""Objectives and metrics for LightGBM: `lgb.train` and the scikit-learn classes.

```python
booster = lgb.train({"objective": objective(goal), "metric": "None"}, data, valid_sets=[validation],
                    feval=metric(goal), callbacks=[lgb.early_stopping(20)])
```
"""

from typing import Any, Optional, Union

import numpy as np

from ._boost import Metric, Objective, QueryMetric, QueryObjective, is_per_query

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
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[str, float, bool]:
        return self.goal, self.value(first, second, group), True


def metric(
    goal: str, *, query: Any = None, positive: Optional[str] = None, amounts: Any = None
) -> Union[_Metric, _QueryMetric]:
    """The goal's exact value on the evaluation rows, with its direction, for early stopping; `amounts` are those of
    these rows.

    Of a goal per query, queries are the groups of the data, or `query`, a value for each row.
    """
    return _QueryMetric(goal, query, positive) if is_per_query(goal) else _Metric(goal, amounts)
