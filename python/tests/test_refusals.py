"""Arguments that make no sense raise an error that names them; nothing panics, whatever is passed."""

import inspect
import os
import tempfile
import warnings

import numpy as np
import pytest
from conftest import make_data

import setpoint
from setpoint import metrics

X, Y = make_data(300, 3, rate=0.3)
SCORES = X.sum(axis=1)
GOAL = "recall @ fpr<=20%"
ROWS = len(Y)
QUERY = np.arange(ROWS) % 20

# None of these is right for any parameter, except where a parameter takes anything of its kind.
ODD = {
    "None": None,
    "text": "x",
    "empty text": "",
    "half a character": "\ud800",
    "bytes": b"x",
    "object": object(),
    "empty list": [],
    "dict": {},
    "ragged": [[1, 2], [3]],
    "negative": -1,
    "zero": 0,
    "fraction": 2.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "large": 2**62,
    "larger": 10**400,
    "true": True,
    "no rows": np.zeros((0, 3)),
    "cube": np.zeros((2, 2, 2)),
    "nans": np.full(ROWS, np.nan),
    "nones": [None] * ROWS,
    "texts": ["a"] * ROWS,
    "short": list(range(ROWS - 1)),
    "dates": np.array(["2020-01-01"] * ROWS, dtype="datetime64[D]"),
    "complex": np.full(ROWS, 1j),
    "huge": np.full(ROWS, 1e300),
    "zeros": np.zeros(ROWS),
    "function": len,
    "iterator": iter([1]),
}


def arguments(**base):
    return base


def classifier(**given):
    sklearn = pytest.importorskip("setpoint.sklearn", exc_type=ImportError)
    data = {name: given.pop(name, value) for name, value in {"sample_weight": None, "groups": None}.items()}
    return sklearn.SetpointClassifier(**{"goal": GOAL, **given}).fit(X, Y, **data)


def threshold(**given):
    sklearn = pytest.importorskip("setpoint.sklearn", exc_type=ImportError)
    from sklearn.linear_model import LogisticRegression

    data = {name: given.pop(name, value) for name, value in {"sample_weight": None, "groups": None}.items()}
    found = sklearn.SetpointThreshold(**{"estimator": LogisticRegression(), "goal": GOAL, **given})
    return found.fit(X, Y, **data)


def mlp(**given):
    return classifier(**{"model": "mlp", "hidden": (4,), "epochs": 1, "rotations": 1, **given})


def trees(**given):
    pytest.importorskip("lightgbm")
    return classifier(**{"model": "trees", "search": 1, "rounds": 2, "rotations": 1, **given})


def loss(**given):
    torch = pytest.importorskip("setpoint.torch", exc_type=ImportError)
    return torch.OperatingPointLoss(**given)


def forward(**given):
    return loss(goal=GOAL)(**given)


def tensors():
    torch = pytest.importorskip("torch")
    return {"logits": torch.tensor(SCORES), "targets": torch.tensor(Y)}


def model_scores(**given):
    return fitted().scores(**given)


def model_evaluate(**given):
    return fitted().evaluate(**{"y": Y, "X": X, **given})


def ranker(**given):
    rows = {name: given.pop(name, default) for name, default in (("X", X), ("y", Y), ("query", QUERY))}
    return setpoint.SetpointRanker(**{"goal": "ndcg @ k=3 per query", "steps": 2, **given}).fit(**rows)


def report(**given):
    # What happens to be the name of a file is written here.
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        try:
            return setpoint.report(**given)
        finally:
            os.chdir(before)


def fitted(cache=[]):  # noqa: B006
    if not cache:
        cache.append(classifier().model_)
    return cache[0]


def objective(**given):
    from setpoint import xgboost

    return xgboost.objective(**given)


def all_of(function):
    return list(inspect.signature(function).parameters)


SCORED = arguments(y=Y, scores=SCORES)
CASES = [
    (metrics.value_at, {**SCORED, "goal": GOAL}, all_of(metrics.value_at)),
    (metrics.value_at, {**SCORED, "goal": "recall @ fpr(g)<=30%", "groups": np.arange(ROWS) % 2}, ["groups"]),
    (metrics.rates_at, {**SCORED, "threshold": 0.0}, all_of(metrics.rates_at)),
    (metrics.roc_curve, SCORED, all_of(metrics.roc_curve)),
    (metrics.fpr_on_flipped, {**SCORED, "fpr": 0.1}, all_of(metrics.fpr_on_flipped)),
    (metrics.roc_auc, SCORED, ["fpr", "recall"]),
    (metrics.pr_auc, SCORED, ["recall"]),
    (metrics.interval, {**SCORED, "goal": GOAL, "replicates": 50}, all_of(metrics.interval)),
    (metrics.interval, {**SCORED, "goal": "fpr", "threshold": 0.0}, ["goal", "threshold", "confidence"]),
    (setpoint.certify, {**SCORED, "goal": "fpr<=20%"}, all_of(setpoint.certify)),
    (setpoint.step, {**SCORED, "goal": GOAL}, all_of(setpoint.step)),
    (
        setpoint.step,
        {**SCORED, "goal": "map per query", "query": QUERY},
        ["y", "scores", "goal", "query", "sharpness"],
    ),
    (metrics.per_query, {**SCORED, "goal": "map per query", "query": QUERY}, all_of(metrics.per_query)),
    (setpoint.certify_queries, {**SCORED, "goal": "map per query", "query": QUERY}, all_of(setpoint.certify_queries)),
    (
        ranker,
        {},
        ["query", "goal", "model", "confidence", "at_least", "positive", "empty_queries", "split"],
    ),
    (ranker, {}, ["allow_nan", "random_state", "verbose", "method", "steps"]),
    (setpoint.evaluate, {**SCORED, "goal": GOAL}, [name for name in all_of(setpoint.evaluate) if name != "_page"]),
    (report, {**SCORED, "goal": GOAL}, ["path", "title"]),
    (setpoint.load, {}, ["path"]),
    (objective, {"goal": GOAL}, ["goal", "bandwidth", "surrogate"]),
    (loss, {"goal": GOAL}, ["goal", "pool", "mix", "warmup", "bandwidth", "surrogate"]),
    (forward, tensors, ["logits", "targets", "weight"]),
    (model_scores, {}, ["X"]),
    (model_evaluate, {}, ["X", "y", "sample_weight", "groups", "positive", "confidence"]),
    (classifier, {}, ["sample_weight", "groups"]),
    (mlp, {}, ["hidden", "dropout", "batch_size", "weight_average", "warm_up", "mix", "pool", "schedule"]),
    (trees, {}, ["search", "rounds", "method"]),
    (
        threshold,
        {},
        ["estimator", "goal", "confidence", "prefit", "calibration", "positive", "sample_weight", "groups"],
    ),
]
SETTINGS = ["goal", "model", "method", "confidence", "positive", "split", "rotations", "min_group", "allow_nan"]
SETTINGS += ["positive_weight", "optimizer", "learning_rate", "steps", "epochs", "thresholds", "bandwidth", "ridge"]
SETTINGS += ["shared_threshold", "inequality", "bins", "random_state", "verbose"]
CASES.append((classifier, {}, SETTINGS))

# What a message may say instead of a parameter's name.
OTHERWISE = {"y": "labels", "goal": "conditions", "path": "file"}
OTHERWISE.update(groups="only one group", prefit="not fitted")


@pytest.mark.parametrize(
    ("function", "base", "name"),
    [
        pytest.param(function, base, name, id=f"{function.__name__}-{name}")
        for function, base, names in CASES
        for name in names
    ],
)
def test_what_makes_no_sense_is_named(function, base, name):
    base = base() if callable(base) else base
    for kind, value in ODD.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**{**base, name: value})
        except (setpoint.InfeasibleError, FileNotFoundError):
            pass
        except ValueError as error:
            said = str(error)
            assert name in said or OTHERWISE.get(name, name) in said, (kind, said)
            assert "--" not in said and len(said) < 1000, (kind, said)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"confidence": "95%"}, r"^confidence='95%': expected a number, or None"),
        ({"confidence": 95}, "^confidence=95: expected a probability between 0 and 1"),
        ({"split": None}, "^split=None: expected a text"),
        ({"split": "train=0.6,validation=0.4,calibration=0.1"}, '^split="train=0.6'),
        ({"learning_rate": -1.0}, "^learning_rate=-1: expected a positive number"),
        ({"method": "ico", "batch_size": 8, "optimizer": "lbfgs"}, "sgd with batch_size=, or lbfgs"),
        ({"rotations": 2}, "^rotations=2: expected 1 for none"),
        ({"hidden": (0,), "model": "mlp"}, "^hidden=0: expected a number from 1 to 65536"),
        ({"random_state": "a"}, "^random_state='a': expected a whole number"),
        ({"bins": -3}, "^bins=-3: expected a whole number of 0 or more, or None"),
        ({"ridge": float("nan")}, "^ridge=nan: expected a number"),
    ],
)
def test_settings_are_named_as_parameters(given, words):
    with pytest.raises(setpoint.InputError, match=words):
        classifier(**given)


def test_what_the_command_line_says_with_flags_is_said_with_parameters():
    pandas = pytest.importorskip("pandas")
    sklearn = pytest.importorskip("setpoint.sklearn", exc_type=ImportError)
    frame = pandas.DataFrame({"a": np.arange(ROWS), "b": SCORES})
    with pytest.warns(setpoint.DataWarning, match=r"looks like row numbers: if it is, leave it out with X without a"):
        sklearn.SetpointClassifier(GOAL).fit(frame, Y)
    few = np.zeros(30)
    few[:3] = 1
    with pytest.raises(setpoint.InputError, match="or another random_state=, or leave"):
        sklearn.SetpointClassifier(GOAL).fit(np.arange(90.0).reshape(30, 3), few)
    small = np.where(np.arange(ROWS) < 4, "rare", "usual")
    with pytest.raises(setpoint.InputError, match="with min_group=N, or give"):
        sklearn.SetpointClassifier("recall @ fpr(g)<=20%").fit(X, Y, groups=small)
    whole = sklearn.SetpointClassifier(GOAL, split="train=0.6,validation=0.4").fit(X, Y)
    assert whole.report_["certificate_refused"].endswith("give it a share with split=")


def test_an_empty_batch_is_refused_with_what_to_do():
    torch = pytest.importorskip("torch")
    criterion = loss(goal=GOAL)
    before = criterion.state_dict()["_extra_state"]
    empty = torch.zeros(0, requires_grad=True)
    with pytest.raises(setpoint.InputError, match=r"logits are empty.*skip batches without any"):
        criterion(empty, torch.zeros(0))
    assert torch.equal(criterion.state_dict()["_extra_state"], before)


def test_columns_twice_and_broken_sparse_matrices_are_refused():
    pandas = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    sklearn = pytest.importorskip("setpoint.sklearn", exc_type=ImportError)
    twice = pandas.DataFrame(X, columns=["a", "b", "a"])
    for frame in (twice, twice.assign(town="Hull")):
        with pytest.raises(setpoint.InputError, match="more than one column 'a'"):
            sklearn.SetpointClassifier(GOAL).fit(frame, Y)
    model = sklearn.SetpointClassifier(GOAL).fit(sparse.csr_matrix(X), Y).model_
    broken = sparse.csr_matrix(X)
    broken.has_canonical_format = True
    broken.indices[5] = 7
    with pytest.raises(setpoint.InputError, match="X: its row starts or columns do not ascend"):
        model.scores(broken)


def test_labels_that_are_missing_are_not_negatives():
    with pytest.raises(setpoint.InputError, match=r"^y contains NaN or None \(first at 2\)"):
        metrics.value_at(["spam", "ham", None, "ham"], [4, 3, 2, 1], "f1", positive="spam")
    with pytest.raises(setpoint.InputError, match=r"positive='Spam' is not one of the values of y: \['ham', 'spam"):
        metrics.value_at(["spam", "ham", "ham", "ham"], [4, 3, 2, 1], "f1", positive="Spam")
