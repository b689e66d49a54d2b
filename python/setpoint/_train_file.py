"""Rows of a file, which may be more than fit memory: `setpoint train` as a process of its own, on this interpreter.

A run of the command line, so that the model has its bytes; and a process, so that its memory is given back.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from ._errors import GoalError, InfeasibleError, InputError
from ._model import Model, load

# Flags that have another name here.
NAMES = {"weight": "sample_weight", "split-by": "entities"}
# Settings that only some kinds of models have, with defaults here that are none there.
OF_NETWORKS = ("hidden", "dropout")


def train_file(
    path: str, settings: Mapping[str, Any], flags: Mapping[str, Any], verbose: bool
) -> tuple[Model, dict[str, Any], Optional[str]]:
    """The model of the rows of a file, the record of the run, and that the goal is not met, where it is not."""
    own = {name: value for name, value in settings.items() if settings["model"] == "mlp" or name not in OF_NETWORKS}
    own["no-certificate"] = own["confidence"] is None
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "model.safetensors")
        typed = ["train", path, "--json", "-o", output, *([] if verbose else ["-q"])]
        for name, value in {**own, **flags}.items():
            typed.extend(_flag(name, value))
        done = subprocess.run(
            [sys.executable, "-m", "setpoint", *typed],
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.PIPE,
            text=True,
            encoding="utf-8",
            check=False,
        )
        said = (done.stderr or "setpoint train has said why").strip().removeprefix("error: ")
        if not done.stdout:
            kind = InfeasibleError if done.returncode == 1 else GoalError if said.startswith("goal ") else InputError
            known = {f"--{name}": f"{NAMES.get(name, name.replace('-', '_'))}=" for name in {**settings, **flags}}
            raise kind(re.sub(r"--[a-z-]+", lambda found: known.get(found[0], found[0]), said))
        record = json.loads(done.stdout)
        record["artifact"] = ""
        unmet = said.partition(", and ")[0] if done.returncode else None
        return load(output), record, unmet


def _flag(name: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    if isinstance(value, (list, tuple)):
        value = ",".join(f'"{one}"' if "," in str(one) else str(one) for one in value)
    # Together, since a value may begin with a dash.
    return [f"--{name}={value}"]


def classes_of(model: Model) -> np.ndarray:
    """The values of the label, negative first: numbers, where all are."""
    pair = (model.label or {}).get("rule", {}).get("pair", {"negative": False, "positive": True})
    found = model.classes or [pair["negative"], pair["positive"]]
    if found == [False, True]:
        return np.array(found)
    for kind in (int, float):
        try:
            return np.array([kind(one) for one in found])
        except ValueError:
            pass
    return np.array(found)
