"""The command line, as `setpoint` or `python -m setpoint`: the program of the Rust binary, in this process."""

import sys

from . import _setpoint
from ._boost import name_library, name_lightgbm


def main() -> None:
    """Runs what was typed; ends with its exit code. Ctrl-C is the program's while it runs."""
    name_lightgbm()
    name_library("onnxruntime", "capi")
    sys.exit(_setpoint.command(["setpoint", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
