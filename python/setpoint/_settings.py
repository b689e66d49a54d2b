"""Settings of plain types, refused by name before the compiled half sees them."""

import collections.abc
import inspect
import json
import os
import re
import reprlib
import sys
import textwrap
from typing import Any, Optional, Union, get_args, get_origin

import numpy as np

from . import _setpoint
from ._errors import InputError

# Halves of a character, which no UTF-8 text has.
_SURROGATE = re.compile("[\ud800-\udfff]")

WORDS = {
    bool: "True or False",
    int: "a whole number of 0 or more",
    float: "a number",
    str: "a text",
    type(None): "None",
}


KINDS: dict[str, Any] = {
    "flag": Optional[bool],
    "whole": Optional[int],
    "number": Optional[float],
    "text": Union[float, str, None],
    "choice": Optional[str],
}

# The settings of training, as parameters: all but the seed, which scikit-learn calls random_state.
_TABLE = {one["name"].replace("-", "_"): one for one in json.loads(_setpoint.SETTINGS) if one["name"] != "seed"}
TRAINING = {
    name: inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=one["default"], annotation=KINDS[one["kind"]]
    )
    for name, one in _TABLE.items()
}


def training_help() -> str:
    """The settings of training as lines of a docstring."""
    texts = []
    for name, one in _TABLE.items():
        choices = "".join(f"; {choice['name']!r}: {choice['help']}" for choice in one["choices"])
        texts.append(f"{name} : {one['help'][:1].lower()}{one['help'][1:]}{choices}.")
    wrapped = (textwrap.fill(text, 112, initial_indent="    ", subsequent_indent="        ") for text in texts)
    return "\n".join(wrapped).strip()


def refuse(name: str, value: Any, expected: str) -> InputError:
    """What to raise for a setting: its name, what was found (shortened), what was expected."""
    return InputError(f"{name}={reprlib.repr(value)}: expected {expected}")


def setting(name: str, value: Any, kind: Any) -> Any:
    """The value as Python's own type, where it is of the kind that an annotation says."""
    kinds = get_args(kind) if get_origin(kind) is Union else (kind,)
    for one in kinds:
        found = _as(value, one)
        if found is not None or (value is None and one is type(None)):
            return found
    raise refuse(name, value, ", or ".join(_words(one) for one in kinds))


def _words(kind: Any) -> str:
    return "whole numbers, as in (256, 128)" if get_origin(kind) is collections.abc.Sequence else WORDS[kind]


def _as(value: Any, kind: Any) -> Any:
    """The value as this kind; none where it is not."""
    if get_origin(kind) is collections.abc.Sequence:
        if isinstance(value, (str, bytes)) or len(shape(value) or ()) != 1:
            return None
        sizes = [_as(size, int) for size in value]
        return None if None in sizes else sizes
    if isinstance(value, (bool, np.bool_)):
        return bool(value) if kind is bool else None
    if isinstance(value, (int, np.integer)) and kind is int:
        return int(value) if 0 <= value < 2**63 else None
    if kind is float and isinstance(value, (int, float, np.integer, np.floating)):
        # Neither NaN, nor infinite, nor a whole number beyond all floats.
        return float(value) if -sys.float_info.max <= value <= sys.float_info.max else None
    return str(value) if isinstance(value, str) and kind is str and not _SURROGATE.search(value) else None


def shape(value: Any) -> Optional[tuple[int, ...]]:
    """As numpy has it; none of what has rows of different lengths."""
    try:
        return np.shape(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def file_name(path: Any) -> str:
    try:
        name = os.fspath(path)
        if isinstance(name, str) and os.fsencode(name):
            return name
    except (TypeError, UnicodeEncodeError):
        pass
    raise refuse("path", path, "the name of a file")


def page_name(path: Any, title: Any) -> tuple[str, str]:
    """Where a report goes, and what it is of."""
    return file_name(path), setting("title", title, str)


def read_goal(goal: Any, name: str = "goal") -> tuple[str, Optional[str], bool]:
    """The goal as it is printed, its group column, and whether more of its objective is better."""
    return _setpoint.check_goal(setting(name, goal, str))


def probability(name: str, value: Any) -> float:
    """A number between 0 and 1, both left out."""
    found = _as(value, float)
    if found is None or not 0 < found < 1:
        raise refuse(name, value, "a number between 0 and 1, such as 0.95")
    return found


def surrogates(bandwidth: Any, surrogate: Any) -> tuple[str, str]:
    """The width of a surrogate as a text, and its name."""
    return str(setting("bandwidth", bandwidth, Union[float, str])), setting("surrogate", surrogate, str)
