"""What the command line prints as notes is a warning in Python, once per call."""

import warnings

import numpy as np
import pytest

import setpoint
from setpoint import DataWarning, SetpointClassifier, SetpointThreshold, UncertifiedWarning

pandas = pytest.importorskip("pandas")
LogisticRegression = pytest.importorskip("sklearn.linear_model").LogisticRegression


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


def told(call, kind=DataWarning):
    """What a call warns of, and where; one warning at most."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if one.category is kind]
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
    found = SetpointClassifier("recall @ fpr<=20%", model=request.param, **settings.get(request.param, {}))
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


def test_what_ships_without_a_certificate_says_so_and_why():
    X, y = frame()
    X = X[["age", "income"]]
    few = "cannot certify fpr <= 0.1% at 95% confidence; at least 2995 are needed"
    weights = np.linspace(1, 2, len(y))
    for make in (SetpointClassifier, lambda goal, **more: SetpointThreshold(LogisticRegression(), goal, **more)):
        assert told(lambda make=make: make("recall @ fpr<=20%").fit(X, y), UncertifiedWarning) == ""
        found = told(lambda make=make: make("recall @ fpr<=0.1%").fit(X, y), UncertifiedWarning)
        assert found.startswith("the threshold is not certified: ") and found.endswith(few)
        weighted = make("recall @ fpr<=20%")
        found = told(lambda weighted=weighted: weighted.fit(X, y, sample_weight=weights), UncertifiedWarning)
        assert "weights" in found and weighted.certificate_ is None
        # Nobody asked for a certificate.
        assert told(lambda make=make: make("recall @ fpr<=0.1%", confidence=None).fit(X, y), UncertifiedWarning) == ""
    scores = X["age"]
    assert few in told(lambda: setpoint.evaluate(y, scores, "recall @ fpr<=0.1%"), UncertifiedWarning)
    given = {"goal": "recall @ fpr<=0.1%", "threshold": 80.0}
    assert told(lambda: setpoint.evaluate(y, scores, **given), UncertifiedWarning) == ""


def test_a_goal_that_held_out_rows_do_not_meet_is_warned_of():
    X, y = frame()
    towns = np.where(X["town"] == "Hull", "Hull", "elsewhere")
    seen = []
    for seed in range(4):
        model = SetpointClassifier("accuracy @ gap(fpr, town)<=0.01", shared_threshold=True, random_state=seed)
        fit = lambda model=model: model.fit(X[["age", "income"]], y, groups=towns)  # noqa: E731
        said = told(fit, UncertifiedWarning).splitlines()
        assert said[0].startswith(
            "the threshold is not certified: no decisions along the validation frontier certify"
        )
        unmet = model.report_["unmet"]["calibration"]
        goal = "accuracy @ gap(fpr, town)<=0.01: not met on the calibration part: gap(fpr, town) is "
        assert [line.startswith(goal) for line in said[1:]] == [True] * len(unmet)
        seen += unmet
    assert seen, "two groups of a hundred negatives are rarely within a point of each other"


def test_the_positive_class_is_named_unless_it_is_plain():
    X, y = frame()
    X = X[["age", "income"]]
    for make in (SetpointClassifier, lambda **more: SetpointThreshold(LogisticRegression(), **more)):

        def fit(labels, make=make, **more):
            model = make(goal="recall @ fpr<=20%", **more)
            return told(lambda: model.fit(X, labels)), model.classes_.tolist()

        for pair in ([0, 1], [False, True], [-1, 1], [0.0, 1.0], ["no", "yes"], ["No", "Yes"], ["0", "1"]):
            assert fit(np.array(pair)[y]) == ("", pair)
        # The plain one is positive, though it is not the greater.
        assert fit(np.array(["no", "YES"])[y]) == ("", ["no", "YES"])
        for pair in ([1, 2], ["good", "poor"], ["<=50K", ">50K"]):
            said, classes = fit(np.array(pair)[y])
            assert classes == pair and said == (
                f"{pair[1]!r} counts as positive, the greater of the labels {pair[0]!r} and {pair[1]!r}: "
                "say which with positive="
            )
            assert fit(np.array(pair)[y], positive=pair[0]) == ("", pair[::-1])
    model = SetpointClassifier("recall @ fpr<=20%", positive="good")
    model.fit(X, pandas.Series(np.array(["good", "poor"])[y], name="risk"))
    assert model.report_["label"] == {"column": "risk", "positive": "good"}
    record = model.evaluate(X, np.array(["good", "poor"])[y])
    assert record["label"] == model.report_["label"] and record["positives"] == (y == 0).sum()
    assert model.model_.evaluate(X, np.array(["good", "poor"], dtype=object)[y]) == record
    # Which label is positive is the model's to say, plain as they may be.
    turned = SetpointClassifier("recall @ fpr<=20%", positive=0).fit(X, y).model_
    for labels in (y, y.astype(float), y.astype(str), y.tolist()):
        assert turned.evaluate(X, labels)["positives"] == (y == 0).sum()
    with pytest.raises(setpoint.InputError, match="NaN or None"):
        turned.evaluate(X, np.where(y == 0, np.nan, 1.0))


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
