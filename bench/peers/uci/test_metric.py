"""The metrics against slow, obvious versions of their definitions: `python3 -m pytest bench/peers/uci`."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import metric


def samples():
    """Small samples with and without ties."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.arange(60) % 7 == 0)
        scores = rng.normal(size=60) + labels
        yield (np.round(scores, 1) if seed % 2 else scores), labels


def operating_points(scores, labels):
    """(recall, precision, fpr) at each distinct score, strictest first."""
    for threshold in sorted(set(scores), reverse=True):
        chosen = scores >= threshold
        tp, fp = np.sum(chosen & labels), np.sum(chosen & ~labels)
        yield tp / labels.sum(), tp / (tp + fp), fp / np.sum(~labels)


def test_pr_auc_is_the_mean_precision_over_a_fine_grid_of_recalls():
    for scores, labels in samples():
        points = list(operating_points(scores, labels))
        grid = 0.5 + 0.5 * (np.arange(9000) + 0.5) / 9000  # 9 positives: bin edges fall on grid edges
        oracle = np.mean([next(p for r, p, _ in points if r >= wanted) for wanted in grid])
        assert metric.pr_auc(metric.curve(scores, labels), 0.5) == pytest.approx(oracle, abs=1e-3)


def test_pr_auc_of_a_perfect_ranking_is_one_and_of_a_constant_score_the_positive_rate():
    labels = np.arange(50) < 10
    assert metric.pr_auc(metric.curve(labels * 1.0, labels), 0.95) == pytest.approx(1.0)
    assert metric.pr_auc(metric.curve(np.zeros(50), labels), 0.95) == pytest.approx(0.2)


def test_fnr_is_the_lowest_among_thresholds_within_the_limit():
    for scores, labels in samples():
        for limit in (0.0, 0.05, 0.2):
            oracle = min([1 - r for r, _, fpr in operating_points(scores, labels) if fpr <= limit], default=1.0)
            assert metric.fnr_at_fpr(metric.curve(scores, labels), limit) == pytest.approx(oracle)


def test_partial_roc_auc_equals_scikit_learns():
    reference = pytest.importorskip("sklearn.metrics").roc_auc_score
    for scores, labels in samples():
        for limit in (0.05, 0.2, 0.5):
            expected = reference(labels, scores, max_fpr=limit)
            assert metric.roc_auc(metric.curve(scores, labels), limit) == pytest.approx(expected, abs=1e-12)


def test_a_diverged_fit_is_refused():
    with pytest.raises(metric.Diverged):
        metric.curve(np.array([0.0, np.nan]), np.array([0, 1]))
