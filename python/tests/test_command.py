"""The command that the package brings is the program of the Rust binary."""

import os
import signal
import subprocess
import sys
import time
from importlib import metadata

import pytest
from conftest import make_data


def command(*arguments, cwd, **more):
    return subprocess.run(
        [sys.executable, "-m", "setpoint", *arguments], cwd=cwd, capture_output=True, text=True, check=False, **more
    )


@pytest.fixture
def table(tmp_path):
    X, y = make_data(2000, 3)
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    return tmp_path


def test_the_script_is_installed():
    try:
        scripts = [one for one in metadata.distribution("setpoint").entry_points if one.group == "console_scripts"]
    except metadata.PackageNotFoundError:
        pytest.skip("setpoint is imported from its sources, not installed")
    assert [(one.name, one.value) for one in scripts] == [("setpoint", "setpoint.__main__:main")]


def test_it_trains_predicts_and_ends_with_the_same_codes(table, cli):
    # Trees would depend on where the program finds LightGBM.
    goal = ["--label", "label", "--goal", "recall @ fpr<=5%", "--model", "linear"]
    done = command("train", "d.csv", *goal, "-o", "python.safetensors", "-q", "--report", "r.html", cwd=table)
    assert (done.returncode, done.stderr) == (0, "")
    cli("train", "d.csv", *goal, "-o", "rust.safetensors", "-q", cwd=table)
    assert (table / "python.safetensors").read_bytes() == (table / "rust.safetensors").read_bytes()
    # The page has the command as it was typed.
    assert "setpoint train d.csv --label label" in (table / "r.html").read_text()
    assert command("--version", cwd=table).stdout == cli("--version", cwd=table)
    assert command("train", "--help", cwd=table).stdout == cli("train", "--help", cwd=table)
    refused = command("certify", "d.csv", "--label", "label", "--score", "a", "--goal", "fpr<=0.01%", cwd=table)
    assert refused.returncode == 1 and "are needed" in refused.stderr
    assert command("train", "none.csv", *goal, cwd=table).returncode == 2
    assert command("fly", cwd=table).returncode == 2


def test_ctrl_c_ends_it_with_130(table):
    slow = ["--method", "ico", "--optimizer", "adam", "--steps", "10000000", "--checkpoint", "kept"]
    run = ["train", "d.csv", "--label", "label", "--goal", "recall @ fpr<=5%", *slow]
    # Ctrl-C as on a terminal: a process started in the background of a shell ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "setpoint", *run], cwd=table, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    start = time.monotonic()
    while not (table / "kept" / "setpoint-checkpoint.safetensors").exists():
        assert child.poll() is None and time.monotonic() - start < 120
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 130
    assert said.splitlines()[-1] == "error: stopped; go on with --checkpoint kept --resume"
    assert not (table / "model.safetensors").exists()
