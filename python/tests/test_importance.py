"""Which columns the goal's value is owed to, and dates as columns."""

import datetime

import numpy as np
import pytest

import setpoint
from setpoint import SetpointClassifier

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

GOAL = "recall @ fpr<=10%"


@pytest.fixture(scope="module")
def visits():
    """Labels by hour, weekday and age; the rest says nothing."""
    random = np.random.default_rng(2)
    rows = 3000
    start, hours = datetime.datetime(2023, 1, 1), random.integers(0, 17_000, rows)
    when = [start + datetime.timedelta(hours=int(hour)) for hour in hours]
    age = 40 + 12 * random.standard_normal(rows)
    town = random.choice(["Leeds", "York", "Hull"], rows)
    odds = -4 + 3 * np.array([at.hour >= 20 for at in when]) + 2 * np.array([at.weekday() == 5 for at in when])
    y = random.random(rows) < 1 / (1 + np.exp(-(odds + 0.08 * (age - 40))))
    return pandas.DataFrame({"when": pandas.to_datetime(when), "age": age, "town": town, "noise": age[::-1]}), y


def models():
    return [
        SetpointClassifier(GOAL),
        SetpointClassifier(GOAL, model="mlp", hidden=(8,), epochs=8),
        SetpointClassifier(GOAL, model="trees", search=1, rounds=30),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.model)
def test_columns_that_matter_come_first(visits, model):
    X, y = visits
    if model.model == "trees":
        pytest.importorskip("lightgbm")
    model.fit(X, y)
    found = model.importance(X, y)
    assert list(found.columns) == ["column", "loss", "lower", "upper", "adds"]
    assert list(found["column"][:2]) == ["when", "age"]
    assert (found["lower"] <= found["loss"]).all() and (found["loss"] <= found["upper"]).all()
    assert found["lower"][0] > 0.1
    pandas.testing.assert_frame_equal(found, model.importance(X, y))
    assert len(model.importance(X, y, columns=1)) == 1
    record = model.evaluate(X, y)
    assert record["importance"]["value"] == record["at_condition"]["value"]
    assert "importance" not in model.evaluate(X, y, importance=0)
    if model.model == "linear":
        weights = {one["of"]: one["weight"] for one in record["importance"]["columns"][0]["weights"]}
        assert weights["weekday 6 Sat"] > 0.5 and weights["hour 22"] > 0.5
        assert "a unit +" in found["adds"][1]


def test_polars_frames_get_polars_frames(visits):
    X, y = visits
    lazy = polars.DataFrame({name: X[name].to_list() for name in X.columns})
    model = SetpointClassifier(GOAL).fit(lazy, y)
    found = model.importance(lazy, y, columns=2)
    assert isinstance(found, polars.DataFrame) and found["column"].to_list() == ["when", "age"]
    np.testing.assert_array_equal(model.model_.scores(lazy), model.model_.scores(X))


def test_dates_are_read_in_any_format(visits, tmp_path):
    X, y = visits
    model = SetpointClassifier(GOAL).fit(X, y)
    for form in ("%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M %p", "%d %b %Y %H:%M:%S"):
        texts = X.assign(when=X["when"].dt.strftime(form))
        again = SetpointClassifier(GOAL).fit(texts, y)
        np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(X))
    odd = texts.assign(when=["soon", *texts["when"][1:]])
    lacking = texts.assign(when=[None, *texts["when"][1:]])
    with pytest.warns(setpoint.DataWarning, match="1 missing value where the training rows had none"):
        scores = again.model_.scores(odd)
    with pytest.warns(setpoint.DataWarning):
        np.testing.assert_array_equal(scores, again.model_.scores(lacking))
    again.save(tmp_path / "m")
    np.testing.assert_array_equal(setpoint.load(tmp_path / "m").scores(texts), again.model_.scores(texts))
    with pytest.raises(setpoint.InputError, match="holds dates, whose parts cannot be exported"):
        again.to_onnx(tmp_path / "m.onnx")
