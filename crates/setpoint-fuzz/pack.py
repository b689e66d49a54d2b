"""Packs folders of inputs as the corpora: python3 pack.py FOLDER, with a folder in it for each target.

Inputs of more than 4 kB are left out where smaller ones are there; names are digests, so that equal inputs are one.
"""

import hashlib
import sys
import zipfile
from pathlib import Path

MOST_BYTES, MOST_INPUTS = 4096, 400

for folder in sorted(Path(sys.argv[1]).iterdir()):
    inputs = {}
    for path in sorted(folder.iterdir(), key=lambda path: (path.stat().st_size, path.name)):
        data = path.read_bytes()
        name = path.name if path.name.startswith("found-") else hashlib.sha256(data).hexdigest()[:16]
        kept = path.name.startswith(("found-", "seed-")) or (len(data) <= MOST_BYTES and len(inputs) < MOST_INPUTS)
        if kept:
            inputs[name] = data
    target = Path(__file__).parent / "corpus" / f"{folder.name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(inputs.items()):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    print(f"{folder.name}: {len(inputs)} inputs, {target.stat().st_size} bytes")
