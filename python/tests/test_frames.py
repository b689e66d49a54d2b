"""predict_frame: what people join on, beside score, probability and decision."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

import setpoint
from setpoint import SetpointClassifier, SetpointThreshold

pandas = pytest.importorskip("pandas")
GOAL = "recall @ fpr<=20%"


@pytest.fixture
def rows(frame):
    X = frame.drop(columns=["label", "town"]).fillna(30.0)
    X.index = [f"r{row}" for row in range(len(X))]
    return X, frame["label"].to_numpy()


def test_score_probability_and_decision_stand_beside_index_and_kept_columns(rows, tmp_path):
    X, y = rows
    model = SetpointClassifier(GOAL).fit(X, y)
    forest = SetpointThreshold(RandomForestClassifier(20, random_state=0), GOAL).fit(X, y)
    model.save(tmp_path / "m")
    wide = X.assign(customer=np.arange(len(X)), label=y)
    for decide in (model, setpoint.load(tmp_path / "m"), forest):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = decide.predict_frame(wide, keep=["customer", "label", "age"])
        columns = ["customer", "label", "age", "score", "probability", "decision"]
        assert found.columns.tolist() == columns and (found.index == X.index).all()
        assert (found["decision"] == decide.predict(X)).all()
        assert (found["probability"] == decide.predict_proba(X)[:, 1]).all()
        assert (found["customer"] == wide["customer"]).all()
        assert decide.predict_frame(X).columns.tolist() == columns[3:]
        assert decide.predict_frame(wide, keep="all").shape == (len(X), 7)
        assert decide.predict_frame(wide.drop(columns="label"), keep="customer").shape == (len(X), 4)
        with pytest.raises(setpoint.InputError, match="X has no column 'town'"):
            decide.predict_frame(X, keep=["town"])
        with pytest.raises(setpoint.InputError, match="a column 'score' of its own"):
            decide.predict_frame(X.assign(score=1), keep=["score"])


def test_other_frames_arrays_groups_and_models_without_probabilities(rows):
    polars = pytest.importorskip("polars")
    X, y = rows
    groups = np.where(X["age"] > 50, "old", "young")
    model = SetpointClassifier("recall @ fpr(g)<=20%").fit(X, y, groups=groups)
    found = model.predict_frame(polars.from_pandas(X), groups, keep=["age"])
    assert isinstance(found, polars.DataFrame) and found.columns == ["age", "score", "probability", "decision"]
    assert (found["decision"].to_numpy() == model.predict(X, groups)).all()
    plain = SetpointThreshold(LinearSVC(), GOAL).fit(X.to_numpy(), y)
    assert plain.predict_frame(X.to_numpy()).columns.tolist() == ["score", "decision"]
    with pytest.raises(setpoint.InputError, match="no columns with names"):
        plain.predict_frame(X.to_numpy(), keep="all")
