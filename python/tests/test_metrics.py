"""Metrics agree with scikit-learn, with ties, weights and scores that 32 bits cannot tell apart."""

import numpy as np
import pytest
from sklearn import metrics as reference

import setpoint
from setpoint import metrics

CLOSE = 1e-12


def random_case(seed):
    random = np.random.default_rng(seed)
    rows = int(random.integers(20, 400))
    y = random.random(rows) < random.uniform(0.1, 0.7)
    y[:2] = [True, False]
    score = random.normal(size=rows) + y
    if seed % 3 == 0:
        score = np.round(score, 1)
    if seed % 3 == 1:
        # Steps far below the resolution of 32 bits.
        score = 1 + np.round(score, 1) * 1e-13
    weight = None if seed % 2 else random.uniform(0.1, 3, rows)
    return y, score, weight


@pytest.mark.parametrize("seed", range(60))
def test_curves_and_areas_agree_with_scikit_learn(seed):
    y, score, weight = random_case(seed)
    fpr, recall, thresholds = reference.roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    ours = metrics.roc_curve(y, score, sample_weight=weight)
    np.testing.assert_allclose(ours.x, fpr, atol=CLOSE, rtol=0)
    np.testing.assert_allclose(ours.y, recall, atol=CLOSE, rtol=0)
    np.testing.assert_array_equal(ours.thresholds, thresholds)
    precision, recall, thresholds = reference.precision_recall_curve(y, score, sample_weight=weight)
    ours = metrics.pr_curve(y, score, sample_weight=weight)
    np.testing.assert_allclose(ours.y, precision[-2::-1], atol=CLOSE, rtol=0)
    np.testing.assert_allclose(ours.x, recall[-2::-1], atol=CLOSE, rtol=0)
    np.testing.assert_array_equal(ours.thresholds, thresholds[::-1])
    for mine, theirs in [
        (metrics.roc_auc(y, score, sample_weight=weight), reference.roc_auc_score(y, score, sample_weight=weight)),
        (
            metrics.roc_auc(y, score, fpr=(0, 0.1), sample_weight=weight),
            reference.roc_auc_score(y, score, max_fpr=0.1, sample_weight=weight),
        ),
        (
            metrics.average_precision(y, score, sample_weight=weight),
            reference.average_precision_score(y, score, sample_weight=weight),
        ),
    ]:
        assert mine == pytest.approx(theirs, abs=CLOSE)


@pytest.mark.parametrize("seed", range(60))
def test_the_value_at_a_condition_is_the_best_point_of_the_curve(seed):
    y, score, weight = random_case(seed)
    fpr, recall, _ = reference.roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    best = recall[fpr <= 0.2].max()
    assert metrics.value_at(y, score, "recall @ fpr<=20%", sample_weight=weight) == pytest.approx(best, abs=CLOSE)
    point = metrics.operating_point(y, score, "recall @ fpr<=20%", sample_weight=weight)
    rates = metrics.rates_at(y, score, point.thresholds[0], sample_weight=weight)
    assert rates["recall"] == pytest.approx(best, abs=CLOSE) and rates["fpr"] <= 0.2
    decisions = score >= point.thresholds[0]
    tn, fp, fn, tp = reference.confusion_matrix(y, decisions, sample_weight=weight).ravel()
    named = point.counts
    np.testing.assert_allclose(
        [named["true_negatives"], named["false_positives"], named["false_negatives"], named["true_positives"]],
        [tn, fp, fn, tp],
        atol=1e-9,
    )
    f1 = reference.f1_score(y, decisions, sample_weight=weight)
    assert (rates["f1"] or 0.0) == pytest.approx(f1, abs=CLOSE)


def test_partial_precision_recall_is_the_mean_of_the_staircase():
    y, score, _ = random_case(2)
    curve = metrics.pr_curve(y, score)
    levels = np.linspace(0.9, 1, 20_001)[1:] - 0.05 / 20_000
    first = np.searchsorted(curve.x, levels - 1e-15)
    assert metrics.pr_auc(y, score, recall=(0.9, 1)) == pytest.approx(curve.y[first].mean(), abs=1e-3)


def test_weight_two_is_a_repeated_row_and_weight_zero_is_none():
    y, score, _ = random_case(4)
    times = np.random.default_rng(1).integers(0, 3, len(y))
    goal = "recall @ precision>=0.6"
    repeated = metrics.value_at(np.repeat(y, times), np.repeat(score, times), goal)
    assert metrics.value_at(y, score, goal, sample_weight=times) == repeated


def test_groups_have_thresholds_of_their_own():
    random = np.random.default_rng(0)
    group = random.choice(["f", "m"], 4000)
    y = random.random(4000) < 0.3
    score = random.normal(size=4000) + 2 * y + (group == "m")
    point = metrics.operating_point(y, score, "recall @ fpr(sex)<=5%", groups=group)
    assert len(point.thresholds) == 2 and point.thresholds[0] < point.thresholds[1]
    for name, threshold in zip(["f", "m"], point.thresholds):
        mine = group == name
        assert metrics.rates_at(y[mine], score[mine], threshold)["fpr"] <= 0.05
    with pytest.raises(ValueError, match="pass groups="):
        metrics.value_at(y, score, "recall @ fpr(sex)<=5%")


def test_intervals_hold_their_value_and_name_their_method():
    y, score, weight = random_case(20)
    for metric, more, method in [
        ("roc-auc", {}, "DeLong"),
        ("recall @ fpr<=20%", {}, "stratified bootstrap"),
        ("recall", {"threshold": 0.5}, "Clopper-Pearson"),
        ("recall", {"threshold": 0.5, "sample_weight": weight}, "stratified bootstrap"),
    ]:
        found = metrics.interval(y, score, metric, **more)
        assert found.lower <= found.value <= found.upper
        assert found.method == method
        assert found == metrics.interval(y, score, metric, **more)


def test_bad_input_raises_what_scikit_learn_users_expect():
    y, score = [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4]
    for arguments, words in [
        ((y, [0.1, float("nan"), 0.3, 0.4]), "NaN or infinity"),
        ((y, [0.1, 0.2]), "inconsistent numbers of samples"),
        ((["a", "b", "a", "b"], score), "positive="),
        (([0, 1, 2, 0], score), "positive="),
        (([1, 1, 1, 1], score), "no negatives"),
        ((y, ["x", "y", "z", "w"]), "expected numbers"),
        ((y, np.array([object()] * 4)), "expected numbers"),
        ((y, np.zeros((2, 2))), "expected one value for each row"),
        (([], []), "empty"),
    ]:
        with pytest.raises(ValueError, match=words):
            metrics.value_at(*arguments, "recall @ fpr<=1%")
        with pytest.raises(setpoint.SetpointError):
            metrics.value_at(*arguments, "recall @ fpr<=1%")
    with pytest.raises(ValueError, match="negative weights"):
        metrics.value_at(y, score, "f1", sample_weight=[1, 1, -1, 1])
    assert metrics.value_at(["spam", "ham", "spam"], [3, 1, 2], "f1", positive="spam") == 1.0


def test_goals_that_do_not_parse_point_at_the_place():
    with pytest.raises(setpoint.GoalError, match="outside") as raised:
        metrics.value_at([0, 1], [0.0, 1.0], "recall @ fpr<=1.5")
    assert "^^^" in str(raised.value)
    assert issubclass(setpoint.GoalError, setpoint.InputError) and issubclass(setpoint.InputError, ValueError)
    with pytest.raises(setpoint.InfeasibleError):
        metrics.value_at([0, 0, 1], [2.0, 3.0, 1.0], "recall @ precision>=0.9")


def flipped_case(apart, share):
    random = np.random.default_rng(5)
    y = random.random(200_000) < 0.2
    return y, y ^ (random.random(len(y)) < share), random.normal(size=len(y)) + apart * y


@pytest.mark.parametrize("fpr", [0.005, 0.02])
def test_the_rate_that_flipped_labels_show_is_the_true_one_at_the_same_threshold(fpr):
    y, seen, scores = flipped_case(2, 0.1)
    shown = metrics.fpr_on_flipped(seen, scores, fpr, share=0.1)
    assert shown.share == 0.1 and shown.fpr > fpr
    at = metrics.operating_point(seen, scores, f"recall @ fpr<={shown.fpr}").thresholds[0]
    # About 3.5% of 148,000 labelled negatives are above: a standard error of 5e-4, and this is five of them.
    assert metrics.rates_at(y, scores, at)["fpr"] == pytest.approx(fpr, abs=2.5e-3)


def test_the_share_of_flipped_labels_is_what_contradicts_the_surest_scores():
    _, seen, scores = flipped_case(6, 0.1)
    # A tenth of the 10,400 highest is flipped, with a standard error of 0.003, and of the 40,000 lowest of 0.0015.
    assert metrics.fpr_on_flipped(seen, scores, 0.01).share == pytest.approx(0.1, abs=0.015)
    _, clean, scores = flipped_case(6, 0.0)
    assert metrics.fpr_on_flipped(clean, scores, 0.01) == (0.01, 0.0)


def test_labels_that_cannot_be_flipped_so_often_are_refused():
    y, _, scores = flipped_case(2, 0.0)
    assert metrics.fpr_on_flipped(y, scores, 0.02, share=0.0) == (0.02, 0.0)
    with pytest.raises(setpoint.InputError, match=r"share=0\.3: expected a number from 0 and below 0\.2"):
        metrics.fpr_on_flipped(y, scores, 0.02, share=0.3)
    # Scores that say nothing: nearly all of the rarer label may be flipped, and no rate is above 1.
    assert 0.02 <= metrics.fpr_on_flipped(y, np.zeros(len(y)), 0.02).fpr <= 1
