"""What the command line prints as notes is a warning in Python, once per call."""

import warnings

import numpy as np
import pytest

import setpoint
from setpoint import DataWarning, SetpointClassifier

pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")


def frame(rows=1500, seed=0):
    random = np.random.default_rng(seed)
    X = pandas.DataFrame(
        {
            "age": random.integers(18, 90, rows).astype(float),
            "town": random.choice(["Hull", "Leeds", "York"], rows),
            "income": random.normal(30, 8, rows),
        }
    )
    y = (random.random(rows) < np.where(X["town"] == "Hull", 0.4, 0.1)).astype(int)
    return X, y


def told(call):
    """What a call warns of, and where; one warning at most."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if one.category is DataWarning]
    assert len(ours) <= 1
    for one in ours:
        assert one.filename == __file__
    return str(ours[0].message) if ours else ""


@pytest.fixture(scope="module", params=["linear", "mlp", "trees"])
def fitted(request):
    if request.param == "trees":
        pytest.importorskip("lightgbm")
    settings = {"mlp": {"hidden": (8,), "epochs": 1}, "trees": {"search": 2, "rounds": 10, "rotations": 1}}
    X, y = frame()
    found = SetpointClassifier(
        "recall @ fpr<=20%", model=request.param, allow_nan=True, **settings.get(request.param, {})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return found.fit(X, y)


def test_rows_unlike_those_of_training_are_noted_by_every_call(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    X, y = frame(300, seed=1)
    odd = X.copy()
    odd.loc[:4, "town"] = "Ghent"
    odd.loc[:2, "income"] = np.nan
    notes = (
        'X: column "town": 5 values that the training rows did not have count as no category\n'
        'X: column "income": 3 missing values where the training rows had none: the model knows nothing of them'
    )
    for model in (fitted, fitted.model_, setpoint.load(tmp_path / "model")):
        calls = [model.predict, model.decision_function, model.predict_proba]
        calls.append(model.scores if model is not fitted else lambda X: fitted.score(X, y))
        for call in calls:
            assert told(lambda call=call: call(X)) == ""
            assert told(lambda call=call: call(odd)) == notes
    record = {}
    assert told(lambda: record.update(setpoint.load(tmp_path / "model").evaluate(odd, y))) == notes
    assert "\n".join(record["notes"]) == notes


def test_columns_of_another_kind_or_unknown_are_noted(fitted):
    X, _ = frame(300, seed=1)
    model = fitted.model_
    assert told(lambda: model.scores(X.assign(id=1, label=0))) == (
        "X: columns that the model does not know were ignored: id"
    )
    found = told(lambda: model.scores(X.assign(town=7)))
    assert found.startswith("X: column 'town' holds numbers, where the training rows had texts\n")
    assert 'column "town": 300 values' in found
    # The estimator gets there too, though every column of the frame is a number now.
    assert told(lambda: fitted.predict(X.assign(town=7))) == found
    # An array has all columns, by place.
    assert told(lambda: model.scores(X)) == ""


def test_notes_of_a_fit_are_warnings_with_parameters_for_flags():
    X, y = frame()
    X["same"] = 1.0
    assert told(lambda: SetpointClassifier("recall @ fpr<=20%").fit(X, y)) == (
        "left out, with a single value in the training rows: same"
    )
    pytest.importorskip("lightgbm")
    few = SetpointClassifier("recall @ fpr<=20%", model="trees", search=1, rounds=2, rotations=1)
    found = told(lambda: few.fit(*frame()))
    assert "still improving after 2 rounds: rounds=6 may do better" in found
    assert found == "\n".join(few.report_["notes"])


def test_an_error_can_be_made_of_them_and_they_can_be_silenced(fitted):
    X, _ = frame(300, seed=1)
    odd = X.assign(town="Ghent")
    with warnings.catch_warnings():
        warnings.simplefilter("error", setpoint.DataWarning)
        with pytest.raises(setpoint.DataWarning, match="300 values"):
            fitted.predict(odd)
        warnings.simplefilter("ignore", setpoint.DataWarning)
        fitted.predict(odd)
