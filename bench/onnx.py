"""Exports models of every kind on real data and runs every row in onnxruntime, and in other runtimes.

    cargo build --release -p setpoint-cli
    SETPOINT_DATA=/path/to/data python bench/onnx.py target/release/setpoint --write docs/results/onnx.md

Needs numpy, pandas, polars, onnx, onnxruntime, onnxmltools and lightgbm, and onnxruntime-web in `--node FOLDER`
(`npm install onnxruntime-web` there). In onnxruntime, decisions and scores are compared by `setpoint export --check`;
the other runtimes are onnxruntime-web, in WebAssembly, and on linear models and networks the reference evaluator of
onnx, in numpy. Trees are timed beside what onnxmltools makes of the same trees.
"""

import argparse
import datetime
import gzip
import json
import os
import pathlib
import platform
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# The folder of this file, in which `onnx` would be this file.
sys.path.pop(0)

GOAL = "recall @ fpr<=1%"
ADULT = (
    "age workclass fnlwgt education education-num marital occupation relationship race sex gain loss hours"
    " country income"
)
KDD = 41


def tables(data, folder):
    """Each data set: its file, how it is read, and the models that fit it."""
    adult = folder / "adult.csv"
    text = (data / "adult.data").read_text() + (data / "adult.test").read_text()
    lines = [line.strip().rstrip(".") for line in text.splitlines()]
    rows = [line.replace(", ", ",") for line in lines if line.count(",") == 14]
    adult.write_text("\n".join([ADULT.replace(" ", ",")] + rows) + "\n")
    kdd = folder / "kdd.csv"
    with gzip.open(data / "kddcup.data_10_percent.gz", "rt") as file, open(kdd, "w") as out:
        out.write(",".join([f"c{i}" for i in range(KDD)] + ["y"]) + "\n")
        for line in file:
            cells = line.strip().rstrip(".").split(",")
            out.write(",".join(cells[:KDD] + ["0" if cells[KDD] == "normal" else "1"]) + "\n")
    credit = ["--label", "SeriousDlqin2yrs", "--drop", "id"]
    protein = ["--label", "target", "--drop", "id", "--split-by", "query"]
    faces = ["--record", "age,gender,race", "--label", "gender", "--positive", "1"]
    table = ["linear", "mlp", "trees"]
    return [
        ("Give Me Some Credit", data / "give-me-some-credit.csv.gz", credit, GOAL, table),
        ("Adult", adult, ["--label", "income", "--positive", ">50K"], GOAL, table),
        ("Adult, by sex", adult, ["--label", "income", "--positive", ">50K"], "recall @ fpr(sex)<=5%", table),
        ("KDD Cup 99", kdd, ["--label", "y"], GOAL, table),
        ("Protein homology", data / "protein-homology.parquet", protein, GOAL, table),
        ("a9a (SVMLight)", data / "a9a", [], GOAL, table),
        ("UTKFace", data / "utkface32.bin.gz", faces, GOAL, ["cnn"]),
    ]


# How good a model is says nothing of its graph.
FAST = {
    "linear": ["--method", "cross-entropy"],
    "mlp": ["--method", "cross-entropy", "--hidden", "64,32", "--epochs", "2", "--rotations", "3"],
    "trees": ["--search", "2", "--rounds", "100"],
    "cnn": ["--method", "cross-entropy", "--cnn", "small", "--epochs", "1", "--rotations", "1"],
}


def export(binary, path, flags, goal, model, folder):
    """Trains and exports; the words of the check, and the sizes of both files."""
    file, graph = folder / "m.safetensors", folder / "m.onnx"
    train = [binary, "train", path, *flags, "--goal", goal, "--model", model, *FAST[model], "-q", "-o", file]
    subprocess.run([str(word) for word in train], check=True)
    reading = flags[:2] if model == "cnn" else []
    check = [binary, "export", file, "-o", graph, "--check", path, *reading]
    done = subprocess.run([str(word) for word in check], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stderr.strip().splitlines()[-1].removeprefix("error: "), file, graph


def fed(graph, path):
    """The columns of a file as the graph takes them."""
    import numpy as np
    import onnx
    import pandas as pd
    import polars

    if str(path).endswith("parquet"):
        frame = {name: column.to_numpy() for name, column in polars.read_parquet(path).to_dict().items()}
    else:
        frame = pd.read_csv(path, keep_default_na=False, dtype=object)
    columns = {}
    for one in onnx.load(str(graph)).graph.input:
        column, kind = pd.Series(frame[one.name]), one.type.tensor_type.elem_type
        if kind == onnx.TensorProto.STRING:
            values = column.replace("?", "").to_numpy(dtype=str)
        else:
            numbers = pd.to_numeric(column.replace(["NA", ""], None)).to_numpy(dtype=np.float64)
            values = numbers.astype({1: np.float32, 7: np.int64, 11: np.float64}[kind])
        columns[one.name] = values.reshape(-1, 1)
    return columns


def in_numpy(graph, columns):
    """Scores and decisions in the reference evaluator."""
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(str(graph)).run(["score", "decision"], columns)


def in_node(graph, columns, modules, folder):
    """Scores and decisions in onnxruntime-web."""
    import numpy as np

    inputs = []
    for place, (name, values) in enumerate(columns.items()):
        kind = "string" if values.dtype.kind == "U" else str(values.dtype)
        inputs.append({"name": name, "type": kind, "file": f"input-{place}"})
        content = json.dumps(values.ravel().tolist()).encode() if kind == "string" else values.tobytes()
        (folder / f"input-{place}").write_bytes(content)
    (folder / "inputs.json").write_text(json.dumps(inputs))
    script = pathlib.Path(__file__).resolve().with_suffix(".mjs")
    subprocess.run(["node", str(script), str(graph), str(folder)], cwd=modules, check=True)
    return np.fromfile(folder / "scores", np.float32), np.fromfile(folder / "decisions", np.uint8)


def compared(given, own):
    """What to say of scores and decisions beside those of `setpoint predict`."""
    import numpy as np

    scores, decisions = (values.ravel() for values in given)
    expected = own["score"].to_numpy(dtype=np.float32)
    different = int((decisions != own["decision"].to_numpy()).sum())
    off = np.abs(scores.astype(float) - expected) / np.maximum(np.abs(expected), expected.std())
    largest = "scores the same to the last bit" if (scores == expected).all() else f"scores within {off.max():.1e}"
    return f"{different} of {len(own)} decisions differ, {largest}"


def booster(file, columns):
    """The trees of a model file as LightGBM's own text; of numbers only."""
    content = pathlib.Path(file).read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])

    def tensor(name, kind):
        import numpy as np

        start, end = header[f"trees.{name}"]["data_offsets"]
        return np.frombuffer(content[8 + size + start : 8 + size + end], kind)

    def of(numbers):
        return " ".join(str(number) for number in numbers)

    starts, splits, left = tensor("start", "<u4"), tensor("split", "<u4"), tensor("left", "<u4")
    thresholds, values = tensor("threshold", "<f4"), iter(tensor("value", "<f8").tolist())
    text = ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"]
    text += [f"max_feature_idx={columns - 1}", "objective=binary sigmoid:1"]
    text += [
        "feature_names=" + " ".join(f"f{i}" for i in range(columns)),
        "feature_infos=" + "[-1e30:1e30] " * columns,
    ]
    for tree, (start, end) in enumerate(zip(starts, starts[1:])):
        leaf = [bool(split >> 28 & 1) for split in splits[start:end]]
        place, inner, leaves = [], 0, 0
        for is_leaf in leaf:
            place.append(-1 - leaves if is_leaf else inner)
            leaves, inner = leaves + is_leaf, inner + (not is_leaf)
        nodes = [at for at in range(end - start) if not leaf[at]]
        weights = [next(values) for is_leaf in leaf if is_leaf]
        text += ["", f"Tree={tree}", f"num_leaves={leaves}", "num_cat=0"]
        text += ["split_feature=" + of(splits[start + at] & (1 << 28) - 1 for at in nodes)]
        text += ["threshold=" + of(repr(float(thresholds[start + at])) for at in nodes)]
        text += ["decision_type=" + of(10 if splits[start + at] >> 31 else 8 for at in nodes)]
        text += ["left_child=" + of(place[left[start + at]] for at in nodes)]
        text += ["right_child=" + of(place[left[start + at] + 1] for at in nodes)]
        text += ["leaf_value=" + of(repr(value) for value in weights), "is_linear=0", "shrinkage=1", ""]
    return "\n".join(text + ["", "end of trees", "", "parameters:", "end of parameters", ""])


def speed(file, graph, path):
    """Milliseconds in onnxruntime: ours and onnxmltools', for all rows and for one; the sizes of the files."""
    import lightgbm
    import numpy as np
    import onnx
    import onnxmltools
    import onnxruntime
    import pandas as pd
    from onnxmltools.convert.common.data_types import FloatTensorType

    inputs = [one.name for one in onnx.load(str(graph)).graph.input]
    frame = pd.read_csv(path)[inputs].to_numpy(dtype=np.float32)
    peer = lightgbm.Booster(model_str=booster(file, len(inputs)))
    peer = onnxmltools.convert_lightgbm(
        peer, initial_types=[("x", FloatTensorType([None, len(inputs)]))], zipmap=False
    )
    peer = peer.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    ours = onnxruntime.InferenceSession(str(graph), options)
    theirs = onnxruntime.InferenceSession(peer, options)
    result = {"ours": os.path.getsize(graph), "theirs": len(peer)}
    for rows, repeats in ((len(frame), 5), (1, 200)):
        part = frame[:rows]
        columns = {name: np.ascontiguousarray(part[:, [at]]) for at, name in enumerate(inputs)}
        runs = [(ours, ["decision"], columns), (theirs, None, {"x": part})]
        times = ([], [])
        for _ in range(repeats):
            for taken, (session, outputs, fed) in zip(times, runs):
                start = time.perf_counter()
                session.run(outputs, fed)
                taken.append(1000 * (time.perf_counter() - start))
        result[rows] = [statistics.median(taken) for taken in times]
    return result


def version(modules):
    """That of onnxruntime-web."""
    package = modules and modules / "node_modules" / "onnxruntime-web" / "package.json"
    return json.loads(package.read_text())["version"] if package else "(not run)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--only", help="the data sets whose names hold this")
    parser.add_argument("--node", type=pathlib.Path, help="the folder that has onnxruntime-web installed")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--note", default="", help="a word on the machine, for the page")
    arguments = parser.parse_args()
    data = pathlib.Path(os.environ["SETPOINT_DATA"])
    import onnx
    import onnxruntime

    lines = [
        "| data | model | onnxruntime | onnxruntime-web | onnx's evaluator | model file | ONNX file |",
        "|---|---|---|---|---|---|---|",
    ]
    timed = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, path, flags, goal, models in tables(data, folder):
            if arguments.only and arguments.only not in title:
                continue
            for model in models:
                said, file, graph = export(arguments.binary, path, flags, goal, model, folder)
                web, reference = "", ""
                if model != "cnn" and "SVMLight" not in title:
                    import pandas as pd

                    predict = [arguments.binary, "predict", file, path, "-q", "-o", folder / "p.csv"]
                    subprocess.run([str(word) for word in predict], check=True)
                    own, columns = pd.read_csv(folder / "p.csv"), fed(graph, path)
                    if arguments.node:
                        web = compared(in_node(graph, columns, arguments.node, folder), own)
                    if model != "trees":
                        reference = compared(in_numpy(graph, columns), own)
                sizes = [f"{os.path.getsize(one) / 1024:.0f} KB" for one in (file, graph)]
                said = re.sub(" in onnxruntime:", ":", said)
                lines.append(f"| {title} | {model} | {said} | {web} | {reference} | {sizes[0]} | {sizes[1]} |")
                print(lines[-1], flush=True)
                if model == "trees" and title == "Give Me Some Credit":
                    timed.append(speed(file, graph, path))
                    print(timed[-1], flush=True)
    page = [
        "# ONNX: every row, in three runtimes",
        "",
        f"{datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores"
        f"{arguments.note and ', ' + arguments.note}; onnxruntime {onnxruntime.__version__}, onnxruntime-web"
        f" {version(arguments.node)} in Node, the reference evaluator of onnx {onnx.__version__} in numpy. Made by"
        " `bench/onnx.py`; small models, trained quickly. Every row of each set goes through the exported graph,"
        " those of training included.",
        "",
        *lines,
        "",
        "Differences of scores are shares of the score or of the scores' standard deviation, whichever is more.",
    ]
    for result in timed:
        page += ["", "## Trees beside onnxmltools", ""]
        page += ["The same trees (Give Me Some Credit) in onnxruntime on one thread, medians in milliseconds.", ""]
        page += [
            "| rows | ours, with preprocessing and decision, in 64 bits | onnxmltools, in 32 bits |",
            "|---|---|---|",
        ]
        for rows in [key for key in result if isinstance(key, int)]:
            page += [f"| {rows} | {result[rows][0]:.3f} | {result[rows][1]:.3f} |"]
        page += [f"| file | {result['ours'] / 1024:.0f} KB | {result['theirs'] / 1024:.0f} KB |"]
    if arguments.write:
        arguments.write.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
