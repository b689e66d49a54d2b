"""The page of the first hour runs as it is written, and prints what it says, up to the digits."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shape(text):
    """The words of an output: numbers differ in their last digits between processors, and times always do."""
    words = re.sub(r"[-+]?\d[\d,.]*(e[-+]?\d+)?", "#", text).split()
    return [word for word in words if word.strip("#%()[],")]


def test_the_first_hour_goes_as_the_page_says(tmp_path, monkeypatch):
    data = pathlib.Path(os.environ.get("SETPOINT_DATA", ""), "give-me-some-credit.csv.gz")
    if not data.is_file():
        pytest.skip("SETPOINT_DATA is not set: Give Me Some Credit is not there")
    for needed in ["lightgbm", "pandas"]:
        pytest.importorskip(needed)
    page = (ROOT / "docs" / "first-hour.md").read_text()
    found = re.findall(r"^```(console|python)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(found) >= 8
    (tmp_path / "credit.csv.gz").symlink_to(data)
    monkeypatch.chdir(tmp_path)
    # The command that comes with the package.
    program = tmp_path / "bin" / "setpoint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m setpoint "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    names = {}
    for language, code in found:
        if language == "python":
            exec(compile(code, "docs/first-hour.md", "exec"), names)
            continue
        for step in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", step).group()
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, (command, done.stderr)
            assert shape(done.stdout) == shape(step[len(command) :]), command
