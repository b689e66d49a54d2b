"""The loss for PyTorch."""

import copy
import io
import os
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402
from conftest import make_data  # noqa: E402
from torch import nn  # noqa: E402

import setpoint  # noqa: E402
from setpoint.torch import OperatingPointLoss  # noqa: E402

GOAL = "recall @ fpr<=10%"


def batch(rows=300, seed=0, rate=0.3):
    X, y = make_data(rows, seed=seed, rate=rate)
    return torch.tensor(X, dtype=torch.float32), torch.tensor(y)


@pytest.mark.parametrize("goal", [GOAL, "precision @ recall>=0.8", "pr-auc @ recall in 0.8..1", "f1"])
def test_the_gradient_matches_finite_differences(goal):
    X, y = batch()
    logits = (X[:, 0] + X[:, 1]).double().requires_grad_()
    loss = OperatingPointLoss(goal, pool=1, mix=0.0, bandwidth="0.25")
    loss(logits, y).backward()
    # Without a warm start, which a limit may keep on its inner side by 1e-5.
    loss.eval()
    torch.manual_seed(0)
    for _ in range(5):
        direction = torch.randn_like(logits)
        size = 2.0**-10
        ahead, behind = (float(loss(logits.detach() + s * size * direction, y)) for s in (1, -1))
        # Second differences leave about size², scores rounded to 32 bits 1e-7 / size.
        assert (ahead - behind) / (2 * size) == pytest.approx(float(logits.grad @ direction), rel=2e-3, abs=2e-4)
    found = setpoint.step(y.numpy(), logits.detach().numpy(), goal, sharpness=4.0)
    assert np.allclose(logits.grad.numpy(), found.gradient, atol=1e-7)


def test_cross_entropy_alone_is_that_of_torch():
    X, y = batch()
    weight = torch.rand(len(y)) + 0.1
    logits = X[:, 0].clone().requires_grad_()
    loss = OperatingPointLoss(GOAL, mix=1.0)(logits, y, weight)
    loss.backward()
    other = X[:, 0].clone().requires_grad_()
    plain = nn.functional.binary_cross_entropy_with_logits(other, y.float(), weight, reduction="sum") / weight.sum()
    plain.backward()
    assert float(loss) == pytest.approx(float(plain), rel=1e-6)
    assert torch.allclose(logits.grad, other.grad, atol=1e-8)


def train(loss, steps=150, model=None, seed=0, rate=0.1):
    X, y = batch(4000, seed, rate)
    torch.manual_seed(seed)
    model = model or nn.Sequential(nn.Linear(X.shape[1], 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(steps):
        rows = torch.randint(len(y), (128,), generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
    return model


@pytest.mark.parametrize("options", [{}, {"mix": 0.0}, {"warmup": 50}, {"pool": 4}])
def test_a_network_trains_and_the_log_tells_the_true_metric(options):
    loss = OperatingPointLoss("recall @ fpr<=5%", **options)
    model = train(loss)
    X, y = batch(4000, 1, 0.1)
    with torch.no_grad():
        scores = model(X)[:, 0].numpy()
    assert setpoint.metrics.value_at(y.numpy(), scores, "recall @ fpr<=5%") > 0.55
    shown = loss.metrics()
    assert shown["fpr"] <= 0.05 and shown["recall"] == shown["goal"] and shown["threshold"] == loss.threshold
    assert shown["examples"] == 128 * loss.pool
    # The pool's scores are from different steps; the threshold is near that of fresh rows.
    assert abs((scores[y.numpy() == 0] >= loss.threshold).mean() - 0.05) < 0.04


def test_batches_of_one_class_are_no_trouble():
    X, y = batch(600, rate=0.2)
    loss = OperatingPointLoss(GOAL)
    model = nn.Linear(X.shape[1], 1)
    order = torch.argsort(y)
    for rows in order.split(50):
        value = loss(model(X[rows]), y[rows])
        value.backward()
        assert torch.isfinite(value) and torch.isfinite(model.weight.grad).all()
    # A class that was never seen: cross-entropy alone.
    negatives = order[:50]
    alone = OperatingPointLoss(GOAL)(model(X[negatives]), y[negatives])
    plain = nn.functional.binary_cross_entropy_with_logits(model(X[negatives])[:, 0], y[negatives].float())
    assert float(alone) == pytest.approx(float(plain), rel=1e-6)


def test_the_state_goes_on_where_it_was():
    first = OperatingPointLoss(GOAL, pool=6)
    model = train(first, 20)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = OperatingPointLoss(GOAL, pool=6)
    second.load_state_dict(torch.load(file, weights_only=True))
    copies = [copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
    X, y = batch(200, 9)
    gradients = []
    for loss in (first, second, *copies):
        model.zero_grad()
        loss(model(X), y).backward()
        gradients.append(model[0].weight.grad.clone())
        assert torch.equal(gradients[0], gradients[-1]) and torch.equal(first.thresholds, loss.thresholds)
    with pytest.raises(setpoint.InputError):
        second.load_state_dict({"_extra_state": torch.tensor([123, 125], dtype=torch.uint8)})


def test_a_pool_is_counted_in_batches():
    for pool in (0, 10240):
        with pytest.raises(setpoint.InputError, match="number of batches"):
            OperatingPointLoss(GOAL, pool=pool)


def test_eval_mode_keeps_nothing():
    loss = OperatingPointLoss(GOAL)
    model = train(loss, 10)
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    X, y = batch(400, 3)
    loss.eval()(model(X), y)
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())


def test_bad_batches_are_refused():
    loss = OperatingPointLoss(GOAL)
    for arguments, words in [
        ((torch.zeros(3), torch.zeros(4)), "expected one target for each"),
        ((torch.zeros(3), torch.tensor([0, 1, 2])), "other than 0 and 1"),
        ((torch.tensor([0.0, float("nan")]), torch.tensor([0, 1])), "NaN or infinity"),
        ((torch.zeros(2), torch.tensor([0, 1]), torch.zeros(2)), "not positive"),
        ((torch.zeros(2), torch.tensor([0, 1]), torch.ones(3)), "one for each logit"),
    ]:
        with pytest.raises(ValueError, match=words):
            loss(*arguments)
    with pytest.raises(setpoint.InputError, match="groups"):
        OperatingPointLoss("recall @ fpr(sex)<=1%")
    with pytest.raises(setpoint.GoalError):
        OperatingPointLoss("recall at 1%")
    with pytest.raises(ValueError, match="mix"):
        OperatingPointLoss(GOAL, mix=2)
    with pytest.raises(ValueError, match="pool is empty"):
        _ = OperatingPointLoss(GOAL).threshold


def small_model():
    torch.manual_seed(7)
    return nn.Linear(6, 1)


def descend(model, loss, batches):
    """A few steps; the last gradient and the thresholds."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for X, y in batches:
        optimizer.zero_grad()
        loss(model(X), y).backward()
        optimizer.step()
    gradient = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    return gradient, loss.thresholds.clone()


def worker(rank, directory, goal, mix):
    dist.init_process_group("gloo", init_method=f"file://{directory}/rendezvous", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(small_model())
    # Ranks have batches of different sizes, one of them without positives in one step.
    batches = []
    for X, y in joined_batches():
        cut = 70
        batches.append((X[:cut], y[:cut]) if rank == 0 else (X[cut:], y[cut:]))
    gathers, gather = [], dist.all_gather

    def counted(*given, **named):
        gathers.append(given)
        return gather(*given, **named)

    dist.all_gather, loss = counted, OperatingPointLoss(goal, mix=mix)
    descend(model, loss, batches[:1])
    # Scores come together where thresholds are first placed, and again only where a free one is lost.
    first = len(gathers)
    found = descend(model, loss, batches[1:])
    assert 0 < first == len(gathers) or goal != GOAL
    torch.save(found, f"{directory}/{rank}.pt")
    # Nothing is taken down: PyTorch 1.13 holds Python's lock while it waits for a thread that may want it.
    os._exit(0)


def joined_batches():
    batches = [batch(200, seed) for seed in range(12)]
    X, y = batches[-1]
    order = torch.argsort(y)
    batches[-1] = (X[order], y[order])
    assert not batches[-1][1][:70].any()
    return batches


# A free threshold is where a slope is zero to 3e-6: it moves further than counts do.
@pytest.mark.parametrize(
    ("goal", "mix", "near"), [(GOAL, 0.0, 1e-6), (GOAL, 0.5, 1e-6), ("cost(fp=1, fn=5)", 0.0, 1e-4)]
)
def test_two_processes_have_the_gradient_of_one_on_the_joined_batch(tmp_path, goal, mix, near):
    mp.spawn(worker, args=(str(tmp_path), goal, mix), nprocs=2)
    gradient, thresholds = descend(small_model(), OperatingPointLoss(goal, mix=mix), joined_batches())
    for rank in range(2):
        found = torch.load(f"{tmp_path}/{rank}.pt")
        assert torch.allclose(found[0], gradient, atol=near), (found[0], gradient)
        assert torch.allclose(found[1], thresholds, atol=near)


def test_settings_that_were_taken_over_cannot_be_set():
    loss = OperatingPointLoss(GOAL, mix=0.25)
    for name in ("goal", "pool", "mix", "warmup", "bandwidth", "surrogate", "threshold"):
        with pytest.raises(AttributeError, match=name):
            setattr(loss, name, 7)
    again = pickle.loads(pickle.dumps(copy.deepcopy(loss)))
    assert again.mix == 0.25 and again.train(False).training is False
