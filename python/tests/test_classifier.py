"""SetpointClassifier and SetpointThreshold beyond scikit-learn's checks."""

import json
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse
from conftest import make_data
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import setpoint
from setpoint import SetpointClassifier, SetpointThreshold, metrics


def test_a_fit_knows_its_threshold_certificate_and_report(data):
    X, y = data
    model = SetpointClassifier("recall @ fpr<=5%").fit(X, y)
    assert model.thresholds_.shape == (1,) and model.certificate_["confidence"] == 0.95
    assert model.report_["rows"] == {"train": 1800, "validation": 600, "calibration": 600, "test": 0}
    new, truth = make_data(20_000, seed=1)
    decisions = model.predict(new)
    assert decisions[truth == 0].mean() <= 0.05 and decisions[truth == 1].mean() > 0.5
    assert ((model.decision_function(new) > 0) == decisions).all()
    assert model.score(new, truth) == metrics.value_at(truth, model.decision_function(new), "recall @ fpr<=5%")


def test_the_same_seed_gives_the_same_model_and_another_seed_another(data, tmp_path):
    X, y = data
    files = []
    for seed in (0, 0, 1):
        path = tmp_path / f"{len(files)}.safetensors"
        SetpointClassifier(random_state=seed).fit(X, y).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1] != files[2]


def test_probabilities_are_calibrated_and_rise_with_the_score():
    X, y = make_data(20_000)
    model = SetpointClassifier().fit(X, y)
    new, truth = make_data(20_000, seed=1)
    probability = model.predict_proba(new)[:, 1]
    assert (np.diff(probability[np.argsort(model.model_.scores(new))]) >= 0).all()
    for low, high in [(0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 1)]:
        inside = (probability >= low) & (probability < high)
        # Four standard errors, and 2 points for a curve that is only nearly logistic.
        tolerance = 4 * np.sqrt(0.25 / inside.sum()) + 0.02
        assert abs(truth[inside].mean() - probability[inside].mean()) < tolerance


def test_labels_may_be_anything_with_two_values(data):
    X, y = data
    plain = SetpointClassifier().fit(X, y)
    for labels in (np.array(["ham", "spam"])[y], y.astype(bool), 2.0 * y - 1):
        model = SetpointClassifier().fit(X, labels)
        assert (model.classes_ == np.unique(labels)).all()
        assert (model.predict(X) == model.classes_[plain.predict(X)]).all()
    turned = SetpointClassifier("fpr @ recall>=0.9", positive="good").fit(X, np.array(["good", "poor"])[y])
    assert turned.classes_.tolist() == ["poor", "good"]
    with pytest.raises(ValueError, match="is not one of the labels"):
        SetpointClassifier(positive="best").fit(X, y)


@pytest.mark.parametrize("offset", [1e8, -3e5])
def test_large_offsets_keep_their_spread(data, offset):
    X, y = data
    near = SetpointClassifier().fit(X, y).score(X, y)
    far = X + offset
    frame = pytest.importorskip("pandas").DataFrame(far).rename(columns=str)
    for given in (far, frame, scipy.sparse.csr_matrix(far)):
        model = SetpointClassifier().fit(given, y)
        assert model.score(given, y) == pytest.approx(near, abs=0.03)
        again = pickle.loads(pickle.dumps(model))
        assert (again.decision_function(given) == model.decision_function(given)).all()


def test_trees_keep_the_spread_of_large_numbers(data):
    pytest.importorskip("lightgbm")
    X, y = data
    fit = SetpointClassifier(model="trees").fit
    assert fit(X + 1e8, y).score(X + 1e8, y) == pytest.approx(fit(X, y).score(X, y), abs=0.05)


def test_only_the_columns_that_occur_take_memory(data):
    X, y = data
    rows = scipy.sparse.csr_matrix(X)
    far = rows.indices.astype(np.int64) * 100_000_007
    wide = scipy.sparse.csr_matrix((rows.data, far, rows.indptr), shape=(len(y), 2_000_000_000))
    model = SetpointClassifier().fit(wide, y)
    assert (model.decision_function(wide) == SetpointClassifier().fit(rows, y).decision_function(rows)).all()


def test_dense_sparse_and_frames_agree(data):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = data
    names = [f"c{i}" for i in range(X.shape[1])]
    dense = SetpointClassifier().fit(X, y)
    for kind in (np.asfortranarray, lambda X: X.astype(np.float64)[::1]):
        assert (SetpointClassifier().fit(kind(X), y).decision_function(X) == dense.decision_function(X)).all()
    for frame in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        model = SetpointClassifier().fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        assert (model.decision_function(frame) == dense.decision_function(X)).all()
    X = np.where(np.abs(X) > 1, X, 0)
    rows = scipy.sparse.csr_matrix(X)
    sparse = SetpointClassifier().fit(rows, y)
    # Sparse columns are scaled, not centred: another model, close by.
    assert sparse.score(rows, y) == pytest.approx(SetpointClassifier().fit(X, y).score(X, y), abs=0.05)
    assert (sparse.decision_function(rows.tocsc()) == sparse.decision_function(rows)).all()
    assert (sparse.decision_function(X) == sparse.decision_function(rows)).all()


def test_texts_and_missing_values_of_a_frame_are_encoded(frame):
    polars = pytest.importorskip("polars")
    X, y = frame.drop(columns="label"), frame["label"]
    with pytest.raises(ValueError, match="contains NaN"):
        SetpointClassifier("recall @ fpr<=10%", allow_nan=False).fit(X, y)
    model = SetpointClassifier("recall @ fpr<=10%").fit(X, y)
    assert model.report_["columns"] == 7, "age, income and its flag, three towns and no town"
    without_nan = {name: [None if value != value else value for value in X[name]] for name in X.columns}
    other = polars.DataFrame(without_nan)
    assert (model.decision_function(other) == model.decision_function(X)).all()
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()


def test_one_threshold_for_all_groups(data):
    X, y = data
    groups = np.where(X[:, 2] > 0, "north", "south")
    goal = "accuracy @ gap(recall, region)<=0.1"
    model = SetpointClassifier(goal, shared_threshold=True).fit(X, y, groups=groups)
    assert len(model.thresholds_) == 1 and model.report_["rotations"] == 1
    assert "multipliers" in model.report_["group_conditions_met_by"]
    # The group is not needed to decide, and the score is that of one threshold.
    assert model.predict(X).shape == y.shape
    by_group = metrics.value_at(y, model.model_.scores(X), goal, groups=groups)
    assert model.score(X, y, groups=groups) <= by_group


def test_rows_change_places_where_they_may(data):
    X, y = data
    rotated, once = SetpointClassifier().fit(X, y), SetpointClassifier(rotations=1).fit(X, y)
    assert rotated.report_["rotations"] == 3 and once.report_["rotations"] == 1
    with pytest.raises(ValueError, match="calibration part"):
        SetpointClassifier(split="train=0.7,validation=0.3", rotations=3).fit(X, y)


def test_weights_groups_and_zero_weights(data):
    X, y = data
    groups = np.where(X[:, 2] > 0, "north", "south")
    goal = "recall @ fpr(region)<=5%"
    model = SetpointClassifier(goal).fit(X, y, groups=groups)
    assert model.groups_ == ["north", "south"] and len(model.thresholds_) == 2
    decisions = model.predict(X, groups=groups)
    for name in model.groups_:
        assert decisions[(groups == name) & (y == 0)].mean() < 0.06
    for call in (
        lambda: SetpointClassifier(goal).fit(X, y),
        lambda: model.predict(X),
        lambda: model.score(X, y),
    ):
        with pytest.raises(ValueError, match="pass groups="):
            call()
    with pytest.raises(ValueError, match="no threshold for it"):
        model.predict(X, groups=np.full(len(y), "east"))
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    weighted = SetpointClassifier().fit(X, y, sample_weight=weights)
    assert weighted.certificate_ is None and "weights" in weighted.report_["certificate_refused"]
    kept = np.arange(len(y)) % 2 == 0
    halved = SetpointClassifier().fit(X, y, sample_weight=kept.astype(float))
    assert (halved.decision_function(X) == SetpointClassifier().fit(X[kept], y[kept]).decision_function(X)).all()


def test_groups_that_training_never_saw_are_named(data):
    X, y = data
    groups = np.array(["north", "south", "west"])[np.minimum(np.arange(len(y)) % 5, 2)]
    model = SetpointClassifier("recall @ fpr(g)<=10%", min_group=1000).fit(X, y, groups=groups)
    assert model.report_["groups"]["names"] == ["west", "(other)"]
    assert '"north" (600 rows)' in model.report_["notes"][-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X, groups=groups)
    groups[:20] = "east"
    for decide in (model.predict, model.model_.predict):
        with pytest.warns(setpoint.DataWarning, match=r'training never saw count as "\(other\)".*"east" \(20 rows\)'):
            decide(X, groups=groups)
    with pytest.warns(setpoint.DataWarning, match="training never saw"):
        notes = model.model_.evaluate(X, y, groups=groups)["notes"]
    assert any('"east" (20 rows)' in note for note in notes)


def test_pipeline_search_and_cross_validation(data):
    X, y = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SetpointClassifier("recall @ fpr<=5%")),
        {"setpointclassifier__method": ["cross-entropy", "auto"]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > 0.5
    values = cross_val_score(SetpointClassifier("fnr @ fpr=5%"), X, y, cv=3, error_score="raise")
    assert (values < 0).all() and (values > -0.5).all()


def test_clone_and_pickle(data):
    X, y = data
    model = SetpointClassifier("f1", confidence=None, method="ico", ridge=0.01).fit(X, y)
    assert clone(model).get_params() == model.get_params() and not hasattr(clone(model), "model_")
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert again.report_ == model.report_


def test_every_setting_of_training_is_a_parameter_with_its_default_and_help():
    model = SetpointClassifier(ridge=0.5)
    for setting in json.loads(setpoint._setpoint.SETTINGS):
        name = setting["name"].replace("-", "_")
        if name not in ("seed", "ridge"):
            assert model.get_params()[name] == setting["default"] and f"    {name} : " in SetpointClassifier.__doc__
    assert model.ridge == 0.5 and "with method=ico" in SetpointClassifier.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'magic'"):
        SetpointClassifier(magic=1)


@pytest.mark.parametrize(
    "setting",
    [
        {"method": "ico"},
        {"method": "cross-entropy", "positive_weight": 10},
        {"method": "lagrangian", "steps": 50},
        {"method": "pairwise", "steps": 20},
        {"method": "ico", "optimizer": "adagrad", "thresholds": "track", "steps": 60, "correct_every": 20},
        {"method": "ico", "batch_size": 256, "steps": 40, "pool": 5, "mix": 0.5},
        {"method": "ico", "bandwidth": "0.5tail", "surrogate": "softplus", "regulariser": 0.001},
        {"split": "train=0.7,validation=0.3"},
    ],
)
def test_the_settings_of_the_command_line_work(data, setting):
    X, y = data
    model = SetpointClassifier("recall @ fpr<=5%", **setting).fit(X, y)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"goal": "recall @ fp<=1%"}, "fp"),
        ({"goal": "roc-auc @ fpr in 0..2"}, "2"),
        ({"method": "magic"}, "one of auto, ico"),
        ({"model": "forest"}, 'expected "auto", "linear", "mlp" or "trees"'),
        ({"confidence": 95}, "between 0 and 1"),
        ({"split": "train=1"}, "no validation part"),
        ({"split": "train=0.5"}, "expected 1"),
        ({"steps": 0}, "expected at least 1"),
        ({"ridge": -1.0}, "0 or more"),
        ({"positive_weight": "heavy"}, "a positive number or auto"),
        ({"random_state": -1}, "0 or more"),
        ({"bins": object()}, r"^bins=<object .*: expected a whole number of 0 or more, or None"),
    ],
)
def test_bad_settings_are_named(data, setting, words):
    X, y = data
    with pytest.raises(setpoint.InputError, match=words):
        SetpointClassifier(**setting).fit(X, y)


def test_bad_data_raises_what_scikit_learn_users_expect(data):
    X, y = data
    fitted = SetpointClassifier(allow_nan=False).fit(X, y)
    hole = X.copy()
    hole[3, 1] = np.nan
    infinite = np.where(np.isnan(hole), np.inf, hole)
    for call, words in [
        (lambda: SetpointClassifier().fit(X[:10], y), "inconsistent numbers of samples"),
        (lambda: SetpointClassifier().fit(X[:, 0], y), "Expected 2D array"),
        (lambda: SetpointClassifier(allow_nan=False).fit(hole, y), "contains NaN"),
        (lambda: SetpointClassifier().fit(infinite, y), "infinity"),
        (lambda: SetpointClassifier().fit(X, np.zeros(len(y))), "one class"),
        (lambda: SetpointClassifier().fit(X, np.arange(len(y)) % 3), "Only binary classification"),
        (lambda: SetpointClassifier().fit(X, X[:, 0]), "continuous"),
        (lambda: SetpointClassifier().fit(np.array([["a"]] * len(y), dtype=object), y), "could not convert"),
        (lambda: SetpointClassifier().fit(X, y, sample_weight=np.ones(3)), "sample_weight"),
        (lambda: SetpointClassifier().fit(X, y, sample_weight=-np.ones(len(y))), "Negative"),
        (lambda: SetpointClassifier().fit(np.ones_like(X), y), "single value"),
        (lambda: SetpointClassifier().fit(X * 1e300, y), "too large"),
        (lambda: fitted.predict(X[:, :2]), "2 features, but SetpointClassifier is expecting 6"),
        (lambda: fitted.predict(hole), "contains NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(Exception, match="not fitted"):
        SetpointClassifier().predict(X)


def test_missing_values_are_taken_unless_they_are_not_to_be(data):
    X, y = data
    hole = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = SetpointClassifier("recall @ fpr<=5%").fit(hole, y)
    assert model.report_["columns"] == 2 * X.shape[1] and model.score(hole, y) > 0.4
    strict = SetpointClassifier(allow_nan=False)
    assert get_tags(model).input_tags.allow_nan and not get_tags(strict).input_tags.allow_nan
    with pytest.raises(ValueError, match="contains NaN"):
        strict.fit(hole, y)
    pytest.importorskip("lightgbm")
    trees = SetpointClassifier("recall @ fpr<=5%", model="trees", search=1, rounds=20, allow_nan=False)
    assert trees.fit(hole, y).score(hole, y) > 0.3


def test_attributes_that_nothing_would_follow_cannot_be_set(data):
    X, y = data
    model = SetpointClassifier("recall @ fpr<=5%").fit(X, y)
    tuned = SetpointThreshold(LogisticRegression(), "recall @ fpr<=5%").fit(X, y)
    for of, name in [
        (model, "threshold"),
        (model, "thresholds_"),
        (model, "certificate_"),
        (tuned, "threshold"),
        (tuned, "threshold_"),
        (tuned, "thresholds_"),
        (model.model_, "threshold"),
        (model.model_, "thresholds"),
        (model.model_, "goal"),
    ]:
        with pytest.raises(AttributeError, match=f"{name} cannot be set: nothing would follow it"):
            setattr(of, name, 99)
    model.goal = "recall @ fpr<=10%"
    assert model.fit(X, y).certificate_["condition"] == "fpr<=10%"


@pytest.fixture
def ctrl_c():
    """Ctrl-C as on a terminal: a process started in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_fit_and_other_threads_go_on(ctrl_c):
    X, y = make_data(60_000, 60)
    slow = SetpointClassifier("pr-auc @ recall in 0.95..1", method="ico", optimizer="adam", steps=100_000)
    ticks = []

    def interrupt():
        for _ in range(5):
            time.sleep(0.1)
            ticks.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    start = time.monotonic()
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        slow.fit(X, y)
    thread.join()
    # The thread could tick while fit ran, so the lock was free; and the run ended soon after.
    assert len(ticks) == 5 and time.monotonic() - start < 30
    assert not hasattr(slow, "model_")


def test_progress_is_one_line_that_ends_with_what_was_kept(data, capsys):
    X, y = data
    SetpointClassifier(verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "\rSetpointClassifier:" in shown and "100%|####################|" in shown and "kept " in shown
    assert shown.count("\n") == 1
    SetpointClassifier().fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_threshold_for_any_classifier_fitted_or_not(data):
    X, y = data
    goal = "recall @ fpr<=5%"
    forest = RandomForestClassifier(30, random_state=0)
    tuned = SetpointThreshold(forest, goal).fit(X, y)
    new, truth = make_data(20_000, seed=1)
    decisions = tuned.predict(new)
    assert tuned.certificate_["condition"] == "fpr<=5%" and decisions[truth == 0].mean() <= 0.05
    assert tuned.predict_proba(new).shape == (20_000, 2)
    fitted = LogisticRegression().fit(X[:1500], y[:1500])
    ready = SetpointThreshold(fitted, goal, prefit=True).fit(X[1500:], y[1500:])
    assert ready.estimator_ is fitted
    assert ready.predict(new)[truth == 0].mean() <= 0.05 and ready.predict(new)[truth == 1].mean() > 0.5
    with pytest.raises(Exception, match="not fitted"):
        SetpointThreshold(LogisticRegression(), goal, prefit=True).fit(X, y)


def test_a_threshold_by_group_or_without_certificate(data):
    X, y = data
    groups = np.where(X[:, 2] > 0, "a", "b")
    tuned = SetpointThreshold(LogisticRegression(), "recall @ fpr(g)<=10%").fit(X, y, groups=groups)
    assert tuned.groups_ == ["a", "b"] and tuned.predict(X, groups=groups).mean() > 0.05
    with pytest.raises(ValueError, match="pass groups="):
        tuned.predict(X)
    strict = SetpointThreshold(LogisticRegression(), "recall @ fpr<=0.01%").fit(X, y)
    assert strict.certificate_ is None and "are needed" in strict.certificate_refused_
    turned = SetpointThreshold(LogisticRegression(), "recall @ fpr<=5%", positive=0).fit(X, y)
    assert turned.classes_.tolist() == [1, 0] and turned.predict(X)[y == 1].mean() > 0.9
