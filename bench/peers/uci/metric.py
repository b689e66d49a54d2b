"""Exact values of the goals on one sample, as docs/goals.md defines them.

Predicted positive means `score >= threshold`; thresholds are the distinct scores. One sort gives the
counts that every goal is read from.
"""

import numpy as np


class Diverged(ValueError):
    """Scores that are not finite."""


def curve(scores, labels):
    """True and false positives at every distinct score, strictest first, after a leading (0, 0)."""
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels) > 0.5
    if not np.isfinite(scores).all():
        raise Diverged("scores hold values that are not finite; the fit has diverged")
    order = np.argsort(-scores, kind="stable")
    last_of_tie = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    true_positives = np.cumsum(labels[order])[last_of_tie]
    false_positives = last_of_tie + 1 - true_positives
    return np.append(0, true_positives), np.append(0, false_positives)


def pr_auc(counts, start):
    """Mean over recall in [start, 1] of the precision at the largest threshold that reaches that recall."""
    tp, fp = counts
    recall = tp / tp[-1]
    width = np.maximum(recall[1:], start) - np.maximum(recall[:-1], start)
    return float(np.sum(width * tp[1:] / (tp[1:] + fp[1:])) / (1 - start))


def fnr_at_fpr(counts, limit):
    """Lowest fnr among the thresholds whose fpr is at most `limit` on this sample."""
    tp, fp = counts
    return float(1 - tp[fp / fp[-1] <= limit].max() / tp[-1])


def roc_auc(counts, limit):
    """Area under the ROC curve over fpr in [0, limit], rescaled so that chance is 0.5 (McClish)."""
    tp, fp = counts
    fpr, recall = fp / fp[-1], tp / tp[-1]
    inside = fpr <= limit
    x = np.append(fpr[inside], limit)
    y = np.append(recall[inside], np.interp(limit, fpr, recall))
    area = np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)
    chance = limit * limit / 2
    return float((1 + (area - chance) / (limit - chance)) / 2)


VALUES = {
    "pr-auc @ recall in 0.95..1": lambda counts: pr_auc(counts, 0.95),
    "fnr @ fpr<=1%": lambda counts: fnr_at_fpr(counts, 0.01),
    "fnr @ fpr<=5%": lambda counts: fnr_at_fpr(counts, 0.05),
    "roc-auc @ fpr in 0..5%": lambda counts: roc_auc(counts, 0.05),
}


def values(scores, labels, goals):
    """The value of each goal on this sample."""
    counts = curve(scores, labels)
    return {goal: VALUES[goal](counts) for goal in goals}
