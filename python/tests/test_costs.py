"""Goals in money, and rows that are left undecided."""

from pathlib import Path

import numpy as np
import pytest

import setpoint
from setpoint import InputError, SetpointClassifier, SetpointThreshold
from setpoint.metrics import operating_point, value_at

MONEY = "profit(tp=amount, fp=-5)"


@pytest.fixture(scope="module")
def paid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns, labels, and what a positive that is found pays."""
    random = np.random.default_rng(0)
    y = (random.random(3000) < 0.3).astype(int)
    X = random.normal(size=(3000, 2)) + np.outer(y, [1.2, 0.6])
    return X, y, random.integers(2, 13, 3000).astype(float)


def profit(y: np.ndarray, amounts: np.ndarray, positive: np.ndarray) -> float:
    return float(np.where(y == 1, amounts, -5.0)[positive].sum()) / len(y)


def test_the_best_profit_is_that_of_an_exhaustive_search(paid: tuple[np.ndarray, ...]) -> None:
    X, y, amounts = (part[:300] for part in paid)
    scores = np.round(X[:, 0], 1)
    point = operating_point(y, scores, MONEY, amounts=amounts)
    best = max(profit(y, amounts, scores >= at) for at in np.append(np.unique(scores), np.inf))
    assert point.value == pytest.approx(best, abs=1e-12)
    assert profit(y, amounts, scores >= point.thresholds[0]) == pytest.approx(best, abs=1e-12)
    # Weights count rows, and amounts do not.
    half = np.where(np.arange(300) < 150, 1.0, 0.0)
    alone = value_at(y[:150], scores[:150], MONEY, amounts=amounts[:150])
    assert value_at(y, scores, MONEY, amounts=amounts, sample_weight=half) == pytest.approx(alone, abs=1e-12)
    assert value_at(y, scores, "cost(fp=1, fn=4)") <= 4 * y.mean()


def test_a_step_descends_the_loss_of_a_goal_in_money(paid: tuple[np.ndarray, ...]) -> None:
    X, y, amounts = paid
    scores = X[:, 0].astype(np.float32)
    first = setpoint.step(y, scores, MONEY, amounts=amounts)
    second = setpoint.step(y, scores - 50 * first.gradient, MONEY, amounts=amounts, sharpness=None)
    assert second.loss < first.loss


def test_amounts_come_by_name_alone_or_from_the_frame(paid: tuple[np.ndarray, ...]) -> None:
    pandas = pytest.importorskip("pandas")
    X, y, amounts = paid
    frame = pandas.DataFrame(X, columns=["a", "b"])
    by_name = SetpointClassifier(MONEY).fit(frame, y, amounts={"amount": amounts})
    alone = SetpointClassifier(MONEY).fit(frame, y, amounts=amounts)
    assert (by_name.thresholds_ == alone.thresholds_).all()
    inside = SetpointClassifier(MONEY).fit(frame.assign(amount=amounts), y)
    assert inside.report_["money"]["calibration"]["rows"] == 600
    bound = alone.certificate_["amount"]
    assert bound["quantity"] == "profit" and bound["bound"] < bound["observed"]
    record = alone.evaluate(frame, y, amounts=amounts)
    decided = alone.predict(frame) == 1
    assert record["money"]["per_row"] == pytest.approx(profit(y, amounts, decided), rel=1e-9)
    assert alone.score(frame, y, amounts=amounts) >= record["money"]["per_row"] - 1e-9
    with pytest.raises(InputError, match="takes amounts from 'amount': pass amounts="):
        SetpointClassifier(MONEY).fit(frame, y)
    with pytest.raises(InputError, match="leave it out"):
        SetpointClassifier("f1").fit(frame, y, amounts=amounts)


def test_a_threshold_for_money_around_any_classifier(paid: tuple[np.ndarray, ...]) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    pandas = pytest.importorskip("pandas")
    X, y, amounts = paid
    names = np.array(["no", "yes"])[y]
    model = SetpointThreshold(linear_model.LogisticRegression(), MONEY).fit(X, names, amounts=amounts)
    bound = model.certificate_["amount"]
    assert bound["quantity"] == "profit" and bound["bound"] < bound["observed"]
    assert model.certificate_["conditions"] == []
    # Rows beside those it was chosen on, by hand.
    record = model.evaluate(X[:500], names[:500], amounts={"amount": amounts[:500]})
    decided = model.predict(X[:500]) == "yes"
    assert record["money"]["per_row"] == pytest.approx(profit(y[:500], amounts[:500], decided), rel=1e-9)
    assert model.evaluate()["money"]["rows"] == 900
    # The threshold that is best on the calibration rows, where nothing is proved.
    fitted = linear_model.LogisticRegression().fit(X[:1500], y[:1500])
    held, pay = fitted.predict_proba(X[1500:])[:, 1], amounts[1500:]
    exact = SetpointThreshold(fitted, MONEY, confidence=None, prefit=True).fit(X[1500:], y[1500:], amounts=pay)
    best = max(profit(y[1500:], pay, held >= at) for at in np.append(np.unique(held), np.inf))
    assert profit(y[1500:], pay, held >= exact.threshold_) == pytest.approx(best, abs=1e-12)
    record = setpoint.evaluate(y[1500:], held, MONEY, threshold=exact.threshold_, amounts=pay)
    assert record["money"]["per_row"] == pytest.approx(best, abs=1e-9)
    # A column of the frame is found by its name, and constants need none.
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(amount=amounts)
    SetpointThreshold(linear_model.LogisticRegression(), MONEY).fit(frame, y)
    SetpointThreshold(linear_model.LogisticRegression(), "cost(fp=1, fn=4) @ positive-rate<=40%").fit(X, y)
    with pytest.raises(InputError, match="takes amounts from 'amount': pass amounts="):
        SetpointThreshold(linear_model.LogisticRegression(), MONEY).fit(X, y)
    with pytest.raises(InputError, match="leave it out"):
        SetpointThreshold(linear_model.LogisticRegression(), "f1").fit(X, y, amounts=amounts)


def test_rows_between_two_thresholds_are_left_undecided(paid: tuple[np.ndarray, ...]) -> None:
    X, y, _ = paid
    goal = "coverage @ precision>=0.7, npv>=0.85"
    model = SetpointClassifier(goal, confidence=0.8).fit(X, y)
    upper, lower = model.thresholds_
    scores = model.model_.scores(X)
    decided = model.predict(X)
    undecided = (scores < upper) & (scores >= lower)
    assert (model.abstained_ == undecided).all() and 0 < undecided.sum() < len(y)
    assert set(decided) == {0, 1}
    assert (decided[scores >= upper] == 1).all() and (decided[scores < lower] == 0).all()
    review = SetpointClassifier(goal, confidence=0.8, abstain="review").fit(X, y).predict(X)
    assert ((review == "review") == undecided).all()
    assert ((model.model_.predict(X) == -1) == undecided).all()
    record = model.evaluate(X, y)
    assert record["band"]["undecided"] == undecided.sum()
    point = operating_point(y, scores, goal)
    assert len(point.thresholds) == 2 and point.value == pytest.approx(record["at_condition"]["value"])


def test_a_report_counts_rows_a_day(paid: tuple[np.ndarray, ...], tmp_path: Path) -> None:
    X, y, _ = paid
    model = SetpointClassifier("coverage @ precision>=0.7, npv>=0.85", confidence=0.8).fit(X, y)
    page = tmp_path / "page.html"
    assert model.report(page, X, y)["band"]["volume"] == 1000
    assert "of 1,000 a day" in page.read_text()
    assert model.report(page, X, y, volume=25_000)["band"]["volume"] == 25_000
    assert "of 25,000 a day" in page.read_text()
    with pytest.raises(InputError, match=r"volume=-1(\.0)?: expected a number of rows a day"):
        model.evaluate(X, y, volume=-1)
    with pytest.raises(InputError, match="volume=: is for goals of coverage"):
        SetpointClassifier("f1").fit(X, y).evaluate(X, y, volume=10)


def test_rows_left_undecided_are_watched_and_certified_anew(paid: tuple[np.ndarray, ...]) -> None:
    X, y, _ = paid
    model = SetpointClassifier("coverage @ precision>=0.65, npv>=0.8", confidence=0.8).fit(X, y).model_
    assert model.certificate is not None
    random = np.random.default_rng(1)
    later = (random.random(2000) < 0.3).astype(int)
    rows = random.normal(size=(2000, 2)) + np.outer(later, [1.2, 0.6])
    monitor = setpoint.Monitor(model)
    status = monitor.update(rows, later)
    band = model.evaluate(rows, later)["band"]
    assert [one["rate"] for one in status["conditions"]] == pytest.approx([band["precision"], band["npv"]])
    assert not status["alarm"]
    hints = monitor.update(rows)["hints"]
    assert hints[0]["what"] == "share left to people"
    assert hints[0]["observed"] == pytest.approx(band["undecided"] / 2000)
    # Positives as before, and negatives that look like them.
    assert monitor.update(rows + 1.5 * (later == 0)[:, None], later)["alarm"]
    again = setpoint.recertify(model, rows, later, confidence=0.8)
    upper, lower = again.model.thresholds
    assert upper >= lower and again.record["certificate"]["confidence"] == 0.8
    decided = again.model.predict(rows)
    assert ((decided == -1) == ((again.model.scores(rows) < upper) & (again.model.scores(rows) >= lower))).all()
    with pytest.raises(InputError, match="one threshold alone"):
        setpoint.recertify(model, rows, later, prevalence=0.1)


def test_a_torch_loss_takes_amounts_and_keeps_them_in_its_state(paid: tuple[np.ndarray, ...]) -> None:
    torch = pytest.importorskip("torch")
    from setpoint.torch import OperatingPointLoss

    X, y, amounts = paid
    logits = torch.tensor(X[:, 0].tolist(), requires_grad=True)
    targets = torch.tensor(y.tolist())
    loss = OperatingPointLoss(MONEY, mix=0.0)
    loss(logits, targets, amounts=torch.tensor(amounts.tolist())).backward()
    assert logits.grad is not None and float(logits.grad.abs().sum()) > 0
    assert loss.metrics()["goal"] == pytest.approx(
        value_at(y, X[:, 0].astype(np.float32), MONEY, amounts=amounts), rel=1e-5
    )
    again = OperatingPointLoss(MONEY, mix=0.0)
    again.load_state_dict(loss.state_dict())
    assert again.metrics() == loss.metrics()
    with pytest.raises(InputError, match="pass amounts="):
        loss(logits, targets)


def test_boosters_take_the_amounts_of_their_rows(paid: tuple[np.ndarray, ...]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    from setpoint.lightgbm import metric, objective

    X, y, amounts = paid
    model = lightgbm.LGBMClassifier(n_estimators=20, objective=objective(MONEY, amounts=amounts), verbose=-1)
    model.fit(X, y, eval_set=[(X, y)], eval_metric=metric(MONEY, amounts=amounts))
    scores = model.predict(X, raw_score=True)
    assert value_at(y, scores, MONEY, amounts=amounts) > value_at(y, -scores, MONEY, amounts=amounts)
