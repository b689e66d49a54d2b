"""A process that has used setpoint may fork: the child has none of its parent's threads, and works.

Each test forks from a process of its own, so that nothing that other tests imported is in the way. A child that
hangs is ended by its alarm, and its exit status fails the test.
"""

import os
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

START = """
import multiprocessing, os, pickle, signal, sys, threading, warnings
import numpy as np
import setpoint
from conftest import make_data
from setpoint import SetpointClassifier

warnings.simplefilter("ignore", DeprecationWarning)
SECONDS = 120

def ends_well(work):
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the child failed, or hung until its alarm"

def process_ends_well(work):
    def alarmed():
        signal.alarm(SECONDS)
        work()
    process = multiprocessing.get_context("fork").Process(target=alarmed)
    process.start()
    process.join()
    assert process.exitcode == 0, "the child failed, or hung until its alarm"

X, y = make_data(10_000, 8)
KINDS = {
    "linear": {},
    "mlp": {"model": "mlp", "hidden": (16,), "epochs": 1},
    "trees": {"model": "trees", "search": 3, "rounds": 20},
}

def fitted(kind):
    return SetpointClassifier("recall @ fpr<=5%", **KINDS[kind]).fit(X, y)
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)],
        cwd=ROOT / "python" / "tests",
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def needs(kind):
    pytest.importorskip("sklearn")
    if kind == "trees":
        pytest.importorskip("lightgbm")


@pytest.mark.parametrize("kind", ["linear", "mlp", "trees"])
def test_a_child_fits_and_predicts_what_its_parent_did(kind):
    needs(kind)
    run(f"""
        model = fitted({kind!r})
        scores, file = model.decision_function(X), pickle.dumps(model.model_)

        def child():
            assert (model.decision_function(X) == scores).all()
            again = fitted({kind!r})
            assert (again.decision_function(X) == scores).all()
            assert pickle.dumps(again.model_) == file

        ends_well(child)
        process_ends_well(child)
        # A child of a child, and the parent after all.
        ends_well(lambda: (child(), ends_well(child)))
        child()
    """)


def test_a_server_that_loads_predicts_and_forks_works(tmp_path):
    needs("linear")
    run(f"""
        for kind in KINDS if {_has_lightgbm()} else ("linear", "mlp"):
            path = os.path.join({str(tmp_path)!r}, kind)
            fitted(kind).save(path)
            model = setpoint.load(path)
            scores = model.scores(X)

            def serve():
                assert (model.scores(X) == scores).all()
                assert (setpoint.load(path).scores(X) == scores).all()
                model.evaluate(X[:5000], y[:5000])

            ends_well(serve)
            process_ends_well(serve)
    """)


def test_functions_work_in_a_child():
    run("""
        scores = X[:, 0]

        def work():
            setpoint.certify(y, scores, "fpr<=5%")
            setpoint.metrics.interval(y, scores, "recall @ fpr<=5%", replicates=200)
            setpoint.metrics.roc_curve(y, scores)
            setpoint.step(y, scores, "recall @ fpr<=5%")

        work()
        ends_well(work)
        process_ends_well(work)
    """)


def test_a_fork_while_another_thread_fits():
    needs("linear")
    run("""
        model = fitted("linear")
        scores = model.decision_function(X)
        stop = threading.Event()

        def fit_on():
            while not stop.is_set():
                fitted("linear")

        thread = threading.Thread(target=fit_on, daemon=True)
        thread.start()

        def child():
            assert (model.decision_function(X) == scores).all()
            fitted("linear")

        for _ in range(3):
            ends_well(child)
        stop.set()
        thread.join()
    """)


def test_trees_after_the_parent_used_lightgbm_itself():
    needs("trees")
    run("""
        import lightgbm

        lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, y), 5)
        ends_well(lambda: fitted("trees").predict(X))
        fitted("trees")
        ends_well(lambda: fitted("trees").predict(X))
    """)


def test_ctrl_c_ends_a_fit_in_a_child():
    needs("linear")
    run("""
        fitted("linear")

        def child():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            slow = SetpointClassifier("pr-auc @ recall in 0.95..1", method="ico", optimizer="adam", steps=1_000_000)
            try:
                slow.fit(X, y)
            except KeyboardInterrupt:
                return
            raise AssertionError("not interrupted")

        ends_well(child)
    """)


def _has_lightgbm():
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        return False
    return True
