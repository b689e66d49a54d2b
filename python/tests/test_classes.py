"""Labels of several classes: the estimator, the model file, what is told of them."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import setpoint
from setpoint import SetpointClassifier


def rows(count=1500, seed=0):
    """Three classes in the plane, one of them rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["coat", "T shirt", "bag"], count, p=[0.6, 0.3, 0.1])
    centres = {"coat": (1, 0), "T shirt": (-1, 0.5), "bag": (0, -1)}
    X = np.array([centres[label] for label in y]) + rng.normal(0, 0.8, (count, 2))
    return X, y


def test_several_classes_are_decided_scored_and_certified(tmp_path):
    X, y = rows()
    model = SetpointClassifier('accuracy @ recall("T shirt")>=0.8').fit(X, y)
    assert model.classes_.tolist() == ["T shirt", "bag", "coat"]
    assert model.shifts_.shape == (3,) and len(model.thresholds_) == 0
    assert model.certificate_["conditions"][0]["condition"] == 'recall("T shirt")>=0.8'
    new, truth = rows(3000, 1)
    decided = model.predict(new)
    assert np.mean(decided[truth == "T shirt"] == "T shirt") > 0.78
    margins = model.decision_function(new)
    assert margins.shape == (3000, 3)
    assert (model.classes_[margins.argmax(axis=1)] == decided).all()
    chances = model.predict_proba(new)
    assert chances.shape == (3000, 3) and np.allclose(chances.sum(axis=1), 1)
    # Calibrated: of the rows with about this chance of a class, as many have it.
    near = (chances[:, 2] > 0.6) & (chances[:, 2] < 0.9)
    assert abs(np.mean(truth[near] == "coat") - chances[near, 2].mean()) < 0.08
    assert model.score(new, truth) > 0.6

    found = model.evaluate(new, truth)
    matrix = np.array(found["classes"]["decided"]["matrix"])
    assert matrix.sum() == 3000 and found["drift"][0]["verdict"] == "holds"
    assert matrix.trace() / 3000 == pytest.approx(np.mean(decided == truth))
    model.report(tmp_path / "r.html", new, truth)
    assert "chart matrix" in (tmp_path / "r.html").read_text()

    model.save(tmp_path / "m.safetensors")
    loaded = setpoint.load(tmp_path / "m.safetensors")
    assert loaded.classes == ["T shirt", "bag", "coat"]
    assert (loaded.predict(new) == decided).all()
    assert (loaded.predict_proba(new) == chances).all()
    assert loaded.evaluate(new, truth)["at_threshold"] == found["at_threshold"]
    assert (pickle.loads(pickle.dumps(model)).predict(new) == decided).all()
    assert "classes" in repr(loaded)


def test_frames_hold_a_score_and_a_chance_for_each_class():
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = SetpointClassifier("macro-f1", confidence=None).fit(frame, y)
    found = model.predict_frame(frame, keep="a")
    named = [f"{what}({name})" for what in ("score", "probability") for name in model.classes_]
    assert list(found.columns) == ["a", *named, "decision"]
    assert (found["decision"].to_numpy() == model.predict(frame)).all()


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_numbers_are_classes_by_their_value(load):
    X, y = load(return_X_y=True)
    model = SetpointClassifier("recall(1) @ precision(1)>=0.7", confidence=None, random_state=1).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2] and model.predict(X).dtype == y.dtype
    assert np.mean(model.predict(X) == y) > 0.7
    assert model.report_["label"]["classes"] == ["0", "1", "2"]
    network = SetpointClassifier("balanced-accuracy", model="mlp", hidden=(8,), epochs=30, confidence=None)
    assert network.fit(X, y).score(X, y) > 0.8


def test_two_classes_of_a_goal_of_classes_have_one_margin():
    X, y = rows()
    kept = y != "bag"
    model = SetpointClassifier("macro-f1", confidence=None).fit(X[kept], y[kept])
    margins = model.decision_function(X)
    assert margins.shape == (len(X),)
    assert (model.predict(X) == np.where(margins > 0, "coat", "T shirt")).all()
    # A goal that both kinds have is one of two classes where there are two.
    assert len(SetpointClassifier("accuracy", confidence=None).fit(X[kept], y[kept] == "coat").thresholds_) == 1


@pytest.mark.parametrize("form", [str, int])
def test_classes_are_chosen_ordered_and_pooled(form, tmp_path):
    X, y = rows(3000)
    names = ["coat", "T shirt", "bag"]
    y = y if form is str else np.array([names.index(label) for label in y])
    coat, shirt, bag = names if form is str else range(3)
    model = SetpointClassifier("macro-f1", classes=[coat, bag], confidence=None)
    with pytest.warns(setpoint.DataWarning, match=f"{(y == shirt).sum()} rows of other classes were left out"):
        model.fit(X, y, sample_weight=np.ones(len(y)))
    assert model.classes_.tolist() == [coat, bag]
    kept = y != shirt
    alone = SetpointClassifier("macro-f1", classes=[coat, bag], confidence=None).fit(X[kept], y[kept])
    assert (alone.predict(X) == model.predict(X)).all()
    with pytest.warns(setpoint.DataWarning, match="left out"):
        found = model.evaluate(X, y, sample_weight=np.ones(len(y)))
    assert found["rows"] == kept.sum()
    assert model.score(X, y) == model.score(X[kept], y[kept])
    assert model.model_.document["settings"]["classes"] == [str(coat), str(bag)]

    pooled = SetpointClassifier("accuracy", min_class=1000, confidence=None).fit(X, y)
    assert pooled.classes_.tolist() == [coat, "(other)"]
    decided = pooled.predict(X)
    assert set(decided) == {coat, "(other)"}
    assert np.mean((decided == coat) == (y == coat)) > 0.8
    pooled.save(tmp_path / "m.safetensors")
    again = setpoint.load(tmp_path / "m.safetensors").evaluate(X, y)
    assert np.array(again["classes"]["decided"]["matrix"]).sum() == 3000
    # The same as the command line makes of the rows.
    both = SetpointClassifier("accuracy", classes=[bag, shirt, coat], min_class=1000, confidence=None).fit(X, y)
    assert both.classes_.tolist() == [coat, "(other)"]
    for given, said in [
        ({"classes": [coat, "hat"]}, "no label is 'hat'; there are"),
        ({"classes": [coat, coat]}, "named twice"),
        ({"classes": [coat]}, "one class"),
        ({"min_class": 10**6}, "fewer"),
        ({"min_class": -1}, "min_class=-1"),
        ({"goal": "recall @ fpr<=1%", "classes": [coat, bag]}, "the goal is of two classes"),
        ({"min_class": 5, "positive": coat}, "with positive="),
        ({"classes": 3}, "classes"),
    ]:
        with pytest.raises(ValueError, match=said):
            SetpointClassifier(**{"goal": "macro-f1", "confidence": None, **given}).fit(X, y)


def test_entities_are_the_draws_of_a_certificate():
    X, y = rows(6000)
    who = np.repeat(np.arange(3000), 2)
    model = SetpointClassifier("accuracy @ recall(coat)>=0.8").fit(X, y, entities=who)
    assert model.certificate_["entities"]["count"] == 600
    assert model.certificate_["conditions"][0]["method"]["name"] == "betting"
    found = model.evaluate(X, y, entities=who)
    assert found["drift"][0]["verdict"] == "holds"
    assert "entit" in model.evaluate(X, y)["drift_refused"]


def test_what_does_not_fit_several_classes_is_said():
    X, y = rows(300)
    model = SetpointClassifier("macro-f1", confidence=None).fit(X, y)
    for call, said in [
        (lambda: SetpointClassifier("recall @ fpr<=1%").fit(X, y), "Only binary classification"),
        (lambda: SetpointClassifier("accuracy @ recall(hat)>=0.9").fit(X, y), "unknown class"),
        (lambda: SetpointClassifier("macro-f1").fit(X, y, groups=y), "groups="),
        (lambda: model.evaluate(X, np.full(len(X), "hat")), "'hat'"),
        (lambda: model.evaluate(X, y, positive="bag"), "leave them out"),
        (lambda: SetpointClassifier("cost(none.csv)").fit(X, y), "none.csv"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


def test_costs_are_read_from_the_table_that_the_goal_names(tmp_path):
    X, y = rows()
    table = tmp_path / "costs.csv"
    table.write_text("true,coat,bag,T shirt\ncoat,0,1,1\nbag,30,0,30\nT shirt,1,1,0\n")
    model = SetpointClassifier(f'cost("{table}")', confidence=None).fit(X, y)
    cheap = SetpointClassifier("accuracy", confidence=None).fit(X, y)
    caught = [np.mean(one.predict(X)[y == "bag"] == "bag") for one in (model, cheap)]
    assert caught[0] > caught[1]
    assert json.loads(json.dumps(model.report_))["goal"].startswith("cost(")


def test_several_classes_are_watched_and_certified_anew():
    model = SetpointClassifier('accuracy @ recall("T shirt")>=0.8, precision(coat)>=0.7').fit(*rows(4000)).model_
    monitor = setpoint.Monitor(model)
    for seed in range(10, 14):
        status = monitor.update(*rows(500, seed))
    assert not status["alarm"] and status["rows"] == 2000
    assert [one["survives_mix"] for one in status["conditions"]] == [True, False]
    new, truth = rows(1000, 20)
    assert not monitor.update(new)["hint"]
    monitor.update(new[truth == "bag"], truth[truth == "bag"])
    assert monitor.update(new[truth != "coat"])["hints"][0]["what"].startswith("share decided as ")
    again = setpoint.Monitor.load(model, monitor.state())
    assert again.update(new, np.where(truth == "coat", "T shirt", truth))["alarm"]
    assert "recall" in str(again)
    with pytest.raises(setpoint.InputError, match="leave them out"):
        monitor.update(new, truth, positive="coat")

    found = setpoint.recertify(model, *rows(3000, 30))
    assert found.record["certificate"]["examples"] == 2000 and len(found.record["shifts"]) == 3
    assert found.model.certificate != model.certificate
    np.testing.assert_array_equal(found.model.scores(new), model.scores(new))
    with pytest.raises(setpoint.InputError, match="leave inclusion=, prevalence= and unlabelled= out"):
        setpoint.recertify(model, *rows(3000, 30), prevalence=0.1)
    with pytest.raises(setpoint.InfeasibleError, match="no shifts"):
        setpoint.recertify(model, *rows(60, 30))
    with pytest.raises(setpoint.InputError, match="labelled as they come"):
        setpoint.sample(model, new, 100)
