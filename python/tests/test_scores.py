"""What the scores of any model come to: evaluate, report, and the file of a threshold."""

import json
import pickle

import numpy as np
import pytest
from conftest import make_data
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import setpoint
from setpoint import SetpointClassifier, SetpointThreshold, metrics

GOAL = "recall @ fpr<=5%"


def scored(rows=4000, seed=0):
    X, y = make_data(rows, seed=seed)
    return y, X[:, 0] + X[:, 1]


def rate(record, name):
    return next(one["value"] for one in record["at_threshold"] if one["name"] == name)


def test_plain_scores_are_measured_at_the_goal_and_at_a_threshold():
    y, scores = scored()
    record = setpoint.evaluate(y, scores, GOAL)
    proved = setpoint.certify(y, scores, GOAL)
    assert record["at_condition"]["value"] == metrics.value_at(y, scores, GOAL)
    assert record["thresholds"] == [proved.threshold] and record["certificate"]["confidence"] == 0.95
    rates = metrics.rates_at(y, scores, proved.threshold)
    assert (rate(record, "recall"), rate(record, "fpr")) == (rates["recall"], rates["fpr"])
    assert not record["drift"], "rows that chose a threshold cannot test it"
    fixed = setpoint.evaluate(y, scores, GOAL, threshold=1.5)
    assert rate(fixed, "fpr") == metrics.rates_at(y, scores, 1.5)["fpr"] and fixed["certificate"] is None
    with pytest.raises(setpoint.InputError, match="give one of them"):
        setpoint.evaluate(y, scores, GOAL, threshold=1.5, certificate=proved)
    with pytest.raises(setpoint.InputError, match=r"certificate=0\.95: expected what setpoint\.certify returns"):
        setpoint.evaluate(y, scores, GOAL, certificate=0.95)


def test_a_certificate_is_tested_on_new_rows():
    proved = setpoint.certify(*scored(), GOAL)
    y, scores = scored(seed=1)
    for certificate in (proved, json.loads(json.dumps(proved.record))):
        same = setpoint.evaluate(y, scores, GOAL, certificate=certificate)
        assert same["drift"][0]["verdict"] == "holds" and same["thresholds"] == [proved.threshold]
    moved = setpoint.evaluate(y, scores + 1, GOAL, certificate=proved)
    assert moved["drift"][0]["verdict"] == "violated"


def test_groups_weights_entities_and_labels_of_plain_scores():
    y, scores = scored()
    groups = np.where(np.arange(len(y)) % 2, "a", "b")
    by_group = setpoint.evaluate(y, scores, "recall @ fpr(site)<=10%", groups=groups)
    assert [one["group"] for one in by_group["groups"]] == ["a", "b"] and len(by_group["thresholds"]) == 2
    told = setpoint.evaluate(y, scores, GOAL, groups=groups)
    assert len(told["groups"]) == 2 and len(told["thresholds"]) == 1
    with pytest.warns(setpoint.UncertifiedWarning, match="weights"):
        setpoint.evaluate(y, scores, GOAL, sample_weight=np.linspace(1, 2, len(y)))
    texts = np.array(["ham", "spam"])[y]
    assert setpoint.evaluate(texts, scores, GOAL, positive="spam")["positives"] == y.sum()


def test_reports_are_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y, scores = scored()
    record = setpoint.report(y, scores, GOAL)
    assert record == setpoint.evaluate(y, scores, GOAL)
    page = (tmp_path / "setpoint-report.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and str(record["thresholds"][0]) in page
    X, y = make_data(4000)
    forest = SetpointThreshold(RandomForestClassifier(30, random_state=0), GOAL).fit(X, y)
    new, truth = make_data(4000, seed=1)
    assert not forest.report("own.html")["drift"]
    assert forest.report("new.html", new, truth)["drift"][0]["verdict"] == "holds"
    assert "RandomForestClassifier, calibration rows" in (tmp_path / "own.html").read_text()
    model = SetpointClassifier(GOAL).fit(X, y)
    shown = model.report("trained.html", new, truth, title="January")
    assert shown == model.evaluate(new, truth) == model.model_.evaluate(new, truth)
    assert "January" in (tmp_path / "trained.html").read_text()


def test_the_threshold_is_on_the_scale_of_the_probabilities():
    X, y = make_data(4000)
    new, _ = make_data(4000, seed=1)
    for classifier in (RandomForestClassifier(30, random_state=0), LogisticRegression()):
        tuned = SetpointThreshold(classifier, GOAL).fit(X, y)
        assert 0 < tuned.threshold_ < 1
        probability = tuned.estimator_.predict_proba(new)[:, 1]
        assert (tuned.predict(new) == (probability >= tuned.threshold_)).all()
    margin = SetpointThreshold(LinearSVC(), GOAL).fit(X, y)
    decided = margin.estimator_.decision_function(new) >= margin.threshold_
    assert (margin.predict(new) == decided).all()
    groups = np.where(X[:, 2] > 0, "a", "b")
    grouped = SetpointThreshold(LogisticRegression(), "recall @ fpr(g)<=10%").fit(X, y, groups=groups)
    assert grouped.threshold_ is None and len(grouped.thresholds_) == 2


def test_a_threshold_is_saved_without_its_classifier(tmp_path):
    X, y = make_data(4000)
    labels = np.array(["good", "poor"])[y]
    tuned = SetpointThreshold(LogisticRegression(), GOAL, positive="poor").fit(X, labels)
    tuned.save(tmp_path / "threshold.json")
    held = json.loads((tmp_path / "threshold.json").read_text())
    assert held["thresholds"] == [tuned.threshold_] and held["certificate"]["condition"] == "fpr<=5%"
    again = SetpointThreshold.load(tmp_path / "threshold.json", tuned.estimator_)
    assert (again.predict(X) == tuned.predict(X)).all() and again.certificate_ == tuned.certificate_
    assert again.evaluate(X, labels) == tuned.evaluate(X, labels)
    assert (pickle.loads(pickle.dumps(again)).predict(X) == tuned.predict(X)).all()
    with pytest.raises(setpoint.InputError, match="are not kept in a file"):
        again.report(tmp_path / "page.html")
    with pytest.raises(setpoint.InputError, match="the estimator knows the labels"):
        SetpointThreshold.load(tmp_path / "threshold.json", LogisticRegression().fit(X, y))
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(setpoint.InputError, match=r"expected a file that SetpointThreshold\.save wrote"):
        SetpointThreshold.load(tmp_path / "other.json", tuned.estimator_)


def test_the_order_of_earlier_versions_is_refused_and_the_new_one_named():
    y, scores = scored(500)
    order = r"the order is \(y, scores, goal\), labels first"
    for call in (
        lambda: setpoint.certify(scores, y, "fpr<=20%"),
        lambda: setpoint.certify(scores, np.array(["ham", "spam"])[y], "fpr<=20%", positive="spam"),
        lambda: setpoint.step(GOAL, scores, y),
        lambda: setpoint.evaluate(scores, y, GOAL),
        lambda: metrics.value_at(scores, y, GOAL),
        lambda: metrics.interval(scores, y.astype(bool), GOAL),
        lambda: metrics.roc_curve(scores, y),
    ):
        with pytest.raises(setpoint.InputError, match=order):
            call()
    # Decisions are scores too.
    assert metrics.value_at(y, y, "f1") == 1.0
