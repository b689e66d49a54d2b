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
CLASSES = "macro-f1"
ADULT = (
    "age workclass fnlwgt education education-num marital occupation relationship race sex gain loss hours"
    " country income"
)
KDD = 41
# The attacks of KDD Cup 99 by their kind; what is not named is `r2l`.
ATTACKS = {
    "dos": "back land neptune pod smurf teardrop",
    "probe": "ipsweep nmap portsweep satan",
    "u2r": "buffer_overflow loadmodule perl rootkit",
    "normal": "normal",
}
# Rows at a time, where all at once would take much memory.
BATCH = 8192


def tables(data, folder):
    """Each data set: its file, how it is read, and the models that fit it."""
    table = ["linear", "mlp", "trees"]
    credit = ["--label", "SeriousDlqin2yrs", "--drop", "id"]
    yield "Give Me Some Credit", data / "give-me-some-credit.csv.gz", credit, GOAL, table
    adult, flags = folder / "adult.csv", ["--label", "income", "--positive", ">50K"]
    text = (data / "adult.data").read_text() + (data / "adult.test").read_text()
    lines = [line.strip().rstrip(".") for line in text.splitlines()]
    rows = [line.replace(", ", ",") for line in lines if line.count(",") == 14]
    adult.write_text("\n".join([ADULT.replace(" ", ",")] + rows) + "\n")
    yield "Adult", adult, flags, GOAL, table
    yield "Adult, by sex", adult, flags, "recall @ fpr(sex)<=5%", table
    protein = ["--label", "target", "--drop", "id", "--split-by", "query"]
    yield "Protein homology", data / "protein-homology.parquet", protein, GOAL, table
    yield "a9a (SVMLight)", data / "a9a", [], GOAL, table
    faces = ["--record", "age,gender,race", "--label", "gender", "--positive", "1"]
    yield "UTKFace", data / "utkface32.bin.gz", faces, GOAL, ["cnn"]
    kdd = folder / "kdd.csv"
    kinds = {attack: kind for kind, attacks in ATTACKS.items() for attack in attacks.split()}
    with gzip.open(data / "kddcup.data_10_percent.gz", "rt") as file, open(kdd, "w") as out:
        out.write(",".join([f"c{i}" for i in range(KDD)] + ["attack", "kind"]) + "\n")
        for line in file:
            cells = line.strip().rstrip(".").split(",")
            kind = kinds.get(cells[KDD], "r2l")
            out.write(",".join(cells[:KDD] + [str(int(kind != "normal")), kind]) + "\n")
    yield "KDD Cup 99", kdd, ["--label", "attack", "--drop", "kind"], GOAL, table
    yield "KDD Cup 99, five classes", kdd, ["--label", "kind", "--drop", "attack"], CLASSES, table
    letter, satimage = folder / "letter.csv", folder / "satimage.csv"
    rows = (data / "letter-recognition.data").read_text()
    letter.write_text(",".join(["letter"] + [f"x{i}" for i in range(16)]) + "\n" + rows)
    yield "Letter, 26 classes", letter, ["--label", "letter"], CLASSES, table
    rows = (data / "sat.trn").read_text() + (data / "sat.tst").read_text()
    header = " ".join([f"x{i}" for i in range(36)] + ["soil"])
    satimage.write_text("\n".join(",".join(line.split()) for line in [header, *rows.splitlines()]) + "\n")
    yield "Satimage, six classes", satimage, ["--label", "soil"], CLASSES, table
    fashion = ["--labels", data / "fashion-10k-labels-idx1-ubyte.gz", "--label", "class"]
    yield "Fashion-MNIST, ten classes", data / "fashion-10k-images-idx3-ubyte.gz", fashion, CLASSES, ["cnn"]


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
    settings = FAST[model]
    if "--split-by" in flags and "--rotations" in settings:
        # Rows that hang together cannot change places.
        settings = settings[: settings.index("--rotations")]
    train = [binary, "train", path, *flags, "--goal", goal, "--model", model, *settings, "-q", "-o", file]
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
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    evaluator, rows = ReferenceEvaluator(str(graph)), len(next(iter(columns.values())))
    parts = [
        evaluator.run(["score", "decision"], {name: values[at : at + BATCH] for name, values in columns.items()})
        for at in range(0, rows, BATCH)
    ]
    return [np.concatenate(values) for values in zip(*parts)]


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
    return np.fromfile(folder / "scores", np.float32), np.array(json.loads((folder / "decisions.json").read_text()))


def compared(given, own):
    """What to say of scores and decisions beside those of `setpoint predict`."""
    import numpy as np

    scores, decisions = (values.ravel() for values in given)
    expected = own[[name for name in own if name.startswith("score")]].to_numpy(dtype=np.float32).ravel()
    different = int((decisions.astype(str) != own["decision"].astype(str).to_numpy()).sum())
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
    """Milliseconds in onnxruntime for all rows and for one: ours and onnxmltools', as it is and with an input for
    each column as ours has; and of a graph that only takes such inputs. The sizes of the files."""
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
    by_column, alone = onnx.ModelProto(), onnx.load(str(graph))
    by_column.CopyFrom(peer)
    joined = onnx.helper.make_node("Concat", inputs, ["x"], axis=1)
    for one in (by_column, alone):
        del one.graph.input[:]
        one.graph.input.extend(onnx.helper.make_tensor_value_info(name, 1, [None, 1]) for name in inputs)
    by_column.graph.node.insert(0, joined)
    for rest in (alone.graph.node, alone.graph.initializer, alone.graph.output):
        del rest[:]
    alone.graph.node.append(joined)
    alone.graph.output.append(onnx.helper.make_tensor_value_info("x", 1, [None, len(inputs)]))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    given = [graph.read_bytes(), *(one.SerializeToString() for one in (by_column, peer, alone))]
    sessions = [onnxruntime.InferenceSession(one, options) for one in given]
    result = {"file": [len(given[0]), len(given[2])]}
    for rows, repeats in ((len(frame), 5), (1, 5000)):
        part = frame[:rows]
        columns = {name: np.ascontiguousarray(part[:, [at]]) for at, name in enumerate(inputs)}
        fed = [columns, columns, {"x": part}, columns]
        runs = list(zip(sessions, [["decision"], None, None, None], fed))
        times = [[] for _ in runs]
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
                    own = pd.read_csv(folder / "p.csv", float_precision="round_trip", keep_default_na=False)
                    columns = fed(graph, path)
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
        page += [
            "The same trees (Give Me Some Credit) in onnxruntime on one thread, called from Python, medians of runs"
            " in turn. Ours takes a tensor for each of the ten columns, and gives score, probability and decision;"
            " onnxmltools' takes all columns as one, and is run as it is and behind the same ten inputs.",
            "",
            "| rows | ours, sums in 64 bits | onnxmltools, ten inputs | onnxmltools, one input | ten inputs alone |",
            "|---|---|---|---|---|",
        ]
        for rows in [key for key in result if isinstance(key, int)]:
            times = [f"{one:.1f} ms" if one >= 1 else f"{1000 * one:.1f} µs" for one in result[rows]]
            page += [f"| {rows} | {' | '.join(times)} |"]
        sizes = [f"{size / 1024:.0f} KB" for size in result["file"]]
        page += [f"| file | {sizes[0]} | | {sizes[1]} | |", ""]
        ratios = [result[rows][0] / other for rows in result if rows != "file" for other in result[rows][1:3]]
        page += [
            f"Behind the same inputs, ours takes {ratios[0]:.2f} times as long as onnxmltools' for all rows and"
            f" {ratios[2]:.2f} times for one; beside one tensor of all columns {ratios[1]:.2f} and {ratios[3]:.2f}"
            " times. What is left for a single row is the price of a tensor for each column: so columns have names"
            " and types of their own.",
        ]
    if arguments.write:
        arguments.write.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
