"""A model after training: watched, certified anew, and the rows to have labelled."""

import json
import pickle

import numpy as np
import pytest
from conftest import make_data

import setpoint
from setpoint import SetpointClassifier


@pytest.fixture(scope="module")
def model():
    X, y = make_data(rows=8000, seed=1)
    return SetpointClassifier("recall @ fpr<=5%").fit(X, y).model_


def drifted(rows, seed):
    X, y = make_data(rows=rows, seed=seed)
    X[(y == 0) & (np.arange(rows) % 5 == 0), :2] += 3
    return X, y


def test_a_watch_stays_quiet_and_raises_an_alarm_that_stays(model, tmp_path):
    monitor = setpoint.Monitor(model)
    for seed in range(10, 15):
        status = monitor.update(*make_data(rows=500, seed=seed))
    assert not status["alarm"] and status["rows"] == 2500 and not monitor.alarm
    condition = status["conditions"][0]
    assert condition["lower"] <= condition["rate"] <= condition["upper"] and condition["survives_mix"]
    assert "quiet" in str(monitor) and "quiet" in repr(monitor)
    assert monitor.update(np.empty((0, 6)), np.empty(0))["rows"] == 2500
    one_class = make_data(rows=200, seed=3)[0]
    assert monitor.update(one_class, np.ones(200))["rows"] == 2700
    kept = setpoint.Monitor.load(model, monitor.state())
    for watch in (monitor, kept):
        assert watch.update(*drifted(1500, 20))["alarm"]
    assert kept.state() == monitor.state()
    assert monitor.update(*make_data(rows=500, seed=21))["alarm"]
    monitor.report(tmp_path / "watch.html")
    assert "A certified condition is broken." in (tmp_path / "watch.html").read_text()
    monitor.save(tmp_path / "watch.json")
    assert json.loads((tmp_path / "watch.json").read_text())["rows"] == 4700


def test_states_have_a_fixed_size_and_are_of_one_model(model):
    monitor = setpoint.Monitor(model, alpha=0.1)
    X, y = make_data(rows=20, seed=2)
    for _ in range(600):
        monitor.update(X, y)
    assert len(monitor.state()) < 60_000
    other = setpoint.recertify(model, *make_data(rows=3000, seed=4)).model
    with pytest.raises(setpoint.InputError, match="of another model"):
        setpoint.Monitor.load(other, monitor.state())
    with pytest.raises(setpoint.InputError, match="damaged"):
        setpoint.Monitor.load(model, "{}")
    with pytest.raises(setpoint.InputError, match="alpha"):
        setpoint.Monitor(model, alpha=1.5)


def test_rows_without_labels_hint(model):
    monitor = setpoint.Monitor(model)
    assert not monitor.update(make_data(rows=2000, seed=30)[0])["hint"]
    status = monitor.update(drifted(2000, 31)[0])
    assert status["hint"] and not status["alarm"] and status["unlabelled"] == 4000


def test_a_model_certified_anew_is_the_same_model(model):
    X, y = make_data(rows=4000, seed=5)
    found = setpoint.recertify(model, X, y)
    assert found.record["certificate"]["confidence"] == 0.95 and "certified at 95%" in str(found)
    np.testing.assert_array_equal(found.model.scores(X), model.scores(X))
    assert found.model.thresholds[0] == pytest.approx(found.record["thresholds"][0])
    earlier = found.model.document["settings"]["earlier-certificates"]
    assert earlier[0]["certificate"] == model.certificate
    assert pickle.loads(pickle.dumps(found.model)).certificate == found.model.certificate
    with pytest.raises(setpoint.InfeasibleError, match="at least"):
        setpoint.recertify(model, X[:20], y[:20])


def test_few_labels_certify_by_their_chances(model):
    X, y = make_data(rows=30_000, seed=6)
    drawn = setpoint.sample(model, X, labels=1500, random_state=3)
    assert 1300 < len(drawn.rows) < 1700 and drawn.inclusion.max() <= 1
    above = model.decision_function(X[drawn.rows])
    assert drawn.inclusion[above >= 0].mean() > 5 * drawn.inclusion[above < -2].mean()
    found = setpoint.recertify(model, X[drawn.rows], y[drawn.rows], inclusion=drawn.inclusion)
    assert found.record["certificate"]["conditions"][0]["method"]["name"] == "inverse-probability"
    alarms = found.model.predict(X)[y == 0].mean()
    assert alarms <= 0.05
    with pytest.raises(setpoint.InputError, match="say different things"):
        setpoint.recertify(model, X, y, inclusion=np.ones(len(y)), prevalence=0.1)
    with pytest.raises(setpoint.InputError, match="chance"):
        setpoint.recertify(model, X, y, inclusion=np.full(len(y), 2.0))
    with pytest.raises(setpoint.InputError, match="labels"):
        setpoint.sample(model, X, labels=0)


def test_another_share_of_positives_moves_precision():
    X, y = make_data(rows=12_000, seed=7)
    model = SetpointClassifier("recall @ precision>=0.5").fit(X, y).model_
    X, y = make_data(rows=12_000, seed=8)
    plain = setpoint.recertify(model, X, y).model
    rare = setpoint.recertify(model, X, y, prevalence=0.04)
    assert rare.model.thresholds[0] > plain.thresholds[0]
    assert rare.record["depends_on_mix"] == ["precision>=0.5"]
    # Probabilities are for the new share.
    assert rare.model.predict_proba(X)[:, 1].mean() < 0.7 * plain.predict_proba(X)[:, 1].mean()
    abroad, truth = make_data(rows=8000, seed=9, rate=0.04)
    found = setpoint.recertify(model, X, y, unlabelled=abroad)
    mix = found.record["mix"]
    assert mix["lower"] <= truth.mean() * 1.1 and mix["upper"] >= truth.mean() * 0.9 and not mix["doubtful"]
    right = y_precision(found.model, abroad, truth)
    assert right >= 0.5


def y_precision(model, X, y):
    decided = model.predict(X) == 1
    return y[decided].mean()
