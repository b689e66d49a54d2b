"""Runs inside a peer's environment: fits what is asked for and not yet in the journal, one line each.

    python fit.py PEER SPLITS JOURNAL SETS SEEDS METHODS GOALS       (lists joined by commas or, goals, by ";")
"""

import importlib
import importlib.metadata
import json
import pathlib
import sys
import warnings

import tqdm

import metric
import split
import track
from method import GOAL_BY_GOAL, GOALS, GRIDS, PACKAGES


def key(cell):
    """What makes a fit the same fit."""
    return json.dumps([cell[name] for name in ("method", "set", "seed", "config", "goal", "sha256")])


def plan(peer, sets, seeds, methods, goals):
    """Every fit asked for; the seeds outermost, so that an interrupted run has whole seeds."""
    for seed in seeds:
        for data_set in sets:
            for method in methods:
                for config in GRIDS[method]:
                    for goal in goals if GOAL_BY_GOAL[peer] else [None]:
                        yield {"method": method, "set": data_set, "seed": seed, "config": config, "goal": goal}


def main(name, splits, journal, sets, seeds, methods, goals):
    warnings.filterwarnings("ignore")
    peer = importlib.import_module(f"peer_{name}")
    version = {package: importlib.metadata.version(package) for package in PACKAGES[name]}
    journal = pathlib.Path(journal)
    known = {key(json.loads(line)) for line in journal.read_text().splitlines()} if journal.exists() else set()
    cells = list(plan(name, sets, seeds, methods, goals))
    held, data = None, None
    with journal.open("a") as out:
        for cell in tqdm.tqdm(cells, desc=name, mininterval=2):
            place = (cell["set"], cell["seed"])
            if place != held:
                held, data, digest = place, split.load(splits, *place), split.digest(splits, *place)
            cell["sha256"] = digest
            if key(cell) in known:
                continue
            tracked = track.Track(data, [cell["goal"]] if cell["goal"] else list(GOALS))
            try:
                peer.fit(cell["method"], cell["config"], data, cell["seed"], tracked)
            except metric.Diverged:
                tracked.diverged = True
            out.write(json.dumps(cell | {"peer": name, "version": version} | tracked.record()) + "\n")
            out.flush()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    chosen_sets, chosen_seeds, chosen_methods = (text.split(",") for text in arguments[3:6])
    main(*arguments[:3], chosen_sets, [int(seed) for seed in chosen_seeds], chosen_methods, arguments[6].split(";"))
