"""The splits that `setpoint reproduce uci --export DIR` writes: `DIR/<set>-<seed>.safetensors`."""

import hashlib
import json
import pathlib

PARTS = ("train", "validation", "test")


def path(folder, name, seed):
    return pathlib.Path(folder) / f"{name}-{seed}.safetensors"


def load(folder, name, seed):
    """{"train": (x, y), "validation": (x, y), "test": (x, y)} of f32 features and 0/1 labels."""
    import numpy as np  # Here and not above: the parent, which only hashes, may have no numpy.

    data = path(folder, name, seed).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])

    def tensor(key):
        entry = header[key]
        if entry["dtype"] != "F32":
            raise ValueError(f"{path(folder, name, seed)}: {key} is {entry['dtype']}; expected F32")
        begin, end = entry["data_offsets"]
        return np.frombuffer(data[start + begin : start + end], "<f4").reshape(entry["shape"]).copy()

    return {part: (tensor(f"{part}.x"), (tensor(f"{part}.y").ravel() > 0.5).astype(np.float32)) for part in PARTS}


def digest(folder, name, seed):
    """SHA-256 of the file."""
    return hashlib.sha256(path(folder, name, seed).read_bytes()).hexdigest()
