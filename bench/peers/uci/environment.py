"""A virtual environment per peer, made from the pinned packages in `requirement/`.

`<peer>.txt` is installed with its dependencies, `<peer>.alone.txt` without: LibAUC names a dozen packages
that these losses never import, and TFCO names TensorFlow's large build where the CPU one will do. PyPI's
Linux wheel of torch is the CUDA build, about 5 GB installed; everything here runs on the CPU.
"""

import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent


def python(peer, existing=None):
    """The interpreter of the peer's environment; made first if it is not there or its pins changed."""
    if existing:
        return pathlib.Path(existing) / "bin" / "python"
    home = FOLDER / f".venv-{peer}"
    files = [HERE / "requirement" / name for name in (f"{peer}.txt", f"{peer}.alone.txt")]
    pins = "".join(file.read_text() for file in files if file.exists())
    stamp = home / "pins.txt"
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"making {home.name} (for libauc about 5 GB, for tfco 2 GB)", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        pip = [home / "bin" / "pip", "install", "--quiet"]
        subprocess.run([*pip, "-r", files[0]], check=True)
        if files[1].exists():
            subprocess.run([*pip, "--no-deps", "-r", files[1]], check=True)
        stamp.write_text(pins)
    return home / "bin" / "python"
