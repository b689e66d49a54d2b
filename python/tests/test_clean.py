"""What an environment with numpy and scikit-learn alone can do: `./task wheel` runs this in one, for each Python."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest

import setpoint
from setpoint import SetpointClassifier


def test_the_package_trains_certifies_keeps_and_opens(tmp_path):
    random = np.random.default_rng(0)
    y = (random.random(4000) < 0.2).astype(int)
    X = random.normal(size=(4000, 3)) + y[:, None]
    model = SetpointClassifier("recall @ fpr<=10%", model="linear").fit(X, y)
    assert model.certificate_["conditions"]
    model.save(tmp_path / "m.safetensors")
    opened = setpoint.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(opened.predict(X), model.predict(X))
    certificate = setpoint.certify(y, X[:, 0], "recall @ fpr<=10%")
    assert 1.0 < certificate.threshold < 2.0
    assert 0.5 < setpoint.metrics.roc_auc(y, X[:, 0]) < 1.0


def test_the_command_comes_with_it():
    done = subprocess.run([sys.executable, "-m", "setpoint", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["setpoint", setpoint.__version__]
    assert importlib.metadata.version("setpoint") == setpoint.__version__


def test_what_is_not_installed_is_named():
    pytest.importorskip("setpoint")
    # Objectives for boosters are functions that need none; these are built on what is not there.
    importlib.import_module("setpoint.xgboost")
    for module, package in {"torch": "torch", "dask": "distributed"}.items():
        try:
            importlib.import_module(package)
        except ImportError:
            with pytest.raises(ImportError, match=package):
                importlib.import_module(f"setpoint.{module}")
