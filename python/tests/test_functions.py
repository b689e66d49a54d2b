"""The engine and certificates from Python."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import make_data

import setpoint

GOALS = [
    "recall @ fpr<=10%",
    "precision @ recall>=0.8",
    "fnr @ fpr=5%",
    "pr-auc @ recall in 0.8..1",
    "roc-auc @ fpr in 0..20%",
    "f1",
]


def scored(rows=400, seed=0):
    X, y = make_data(rows, seed=seed, rate=0.3)
    return (X[:, 0] + X[:, 1]).astype(np.float32), y


@pytest.mark.parametrize("goal", GOALS)
def test_the_gradient_is_that_of_the_loss_through_the_resolved_threshold(goal):
    scores, y = scored()
    sharpness = 4.0
    found = setpoint.step(y, scores, goal, sharpness=sharpness)
    random = np.random.default_rng(1)
    for _ in range(5):
        direction = random.normal(size=len(scores)).astype(np.float32)
        # 2^-8: exact in 32 bits, small against the width of the surrogate.
        size = np.float32(2.0**-8)
        ahead = setpoint.step(y, scores + size * direction, goal, sharpness=sharpness)
        behind = setpoint.step(y, scores - size * direction, goal, sharpness=sharpness)
        slope = (ahead.loss - behind.loss) / (2 * float(size))
        along = float(found.gradient @ direction)
        # Second differences leave errors of about size², rounding of scores 1e-7 / size.
        assert slope == pytest.approx(along, rel=2e-3, abs=1e-4)


def test_shifting_all_scores_changes_nothing():
    scores, y = scored()
    found = setpoint.step(y, scores, "recall @ fpr<=10%")
    assert abs(found.gradient.sum()) < 1e-5 and np.abs(found.gradient).max() > 1e-4
    moved = setpoint.step(y, scores + 1, "recall @ fpr<=10%")
    assert moved.loss == pytest.approx(found.loss, abs=1e-5)
    assert moved.thresholds == pytest.approx(found.thresholds + 1, abs=1e-4)


def test_thresholds_can_be_held_solved_exactly_and_smoothly():
    scores, y = scored()
    held = setpoint.step(y, scores, "recall @ fpr<=10%", thresholds=[0.5], solve="hold", sharpness=1e4)
    assert held.thresholds.tolist() == [0.5]
    rates = setpoint.metrics.rates_at(y, scores, 0.5)
    # A sharp surrogate counts.
    assert -held.loss == pytest.approx(rates["recall"], abs=0.01)
    assert held.constraints[0] == pytest.approx(rates["fpr"] - 0.1, abs=0.01)
    exact = setpoint.step(y, scores, "recall @ fpr<=10%", solve="exact")
    point = setpoint.metrics.operating_point(y, scores, "recall @ fpr<=10%")
    decided = [(scores >= threshold).sum() for threshold in (exact.thresholds[0], point.thresholds[0])]
    assert decided[0] == decided[1]
    smooth = setpoint.step(y, scores, "recall @ fpr<=10%")
    assert smooth.constraints == pytest.approx([0.0], abs=1e-6)


def test_weights_count_as_copies_and_weight_zero_moves_nothing():
    scores, y = scored(100)
    weights = np.random.default_rng(0).integers(0, 3, 100)
    whole = setpoint.step(y, scores, "recall @ fpr<=20%", weights=weights, sharpness=3.0)
    copies = setpoint.step(np.repeat(y, weights), np.repeat(scores, weights), "recall @ fpr<=20%", sharpness=3.0)
    assert whole.loss == pytest.approx(copies.loss, abs=1e-9)
    assert len(whole.gradient) == 100 and not whole.gradient[weights == 0].any()


def test_groups_in_a_step():
    scores, y = scored()
    groups = np.where(np.arange(len(y)) % 2, "a", "b")
    found = setpoint.step(y, scores, "accuracy @ gap(positive-rate, g)<=0.01", groups=groups)
    assert len(found.thresholds) == 2
    with pytest.raises(ValueError, match="pass groups="):
        setpoint.step(y, scores, "recall @ fpr(g)<=5%")


def test_bad_steps_are_refused():
    scores, y = scored()
    for change, words in [
        ({"solve": "magic"}, "expected smooth, exact or hold"),
        ({"surrogate": "relu"}, "expected one of sigmoid, softplus"),
        ({"sharpness": -1.0}, "sharpness"),
        ({"thresholds": [0.0, 1.0]}, "thresholds"),
        ({"y": np.zeros(len(y))}, "no positives"),
        ({"scores": scores[:5]}, "inconsistent numbers of samples"),
    ]:
        arguments = {"goal": "recall @ fpr<=10%", "scores": scores, "y": y, **change}
        with pytest.raises(ValueError, match=words):
            setpoint.step(**arguments)


def test_a_certified_threshold_holds_on_fresh_data():
    random = np.random.default_rng(3)
    broken = 0
    for _ in range(200):
        y = random.random(2000) < 0.2
        score = random.normal(size=2000) + 2 * y
        found = setpoint.certify(y, score, "fpr<=5%", confidence=0.9)
        # The population's fpr is the normal tail above the threshold.
        from math import erfc, sqrt

        broken += 0.5 * erfc(found.threshold / sqrt(2)) > 0.05
    # At most 10% of 200 are broken in expectation: 20, with a standard deviation of 4.2.
    assert broken <= 33


def test_scores_that_differ_in_the_last_digits_are_certified_apart():
    rows = np.arange(400)
    found = setpoint.certify(rows >= 300, 0.5 + rows * 1e-13, "fpr<=1%")
    assert 0.5 + 299 * 1e-13 < found.threshold <= 0.5 + 300.5 * 1e-13
    assert str(found).startswith("certified at 95% confidence on 400 examples")


def test_what_cannot_be_certified_says_what_is_needed():
    with pytest.raises(setpoint.InfeasibleError, match="at least 2995 are needed"):
        setpoint.certify(np.arange(400) >= 300, np.arange(400.0), "fpr<=0.1%")
    with pytest.raises(ValueError, match="pass groups="):
        setpoint.certify(np.arange(400) >= 300, np.arange(400.0), "fpr(site)<=10%")
    groups = np.where(np.arange(4000) % 2, "a", "b")
    by_group = setpoint.certify(np.arange(4000) >= 3000, np.arange(4000.0), "fpr(site)<=10%", groups=groups)
    assert by_group.threshold is None and by_group.groups == ["a", "b"] and len(by_group.thresholds) == 2


def test_importing_setpoint_imports_nothing_but_numpy():
    code = (
        "import sys, setpoint; "
        "print([m for m in ('sklearn', 'torch', 'lightgbm', 'xgboost', 'scipy', 'pandas') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    assert "SetpointClassifier" in dir(setpoint)
    with pytest.raises(AttributeError):
        _ = setpoint.nothing
