"""The code of the user guide and the examples run as they are."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks():
    page = (ROOT / "docs" / "python.md").read_text()
    return re.findall(r"^```python ?(\w*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    # Run in a place of its own, where what it writes is no trouble.
    (tmp_path / "python").symlink_to(ROOT / "python")
    monkeypatch.chdir(tmp_path)
    names = {}
    found = blocks()
    assert len(found) >= 8
    for needed, code in found:
        if needed and importlib.util.find_spec(needed) is None:
            print(f"skipped a block: {needed} is not installed")
            continue
        exec(compile(code, "docs/python.md", "exec"), names)
    assert (tmp_path / "spam.safetensors").exists()


@pytest.mark.parametrize(
    ("name", "needed"),
    [("spam_filter", ["pandas"]), ("recall_mlp", ["torch", "polars"]), ("rare_lightgbm", ["lightgbm", "polars"])],
)
def test_examples_run(name, needed):
    for package in needed:
        pytest.importorskip(package)
    script = ROOT / "python" / "examples" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=os.environ, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "%" in done.stdout
