"""Rankers, and the exact metrics of goals per query."""

import json
import os
import pathlib
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import average_precision_score, ndcg_score

import setpoint
from setpoint import SetpointRanker
from setpoint.metrics import per_query

GOAL = "ndcg @ k=5 per query"


def make_queries(queries=80, documents=12, seed=0):
    """Rows in an order that mixes the queries, graded 0 to 2 by two columns of four."""
    random = np.random.default_rng(seed)
    rows = queries * documents
    X = random.normal(size=(rows, 4))
    worth = X[:, 0] - 0.7 * X[:, 1] + 0.8 * random.normal(size=rows)
    y = np.digitize(worth, [0.8, 1.8])
    return X, y, np.tile(np.arange(queries), documents)


@pytest.fixture(scope="module")
def fitted():
    X, y, query = make_queries()
    return SetpointRanker(GOAL).fit(X, y, query=query)


def with_ties(queries=40, documents=25, seed=3):
    """Grades, scores of which many are equal, and queries."""
    random = np.random.default_rng(seed)
    rows = queries * documents
    y = random.choice(4, rows, p=[0.6, 0.2, 0.15, 0.05])
    scores = random.integers(0, 6, rows) / 3 + 0.3 * y.clip(max=1)
    return y, np.round(scores, 1), np.repeat(np.arange(queries), documents)


@pytest.mark.parametrize("k", [1, 3, 10, 25, 40])
def test_ndcg_is_that_of_scikit_learn(k):
    y, scores, query = with_ties()
    found = per_query(y, scores, f"ndcg(linear) @ k={k} per query", query=query, empty_queries=0)
    each = [ndcg_score([y[query == q]], [scores[query == q]], k=k) for q in np.unique(query)]
    np.testing.assert_allclose(found.values, each, atol=1e-12)
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)


def test_map_is_that_of_scikit_learn_where_no_scores_are_equal():
    y, _, query = with_ties()
    scores = np.random.default_rng(0).normal(size=len(y)) + y
    found = per_query(y, scores, "map per query", query=query, positive=">=2")
    each = [average_precision_score(y[query == q] >= 2, scores[query == q]) for q in np.unique(query)
            if (y[query == q] >= 2).any()]  # fmt: skip
    np.testing.assert_allclose(found.values[~np.isnan(found.values)], each, atol=1e-12)


def test_metrics_are_those_of_lightgbm():
    lgb = pytest.importorskip("lightgbm")
    y, scores, query = with_ties()
    sizes = np.bincount(query)
    X = np.arange(len(y), dtype=float)[:, None]
    data = lgb.Dataset(X, y, group=sizes, init_score=scores, params={"verbose": -1})
    found: dict = {}
    parameters = {"objective": "lambdarank", "eval_at": [3, 10], "metric": ["ndcg", "map"], "verbose": -1,
                  "learning_rate": 1e-100, "num_leaves": 2}  # fmt: skip
    # A step of no length leaves the scores as they are.
    lgb.train(parameters, data, 1, valid_sets=[data], valid_names=["v"], callbacks=[lgb.record_evaluation(found)])
    for k in (3, 10):
        own = per_query(y, scores, f"ndcg @ k={k} per query", query=query, empty_queries=1, ties="order")
        assert own.value == pytest.approx(found["v"][f"ndcg@{k}"][0], abs=1e-9)


def test_ties_share_their_places_in_expectation():
    for goal, value in [
        ("precision @ k=1 per query", 0.5),
        ("recall @ k=2 per query", 1.0),
        ("precision @ k=4 per query", 0.25),
    ]:
        assert per_query([1, 0], [0.5, 0.5], goal, query=[7, 7]).value == pytest.approx(value)


def test_a_ranker_learns_scores_and_puts_rows_in_order(fitted):
    X, y, query = make_queries(60, seed=1)
    scores = fitted.predict(X)
    assert fitted.score(X, y, query=query) == per_query(y, scores, GOAL, query=query).value
    assert fitted.score(X, y, query=query) > 0.75
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert fitted.score(X[shuffled], y[shuffled], query=query[shuffled]) == pytest.approx(
        fitted.score(X, y, query=query)
    )
    places = fitted.places(X, query=query)
    for q in (0, 31):
        rows = query == q
        assert sorted(places[rows]) == list(range(1, 13))
        assert (np.argsort(-scores[rows], kind="stable") == np.argsort(places[rows])).all()
    table = fitted.predict_frame(X, query=query)
    assert list(table.columns) == ["score", "place", "decision"]
    assert (table.decision == (table.place <= 5)).all()
    assert (fitted.model_.predict(X, query=query) == table.decision).all()


def test_what_is_known_of_a_ranker(fitted, tmp_path):
    X, y, query = make_queries(60, seed=1)
    bound = fitted.certificate_
    assert 0.4 < bound["lower"] < bound["mean"] and bound["confidence"] == 0.95
    record = fitted.report(tmp_path / "page.html", X, y, query=query)
    assert "Queries by value" in (tmp_path / "page.html").read_text()
    assert [one["name"] for one in record["queries"]["metrics"]] == [
        "ndcg @ k=5",
        "precision @ k=5",
        "recall @ k=5",
        "map",
    ]
    assert record["at_condition"]["value"] == fitted.score(X, y, query=query)
    assert record["drift"][0]["verdict"] == "holds"
    fitted.save(tmp_path / "m.safetensors")
    again = setpoint.load(tmp_path / "m.safetensors")
    assert again.goal == GOAL and again.query_column is None
    np.testing.assert_array_equal(again.scores(X), fitted.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    assert json.loads(json.dumps(fitted.report_))["queries"]["train"]["queries"] > 40


def test_a_frame_may_hold_the_queries(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, query = make_queries(60)
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(session=[f"s{q}" for q in query], town="York")
    frame.loc[::3, "town"] = "Hull"
    ranker = SetpointRanker(GOAL).fit(frame, pandas.Series(y, name="grade"), query="session")
    assert "session" not in ranker.feature_names_in_
    assert ranker.model_.query_column == "session"
    scores = ranker.predict(frame)
    np.testing.assert_array_equal(ranker.predict(frame.drop(columns="session")), scores)
    table = ranker.predict_frame(frame, keep=["session"])
    assert list(table.columns) == ["session", "score", "place", "decision"]
    assert (table.groupby("session").place.max() == 12).all()
    assert ranker.score(frame, y) == pytest.approx(ranker.score(frame, y, query=query))
    names = [one["query"] for one in ranker.evaluate(frame, y)["queries"]["worst"]]
    assert all(name.startswith("s") for name in names)
    with pytest.raises(setpoint.InputError, match="no such column"):
        ranker.score(frame.rename(columns={"session": "other"}), y)


def test_scikit_learn_conventions(fitted):
    ranker = SetpointRanker(GOAL, model="mlp", hidden=(4,), empty_queries=0, epochs=2)
    assert clone(ranker).get_params() == ranker.get_params()
    assert "empty_queries=0" in repr(ranker) and not hasattr(ranker, "model_")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        SetpointRanker(nonsense=1)
    with pytest.raises(Exception, match="not fitted"):
        ranker.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(np.zeros((2, 3)))


@pytest.mark.parametrize("model", ["mlp", "trees"])
def test_other_models(model):
    if model == "trees":
        pytest.importorskip("lightgbm")
    X, y, query = make_queries()
    settings = {"hidden": (8,), "epochs": 60} if model == "mlp" else {"search": 2, "rounds": 30}
    ranker = SetpointRanker("precision @ k=3 per query", model=model, **settings).fit(X, y, query=query)
    new, grades, of = make_queries(40, seed=5)
    best = per_query(grades, grades + 0.0, "precision @ k=3 per query", query=of).value
    assert 0.6 * best < ranker.score(new, grades, query=of) <= best


def test_what_makes_no_sense_is_refused():
    X, y, query = make_queries(20)
    for arguments, message in [
        ({"y": y - 1}, "grades are numbers from 0 on"),
        ({"query": None}, "query= says which query"),
        ({"query": query[:-1]}, "query has 239 values: expected 240"),
        ({"query": "q"}, "query= says which query"),
    ]:
        given = {"y": y, "query": query, **arguments}
        with pytest.raises(setpoint.InputError, match=message):
            SetpointRanker(GOAL).fit(X, **given)
    for settings, message in [
        ({"goal": "recall @ fpr<=1%"}, "per query"),
        ({"goal": "fpr<=1% per query"}, "per query"),
        ({"positive": "yes"}, "expected a rule on grades"),
        ({"empty_queries": 2}, "empty_queries=2"),
        ({"at_least": "much"}, "at_least='much'"),
    ]:
        with pytest.raises((setpoint.GoalError, setpoint.InputError), match=message):
            SetpointRanker(**settings).fit(X, y, query=query)
    with pytest.raises(setpoint.InputError, match="SetpointRanker"):
        setpoint.SetpointClassifier(GOAL).fit(X, y > 0)
    with pytest.raises(setpoint.InfeasibleError, match="relevant"):
        per_query(np.zeros(4), np.ones(4), GOAL, query=[1, 1, 2, 2])


def test_a_certificate_is_refused_with_the_queries_it_takes():
    X, y, query = make_queries(60)
    with pytest.warns(setpoint.UncertifiedWarning, match="queries"):
        ranker = SetpointRanker(GOAL, at_least=0.999).fit(X, y, query=query)
    assert ranker.certificate_ is None and "0.999" in ranker.report_["certificate_refused"]


def test_scores_of_any_model_are_certified():
    y, scores, query = with_ties(120)
    found = setpoint.certify_queries(y, scores, GOAL, query=query)
    assert found.mean == pytest.approx(per_query(y, scores, GOAL, query=query).value)
    assert 0 < found.lower < found.mean and str(found).startswith("certified: ndcg @ k=5 of at least")
    with pytest.raises(setpoint.InfeasibleError, match="needed"):
        setpoint.certify_queries(y, scores, GOAL, query=query, at_least=found.mean - 0.01)


def test_the_gradient_matches_finite_differences():
    y, _, query = with_ties(6, 20)
    scores = np.random.default_rng(1).normal(size=len(y)).astype(np.float32)
    for goal in (GOAL, "precision @ k=3 per query", "map per query"):
        step = setpoint.step(y, scores, goal, query=query)
        assert abs(step.gradient[query == 2].sum()) < 1e-7
        direction = np.random.default_rng(2).normal(size=len(y)).astype(np.float32)
        ahead, behind = (setpoint.step(y, scores + s * 2.0**-9 * direction, goal, query=query).loss for s in (1, -1))
        slope = float(step.gradient.astype(float) @ direction)
        # Second differences leave about 2^-18, scores rounded to 32 bits the rest.
        assert (ahead - behind) * 2.0**8 == pytest.approx(slope, rel=1e-3, abs=1e-4)


def letor(path):
    """An SVMLight file of LETOR: features, grades and queries."""
    from sklearn.datasets import load_svmlight_file

    X, y, query = load_svmlight_file(str(path), query_id=True)
    return X.toarray(), y, query


def test_ohsumed_as_a_new_user_would(tmp_path):
    folder = pathlib.Path(os.environ.get("SETPOINT_DATA", "")) / "OHSUMED-Fold1"
    if not os.environ.get("SETPOINT_DATA") or not folder.exists():
        pytest.skip("SETPOINT_DATA does not name a folder with OHSUMED-Fold1")
    X, y, query = letor(folder / "trainingset.txt.gz")
    new, grades, of = letor(folder / "testset.txt.gz")
    ranker = SetpointRanker("ndcg @ k=10 per query").fit(X, y, query=query)
    # Recall of chance: about 0.2.
    assert ranker.score(new, grades, query=of) > 0.28
