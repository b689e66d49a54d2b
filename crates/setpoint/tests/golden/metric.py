"""Golden values for the exact metrics, from scikit-learn, scipy and mpmath.

    python -m venv venv && venv/bin/pip install numpy scikit-learn==1.9.1 scipy==1.17.1 mpmath
    venv/bin/python metric.py

writes metric.csv (the rows: label, score, weight, probability) and metric.txt (name, value).
Scores are sixteenths, so that there are ties and every float is exact as text; weights are eighths.
"""

import pathlib

import mpmath
import numpy as np
from scipy.stats import beta
from sklearn import metrics

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(20210618)
n = 120
label = (rng.random(n) < 0.3).astype(int)
score = np.round((rng.normal(size=n) + 1.2 * label) * 16 / 4) * 4 / 16
score[::3] += np.round(rng.normal(size=len(score[::3])) * 16) / 16
weight = rng.integers(1, 17, n) / 8
probability = np.round(1 / (1 + np.exp(-score)) * 256) / 256  # exact in f32

with open(HERE / "metric.csv", "w") as rows:
    rows.write("label,score,weight,probability\n")
    for row in zip(label, score, weight, probability):
        rows.write("%d,%r,%r,%r\n" % tuple(x.item() for x in row))

golden = {}


def recall_at_fpr(w, target):
    fpr, tpr, _ = metrics.roc_curve(label, score, sample_weight=w, drop_intermediate=False)
    return tpr[fpr <= target].max()


def precision_at_recall(w, target):
    precision, recall, _ = metrics.precision_recall_curve(label, score, sample_weight=w)
    return precision[:-1][recall[:-1] >= target].max()


for kind, w in [("unit", None), ("weighted", weight)]:
    put = lambda name, value: golden.__setitem__(f"{kind} {name}", value)
    put("roc-auc", metrics.roc_auc_score(label, score, sample_weight=w))
    for b in (0.01, 0.05, 0.1, 0.37, 1.0):
        put(f"roc-auc max_fpr {b}", metrics.roc_auc_score(label, score, sample_weight=w, max_fpr=b))
    put("average-precision", metrics.average_precision_score(label, score, sample_weight=w))
    put("log-loss", metrics.log_loss(label, probability, sample_weight=w))
    put("brier", metrics.brier_score_loss(label, probability, sample_weight=w))
    for t in (-0.5, 0.25, 1.0):
        tn, fp, fn, tp = metrics.confusion_matrix(label, score >= t, sample_weight=w).ravel()
        for cell, value in (("tn", tn), ("fp", fp), ("fn", fn), ("tp", tp)):
            put(f"{cell} at {t}", float(value))
        put(f"f1 at {t}", metrics.f1_score(label, score >= t, sample_weight=w))
        put(f"f2 at {t}", metrics.fbeta_score(label, score >= t, beta=2, sample_weight=w))
        put(f"balanced-accuracy at {t}", metrics.balanced_accuracy_score(label, score >= t, sample_weight=w))
    for b in (0.05, 0.2, 0.5):
        put(f"recall at fpr {b}", recall_at_fpr(w, b))
    for r in (0.5, 0.8, 0.95):
        put(f"precision at recall {r}", precision_at_recall(w, r))

mpmath.mp.dps = 40
for k, trials in [(0, 10), (3, 10), (10, 10), (1, 1), (50, 100), (3, 1000000), (999997, 1000000), (12345, 54321)]:
    for confidence in (0.9, 0.95, 0.999):
        # Not binomtest(...).proportion_ci: its root finder stops at 2e-12 absolute, 5e-7 off for 3 in a million.
        alpha = (1 - confidence) / 2
        lower = beta.ppf(alpha, k, trials - k + 1) if k > 0 else 0.0
        upper = beta.isf(alpha, k + 1, trials - k) if k < trials else 1.0
        golden[f"clopper-pearson lower {k} {trials} {confidence}"] = lower
        golden[f"clopper-pearson upper {k} {trials} {confidence}"] = upper
        one = beta.isf(1 - confidence, k + 1, trials - k) if k < trials else 1.0
        golden[f"at-most {k} {trials} {confidence}"] = one
for trials, k, p in [(1000, 20, 0.01), (1000000, 10234, 0.01), (1000000, 500, 0.001), (50, 40, 0.5)]:
    p_ = mpmath.mpf(p)
    term = mpmath.binomial(trials, k) * p_**k * (1 - p_) ** (trials - k)
    tail = mpmath.mpf(0)
    for j in range(k, min(trials, k + 20000) + 1):  # terms beyond are below 1e-40
        tail += term
        term *= (trials - j) * p_ / ((j + 1) * (1 - p_))
    golden[f"upper-tail {trials} {k} {p}"] = float(tail)

with open(HERE / "metric.txt", "w") as values:
    for name, value in golden.items():
        values.write(f"{name} = {float(value)!r}\n")
