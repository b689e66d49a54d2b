"""Rows that belong together: entities are counted, not rows."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import setpoint
from setpoint import SetpointClassifier, SetpointThreshold

GOAL = "recall @ fpr<=10%"


def visits(entities, rows, seed):
    """Features, labels and entities of rows that have most of the first feature in common."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(entities), rows)
    y = rng.random(len(who)) < 0.2
    common = rng.normal(size=entities)[who]
    x = 0.9 * common + 0.4 * rng.normal(size=len(who)) + 1.5 * y
    return np.column_stack([x, rng.normal(size=len(who)) + y]), y.astype(int), who


def test_scores_are_certified_by_entity():
    X, y, who = visits(400, 8, 1)
    by_row = setpoint.certify(y, X[:, 0], "fpr<=10%")
    proved = setpoint.certify(y, X[:, 0], "fpr<=10%", entities=who)
    assert proved.threshold > by_row.threshold
    assert proved.entities == {"column": "entities", "count": 400}
    assert proved.conditions[0]["method"]["name"] == "betting"
    X, y, who = visits(30, 20, 2)
    with pytest.raises(setpoint.InfeasibleError, match=r"30 entities .* at least [0-9]+ like these are needed"):
        setpoint.certify(y, X[:, 0], "fpr<=10%", entities=who)
    near = setpoint.certify(y, X[:, 0], "fpr<=10%", entities=who, approximate=True)
    assert str(near).startswith("approximate, not certified")
    with pytest.raises(setpoint.InputError, match="entities has"):
        setpoint.certify(y, X[:, 0], "fpr<=10%", entities=who[:5])


def test_one_row_an_entity_is_as_if_there_were_none():
    X, y, _ = visits(500, 1, 3)
    by_row = setpoint.certify(y, X[:, 0], "fpr<=10%")
    alone = setpoint.certify(y, X[:, 0], "fpr<=10%", entities=np.arange(500))
    assert (alone.threshold, alone.entities) == (by_row.threshold, None)


def test_classifier_keeps_entities_whole_and_counts_them(tmp_path):
    X, y, who = visits(150, 20, 4)
    few = SetpointClassifier(GOAL).fit(X, y, entities=who)
    assert few.certificate_ is None
    assert few.approximate_["entities"]["column"] == "entities"
    assert "entities" in few.report_["certificate_refused"]
    # Entities change places whole.
    assert few.report_["rotations"] == 3
    assert all(rows % 20 == 0 for rows in few.report_["rows"].values())
    few.save(tmp_path / "m")
    model = setpoint.load(tmp_path / "m")
    assert model.certificate is None
    assert np.float32(model.approximate["thresholds"]) == np.float32(few.approximate_["thresholds"])
    found = model.evaluate(X, y, entities=who)
    assert found["at_threshold"][0]["interval"]["method"] == "bootstrap of entities"
    X, y, who = visits(700, 8, 5)
    many = SetpointClassifier(GOAL).fit(X, y, entities=[f"p{one}" for one in who])
    assert many.certificate_["conditions"][0]["method"]["name"] == "betting"
    assert many.approximate_ is None


def test_threshold_of_any_classifier_by_entity():
    X, y, who = visits(100, 20, 6)
    few = SetpointThreshold(LogisticRegression(), GOAL).fit(X, y, entities=who)
    assert few.certificate_ is None
    assert few.approximate_["entities"]["count"] == 30
    json.dumps(few.approximate_)
    with pytest.raises(setpoint.InputError, match="entities has"):
        SetpointThreshold(LogisticRegression(), GOAL).fit(X, y, entities=who[:3])
