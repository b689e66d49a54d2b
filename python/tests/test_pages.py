"""Pages with commands run as they are written, and print what they say, up to the last digits."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A place to run in, where `setpoint` is the command that comes with the package."""
    program = tmp_path / "bin" / "setpoint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m setpoint "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(said, written):
    """Whether two outputs say the same: times differ always, and a fit on another processor by a few rows."""
    texts = [re.sub(r"^time .*", "time", text, flags=re.MULTILINE) for text in (said, written)]
    words = [NUMBER.sub("#", text).split() for text in texts]
    said, written = ([float(number) for number in NUMBER.findall(text)] for text in texts)
    return words[0] == words[1] and all(
        abs(one - other) <= 0.2 + 0.02 * abs(other) for one, other in zip(said, written)
    )


def run(page, names, sections=""):
    """Runs the code of a page in its order, or of the sections whose heading matches; tells how much it was."""
    text = (ROOT / page).read_text()
    parts = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if re.match(sections, part)]
    found = re.findall(r"^```(console|python)\n(.*?)^```", "".join(parts), re.MULTILINE | re.DOTALL)
    for language, code in found:
        if language == "python":
            exec(compile(code, page, "exec"), names)
            continue
        for step in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", step).group()
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, (command, done.stderr)
            # A page may leave out what goes to stderr: which files were written; or all of it.
            written = step[len(command) :]
            if not written.strip():
                continue
            assert same(done.stdout, written) or same(done.stdout + done.stderr, written), (command, done.stdout)
    return len(found)


def test_the_first_hour_goes_as_the_page_and_the_readme_say(home):
    data = pathlib.Path(os.environ.get("SETPOINT_DATA", ""), "give-me-some-credit.csv.gz")
    if not data.is_file():
        pytest.skip("SETPOINT_DATA is not set: Give Me Some Credit is not there")
    for needed in ["lightgbm", "pandas"]:
        pytest.importorskip(needed)
    (home / "credit.csv.gz").symlink_to(data)
    assert run("docs/first-hour.md", {}) >= 8
    # Its first screen has the same commands.
    assert run("README.md", {}, sections="# Setpoint") == 2


def test_the_tutorial_goes_as_the_page_says(home):
    assert run("docs/tutorial.md", {}) == 6


def test_the_session_of_the_command_line_goes_as_the_page_says(home):
    polars = pytest.importorskip("polars")
    letters = polars.read_csv(ROOT / "crates" / "setpoint-cli" / "data" / "letter.csv.zst")
    letters[:16000].write_csv("train.csv")
    letters[16000:].write_csv("new.csv")
    (home / "more.csv").symlink_to("scored.csv")
    assert run("docs/cli.md", {}, sections="A session|Several classes|Thresholds for any model") == 5


def test_a_year_goes_as_the_page_says(home):
    data = pathlib.Path(os.environ.get("SETPOINT_DATA", ""), "give-me-some-credit.csv.gz")
    if not data.is_file():
        pytest.skip("SETPOINT_DATA is not set: Give Me Some Credit is not there")
    pytest.importorskip("pandas")
    (home / "credit.csv.gz").symlink_to(data)
    assert run("docs/operate.md", {}) >= 5


def test_ranking_goes_as_the_page_says(home):
    data = pathlib.Path(os.environ.get("SETPOINT_DATA", ""), "OHSUMED-Fold1")
    if not data.is_dir():
        pytest.skip("SETPOINT_DATA is not set: OHSUMED is not there")
    (home / "ohsumed.txt.gz").symlink_to(data / "trainingset.txt.gz")
    (home / "new.txt.gz").symlink_to(data / "testset.txt.gz")
    assert run("docs/ranking.md", {}) == 1
