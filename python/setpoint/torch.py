"""A loss for PyTorch that trains for the operating point: any model, optimizer, sampler and batch."""

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from . import _setpoint
from ._arrays import class_names, pays
from ._errors import InputError, refuse_set
from ._queries import query_goal, ranked
from ._settings import read_goal, refuse, setting, surrogates
from .metrics import OperatingPoint, rates_at

__all__ = ["OperatingPointLoss", "QueryLoss"]

EMPTY = "the pool is empty: threshold and metrics are known after the first batch"
SETTINGS = ("goal", "classes", "pool", "mix", "warmup", "bandwidth", "surrogate")
# Batches; more would hardly be of one network.
MOST_POOLED = 1_000


class OperatingPointLoss(nn.Module):
    """The goal's smooth loss, differentiated through its thresholds, mixed with cross-entropy.

    ```python
    loss = OperatingPointLoss("recall @ fpr<=1%")
    loss(logits, targets).backward()
    ```

    A batch has too few examples near a threshold to place it, so thresholds are solved on a pool: the
    scores of the last `pool` batches, as they were when computed. The gradient is that of this batch's
    scores. Batches of any class balance will do; where the pool itself lacks a class, that step is
    cross-entropy alone.

    Under `torch.distributed` the batches of all ranks count as one, so thresholds and loss are the same
    on every rank. Each keeps the scores of its own batches, and the counts are summed (`all_reduce`); scores come
    together only where thresholds are first placed or lost, and for goals in money or of several classes. The
    gradient is scaled by the number of ranks, since DistributedDataParallel averages: the result is the gradient of
    one process on the joined batch.

    `state_dict` holds all there is, pool and thresholds included; of several ranks, each has a pool of its own, and
    `threshold` and `metrics()` tell of that. In `eval()` mode the loss is that
    of the batch by itself, and nothing is kept.

    With `classes`, the goal is one of several classes, such as `accuracy @ recall(rare)>=0.9`, and logits have a
    column for each, targets its number, as for `CrossEntropyLoss`:

    ```python
    loss = OperatingPointLoss("accuracy @ recall(rare)>=0.9", classes=["common", "rare", "other"])
    loss(logits, targets).backward()  # shapes (n, 3) and (n,)
    ```

    Parameters
    ----------
    goal : what to improve, under which conditions; not on groups.
    classes : the names of the classes, in the order of the logits' columns.
    pool : batches whose scores thresholds are solved on, the newest included; 1 for the batch alone.
    mix : share of cross-entropy in the gradient. Half is best for networks with capacity to spare; 0 for
        the goal's loss alone.
    warmup : calls with cross-entropy alone at the start; about a third of the steps is a good number.
    bandwidth : width of the surrogate: `0.5tail` follows the scores at the threshold, `0.1sd` all scores,
        a number is in scores. By default `0.5tail`, and `0.1sd` for several classes.
    surrogate : `sigmoid` or `softplus`; of several classes `sigmoid`, there the softmax.
    """

    def __init__(
        self,
        goal: str,
        *,
        classes: Optional[Sequence[str]] = None,
        pool: int = 20,
        mix: float = 0.5,
        warmup: int = 0,
        bandwidth: Optional[str] = None,
        surrogate: str = "sigmoid",
    ) -> None:
        super().__init__()
        self.classes = None if classes is None else class_names(classes)
        if self.classes is None:
            self.goal = read_goal(goal)[0]
        else:
            self.goal = _setpoint.check_class_goal(setting("goal", goal, str), self.classes)
            if surrogate != "sigmoid":
                raise refuse("surrogate", surrogate, "sigmoid for several classes")
        self.pool, self.warmup = setting("pool", pool, int), setting("warmup", warmup, int)
        if not 1 <= self.pool <= MOST_POOLED:
            raise refuse("pool", pool, f"a number of batches from 1 to {MOST_POOLED:,}")
        self.mix = setting("mix", mix, float)
        if not 0 <= self.mix <= 1:
            raise refuse("mix", mix, "a share between 0 and 1")
        width = ("0.5tail" if self.classes is None else "0.1sd") if bandwidth is None else bandwidth
        self.bandwidth, self.surrogate = surrogates(width, surrogate)
        self._loss = self._fresh()

    def __setattr__(self, name: str, value: Any) -> None:
        # The compiled half has taken the settings over; buffers and hooks of torch's own are as ever.
        if "_loss" in self.__dict__ and name in SETTINGS:
            raise refuse_set(self, name)
        super().__setattr__(name, value)

    def _fresh(self) -> Union[_setpoint.BatchLoss, _setpoint.ClassBatchLoss]:
        how = (self.pool, self.mix, self.warmup, self.bandwidth)
        if self.classes is not None:
            return _setpoint.ClassBatchLoss(self.goal, self.classes, *how)
        return _setpoint.BatchLoss(self.goal, *how, self.surrogate)

    def get_extra_state(self) -> Tensor:
        return torch.frombuffer(bytearray(self._loss.state(), "utf-8"), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        self._loss.restore(bytes(state.cpu().tolist()).decode())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loss": self._loss.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_loss"})
        self._loss = self._fresh()
        self._loss.restore(state["_loss"])

    def forward(
        self, logits: Tensor, targets: Tensor, weight: Optional[Tensor] = None, amounts: Any = None
    ) -> Tensor:
        """The loss of a batch; `logits` are scores of any scale, `targets` 0 or 1, or the number of the class.

        `amounts` are those of a goal in money: a tensor with a value for each row, or a mapping by its columns.
        """
        mine = _flat(logits, targets, weight, self.classes)
        if self.classes is None:
            paid = _paid(self.goal, mine[1], amounts)
            mine = mine if paid is None else torch.cat([mine[:1], paid, mine[1:]])
        ranks = _Ranks() if _ranks() > 1 else None
        rows = mine.shape[1] if ranks is None else ranks.sum(np.array([float(mine.shape[1])]))[0]
        if rows == 0:
            raise InputError("logits are empty: a loss needs at least one example; skip batches without any")
        if ranks is None or self.classes is None:
            value, gradient = self._step(mine, ranks)
        else:
            joined, start = _join(mine)
            value, gradient = self._step(joined, None)
            gradient = gradient[start : start + mine.shape[1]]
        gradient = gradient * _ranks()
        return _Scored.apply(logits, value, gradient.to(logits.device, logits.dtype).reshape(logits.shape))

    def _step(self, batch: Tensor, ranks: Optional["_Ranks"]) -> tuple[float, Tensor]:
        """Loss and gradient by the scores of the batch, or of a share of it; the state is brought up to date in
        training."""
        targets, weights = batch[-2], batch[-1]
        # What is equal here need not be so on other ranks.
        equal = weights[:1] if ranks is None else 1
        weight = None if bool((weights == equal).all()) else _numpy(weights.double())
        if isinstance(self._loss, _setpoint.ClassBatchLoss):
            codes, scores = _numpy(targets).astype(np.uint32), batch[:-2].T.reshape(-1)
            value, v = self._loss.step(_numpy(scores), codes, weight, self.training)
            return value, torch.from_dlpack(v.reshape(len(codes), -1))
        # Of a goal in money, what is paid stands between scores and targets.
        paid = None if len(batch) == 3 else _numpy(batch[1:3].T.reshape(-1).double())
        value, v = self._loss.step(_numpy(batch[0]), _numpy(targets) > 0.5, weight, self.training, paid, ranks)
        return value, torch.from_dlpack(v)

    @property
    def thresholds(self) -> Tensor:
        """The thresholds of the last step, where the smooth conditions hold on the pool; empty before it.

        Of several classes, the shifts: a row is decided as the class with the largest logit less its shift.
        """
        loss = self._loss
        found = loss.shifts if isinstance(loss, _setpoint.ClassBatchLoss) else loss.thresholds
        return torch.tensor(found or [], dtype=torch.float64)

    def _exact(self) -> tuple[np.ndarray, np.ndarray, Optional[np.ndarray], Optional[np.ndarray]]:
        if isinstance(self._loss, _setpoint.ClassBatchLoss):
            raise InputError("several classes have a shift each and no threshold; see thresholds and metrics()")
        held = self._loss.pool()
        if held is None:
            raise InputError(EMPTY)
        return held

    @property
    def threshold(self) -> float:
        """The threshold at which the goal's conditions hold exactly on the pool.

        For a threshold that holds on new data, certify one on held-out rows: `setpoint.certify`.
        """
        labels, scores, weights, paid = self._exact()
        found = _point(self.goal, labels, scores, weights, paid).thresholds
        if len(found) != 1:
            raise InputError(f"{self.goal!r} has no single threshold; setpoint.certify finds one")
        return float(found[0])

    def metrics(self) -> dict[str, Any]:
        """What is true of the pool, counted: the goal's value, the threshold, and the rates there.

        Of several classes: the goal's value at the best shifts, and those.
        """
        if isinstance(self._loss, _setpoint.ClassBatchLoss):
            counted = self._loss.metrics()
            if counted is None:
                raise InputError(EMPTY)
            return {"goal": counted[0], "examples": counted[2], "shifts": counted[1]}
        labels, scores, weights, paid = self._exact()
        point = _point(self.goal, labels, scores, weights, paid)
        found: dict[str, Any] = {"goal": point.value, "examples": len(labels)}
        if len(point.thresholds) == 1:
            threshold = float(point.thresholds[0])
            rates = rates_at(labels, scores, threshold, sample_weight=weights)
            found.update(threshold=threshold, **{name: rates[name] for name in ("recall", "fpr", "precision")})
        return found

    def extra_repr(self) -> str:
        return f"{self.goal!r}, pool={self.pool}, mix={self.mix}"


class QueryLoss(nn.Module):
    """1 less the smooth metric of a goal per query, differentiated through the threshold of each query.

    ```python
    loss = QueryLoss("ndcg @ k=10 per query")
    loss(scores, grades, query).backward()
    ```

    Every query has thresholds of its own, so there is no pool and nothing to keep: batches hold whole queries, in any
    order of rows, and `query` is a number for each row. Queries that no order of scores changes teach nothing.

    Parameters
    ----------
    goal : such as "ndcg @ k=10 per query" or "precision @ k=5 per query".
    positive : which grades are relevant where the metric needs yes or no, as in ">=2"; by default those above 0.
    sharpness : how fast the surrogate switches, in units of the spread of a query's scores.
    """

    def __init__(self, goal: str, *, positive: Optional[str] = None, sharpness: float = 8.0) -> None:
        super().__init__()
        self.goal, self.positive = query_goal(goal), positive
        self.sharpness = setting("sharpness", sharpness, float)

    def forward(self, scores: Tensor, grades: Tensor, query: Tensor) -> Tensor:
        """The loss of a batch of whole queries."""
        for name, tensor in (("scores", scores), ("grades", grades), ("query", query)):
            if not isinstance(tensor, Tensor):
                raise InputError(f"{name} is of type {type(tensor).__name__}: expected a tensor")
            if tensor.numel() != scores.numel():
                raise InputError(f"{name} has {tensor.numel()} values: expected {scores.numel()}, one for each score")
        _, codes = torch.unique(query.detach().reshape(-1).cpu(), return_inverse=True)
        rows = ranked(
            _numpy(grades.reshape(-1).float().cpu()),
            (
                "",
                [str(one) for one in range(int(codes.max()) + 1 if codes.numel() else 0)],
                _numpy(codes).astype(np.uint32),
            ),
            self.positive,
        )
        flat = _numpy(scores.reshape(-1).float().cpu())
        if not np.isfinite(flat).all():
            raise InputError("scores hold NaN or infinity: try a smaller learning rate")
        value, v = _setpoint.query_step(self.goal, rows, flat, self.sharpness, 0.0)
        gradient = torch.from_dlpack(v).to(scores.device, scores.dtype).reshape(scores.shape)
        return _Scored.apply(scores, 1 - value, gradient)

    def extra_repr(self) -> str:
        return repr(self.goal)


class _Scored(torch.autograd.Function):
    """A value whose gradient by the logits is known already."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, value: float, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return logits.new_tensor(value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        (gradient,) = ctx.saved_tensors
        return grad * gradient, None, None


def _numpy(tensor: Tensor) -> np.ndarray:
    # Through DLPack: Debian's torch and a newer numpy do not know each other's C interface.
    return np.ascontiguousarray(np.from_dlpack(tensor.detach().contiguous()))


def _paid(goal: str, targets: Tensor, amounts: Any) -> Optional[Tensor]:
    """What each row pays if it is decided negative, and if positive, as two rows; none of other goals."""
    if isinstance(amounts, Tensor):
        amounts = _numpy(amounts.detach().reshape(-1).double().cpu())
    elif hasattr(amounts, "items"):
        amounts = {name: _numpy(torch.as_tensor(one).reshape(-1).double().cpu()) for name, one in amounts.items()}
    found = pays(goal, _numpy(targets) > 0.5, amounts)
    return None if found is None else torch.from_dlpack(np.ascontiguousarray(found.reshape(-1, 2).T)).float()


def _point(goal: str, labels: Any, scores: Any, weights: Any, paid: Optional[np.ndarray]) -> OperatingPoint:
    value, thresholds, counts = _setpoint.value_at(
        goal,
        np.ascontiguousarray(labels),
        np.ascontiguousarray(scores, dtype=np.float64),
        None if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        None,
        False,
        paid,
    )
    return OperatingPoint(value, np.array(thresholds), None if counts is None else {})


def _flat(
    logits: Tensor, targets: Tensor, weight: Optional[Tensor], classes: Optional[Sequence[str]] = None
) -> Tensor:
    """Scores (a row for each class), targets and weights as the rows of one matrix on the CPU."""
    for name, tensor in (("logits", logits), ("targets", targets), ("weight", weight)):
        if not isinstance(tensor, Tensor) and (name != "weight" or tensor is not None):
            raise InputError(f"{name} is of type {type(tensor).__name__}: expected a tensor")
    if not logits.is_floating_point():
        raise InputError(f"logits have dtype {logits.dtype}: expected floating-point scores of the network")
    columns = 1 if classes is None else len(classes)
    if classes is not None and (logits.ndim != 2 or logits.shape[1] != columns):
        raise InputError(f"logits have shape {tuple(logits.shape)}: expected a column for each of {columns} classes")
    scores = logits.detach().reshape(-1, columns).T.float().cpu()
    truth = targets.detach().reshape(-1).float().cpu()
    if truth.numel() != scores.shape[1]:
        raise InputError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)}: expected one target for each"
        )
    if classes is None and not bool(((truth == 0) | (truth == 1)).all()):
        raise InputError("targets hold values other than 0 and 1")
    if classes is not None and not bool(((truth >= 0) & (truth < columns) & (truth == truth.round())).all()):
        raise InputError(f"targets hold values other than the numbers of classes, 0 to {columns - 1}")
    if weight is None:
        weights = torch.ones_like(truth)
    else:
        weights = weight.detach().reshape(-1).float().cpu()
        if weights.numel() != truth.numel():
            what = "logit" if classes is None else "row of logits"
            raise InputError(f"weight has {weights.numel()} values: expected {truth.numel()}, one for each {what}")
        if not bool(((weights > 0) & torch.isfinite(weights)).all()):
            raise InputError("weight holds values that are not positive numbers: leave the rows of weight 0 out")
    if not bool(torch.isfinite(scores).all()):
        raise InputError("logits hold NaN or infinity: try a smaller learning rate")
    return torch.cat([scores, truth[None], weights[None]])


def _ranks() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _device() -> torch.device:
    """Collectives run where the backend lives: NCCL needs the GPU."""
    nccl = dist.get_backend() == "nccl"
    return torch.device("cuda", torch.cuda.current_device()) if nccl else torch.device("cpu")


class _Ranks:
    """What the compiled half asks of all ranks, which are in step: sums, and now and then all values."""

    def __init__(self) -> None:
        # Calls come from threads of the compiled half, which may have another device.
        self._device = _device()

    def sum(self, values: np.ndarray) -> np.ndarray:
        summed = torch.from_dlpack(values).to(self._device)
        dist.all_reduce(summed)
        return _numpy(summed.cpu())

    def gather(self, values: np.ndarray) -> np.ndarray:
        return _numpy(_join(torch.from_dlpack(values)[None], self._device)[0][0])


def _join(mine: Tensor, device: Optional[torch.device] = None) -> tuple[Tensor, int]:
    """The batches of all ranks as one, and where this rank's starts."""
    if _ranks() == 1:
        return mine, 0
    device = device or _device()
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(_ranks())]
    dist.all_gather(sizes, torch.tensor([mine.shape[1]], dtype=torch.int64, device=device))
    counts = [int(size) for size in sizes]
    # Batches may differ in size, the last of an epoch for one: padded for the journey.
    padded = torch.zeros(mine.shape[0], max(counts), dtype=mine.dtype, device=device)
    padded[:, : mine.shape[1]] = mine.to(device)
    parts = [torch.zeros_like(padded) for _ in counts]
    dist.all_gather(parts, padded)
    joined = torch.cat([part[:, :count].cpu() for part, count in zip(parts, counts)], dim=1)
    return joined, sum(counts[: dist.get_rank()])
