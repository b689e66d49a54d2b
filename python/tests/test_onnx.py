"""ONNX files with the decision inside: the same decisions in onnxruntime, by the checker of onnx itself."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

import setpoint
from setpoint import InputError, SetpointClassifier

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session(path):
    onnx.checker.check_model(str(path), full_check=True)
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def feed(inputs, X, groups=None):
    """A frame as the inputs of a graph: numbers as they are, texts with nothing where one is missing."""
    fed = {}
    for one in inputs:
        column = X.get(one.name, groups)
        values = np.asarray(column).reshape(-1, 1)
        if one.type == "tensor(string)":
            values = np.where(pd.isna(values), "", values.astype(object)).astype(str).astype(object)
        else:
            kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
            values = values.astype(kinds[one.type])
        fed[one.name] = values
    return fed


def models():
    goal = "recall @ fpr<=10%"
    return [
        SetpointClassifier(goal, allow_nan=True),
        SetpointClassifier(goal, allow_nan=True, model="mlp", hidden=(16, 8), epochs=5),
        SetpointClassifier(goal, allow_nan=True, model="trees", search=2, rounds=40),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.model)
def test_every_row_is_decided_as_by_predict_and_the_checker_agrees(frame, model, tmp_path):
    y = frame.pop("label")
    model.fit(frame, y)
    model.to_onnx(tmp_path / "m.onnx", frame)
    runtime = session(tmp_path / "m.onnx")
    assert {one.name: one.type for one in runtime.get_inputs()} == {
        "age": "tensor(float)",
        "town": "tensor(string)",
        "income": "tensor(float)",
    }
    score, probability, decision = runtime.run(None, feed(runtime.get_inputs(), frame))
    own = model.model_.scores(frame)
    assert np.array_equal(decision.ravel(), model.model_.predict(frame))
    if model.model == "mlp":
        assert np.abs(score.ravel() - own).max() <= 1e-5 * np.maximum(np.abs(own), own.std()).max()
    else:
        assert np.array_equal(score.ravel(), own)
    assert np.allclose(probability.ravel(), model.predict_proba(frame)[:, 1], atol=1e-6)
    metadata = runtime.get_modelmeta().custom_metadata_map
    assert metadata["setpoint.goal"] == model.model_.goal
    assert json.loads(metadata["setpoint.certificate"])["confidence"] == 0.95
    assert json.loads(metadata["setpoint.features"])["inputs"]
    # The same model gives the same bytes.
    model.to_onnx(tmp_path / "again.onnx", frame)
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()


@pytest.mark.parametrize("model", models(), ids=lambda model: model.model)
def test_one_of_several_classes_is_decided_by_its_name(frame, model, tmp_path):
    reference = pytest.importorskip("onnx.reference")
    frame, late = frame.drop(columns="label"), frame["label"] == 1
    y = np.where(late, "late", np.where(frame["income"] > 30, "on time", "Früh"))
    model.set_params(goal="macro-f1", confidence=None).fit(frame, y)
    model.to_onnx(tmp_path / "m.onnx", frame)
    runtime = session(tmp_path / "m.onnx")
    fed = feed(runtime.get_inputs(), frame)
    outputs = {one.name: one.type for one in runtime.get_outputs()}
    assert outputs == {"score": "tensor(float)", "probability": "tensor(float)", "decision": "tensor(string)"}
    metadata = runtime.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["setpoint.classes"]) == model.classes_.tolist()
    own = model.model_.scores(frame)
    given = [runtime.run(None, fed)]
    if model.model != "trees":
        texts = {name: values.astype(str) if values.dtype == object else values for name, values in fed.items()}
        given.append(reference.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, texts))
    for score, probability, decision in given:
        assert np.array_equal(decision.ravel(), model.predict(frame))
        assert np.abs(score - own).max() <= (1e-5 * own.std() if model.model == "mlp" else 0)
        assert np.allclose(probability, model.predict_proba(frame), atol=1e-6)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.model)
def test_rows_left_undecided_are_decided_as_minus_one(frame, model, tmp_path):
    reference = pytest.importorskip("onnx.reference")
    y = frame.pop("label")
    model.set_params(goal="coverage @ precision>=0.5, npv>=0.93", confidence=None).fit(frame, y)
    model.to_onnx(tmp_path / "m.onnx", frame)
    runtime = session(tmp_path / "m.onnx")
    fed = feed(runtime.get_inputs(), frame)
    outputs = {one.name: one.type for one in runtime.get_outputs()}
    assert outputs == {"score": "tensor(float)", "probability": "tensor(float)", "decision": "tensor(int64)"}
    own = model.model_.predict(frame)
    assert set(own) == {-1, 0, 1}
    assert np.array_equal(runtime.run(["decision"], fed)[0].ravel(), own)
    if model.model != "trees":
        texts = {name: values.astype(str) if values.dtype == object else values for name, values in fed.items()}
        given = reference.ReferenceEvaluator(str(tmp_path / "m.onnx")).run(["decision"], texts)
        assert np.array_equal(given[0].ravel(), own)
    metadata = runtime.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["setpoint.thresholds"]) == [pytest.approx(one) for one in model.thresholds_]


def test_each_group_has_its_threshold_and_an_unknown_one_is_refused(frame, tmp_path):
    y = frame.pop("label")
    groups = np.where(np.arange(len(frame)) % 3 == 0, "a", "b")
    model = SetpointClassifier("recall @ fpr(who)<=20%", allow_nan=True).fit(frame, y, groups=groups)
    model.to_onnx(tmp_path / "m.onnx")
    runtime = session(tmp_path / "m.onnx")
    fed = feed(runtime.get_inputs(), frame, groups)
    decision = runtime.run(["decision"], fed)[0]
    assert np.array_equal(decision.ravel(), model.model_.predict(frame, groups=groups))
    with pytest.raises(Exception, match="out of"):
        runtime.run(["decision"], fed | {"who": np.full_like(fed["who"], "c")})


def test_whole_numbers_are_categories_and_groups_as_they_are(frame, tmp_path):
    y = frame.pop("label")
    random = np.random.default_rng(6)
    frame["code"] = pd.Series(random.integers(0, 4, len(frame))).astype("category")
    site = random.integers(10, 13, len(frame))
    model = SetpointClassifier("recall @ fpr(site)<=20%", allow_nan=True).fit(frame, y, groups=site)
    model.to_onnx(tmp_path / "m.onnx")
    runtime = session(tmp_path / "m.onnx")
    types = {one.name: one.type for one in runtime.get_inputs()}
    assert (types["code"], types["site"]) == ("tensor(int64)", "tensor(int64)")
    fed = feed(runtime.get_inputs(), frame, site)
    score, _, decision = runtime.run(None, fed)
    assert np.array_equal(score.ravel(), model.model_.scores(frame))
    assert np.array_equal(decision.ravel(), model.model_.predict(frame, groups=site))


@pytest.mark.parametrize(("first", "kind"), [(10, "tensor(float)"), (50_000_001, "tensor(double)")])
def test_a_column_of_numbers_may_tell_the_groups_too(frame, tmp_path, first, kind):
    y = frame.pop("label")
    frame["site"] = first + np.random.default_rng(7).integers(0, 3, len(frame))
    model = SetpointClassifier("recall @ fpr(site)<=20%", allow_nan=True).fit(frame, y, groups=frame["site"])
    model.to_onnx(tmp_path / "m.onnx")
    runtime = session(tmp_path / "m.onnx")
    assert {one.name: one.type for one in runtime.get_inputs()}["site"] == kind
    fed = feed(runtime.get_inputs(), frame)
    decision = runtime.run(["decision"], fed)[0]
    assert np.array_equal(decision.ravel(), model.model_.predict(frame, groups=frame["site"]))
    # What lies between two of them is none of them.
    for strange in (first + 0.5, first + 3, np.nan):
        with pytest.raises(Exception, match="out of"):
            runtime.run(["decision"], fed | {"site": np.full_like(fed["site"], strange)})


def test_images_are_decided_as_by_predict_and_the_checker_agrees(tmp_path):
    random = np.random.default_rng(3)
    y = (random.random(900) < 0.4).astype(np.uint8)
    images = random.integers(0, 200, (900, 12, 10, 3)).astype(np.uint8)
    images[y == 1, 3:8, 2:7] += 50
    np.savez(tmp_path / "images.npz", images=images, y=y)

    def command(*arguments):
        words = [sys.executable, "-m", "setpoint", *arguments]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    goal = ["--label", "y", "--goal", "recall @ fpr<=10%"]
    command("train", "images.npz", *goal, "--model", "cnn", "--cnn", "small", "--epochs", "1", "-o", "m")
    command("predict", "m", "images.npz", "-o", "p.csv")
    command("export", "m", "-o", "m.onnx", "--check", "images.npz")
    own = pd.read_csv(tmp_path / "p.csv")
    score, decision = session(tmp_path / "m.onnx").run(["score", "decision"], {"image": images})
    assert np.array_equal(decision.ravel(), own["decision"])
    assert np.abs(score.ravel() - own["score"]).max() <= 1e-5 * max(own["score"].std(), own["score"].abs().max())


def test_a_wrong_type_is_the_runtimes_own_error(frame, tmp_path):
    y = frame.pop("label")
    SetpointClassifier("recall @ fpr<=10%", allow_nan=True).fit(frame, y).to_onnx(tmp_path / "m.onnx")
    runtime = session(tmp_path / "m.onnx")
    fed = feed(runtime.get_inputs(), frame)
    with pytest.raises(Exception, match="Unexpected input data type"):
        runtime.run(None, fed | {"age": fed["age"].astype(np.int64)})
    with pytest.raises(ValueError, match="Required inputs"):
        runtime.run(None, {name: values for name, values in fed.items() if name != "town"})


def test_the_serving_example_runs_as_it_is_written(frame, tmp_path, monkeypatch):
    y = frame.pop("label")
    SetpointClassifier("recall @ fpr<=10%", allow_nan=True).fit(frame, y).to_onnx(tmp_path / "fraud.onnx")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "onnx.md").read_text()
    names = {}
    exec(re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1], names)
    assert names["decision"].shape == (1, 1) and names["decision"][0, 0] in (0, 1)
    # The other runtime, where it is installed.
    script = re.search(r"^```js\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    modules = os.environ.get("SETPOINT_NODE_MODULES")
    if modules is None:
        print("skipped: SETPOINT_NODE_MODULES names no folder with onnxruntime-web")
        return
    (tmp_path / "serve.mjs").write_text(script)
    (tmp_path / "node_modules").symlink_to(modules)
    done = subprocess.run(["node", "serve.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"{names['decision'][0, 0]}\n", done.stderr


def test_a_second_runtime_agrees(frame, tmp_path):
    """The reference evaluator of onnx, in numpy."""
    reference = pytest.importorskip("onnx.reference")
    y = frame.pop("label")
    for model in models()[:2]:
        model.fit(frame, y).to_onnx(tmp_path / "m.onnx", frame)
        inputs = session(tmp_path / "m.onnx").get_inputs()
        evaluator = reference.ReferenceEvaluator(str(tmp_path / "m.onnx"))
        fed = {
            name: values.astype(str) if values.dtype == object else values
            for name, values in feed(inputs, frame).items()
        }
        score, _, decision = evaluator.run(None, fed)
        assert np.array_equal(decision.ravel(), model.model_.predict(frame)), model.model
        if model.model == "linear":
            assert np.array_equal(score.ravel(), model.model_.scores(frame))


@pytest.fixture(scope="module")
def booster(tmp_path_factory):
    """A LightGBM classifier as onnxmltools converts it, with probabilities as maps; and rows new to it."""
    lightgbm = pytest.importorskip("lightgbm")
    convert = pytest.importorskip("onnxmltools")
    from onnxmltools.convert.common.data_types import FloatTensorType

    random = np.random.default_rng(1)
    X = random.normal(size=(6000, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] ** 2 + random.normal(size=6000) > 1.5).astype(int)
    fitted = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1).fit(X[:3000], y[:3000])
    model = convert.convert_lightgbm(fitted, initial_types=[("input", FloatTensorType([None, 4]))])
    path = tmp_path_factory.mktemp("booster") / "booster.onnx"
    onnx.save(model, str(path))
    return path, X[3000:], y[3000:]


def test_anyones_classifier_gets_a_certified_decision(booster, tmp_path):
    path, X, y = booster
    certificate = setpoint.certify_onnx(path, X, y, "fpr<=5%", tmp_path / "c.onnx")
    runtime = session(tmp_path / "c.onnx")
    names = [one.name for one in runtime.get_outputs()]
    assert names == ["label", "probabilities", "score", "decision"]
    maps, score, decision = runtime.run(names[1:], {"input": X})
    assert np.array_equal(score.ravel(), [one[1] for one in maps])
    assert np.array_equal(decision.ravel() == 1, score.ravel().astype(float) >= certificate.threshold)
    assert certificate.conditions[0]["counted"] == decision.ravel()[y == 0].sum()
    assert runtime.get_modelmeta().custom_metadata_map["setpoint.goal"] == "fpr<=5%"
    # Nothing of the original is lost.
    assert (tmp_path / "c.onnx").read_bytes().startswith(path.read_bytes())
    # A threshold for each group.
    groups = np.where(X[:, 3] > 0, "low", "high")
    each = setpoint.certify_onnx(path, X, y, "fpr(band)<=5%", tmp_path / "g.onnx", groups=groups)
    runtime = session(tmp_path / "g.onnx")
    decision = runtime.run(["decision"], {"input": X, "band": groups.astype(object).reshape(-1, 1)})[0]
    of = np.array([each.thresholds[each.groups.index(group)] for group in groups])
    assert np.array_equal(decision.ravel() == 1, score.ravel().astype(float) >= of)


def test_what_is_certified_can_be_certified_again(booster, tmp_path):
    path, X, y = booster
    first = setpoint.certify_onnx(path, X, y, "fpr<=5%", tmp_path / "once.onnx")
    second = setpoint.certify_onnx(tmp_path / "once.onnx", X, y, "fpr<=10%", tmp_path / "twice.onnx", score="score")
    runtime = session(tmp_path / "twice.onnx")
    names = ["score", "decision", "setpoint.score", "setpoint.decision"]
    score, decision, again, later = (values.ravel() for values in runtime.run(names, {"input": X}))
    assert np.array_equal(score, again)
    assert np.array_equal(decision == 1, score >= first.threshold)
    assert np.array_equal(later == 1, score >= second.threshold)
    metadata = runtime.get_modelmeta().custom_metadata_map
    assert (metadata["setpoint.goal"], metadata["setpoint.setpoint.goal"]) == ("fpr<=5%", "fpr<=10%")


def test_a_graph_of_classical_operators_alone_gets_the_standard_ones(tmp_path):
    from onnx import TensorProto, helper

    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
    scores = [helper.make_tensor_value_info("s", TensorProto.FLOAT, [None, 1])]
    node = helper.make_node("LinearRegressor", ["x"], ["s"], domain="ai.onnx.ml", coefficients=[1.0, 2.0])
    graph = helper.make_graph([node], "linear", values, scores)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=6)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    X = np.random.default_rng(4).normal(size=(3000, 2)).astype(np.float32)
    found = setpoint.certify_onnx(tmp_path / "m.onnx", X, X[:, 0] > 0.5, "fpr<=10%", tmp_path / "c.onnx")
    score, decision = session(tmp_path / "c.onnx").run(["score", "decision"], {"x": X})
    assert np.array_equal(decision == 1, score.astype(float) >= found.threshold)


def test_what_cannot_be_certified_is_refused_and_nothing_is_written(booster, tmp_path):
    path, X, y = booster
    for problem, match in [
        (dict(score="label"), "of numbers"),
        (dict(score="nothing"), "score="),
        (dict(goal="fpr<=0.01%"), "at least"),
        (dict(path=path), "would be lost"),
        (dict(onnx=__file__), "not an ONNX file"),
    ]:
        given = dict(onnx=path, X=X, y=y, goal="fpr<=5%", path=tmp_path / "c.onnx") | problem
        with pytest.raises(setpoint.SetpointError, match=match):
            setpoint.certify_onnx(**given)
    assert not (tmp_path / "c.onnx").exists()
    with pytest.raises(InputError, match="which X has not"):
        setpoint.certify_onnx(_two_inputs(tmp_path), {"a": X[:, 0]}, y, "fpr<=5%", tmp_path / "c.onnx")


def _two_inputs(folder):
    """A graph whose score is the sum of two columns."""
    from onnx import TensorProto, helper

    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in ("a", "b", "s")]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["s"])], "sum", values[:2], values[2:])
    # A format so old that constants must be inputs, and operators from before `>=`.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3)
    onnx.save(model, str(folder / "sum.onnx"))
    return folder / "sum.onnx"


def test_a_classifier_of_several_classes_has_no_threshold(frame, tmp_path):
    y = frame.pop("label")
    model = SetpointClassifier("macro-f1", confidence=None, allow_nan=True)
    model.fit(frame, np.where(y == 1, "late", np.where(frame["age"] > 50, "on time", "early")))
    model.to_onnx(tmp_path / "m.onnx")
    with pytest.raises(InputError, match="decisions among more"):
        setpoint.certify_onnx(tmp_path / "m.onnx", frame, y, "fpr<=10%", tmp_path / "c.onnx")
    assert not (tmp_path / "c.onnx").exists()


def test_whole_numbers_are_not_made_of_others(tmp_path):
    from onnx import TensorProto, helper

    given = [helper.make_tensor_value_info("n", TensorProto.INT64, [None, 1])]
    score = [helper.make_tensor_value_info("s", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph([helper.make_node("Cast", ["n"], ["s"], to=TensorProto.FLOAT)], "whole", given, score)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(tmp_path / "m.onnx")
    )
    n, y = np.arange(3000) % 100, np.arange(3000) % 100 > 60
    for values in (n, n.astype(float), n.astype(object)):
        found = setpoint.certify_onnx(tmp_path / "m.onnx", {"n": values}, y, "fpr<=10%", tmp_path / "c.onnx")
        assert found.threshold > 50
    for strange in (np.nan, 0.5, None):
        values = n.astype(object)
        values[7] = strange
        with pytest.raises(InputError, match="not whole, or missing"):
            setpoint.certify_onnx(tmp_path / "m.onnx", {"n": values}, y, "fpr<=10%", tmp_path / "c.onnx")


def test_old_files_and_columns_by_name_are_served_too(tmp_path):
    random = np.random.default_rng(2)
    a, b = random.normal(size=(2, 4000))
    y = a + b + random.normal(size=4000) > 1
    frame = pd.DataFrame({"b": b, "a": a, "other": "text"})
    found = setpoint.certify_onnx(_two_inputs(tmp_path), frame, y, "recall>=0.8", tmp_path / "c.onnx")
    fed = {"a": a.astype(np.float32).reshape(-1, 1), "b": b.astype(np.float32).reshape(-1, 1)}
    score, decision = session(tmp_path / "c.onnx").run(["score", "decision"], fed)
    assert np.array_equal(decision == 1, score.astype(float) >= found.threshold)
    assert decision[y].mean() >= 0.8
