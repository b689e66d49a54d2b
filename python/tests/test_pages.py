"""Pages with a data set of their own run as they are written, and print what they say, up to the digits."""

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


@pytest.mark.parametrize(
    ("page", "file", "called", "packages"),
    [
        ("first-hour", "give-me-some-credit.csv.gz", "credit.csv.gz", ["lightgbm", "pandas"]),
        ("operate", "give-me-some-credit.csv.gz", "credit.csv.gz", ["pandas"]),
    ],
)
def test_pages_go_as_they_say(page, file, called, packages, tmp_path, monkeypatch):
    data = pathlib.Path(os.environ.get("SETPOINT_DATA", ""), file)
    if not data.is_file():
        pytest.skip(f"SETPOINT_DATA is not set: {file} is not there")
    for needed in packages:
        pytest.importorskip(needed)
    text = (ROOT / "docs" / f"{page}.md").read_text()
    found = re.findall(r"^```(console|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(found) >= 5
    (tmp_path / called).symlink_to(data)
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
            exec(compile(code, f"docs/{page}.md", "exec"), names)
            continue
        for step in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", step).group()
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, (command, done.stderr)
            assert shape(done.stdout) == shape(step[len(command) :]), command
