"""The peers: cross-entropy with thresholds by group, and fairlearn's two, with logistic regression inside.

Every method sees the same columns, never the group's own; those that decide by group see it beside.
"""

import warnings

import numpy as np
import pandas as pd
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient, TruePositiveRateParity
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

WINDOWS = 501


def regression():
    return LogisticRegression(max_iter=300, solver="newton-cholesky")


class Split:
    """Encoded columns, labels and groups of train, validation and test."""

    def __init__(self, header, rows, parts, column):
        frame = pd.DataFrame(rows, columns=header)
        for name in frame.columns:
            try:
                frame[name] = pd.to_numeric(frame[name])
            except (ValueError, TypeError):
                pass
        labels, groups = frame["label"].to_numpy(dtype=int), frame[column].astype(str).to_numpy()
        features = frame.drop(columns=["label", column])
        encode = make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include=np.number)),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude=np.number)),
        )
        encode.fit(features.iloc[parts[0]])
        of = [(encode.transform(features.iloc[part]), labels[part], groups[part]) for part in parts]
        self.train, self.validation, self.test = of
        self.both = tuple(np.concatenate([a, b]) for a, b in zip(self.train, self.validation))


def rates_by_group(rate, labels, decisions, groups):
    """Positive rate, or recall, of each group; not a number where it has no positives."""
    kept = labels == 1 if rate == "recall" else np.ones(len(labels), dtype=bool)
    of = [decisions[kept & (groups == name)] for name in np.unique(groups)]
    return np.array([part.mean() if len(part) else np.nan for part in of])


def thresholds_by_group(scores, labels, groups, rule):
    """The thresholds of best accuracy within the rule, over windows of rates, exact cuts within each."""
    options = {}
    for name in np.unique(groups):
        here = groups == name
        order = np.argsort(-scores[here], kind="stable")
        s, y = scores[here][order], labels[here][order]
        ends = np.append(np.flatnonzero(np.diff(s)), len(s) - 1) + 1
        cuts = np.append(0, ends)
        hits = np.append(0, np.cumsum(y))[cuts]
        right = hits + (len(y) - y.sum()) - (cuts - hits)
        rate = hits / max(y.sum(), 1) if rule.rate == "recall" else cuts / len(y)
        at = np.append(np.inf, (s[ends - 1] + np.append(s[ends[:-1]], s[-1] - 1)) / 2)
        options[name] = (at, right, rate)
    best = (-1, None)
    for low in np.linspace(0, 1, WINDOWS):
        high = low + rule.target if rule.kind == "gap" else low / rule.target
        total, chosen = 0, {}
        for name, (at, right, rate) in options.items():
            inside = np.flatnonzero((rate >= low) & (rate <= high))
            if not len(inside):
                break
            place = inside[np.argmax(right[inside])]
            total, chosen[name] = total + right[place], at[place]
        else:
            best = max(best, (total, chosen), key=lambda pair: pair[0])
    return best[1]


def cross_entropy(split, rule, seed):
    """One threshold for all, best by accuracy on validation: no rule."""
    (x, y, _), (xv, yv, _), (xt, _, _) = split.train, split.validation, split.test
    model = regression().fit(x, y)
    alone = type(rule)("gap", "positive-rate", 1.0)
    at = thresholds_by_group(model.decision_function(xv), yv, np.full(len(yv), "all"), alone)
    return model.decision_function(xt) >= at["all"]


def cross_entropy_by_group(split, rule, seed):
    (x, y, _), (xv, yv, gv), (xt, _, gt) = split.train, split.validation, split.test
    model = regression().fit(x, y)
    at = thresholds_by_group(model.decision_function(xv), yv, gv, rule)
    return model.decision_function(xt) >= np.array([at[name] for name in gt])


def threshold_optimizer(split, rule, seed):
    """Exact parity, randomised; it has no 80% rule, so there it is held to parity."""
    (x, y, g), (xt, _, gt) = split.both, split.test
    constraints = "true_positive_rate_parity" if rule.rate == "recall" else "demographic_parity"
    model = ThresholdOptimizer(estimator=regression(), constraints=constraints, objective="accuracy_score", predict_method="predict_proba", prefit=False)
    model.fit(x, y, sensitive_features=g)
    return model.predict(xt, sensitive_features=gt, random_state=seed) == 1


def exponentiated_gradient(split, rule, seed):
    """A mixture of models that do not see the group. Its bound is on each group against all rows: half
    the gap between two groups, or the root of their ratio."""
    (x, y, g), (xt, _, _) = split.both, split.test
    kind = TruePositiveRateParity if rule.rate == "recall" else DemographicParity
    bound = {"difference_bound": rule.target / 2} if rule.kind == "gap" else {"ratio_bound": rule.target**0.5}
    model = ExponentiatedGradient(regression(), constraints=kind(**bound), eps=0.005)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y, sensitive_features=g)
        return model.predict(xt, random_state=seed) == 1


PEERS = {
    "cross-entropy, no rule": cross_entropy,
    "cross-entropy, threshold by group": cross_entropy_by_group,
    "fairlearn ThresholdOptimizer": threshold_optimizer,
    "fairlearn ExponentiatedGradient": exponentiated_gradient,
}
