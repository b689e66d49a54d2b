"""Many fits, and many threads: memory stays, and the bytes are those of one alone. bench/load.py goes on."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import make_data

import setpoint
from setpoint import SetpointClassifier

KINDS = {"linear": {"model": "linear"}, "mlp": {"model": "mlp", "hidden": (8,), "epochs": 2}}


def fitted(kind, seed=0):
    return SetpointClassifier("recall @ fpr<=10%", random_state=seed, **KINDS[kind]).fit(*make_data(600, 4, seed))


def resident():
    """Memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_fit_after_fit_takes_no_more_memory():
    for _ in range(20):
        fitted("linear")
    before = resident()
    for _ in range(80):
        fitted("linear")
    # A model and its data are some 100 kB: kept by each fit, they would be 8 MB.
    assert resident() - before < 4 << 20


def test_threads_share_a_model(tmp_path):
    fitted("mlp").save(tmp_path / "m")
    model = setpoint.load(tmp_path / "m")
    X, _ = make_data(500, 4, 3)
    expected = model.decision_function(X)
    with ThreadPoolExecutor(64) as pool:
        for scores in pool.map(lambda _: model.decision_function(X), range(256)):
            np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_two_fits_in_two_threads_are_two_alone(kind, tmp_path):
    def kept(seed, name):
        fitted(kind, seed).save(tmp_path / name)
        return (tmp_path / name).read_bytes()

    alone = [kept(seed, f"alone-{seed}") for seed in range(2)]
    with ThreadPoolExecutor(2) as pool:
        beside = list(pool.map(lambda seed: kept(seed, f"beside-{seed}"), range(2)))
    assert beside == alone
