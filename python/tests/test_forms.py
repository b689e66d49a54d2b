"""One meaning for a value in every format: train on each, predict on each, the same scores."""

import csv
import datetime
import decimal

import numpy as np
import pytest

import setpoint
from setpoint import SetpointClassifier
from setpoint._arrays import binary, coded

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

GOAL = "recall @ fpr<=10%"


def make_rows(rows=900):
    """Booleans, whole numbers, numbers, dates, categories and a label, as Python has them."""
    random = np.random.default_rng(11)
    flag = random.random(rows) < 0.4
    count = random.integers(0, 40, rows)
    price = random.integers(0, 400, rows) / 4
    day = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(n)) for n in random.integers(0, 60, rows)]
    town = random.choice(["York", "Leeds", "Hull"], rows)
    odds = -3 + 2 * flag + 0.03 * count + (town == "Hull")
    label = random.random(rows) < 1 / (1 + np.exp(-odds))
    return {"flag": flag, "count": count, "price": price, "day": day, "town": town, "label": label}


@pytest.fixture(scope="module")
def forms():
    """The same rows in frames of every kind of column."""
    rows = make_rows()
    typed = pandas.DataFrame({**rows, "day": pandas.to_datetime(rows["day"])})
    nullable = typed.astype({"flag": "boolean", "count": "Int64", "price": "Float64", "town": "string"})
    objects = pandas.DataFrame(
        {
            "flag": pandas.Series([bool(v) for v in rows["flag"]], dtype=object),
            "count": pandas.Series([np.int32(v) for v in rows["count"]], dtype=object),
            "price": pandas.Series([decimal.Decimal(str(v)) for v in rows["price"]], dtype=object),
            "day": pandas.Series(rows["day"], dtype=object),
            "town": pandas.Series([f" {v}" for v in rows["town"]], dtype=object),
            "label": rows["label"],
        }
    )
    texts = typed.assign(**{name: typed[name].astype(str) for name in ("flag", "count", "price", "day")})
    numbers = typed.assign(flag=typed["flag"].astype(float), count=typed["count"].astype(np.float32))
    lazy = polars.DataFrame({**rows, "town": list(rows["town"])})
    return {
        "typed": typed,
        "nullable": nullable,
        "objects": objects,
        "texts": texts,
        "numbers": numbers,
        "zoned": typed.assign(day=typed["day"].dt.tz_localize("UTC")),
        "polars": lazy,
        "polars texts": lazy.with_columns(polars.col("flag", "count", "price", "day").cast(polars.String)),
        "polars decimals": lazy.with_columns(polars.col("price").cast(polars.Decimal(10, 2))),
    }


def features(frame):
    return frame.drop("label") if isinstance(frame, polars.DataFrame) else frame.drop(columns="label")


def test_a_model_trained_on_any_frame_scores_all_others_alike(forms):
    for trained, frame in forms.items():
        model = SetpointClassifier(GOAL, method="cross-entropy", rotations=1).fit(features(frame), frame["label"])
        expected = model.model_.scores(features(frame))
        kinds = dict(model.model_._inner.inputs())
        assert kinds == {"flag": True, "count": True, "price": True, "day": True, "town": False}, trained
        for other, same in forms.items():
            assert (model.model_.scores(features(same)) == expected).all(), (trained, other)
            assert (model.decision_function(features(same)) == model.decision_function(features(frame))).all()


def test_files_and_frames_go_both_ways(cli, forms, tmp_path):
    forms["typed"].to_csv(tmp_path / "pandas.csv", index=False)
    forms["polars"].write_csv(tmp_path / "polars.csv")
    forms["polars"].write_parquet(tmp_path / "typed.parquet")
    forms["polars texts"].write_parquet(tmp_path / "texts.parquet")
    files = ["pandas.csv", "polars.csv", "typed.parquet", "texts.parquet"]

    def predicted(model, file):
        cli("predict", model, file, "-o", "out.csv", "-q", cwd=tmp_path)
        with open(tmp_path / "out.csv") as out:
            return np.array([row["score"] for row in csv.DictReader(out)], dtype=np.float32)

    python = SetpointClassifier(GOAL, method="cross-entropy", rotations=1)
    python.fit(features(forms["objects"]), forms["objects"]["label"]).save(tmp_path / "python.safetensors")
    for trained in ["python", *files]:
        if trained != "python":
            arguments = ["--label", "label", "--goal", GOAL, "--method", "cross-entropy", "--rotations", "1", "-q"]
            cli("train", trained, *arguments, "-o", f"{trained}.safetensors", cwd=tmp_path)
        expected = predicted(f"{trained}.safetensors", files[0])
        loaded = setpoint.load(tmp_path / f"{trained}.safetensors")
        for file in files:
            assert (predicted(f"{trained}.safetensors", file) == expected).all(), (trained, file)
            cli("evaluate", f"{trained}.safetensors", file, "-q", cwd=tmp_path)
        for name, frame in forms.items():
            assert (loaded.scores(features(frame)) == expected).all(), (trained, name)


def test_numpy_of_any_type_scores_alike():
    rows = make_rows()
    y = rows["label"]
    matrix = np.column_stack([rows["flag"], rows["count"], rows["price"]])
    frame = pandas.DataFrame({f"x{i}": rows[name] for i, name in enumerate(("flag", "count", "price"))})
    forms = {
        "float64": matrix,
        "float32": matrix.astype(np.float32),
        "objects": np.array([[bool(a), int(b), decimal.Decimal(str(c))] for a, b, c in matrix], dtype=object),
        "lists": matrix.tolist(),
        "frame": frame,
        "polars": polars.from_pandas(frame),
    }
    for trained, X in forms.items():
        model = SetpointClassifier(GOAL, method="cross-entropy", rotations=1).fit(X, y).model_
        for other, same in forms.items():
            if hasattr(same, "columns") or other != "lists":
                assert (model.scores(same) == model.scores(X)).all(), (trained, other)
    booleans = rows["flag"][:, None]
    model = SetpointClassifier(GOAL, method="cross-entropy", rotations=1).fit(booleans, y).model_
    assert (model.scores(booleans) == model.scores(booleans.astype(np.int8))).all()


def test_category_types_are_categories_whatever_they_say(forms):
    frame = forms["typed"].assign(
        count=lambda f: f["count"].astype("category"), flag=lambda f: f["flag"].astype("category")
    )
    model = SetpointClassifier(GOAL).fit(features(frame), frame["label"])
    kinds = dict(model.model_._inner.inputs())
    assert not kinds["count"] and not kinds["flag"]
    expected = model.decision_function(features(frame))
    for name, same in forms.items():
        assert (model.decision_function(features(same)) == expected).all(), name


def test_groups_are_named_alike():
    names = {"b": ["false", "true"], "n": ["1", "2"]}
    for groups in ([True, False], np.array(["True", "FALSE"]), pandas.Series([True, False], dtype=object)):
        assert coded(groups, "g", 2)[1] == names["b"]
    for groups in ([1, 2], [1.0, 2.0], ["1", "2.0"], np.array([1, 2], dtype=object), [" 1", "2"]):
        assert coded(groups, "g", 2)[1] == names["n"]
    _, found, codes = coded([None, "b", np.nan, "N/A", "a"], "g", 5)
    assert found == ["(missing)", "a", "b"] and codes.tolist() == [0, 2, 0, 0, 1]


def test_labels_mean_the_same_as_texts_and_as_values():
    expected = [True, False, True]
    for labels in ([True, False, True], [1.0, 0.0, 1.0], ["True", "false", "TRUE"], ["1", "0", "1.0"], [1, -1, 1]):
        assert binary(labels).tolist() == expected
    assert binary(np.array(["1", "-1", "1"])).tolist() == expected
    assert binary(["True", "False", "True"], positive=True).tolist() == expected
    assert binary(np.array(["1", "2", "1"]), positive=1).tolist() == expected
    with pytest.raises(setpoint.InputError):
        binary(["1", "0", "-1"])


def test_odd_texts_among_numbers_are_named(forms):
    frame = features(forms["typed"])[["count", "town"]]
    y = forms["typed"]["label"]
    rows = len(frame)
    for odd in ("1e39", "0x10", "12%", "much", "1,5"):
        values = [odd if row % 7 == 0 else row * 0.5 for row in range(rows)]
        mixed = frame.assign(count=pandas.Series(values, dtype=object))
        with pytest.raises(setpoint.InputError, match=r'column "count": .* not a number .*category type'):
            SetpointClassifier(GOAL).fit(mixed, y)
    for texts in ("N/A", "None", "n/a", ""):
        values = [texts if row % 7 == 0 else str(row * 0.5) for row in range(rows)]
        mixed = frame.assign(count=pandas.Series(values, dtype=object))
        with pytest.raises(ValueError, match="counts as missing"):
            SetpointClassifier(GOAL, allow_nan=False).fit(mixed, y)
        model = SetpointClassifier(GOAL).fit(mixed, y)
        assert dict(model.model_._inner.inputs()) == {"count": True, "town": False}
        numbers = frame.assign(count=[np.nan if row % 7 == 0 else row * 0.5 for row in range(rows)])
        assert (model.decision_function(mixed) == model.decision_function(numbers)).all()
    prices = frame.assign(count=[f"${row},000.50" for row in range(1, rows + 1)])
    model = SetpointClassifier(GOAL).fit(prices, y).model_
    assert (model.scores(prices) == model.scores(frame.assign(count=1000.0 * np.arange(1, rows + 1) + 0.5))).all()
    with pytest.raises(setpoint.InputError, match='row 1: column "count": "much" is not a number'):
        model.scores(frame.assign(count="much"))


def test_values_that_are_no_values_are_refused(forms):
    frame = features(forms["typed"])
    y = forms["typed"]["label"]
    for value in ([1, 2], (1,), {"a": 1}, np.zeros(2)):
        lists = frame.assign(price=pandas.Series([value] * len(frame), dtype=object))
        with pytest.raises(setpoint.InputError, match=f"column 'price' holds a value of type {type(value).__name__}"):
            SetpointClassifier(GOAL).fit(lists, y)
    nested = forms["polars"].with_columns(polars.concat_list("price", "count").alias("price"))
    with pytest.raises(setpoint.InputError, match="price"):
        SetpointClassifier(GOAL).fit(features(nested), y)
    spans = frame.assign(day=frame["day"] - frame["day"].min())
    with pytest.raises(setpoint.InputError, match="'day' is of type timedelta"):
        SetpointClassifier(GOAL).fit(spans, y)


def test_numbers_that_start_at_any_byte_are_read_as_they_are():
    """As they come over a network, or as the fields of a packed record."""
    random = np.random.default_rng(3)
    X = np.round(random.normal(size=(600, 3)), 2)
    y = X[:, 0] + random.normal(size=600) > 1

    def moved(values):
        found = np.frombuffer(b"." + np.ascontiguousarray(values).tobytes(), values.dtype, offset=1)
        assert not found.flags.aligned
        return found.reshape(values.shape)

    def fitted(X):
        return SetpointClassifier(GOAL, model="linear", random_state=0).fit(X, y)

    model = fitted(X)
    scores = model.decision_function(X)
    forms = [moved(X), moved(X.astype(np.float32)), pandas.DataFrame(moved(X.T).T, copy=False)]
    record = np.empty(600, [("at", "i1"), ("a", "f8"), ("b", "f4"), ("c", "f8")])
    for name, column in zip("abc", X.T):
        record[name] = column
    forms.append(pandas.DataFrame({name: record[name] for name in "abc"}, copy=False))
    for form in forms:
        assert np.array_equal(fitted(form).decision_function(form), scores), form
    sparse = pytest.importorskip("scipy.sparse")
    whole = sparse.csr_matrix(X)
    parts = (whole.data, whole.indices, whole.indptr)
    other = sparse.csr_matrix(whole.shape)
    other.data, other.indices, other.indptr = map(moved, parts)
    assert np.array_equal(fitted(other).decision_function(other), fitted(whole).decision_function(whole))
    expected = setpoint.metrics.value_at(y, scores, GOAL)
    assert setpoint.metrics.value_at(y, moved(scores), GOAL, sample_weight=moved(np.ones(600))) == expected
    with pytest.raises(setpoint.InputError, match="not aligned"):
        setpoint._setpoint.sharpness(GOAL, moved(scores.astype(np.float32)), y, None, "0.1sd")
