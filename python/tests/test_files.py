"""Model files go both ways between Python and the command line, to the bit."""

import csv
import json
import pickle

import numpy as np
import pytest
from conftest import make_data

import setpoint
from setpoint import SetpointClassifier


def predictions(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return np.array([row["score"] for row in rows], dtype=np.float32), np.array([int(r["decision"]) for r in rows])


def test_a_model_of_the_command_line_predicts_the_same_to_the_bit(cli, mixed, frame, tmp_path):
    polars = pytest.importorskip("polars")
    (tmp_path / "train.csv").write_text(mixed)
    record = cli(
        "train", "train.csv", "--label", "label", "--goal", "recall @ fpr<=10%", "--json", "-q", cwd=tmp_path
    )
    cli("predict", "model.safetensors", "train.csv", "-o", "out.csv", "-q", cwd=tmp_path)
    scores, decisions = predictions(tmp_path / "out.csv")
    model = setpoint.load(tmp_path / "model.safetensors")
    for table in (frame, frame[["income", "town", "age"]], polars.read_csv(mixed.encode())):
        assert (model.scores(table) == scores).all()
        assert (model.predict(table) == decisions).all()
    assert model.thresholds.tolist() == [np.float32(t) for t in json.loads(record)["thresholds"]]
    assert model.goal == "recall @ fpr<=10%" and model.label["column"] == "label"
    assert (pickle.loads(pickle.dumps(model)).scores(frame) == scores).all()
    probability = model.predict_proba(frame)[:, 1]
    assert (np.diff(probability[np.argsort(scores, kind="stable")]) >= 0).all()
    measured = json.loads(cli("evaluate", "model.safetensors", "train.csv", "--json", "-q", cwd=tmp_path))
    ours = model.evaluate(frame, frame["label"])
    for key in ("at_condition", "at_threshold", "confusion", "ranking"):
        assert ours[key] == measured[key], key


def test_training_from_numpy_is_training_from_the_file(cli, tmp_path):
    X, y = make_data(2000)
    X = X.astype(np.float32)
    names = [f"x{i}" for i in range(X.shape[1])]
    with open(tmp_path / "d.csv", "w") as file:
        file.write(",".join([*names, "label"]) + "\n")
        file.writelines(",".join(map(str, [*row, label])) + "\n" for row, label in zip(X.tolist(), y))
    model = SetpointClassifier("recall @ fpr<=5%", random_state=3).fit(X, y)
    # Trees would depend on where the program finds LightGBM.
    arguments = ["--label", "label", "--goal", "recall @ fpr<=5%", "--seed", "3", "--model", "linear", "--json", "-q"]
    theirs = json.loads(cli("train", "d.csv", *arguments, "-o", "cli.safetensors", cwd=tmp_path))
    for key in ("thresholds", "winner", "objective", "candidates", "rows", "certificate", "constraint"):
        assert model.report_[key] == theirs[key], key
    model.save(tmp_path / "python.safetensors")
    outputs = []
    for name in ("cli", "python"):
        cli("predict", f"{name}.safetensors", "d.csv", "-o", f"{name}.csv", "-q", cwd=tmp_path)
        outputs.append((tmp_path / f"{name}.csv").read_text())
    assert outputs[0] == outputs[1]
    scores, decisions = predictions(tmp_path / "python.csv")
    assert (model.predict(X) == decisions).all()
    assert (setpoint.load(tmp_path / "python.safetensors").scores(X) == scores).all()
    shown = json.loads(cli("evaluate", "python.safetensors", "d.csv", "--json", "-q", cwd=tmp_path))
    assert shown["rows"] == 2000


def test_sparse_models_go_both_ways(cli, tmp_path):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    from sklearn.datasets import dump_svmlight_file

    X, y = make_data(2000)
    rows = scipy_sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0).astype(np.float32))
    model = SetpointClassifier("recall @ fpr<=5%").fit(rows, y)
    model.save(tmp_path / "m.safetensors")
    dump_svmlight_file(rows, y, str(tmp_path / "d.svm"))
    cli("predict", "m.safetensors", "d.svm", "-o", "out.csv", "-q", cwd=tmp_path)
    scores, decisions = predictions(tmp_path / "out.csv")
    # The file writes sixteen digits, which read back as the same 32-bit numbers.
    assert (model.model_.scores(rows) == scores).all() and (model.predict(rows) == decisions).all()
    with pytest.raises(setpoint.InputError, match="sparse"):
        setpoint.load(tmp_path / "m.safetensors").scores(rows.toarray())


def test_columns_that_are_missing_or_of_another_kind_are_named(frame, tmp_path):
    pytest.importorskip("pandas")
    model = SetpointClassifier("recall @ fpr<=10%").fit(frame.drop(columns="label"), frame["label"])
    model.save(tmp_path / "m.safetensors")
    loaded = setpoint.load(tmp_path / "m.safetensors")
    with pytest.raises(setpoint.InputError, match=r"needs column .*town"):
        loaded.predict(frame[["age", "income"]])
    with pytest.raises(setpoint.InputError, match='column "age": "old" is not a number'):
        loaded.predict(frame.assign(age="old"))
    with pytest.raises(setpoint.InputError, match="hold texts: pass a data frame"):
        loaded.predict(np.zeros((3, 3)))
    new = frame.assign(town="Paris", extra=1)
    assert loaded.predict(new).shape == (len(frame),), "unseen categories and extra columns are no error"
    many = frame.assign(name=[f"n{i}" for i in range(len(frame))])
    with pytest.warns(setpoint.DataWarning, match="another value in .* each training row: name"):
        SetpointClassifier().fit(many.drop(columns="label"), many["label"])


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        setpoint.load(tmp_path / "nothing.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"not a model")
    with pytest.raises(setpoint.InputError, match=r"bad\.safetensors"):
        setpoint.load(tmp_path / "bad.safetensors")


def test_a_file_of_more_rows_than_memory_trains_as_on_the_command_line(cli, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = make_data(9000, 3)
    frame = pandas.DataFrame(X.round(4), columns=["x", "z", "t"]).assign(who=np.arange(len(y)) // 2, fraud=y)
    frame.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "room").mkdir()
    goal, own = "recall @ fpr<=10%", ["--label", "fraud", "--model", "linear", "--split-by", "who", "--seed", "3"]
    cli("train", "d.csv", "--goal", goal, *own, "-o", "cli.safetensors", "-q", cwd=tmp_path)
    model = SetpointClassifier(goal, random_state=3, memory="400kB", scratch=str(tmp_path / "room"))
    assert model.fit(tmp_path / "d.csv", label="fraud", entities="who") is model
    model.save(tmp_path / "python.safetensors")
    assert (tmp_path / "python.safetensors").read_bytes() == (tmp_path / "cli.safetensors").read_bytes()
    assert not list((tmp_path / "room").iterdir())
    assert model.classes_.tolist() == [0, 1] and model.report_["rows"]["train"] > 5000
    cli("predict", "cli.safetensors", "d.csv", "-o", "cli.csv", "-q", cwd=tmp_path)
    assert (model.predict(frame) == predictions(tmp_path / "cli.csv")[1]).all()
    assert (model.predict(frame[["t", "x", "z"]]) == model.predict(frame)).all()
    assert model.evaluate(frame, frame["fraud"], entities=frame["who"])["rows"] == 9000


def test_files_and_arrays_are_not_mixed_up(tmp_path):
    X, y = make_data(300)
    np.savetxt(tmp_path / "d.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
    file = str(tmp_path / "d.csv")
    for settings, given, said in [
        ({"memory": "1GB"}, {"X": X, "y": y}, r"memory=: is for files"),
        ({}, {"X": X, "y": y, "label": "y"}, r"label=: is for files"),
        ({}, {"X": file}, r"say which with label="),
        ({}, {"X": file, "y": y, "label": "y"}, r"y=: of a file that is a column"),
        ({}, {"X": file, "label": "y", "groups": y}, r"groups=: of a file that is a column"),
        ({"allow_nan": False}, {"X": file, "label": "y"}, r"allow_nan=False"),
        ({}, {"X": file, "label": "n"}, r'no column "n"'),
        ({"scratch": "."}, {"X": file, "label": "y"}, r"memory="),
        ({"memory": "much"}, {"X": file, "label": "y"}, r"expected a number with kB, MB or GB"),
    ]:
        with pytest.raises(setpoint.InputError, match=said):
            SetpointClassifier(**settings).fit(**given)
