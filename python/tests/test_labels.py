"""Several labels: a classifier for each, certified together, in one file."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import setpoint
from setpoint import SetpointClassifier, SetpointLabels


def rows(count=3000, seed=0):
    """Three features; two labels of 0 and 1, and one of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    fraud = (1.5 * X[:, 0] + rng.normal(size=count) > 1.5).astype(int)
    late = (1.5 * X[:, 1] + rng.normal(size=count) > 1.5).astype(int)
    grade = np.digitize(X[:, 2] + 0.5 * rng.normal(size=count), [-0.5, 0.8])
    return X, np.column_stack([fraud, late, grade])


def fitted(X, y):
    base = SetpointClassifier("recall @ fpr<=10%")
    return SetpointLabels(base, goals={"y2": "accuracy @ recall(2)>=0.6"}).fit(X, y)


def test_labels_are_decided_and_certified_together(tmp_path):
    X, y = rows()
    model = fitted(X, y)
    assert model.labels_ == ["y0", "y1", "y2"]
    new, truth = rows(4000, 1)
    decided = model.predict(new)
    assert decided.shape == (4000, 3)
    for place, one in enumerate(model.estimators_):
        assert (one.predict(new) == decided[:, place]).all()
        # 5% in three shares.
        assert one.certificate_["confidence"] == pytest.approx(1 - 0.05 / 3, abs=1e-12)
    assert [proof["condition"] for proof in model.certificates_] == ["fpr<=10%", "fpr<=10%", "recall(2)>=0.6"]
    assert model.together_["confidence"] == pytest.approx(0.95, abs=1e-12)
    assert model.together_["labels"] == model.labels_ and model.together_["without"] == []
    assert "all 3 labels" in model.together_["text"]
    # The certified false-alarm rates, with three standard deviations of 4000 rows.
    for place in (0, 1):
        assert np.mean(decided[truth[:, place] == 0, place]) < 0.1 + 3 * np.sqrt(0.09 / 3000)
    chances = model.predict_proba(new)
    assert [one.shape for one in chances] == [(4000, 2), (4000, 2), (4000, 3)]
    assert model.score(new, truth) == np.mean((decided == truth).all(axis=1))
    found = model.evaluate(new, truth)
    assert list(found) == model.labels_ and found["y2"]["drift"][0]["verdict"] == "holds"

    path = tmp_path / "m.safetensors"
    model.save(path)
    loaded = setpoint.load(path, "y1")
    assert (loaded.predict(new) == decided[:, 1]).all()
    with pytest.raises(setpoint.InputError, match='"y0", "y1", "y2"'):
        setpoint.load(path)
    with pytest.raises(setpoint.InputError, match='no label "z"'):
        setpoint.load(path, "z")


def test_files_of_frames_go_to_the_command_line(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    X = pandas.DataFrame(X, columns=["a", "b", "c"])
    y = pandas.DataFrame(y[:, :2], columns=["fraud", "paid, late"])
    model = SetpointLabels(SetpointClassifier("recall @ fpr<=10%")).fit(X, y)
    assert model.labels_ == ["fraud", "paid, late"] and model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.save(tmp_path / "m.safetensors")
    X.assign(**y).to_csv(tmp_path / "t.csv", index=False)
    command = [sys.executable, "-m", "setpoint", "evaluate", "m.safetensors", "t.csv"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "label     paid, late" in said and "all 2 labels hold at 95% confidence" in said


def test_the_estimator_is_one_of_scikit_learn():
    X, y = rows(1500)
    model = SetpointLabels(SetpointClassifier("f1", confidence=None))
    assert model.get_params()["estimator__goal"] == "f1"
    again = clone(model).set_params(estimator__goal="accuracy")
    assert again.estimator.goal == "accuracy" and model.estimator.goal == "f1"
    assert (cross_val_score(model, X, y[:, :2], cv=3) > 0.5).all()
    assert model.fit(X, y[:, :2]).together_ is None


def test_what_is_no_label_is_said():
    X, y = rows(400)
    base = SetpointClassifier("f1", confidence=None)
    for call, said in [
        (lambda: SetpointLabels(base).fit(X, y[:, 0]), r"shape \(400,\)"),
        (lambda: SetpointLabels(base).fit(X, y[:, :1]), "two or more"),
        (lambda: SetpointLabels(base, goals={"z": "f1"}).fit(X, y), "no label 'z'; the labels are y0, y1, y2"),
        (lambda: SetpointLabels(base, goals={"y0": 1}).fit(X, y), "goals=1"),
        (lambda: SetpointLabels(object()).fit(X, y), "expected a SetpointClassifier"),
        (lambda: SetpointLabels(base).fit(X, y), "Only binary classification"),
        (lambda: SetpointLabels(base).fit(X, y[:, :2]).evaluate(X, y), "3 columns: expected 2"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()
