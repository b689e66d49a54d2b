"""Objectives and metrics of goals per query for LightGBM and XGBoost, and the loss for PyTorch."""

import numpy as np
import pytest

import setpoint
from setpoint.metrics import per_query

GOAL = "ndcg @ k=5 per query"


def sorted_queries(queries=150, documents=12, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(queries * documents, 4))
    worth = X[:, 0] - np.abs(X[:, 1]) + 0.6 * random.normal(size=len(X))
    return X, np.digitize(worth, [0.2, 1.0]), np.repeat(np.arange(queries), documents)


def check_derivatives(objective):
    X, y, query = sorted_queries(20)
    raw = X[:, 0] - X[:, 1]
    g, h = objective(GOAL, query=query)(y, raw)
    assert (h > 0).all() and np.isfinite(g).all()
    np.testing.assert_allclose([g[query == q].sum() for q in range(20)], 0, atol=1e-5)
    # Equal scores still teach: rows of higher grades are pulled up.
    g, _ = objective(GOAL, query=query)(y, np.zeros(len(y)))
    assert g[y == 2].mean() < g[y == 1].mean() < g[y == 0].mean()
    with pytest.raises(setpoint.InputError, match="which rows are of one query"):
        objective(GOAL)(y, raw)
    with pytest.raises(setpoint.InputError, match=r"expected 0\.5tail for a goal per query"):
        objective(GOAL, bandwidth="0.1sd")


def test_lightgbm():
    lgb = pytest.importorskip("lightgbm")
    from setpoint.lightgbm import metric, objective

    check_derivatives(objective)
    X, y, query = sorted_queries()
    new, grades, of = sorted_queries(seed=1)
    sizes = np.bincount(query)
    data, held_out = lgb.Dataset(X, y, group=sizes), lgb.Dataset(new, grades, group=sizes)
    settings = {"metric": "None", "verbose": -1, "seed": 0, "num_leaves": 8, "learning_rate": 0.1}
    boosters = []
    for given in (objective(GOAL), objective(GOAL, query=query)):
        kept: dict = {}
        boosters.append(
            lgb.train(
                {"objective": given, **settings},
                data,
                60,
                valid_sets=[held_out],
                feval=metric(GOAL),
                callbacks=[lgb.early_stopping(20, verbose=False), lgb.record_evaluation(kept)],
            )
        )
        value = per_query(grades, boosters[-1].predict(new), GOAL, query=of).value
        assert value == pytest.approx(kept["valid_0"][GOAL][boosters[-1].best_iteration - 1])
        assert value > 0.85
    np.testing.assert_array_equal(*(booster.predict(new) for booster in boosters))
    ranker = lgb.LGBMRanker(objective=objective(GOAL), n_estimators=20, verbose=-1).fit(X, y, group=sizes)
    assert per_query(grades, ranker.predict(new), GOAL, query=of).value > 0.8


def test_xgboost():
    xgb = pytest.importorskip("xgboost")
    from setpoint.xgboost import metric, objective

    check_derivatives(objective)
    X, y, query = sorted_queries()
    new, grades, of = sorted_queries(seed=1)
    data, held_out = xgb.DMatrix(X, y, qid=query), xgb.DMatrix(new, grades, qid=of)
    kept: dict = {}
    booster = xgb.train(
        {"disable_default_eval_metric": 1, "max_depth": 3},
        data,
        40,
        obj=objective(GOAL),
        custom_metric=metric(GOAL),
        evals=[(held_out, "v")],
        evals_result=kept,
        verbose_eval=False,
    )
    value = per_query(grades, booster.predict(held_out), GOAL, query=of).value
    assert value == pytest.approx(kept["v"][GOAL.replace(" ", "")][-1]) and value > 0.8


def test_torch():
    torch = pytest.importorskip("torch")
    from setpoint.torch import QueryLoss

    X, y, query = (torch.tensor(one) for one in sorted_queries(40))
    loss = QueryLoss(GOAL)
    scores = (X[:, 0] - X[:, 1]).requires_grad_()
    value = loss(scores, y, query)
    value.backward()
    own = setpoint.step(y.numpy(), scores.detach().numpy(), GOAL, query=query.numpy())
    assert float(value) == pytest.approx(own.loss)
    np.testing.assert_allclose(scores.grad.numpy(), own.gradient, atol=1e-8)
    model = torch.nn.Linear(4, 1).double()
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    first = float(loss(model(X), y, query))
    for _ in range(60):
        optimizer.zero_grad()
        step = loss(model(X), y, query)
        step.backward()
        optimizer.step()
    assert float(step) < first - 0.05
    with pytest.raises(setpoint.InputError, match="query has 3 values"):
        loss(scores, y, query[:3])
    with pytest.raises(setpoint.InputError, match="grades are numbers from 0 on"):
        loss(scores, y - 1, query)
