"""Objectives and metrics for LightGBM and XGBoost."""

import numpy as np
import pytest
from conftest import make_data

import setpoint
from setpoint import metrics

GOAL = "recall @ fpr<=5%"


def parts():
    X, y = make_data(6000)
    # Something a small ensemble has to work for.
    X[:, 0] += np.sin(3 * X[:, 3])
    return X[:3000], y[:3000], X[3000:], y[3000:]


def check_derivatives(objective, call):
    X, y, *_ = parts()
    raw = X[:, 0] + X[:, 1]
    g, h = call(objective(GOAL), y, raw)
    assert (h > 0).all() and np.isfinite(g).all()
    chance = 1 / (1 + np.exp(-raw))
    log, curve = chance - y, chance * (1 - chance)
    sharpness = setpoint._setpoint.sharpness(GOAL, raw.astype(np.float32), y == 1, None, "0.5tail")
    v = setpoint.step(y, raw, GOAL, sharpness=sharpness).gradient
    a = np.abs(log).mean() / np.abs(v).mean()
    np.testing.assert_allclose(g, log + 2 * a * v, atol=1e-6)
    np.testing.assert_allclose(h, curve + np.abs(a * v), atol=1e-6)
    # Equal scores, one class: log loss alone.
    g, h = call(objective(GOAL), y, np.zeros(len(y)))
    np.testing.assert_allclose(g, 0.5 - y)
    g, _ = call(objective(GOAL), np.zeros(len(y)), raw)
    np.testing.assert_allclose(g, chance)
    with pytest.raises(setpoint.InputError, match="groups"):
        objective("recall @ fpr(sex)<=1%")


def test_lightgbm_derivatives():
    pytest.importorskip("lightgbm")
    from setpoint.lightgbm import objective

    check_derivatives(objective, lambda function, y, raw: function(y, raw))


def test_lightgbm_trains_and_stops_early():
    lgb = pytest.importorskip("lightgbm")
    from setpoint.lightgbm import metric, objective

    X, y, new, truth = parts()
    weight = np.where(y, 2.0, 1.0)
    data, held_out = lgb.Dataset(X, y, weight=weight), lgb.Dataset(new, truth)
    parameters = {"objective": objective(GOAL), "metric": "None", "num_leaves": 4, "verbose": -1, "seed": 0}
    booster = lgb.train(
        parameters,
        data,
        200,
        valid_sets=[held_out],
        feval=metric(GOAL),
        callbacks=[lgb.early_stopping(40, verbose=False)],
    )
    value = metrics.value_at(truth, booster.predict(new, raw_score=True), GOAL)
    assert booster.best_iteration < 200 and value > 0.55
    assert booster.best_score["valid_0"][GOAL] == pytest.approx(value)
    model = lgb.LGBMClassifier(objective=objective(GOAL), num_leaves=4, n_estimators=30, verbose=-1)
    model.fit(X, y, sample_weight=weight, eval_set=[(new, truth)], eval_metric=metric(GOAL))
    last = model.evals_result_["valid_0"][GOAL][-1]
    assert last == metrics.value_at(truth, model.predict(new, raw_score=True), GOAL) > 0.5
    assert metric("fnr @ fpr=5%")(truth, new[:, 0])[2] is False


def test_xgboost_derivatives():
    pytest.importorskip("xgboost")
    from setpoint.xgboost import objective

    check_derivatives(objective, lambda function, y, raw: function(y, raw))


def test_xgboost_trains_and_stops_early():
    xgb = pytest.importorskip("xgboost")
    from setpoint.xgboost import metric, objective

    X, y, new, truth = parts()
    weight = np.where(y, 2.0, 1.0)
    data, held_out = xgb.DMatrix(X, y, weight=weight), xgb.DMatrix(new, truth)
    booster = xgb.train(
        {"disable_default_eval_metric": 1, "max_depth": 2, "base_score": 0.5},
        data,
        200,
        obj=objective(GOAL),
        custom_metric=metric(GOAL),
        evals=[(held_out, "validation")],
        callbacks=[xgb.callback.EarlyStopping(rounds=40, maximize=True)],
        verbose_eval=False,
    )
    best = booster.predict(held_out, output_margin=True, iteration_range=(0, booster.best_iteration + 1))
    value = metrics.value_at(truth, best, GOAL)
    assert booster.best_iteration < 199 and value > 0.55
    assert booster.best_score == pytest.approx(value)
    model = xgb.XGBClassifier(
        objective=objective(GOAL), eval_metric=metric(GOAL), max_depth=2, n_estimators=60, early_stopping_rounds=15
    )
    model.fit(X, y, sample_weight=weight, eval_set=[(new, truth)], verbose=False)
    assert -model.best_score > 0.5


def test_a_condition_that_cannot_be_met_yet_is_the_worst_value():
    pytest.importorskip("lightgbm")
    from setpoint.lightgbm import metric

    y = np.array([0, 0, 1, 0])
    assert metric("recall @ precision>=0.9")(y, np.array([3.0, 2.0, 1.0, 0.0]))[1] == 0.0
