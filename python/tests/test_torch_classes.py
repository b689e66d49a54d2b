"""The loss for PyTorch on a logit for each class, and the engine behind it."""

import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import setpoint  # noqa: E402
from setpoint.torch import OperatingPointLoss  # noqa: E402

CLASSES = ["common", "rare", "other"]
GOALS = [
    "accuracy",
    "macro-f1",
    "worst(recall)",
    "accuracy @ recall(rare)>=0.9",
    "recall(rare) @ precision(rare)>=0.6",
    "accuracy @ coverage(each)=prior",
]


def batch(rows=400, seed=0):
    """Features and classes; the second is rare."""
    draw = np.random.default_rng(seed)
    y = draw.choice(3, rows, p=[0.6, 0.1, 0.3])
    X = draw.normal(size=(rows, 5)) + 1.2 * np.eye(3, 5)[y]
    return torch.tensor(X, dtype=torch.float32), torch.tensor(y)


@pytest.mark.parametrize("goal", GOALS)
def test_the_gradient_matches_finite_differences(goal):
    X, y = batch()
    logits = X[:, :3].double().requires_grad_()
    loss = OperatingPointLoss(goal, classes=CLASSES, pool=1, mix=0.0, bandwidth="0.25")
    loss(logits, y).backward()
    assert logits.grad.sum(dim=1).abs().max() < 1e-7, "rows sum to zero"
    loss.eval()
    torch.manual_seed(0)
    for _ in range(5):
        direction = torch.randn_like(logits)
        size = 2.0**-9
        ahead, behind = (float(loss(logits.detach() + s * size * direction, y)) for s in (1, -1))
        # Second differences leave about size², scores rounded to 32 bits and conditions met within 1e-6 the rest.
        slope = float((logits.grad * direction).sum())
        assert (ahead - behind) / (2 * size) == pytest.approx(slope, rel=5e-3, abs=5e-4)
    named = np.array(CLASSES)[y.numpy()]
    found = setpoint.step(named, logits.detach().numpy(), goal, classes=CLASSES, sharpness=4.0)
    assert np.allclose(logits.grad.numpy(), found.gradient, atol=1e-7)


def test_cross_entropy_alone_is_that_of_torch():
    X, y = batch()
    weight = torch.rand(len(y)) + 0.1
    logits, other = (X[:, :3].clone().requires_grad_() for _ in range(2))
    loss = OperatingPointLoss("macro-f1", classes=CLASSES, mix=1.0)(logits, y, weight)
    loss.backward()
    rows = nn.functional.cross_entropy(other, y, reduction="none")
    plain = (weight * rows).sum() / weight.sum()
    plain.backward()
    assert float(loss.detach()) == pytest.approx(float(plain.detach()), rel=1e-6)
    assert torch.allclose(logits.grad, other.grad, atol=1e-8)


def train(loss, steps=120, seed=0):
    X, y = batch(4000, seed)
    torch.manual_seed(seed)
    model = nn.Linear(5, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(steps):
        rows = torch.randint(len(y), (128,), generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
    return model


@pytest.mark.parametrize("options", [{}, {"mix": 0.0}, {"warmup": 40}])
def test_a_model_trains_for_its_condition(options):
    loss = OperatingPointLoss("accuracy @ recall(rare)>=0.8", classes=CLASSES, **options)
    model = train(loss)
    X, y = batch(4000, 1)
    with torch.no_grad():
        decided = (model(X).double() - loss.thresholds).argmax(dim=1)
    caught = decided[y == 1] == 1
    shown = loss.metrics()
    assert shown["examples"] == 128 * loss.pool and len(shown["shifts"]) == 3
    # Recall is 0.8 on the pool. Its 256 rare rows and the 400 new ones may differ by three standard deviations.
    assert abs(float(caught.double().mean()) - 0.8) < 3 * (0.16 / 256 + 0.16 / 400) ** 0.5
    # No rule with a given recall is right more often than the most probable class with one shift. The model was
    # fitted to rows of the pool, so there it is about as good; new rows may differ by three standard deviations.
    room = 3 * (0.25 / shown["examples"] + 0.25 / len(y)) ** 0.5
    assert float((decided == y).double().mean()) > best_with(X, y, int(caught.sum())) - room
    assert shown["goal"] > best_with(X, y, 320) - room


def best_with(X, y, caught):
    """How often the best rule of all is right that finds so many of the rare rows."""
    scores = 1.2 * X[:, :3].double() + torch.tensor([0.6, 0.1, 0.3]).double().log()
    margins = scores[:, 1] - scores[:, [0, 2]].max(dim=1).values
    scores[:, 1] -= margins[y == 1].sort(descending=True).values[caught - 1]
    return float((scores.argmax(dim=1) == y).double().mean())


def test_batches_may_lack_classes():
    X, y = batch(600)
    loss = OperatingPointLoss("macro-f1", classes=CLASSES)
    model = nn.Linear(5, 3)
    for rows in torch.argsort(y).split(50):
        value = loss(model(X[rows]), y[rows])
        value.backward()
        assert torch.isfinite(value) and torch.isfinite(model.weight.grad).all()


def test_the_state_goes_on_where_it_was():
    goal = "accuracy @ recall(rare)>=0.8"
    first = OperatingPointLoss(goal, classes=CLASSES, pool=6)
    model = train(first, 20)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = OperatingPointLoss(goal, classes=CLASSES, pool=6)
    second.load_state_dict(torch.load(file))
    X, y = batch(128, 9)
    with torch.no_grad():
        logits = model(X)
    # The state holds all that a step depends on, which conditions tie shifts included.
    assert float(first(logits, y)) == float(second(logits, y))
    assert torch.equal(first.thresholds, second.thresholds)


def test_what_does_not_fit_is_refused():
    loss = OperatingPointLoss("macro-f1", classes=CLASSES)
    for arguments, words in [
        ((torch.zeros(3, 2), torch.tensor([0, 1, 2])), "a column for each of 3 classes"),
        ((torch.zeros(2, 3), torch.tensor([0, 3])), "0 to 2"),
        ((torch.zeros(2, 3), torch.tensor([0, 1, 2])), "expected one target for each"),
        ((torch.zeros(2, 3), torch.tensor([0, 1]), torch.ones(3)), "one for each row of logits"),
    ]:
        with pytest.raises(setpoint.InputError, match=words):
            loss(*arguments)
    with pytest.raises(setpoint.GoalError, match="common"):
        OperatingPointLoss("recall(often) @ precision(often)>=0.9", classes=CLASSES)
    with pytest.raises(setpoint.InputError, match="shift"):
        _ = loss.threshold
    with pytest.raises(setpoint.InputError, match="pool is empty"):
        loss.metrics()
    for arguments, words in [
        ((["common", "new"], np.zeros((2, 3)), "accuracy"), "expected one of common, rare, other"),
        ((["common"], np.zeros((2, 3)), "accuracy"), "one for each row"),
        ((["common", "rare"], np.zeros((2, 4)), "accuracy"), "a column for each of 3 classes"),
    ]:
        with pytest.raises(setpoint.InputError, match=words):
            setpoint.step(*arguments, classes=CLASSES)
    with pytest.raises(setpoint.InputError, match="twice"):
        setpoint.step(["a", "b"], np.zeros((2, 2)), "accuracy", classes=["a", "a"])
