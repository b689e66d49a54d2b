"""Data that several tests use; real where it can be."""

import inspect
import io
import pathlib
import subprocess

import numpy as np
import pytest

import setpoint

ROOT = pathlib.Path(__file__).resolve().parents[2]


def linear_unless_said(init):
    """Makes estimators of which a test does not name the model linear: trees beside each would take hours."""
    init.__kwdefaults__["model"] = "linear"
    signature = inspect.signature(init)
    parameters = signature.parameters.values()
    said = [one.replace(default="linear") if one.name == "model" else one for one in parameters]
    init.__signature__ = signature.replace(parameters=said)


linear_unless_said(setpoint.SetpointClassifier.__init__)
linear_unless_said(setpoint.SetpointRanker.__init__)


def make_data(rows=3000, columns=6, seed=0, rate=0.1):
    """Two overlapping classes; positives lie further out in the first columns."""
    random = np.random.default_rng(seed)
    y = (random.random(rows) < rate).astype(int)
    X = random.normal(size=(rows, columns))
    X[:, :2] += 1.5 * y[:, None]
    return X, y


@pytest.fixture(scope="session")
def data():
    return make_data()


@pytest.fixture(scope="session")
def cli():
    """Runs the program that is built beside the wheel; its bytes do not depend on the profile."""
    binary = ROOT / "target" / "debug" / "setpoint"
    if not binary.exists():
        pytest.skip("target/debug/setpoint is not built: cargo build")

    def run(*arguments, cwd):
        done = subprocess.run(
            [str(binary), *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def mixed():
    """A frame with numbers, texts and missing values, as CSV text."""
    random = np.random.default_rng(5)
    lines = ["age,town,income,label"]
    for _ in range(1200):
        town = random.choice(["Leeds", "York", "Hull", ""])
        age = random.integers(18, 90)
        income = "" if random.random() < 0.1 else f"{random.normal(30, 8):.3f}"
        odds = -4 + 0.03 * age + (2.0 if town == "Hull" else 0.0)
        label = int(random.random() < 1 / (1 + np.exp(-odds)))
        lines.append(f"{age},{town},{income},{label}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def frame(mixed):
    pandas = pytest.importorskip("pandas")
    return pandas.read_csv(io.StringIO(mixed))
