"""External peers on the five UCI sets: the splits, metrics and selection of `setpoint reproduce uci`.

    setpoint reproduce uci --export SPLITS --seeds 0-4
    python3 bench/peers/uci --splits SPLITS --setpoint docs/results/uci/uci.json

scikit-learn, LibAUC and TFCO each run in an environment that this makes (bench/peers/.venv-*, pinned; torch
is a 5 GB build). One fit at a time, on one thread. Every fit is a line in the journal, so an interrupted run
continues; results go to docs/results/uci-peers.json and .md. `--table-only` writes the .md anew from the
.json, for instance beside another `--setpoint`. The metrics are tested by `python3 -m pytest bench/peers/uci`.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

import choice
import environment
import split
import table
from method import GOALS, GRIDS, PACKAGES, SETS, peer_of

ROOT = environment.FOLDER.parent.parent


def names(known):
    """Reads a comma-separated list of known names."""

    def read(text):
        found = [name.strip() for name in text.split(",")]
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f'"{name}" is not one of {", ".join(known)}')
        return found

    return read


def numbers(text):
    """Reads seeds: `0,1,2` or `0-4`."""
    ranges = [part.split("-") for part in text.split(",")]
    return [seed for ends in ranges for seed in range(int(ends[0]), int(ends[-1]) + 1)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=pathlib.Path, help="what `setpoint reproduce uci --export` wrote")
    parser.add_argument("--setpoint", type=pathlib.Path, help="uci.json of `setpoint reproduce uci`, to compare with")
    parser.add_argument("--methods", type=names(list(GRIDS)), default=list(GRIDS), help="default: all")
    parser.add_argument("--sets", type=names(list(SETS)), default=list(SETS), help="default: all five")
    parser.add_argument("--seeds", type=numbers, default=numbers("0-4"), help="default: 0-4")
    parser.add_argument("--goals", type=names(list(GOALS)), default=list(GOALS), help="default: all four")
    parser.add_argument("--journal", type=pathlib.Path, default=environment.FOLDER / ".uci-journal.jsonl")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "results", help="folder of the results")
    parser.add_argument("--environment", action="append", default=[], metavar="PEER=DIR",
                        help="an environment you already have, in place of the one made here")
    parser.add_argument("--table-only", action="store_true", help="only write the Markdown anew")
    chosen = parser.parse_args()
    if not chosen.splits and not chosen.table_only:
        parser.error("--splits is needed, unless --table-only")
    return chosen


def run(chosen):
    """Fits what the journal does not have yet, peer after peer."""
    existing = dict(entry.split("=", 1) for entry in chosen.environment)
    single = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    for peer in PACKAGES:
        methods = [method for method in chosen.methods if peer_of(method) == peer]
        if methods:
            lists = [chosen.sets, [str(seed) for seed in chosen.seeds], methods]
            command = [environment.python(peer, existing.get(peer)), environment.HERE / "fit.py", peer]
            command += [chosen.splits.resolve(), chosen.journal.resolve(), *(",".join(items) for items in lists)]
            subprocess.run([*command, ";".join(chosen.goals)], check=True, env=os.environ | single)


def record(chosen):
    """The results of everything in the journal that belongs to these splits."""
    fits = choice.read(chosen.journal)
    places = sorted({(fit["set"], fit["seed"]) for fit in fits})
    digests = {p: split.digest(chosen.splits, *p) for p in places if split.path(chosen.splits, *p).exists()}
    cells = choice.choose(fits, digests)
    return {
        "experiment": "uci-peers",
        "date": str(datetime.date.today()),
        "command": "python3 bench/peers/uci --splits SPLITS --setpoint docs/results/uci/uci.json",
        "seeds": sorted({cell["seed"] for cell in cells}),
        "version": {fit["peer"]: fit["version"] for fit in fits},
        "splits": {f"{name}-{seed}": digest for (name, seed), digest in sorted(digests.items())},
        "grids": GRIDS,
        "cells": cells,
    }


def main():
    chosen = arguments()
    results = chosen.output / "uci-peers.json"
    if not chosen.table_only:
        run(chosen)
        found = record(chosen)
        head = json.dumps({key: value for key, value in found.items() if key != "cells"}, indent=1)
        lines = ",\n".join("  " + json.dumps(cell) for cell in found["cells"])  # A line each, for diffs.
        results.write_text(f'{head[:-2]},\n "cells": [\n{lines}\n ]\n}}\n')
    setpoint = json.loads(chosen.setpoint.read_text()) if chosen.setpoint else None
    markdown = chosen.output / "uci-peers.md"
    markdown.write_text(table.render(json.loads(results.read_text()), setpoint))
    print(f"wrote {markdown}" if chosen.table_only else f"wrote {results} and {markdown}", file=sys.stderr)


if __name__ == "__main__":
    main()
