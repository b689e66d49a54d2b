"""Training on a Spark cluster, with plain map tasks.

```python
from setpoint.spark import SparkExecutor
shards, meta = setpoint.distributed.row_groups(paths)      # files that every executor can read
model = setpoint.SetpointClassifier("recall @ fpr<=1%", model="linear")
setpoint.distributed.fit(model, SparkExecutor(spark.sparkContext), shards, meta, label="fraud")
```
"""

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["SparkExecutor"]


class SparkExecutor:
    """Runs functions on the executors of a `SparkContext`.

    A task has no home there: keep Python's workers (`spark.python.worker.reuse`, as by default), which keep the rows
    that they have encoded; a shard is read again wherever it lands for the first time.
    """

    def __init__(self, context: Any) -> None:
        self.context = context

    def map(self, function: Callable[[Any, Any], Any], shards: Sequence[Any], broadcast: Any) -> list[Any]:
        """`function(shard, broadcast)` of each shard, in their order."""
        rows = self.context.parallelize(list(shards), len(shards))
        return list(rows.map(lambda shard: function(shard, broadcast)).collect())
