"""From single fits to what a peer comes to: the best of its grid on validation, per goal, set and seed."""

import json

from method import GOALS, GRIDS, better


def read(journal):
    """The fits of a journal."""
    return [json.loads(line) for line in journal.read_text().splitlines()]


def choose(fits, digests):
    """One record per method, set, seed and goal; the test value is that of the fit chosen on validation.

    `digests` maps (set, seed) to the split's SHA-256. Fits on other splits or outside the grid are left out,
    and so are cells whose grid is not complete.
    """
    groups = {}
    for fit in fits:
        known = digests.get((fit["set"], fit["seed"])) == fit["sha256"]
        if not known or fit["config"] not in GRIDS[fit["method"]]:
            continue
        for goal in [fit["goal"]] if fit["goal"] else GOALS:
            groups.setdefault((fit["method"], fit["set"], fit["seed"], goal), []).append(fit)
    chosen = []
    for (method, name, seed, goal), group in sorted(groups.items()):
        if len(group) < len(GRIDS[method]):
            continue
        best = None
        for fit in group:
            value = fit["goals"].get(goal)
            if value and better(goal, value["validation"], best and best["goals"][goal]["validation"]):
                best = fit
        if best is None:
            continue
        chosen.append({
            "method": method,
            "set": name,
            "seed": seed,
            "goal": goal,
            "setting": best["config"],
            **{part: best["goals"][goal][part] for part in ("validation", "test", "steps")},
            "fits": len(group),
            "diverged": sum(fit["diverged"] for fit in group),
            "seconds": round(sum(fit["seconds"] for fit in group), 4),
            "cpu_seconds": round(sum(fit["cpu_seconds"] for fit in group), 4),
        })
    return chosen
