"""Networks and trees through the same estimator."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import setpoint
from setpoint import SetpointClassifier


@pytest.fixture(scope="module")
def rings():
    """Points of two rings: no linear model tells them apart."""
    random = np.random.default_rng(3)
    y = random.random(4000) < 0.2
    radius = np.where(y, 2.0, 1.0) + 0.25 * random.standard_normal(4000)
    angle = 2 * np.pi * random.random(4000)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), random.standard_normal(4000)])
    return X.astype(np.float32), y


def models():
    return [
        SetpointClassifier(
            "recall @ fpr<=5%", model="mlp", hidden=(16, 8), epochs=15, batch_size=128, learning_rate=0.01
        ),
        SetpointClassifier("recall @ fpr<=5%", model="trees", search=2, rounds=40),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.model)
def test_models_learn_what_a_line_cannot_and_files_go_both_ways(rings, model, tmp_path):
    X, y = rings
    line = SetpointClassifier("recall @ fpr<=5%").fit(X, y).report_["objective"]["calibration"]
    model = clone(model).fit(X, y)
    assert model.report_["model"] == model.model
    assert model.report_["objective"]["calibration"] > 0.8 > line
    assert model.certificate_ is not None
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    model.save(tmp_path / "m.safetensors")
    loaded = setpoint.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.scores(X), model.model_.scores(X))
    assert ((model.predict_proba(X)[:, 1] >= 0) & (model.predict_proba(X)[:, 1] <= 1)).all()


def test_trees_take_categories_and_missing_values_as_they_are():
    random = np.random.default_rng(5)
    town = random.choice(["Leeds", "York", "Hull"], 3000)
    age = 40 + 10 * random.standard_normal(3000)
    y = random.random(3000) < np.where(town == "York", 0.6, 0.05)
    age[random.random(3000) < 0.3] = np.nan
    X = pd.DataFrame({"town": town, "age": age})
    model = SetpointClassifier("recall @ fpr<=10%", model="trees", search=1, rounds=20)
    model.fit(X, y)
    assert model.model_._inner.columns() == 2
    elsewhere = pd.DataFrame({"town": ["York", "Leeds", "Bath"], "age": [np.nan, 30.0, 30.0]})
    scores = model.model_.scores(elsewhere)
    assert scores[0] > scores[1]


def test_settings_that_make_no_sense_are_named(rings):
    X, y = rings
    for setting, words in [
        ({"model": "cnn"}, "on the command line"),
        ({"model": "mlp", "hidden": (0,)}, "hidden=0: expected a number"),
        ({"model": "mlp", "optimizer": "lbfgs"}, "adam, adagrad or sgd"),
        ({"model": "trees", "search": 0}, "search=0: expected a number from 1 to 1000"),
        ({"model": "trees", "method": "pairwise"}, "auto, ico or cross-entropy"),
    ]:
        with pytest.raises(setpoint.InputError, match=words):
            SetpointClassifier(**setting).fit(X, y)


def test_the_better_kind_is_kept(rings):
    pytest.importorskip("lightgbm")
    X, y = rings
    model = SetpointClassifier("recall @ fpr<=5%", model="auto", search=2, rounds=40, time=600).fit(X, y)
    kinds = {kind["model"]: kind for kind in model.report_["kinds"]}
    assert list(kinds) == ["linear", "trees", "average"] and kinds["trees"]["kept"]
    assert kinds["trees"]["gain"] > kinds["trees"]["standard_error"] > 0
    assert model.report_["model"] == "trees" and model.score(X, y) > 0.7
