"""The Markdown of a record: per goal and set, each peer beside Setpoint on the same seeds."""

import json
import statistics

from method import GOALS, GRIDS, NOTES, SETS, TITLES, better, peer_of

# The sets and peers that Setpoint sets out to be ahead of, and how much faster.
TARGET_SETS, TARGET_PEERS, TARGET_RATIO = ("letter", "ijcnn1"), ("libauc", "tfco"), 20


def spread(values):
    """Mean ± sd, in points."""
    if len(values) < 2:
        return f"{100 * values[0]:.2f}"
    return f"{100 * statistics.mean(values):.2f} ± {100 * statistics.stdev(values):.2f}"


def cells_of(record, method, name, goal):
    """{seed: cell} of one row."""
    here = (method, name, goal)
    return {c["seed"]: c for c in record["cells"] if (c["method"], c["set"], c["goal"]) == here and "test" in c}


class Row:
    """One peer's method on one set for one goal, and Setpoint's defaults on the same seeds."""

    def __init__(self, record, setpoint, method, name, goal):
        self.method, self.name, self.goal = method, name, goal
        self.cells = cells_of(record, method, name, goal)
        ours = cells_of(setpoint, "setpoint", name, goal) if setpoint else {}
        self.ours = {seed: ours[seed] for seed in self.cells if seed in ours}
        self.test = [cell["test"] for cell in self.cells.values()]
        self.grid_seconds = self.fit_seconds = self.our_seconds = None
        if self.cells:
            self.grid_seconds = statistics.mean(cell["cpu_seconds"] for cell in self.cells.values())
            self.fit_seconds = statistics.mean(c["cpu_seconds"] / c["fits"] for c in self.cells.values())
        if self.ours:
            self.our_seconds = statistics.mean(cell["seconds"] for cell in self.ours.values())
            sign = 1 if GOALS[goal] else -1
            self.ahead = [sign * (cell["test"] - self.cells[seed]["test"]) for seed, cell in self.ours.items()]

    def gap(self):
        """By how much Setpoint is ahead, and the standard error of that, in points."""
        error = statistics.stdev(self.ahead) / len(self.ahead) ** 0.5 if len(self.ahead) > 1 else float("nan")
        return 100 * statistics.mean(self.ahead), 100 * error

    def markdown(self):
        line = [SETS[self.name], TITLES[self.method], str(len(self.cells)), spread(self.test)]
        if self.ours:
            gap, error = self.gap()
            line += [spread([cell["test"] for cell in self.ours.values()]), f"{gap:+.2f} ± {error:.2f}"]
            line += [f"{self.fit_seconds:.3f} / {self.grid_seconds:.2f}", f"{self.our_seconds:.3f}"]
            line += [f"{self.fit_seconds / self.our_seconds:.1f} / {self.grid_seconds / self.our_seconds:.0f}"]
        else:
            line += ["-", "-", f"{self.fit_seconds:.3f} / {self.grid_seconds:.2f}", "-", "-"]
        return "| " + " | ".join(line) + " |"


def strongest(rows):
    """Of each peer its best method by test, per target set and goal: the hardest comparison there is."""
    best = {}
    for row in rows:
        place = (row.goal, row.name, peer_of(row.method))
        if row.ours and row.name in TARGET_SETS and place[2] in TARGET_PEERS:
            held = best.get(place)
            if held is None or better(row.goal, statistics.mean(row.test), statistics.mean(held.test)):
                best[place] = row
    return list(best.values())


def verdict(rows):
    """Where the targets stand."""
    rows = strongest(rows)
    if not rows:
        return ["No figures of Setpoint's for these (`--setpoint uci.json`): no comparison.", ""]

    def listed(kept):
        each = (f"{SETS[row.name]}, `{row.goal}`, {TITLES[row.method]}: {row.gap()[0]:+.2f} ± {row.gap()[1]:.2f}" for row in kept)
        return "; ".join(each) or "none"

    behind = [row for row in rows if row.gap()[0] <= 0]
    close = [row for row in rows if 0 < row.gap()[0] <= row.gap()[1]]
    grids = [row.grid_seconds / row.our_seconds for row in rows]
    single = [row.fit_seconds / row.our_seconds for row in rows]
    names = " and ".join(SETS[name] for name in TARGET_SETS)
    return [
        f"On {names}, against the best of LibAUC's methods and against TFCO, {len(rows)} comparisons:",
        "",
        f"- Setpoint is ahead in {len(rows) - len(behind)}, in {len(close)} of these by one standard error or less.",
        f"- Not ahead: {listed(behind)}.",
        f"- Ahead by one standard error or less: {listed(close)}.",
        f"- Training time, the peer's whole grid against Setpoint's whole run: {min(grids):.0f} to {max(grids):.0f} times;",
        f"  below {TARGET_RATIO} times in {sum(ratio < TARGET_RATIO for ratio in grids)}. One fit of the grid: "
        f"{min(single):.1f} to {max(single):.1f} times.",
        "",
    ]


def absent(rows):
    """What has no row, said rather than left to be noticed."""
    present = {(row.method, row.name) for row in rows}
    lines = []
    for method in GRIDS:
        missing = [SETS[name] for name in SETS if (method, name) not in present]
        lines += [f"- {TITLES[method]}: {', '.join(missing)}."] if missing else []
    return ["Not run here:", "", *lines, ""] if lines else []


def render(record, setpoint):
    """The whole document."""
    rows = [Row(record, setpoint, method, name, goal) for goal in GOALS for name in SETS for method in GRIDS]
    rows = [row for row in rows if row.cells]
    seeds = ", ".join(str(seed) for seed in record["seeds"])
    lines = ["# Peers on the UCI sets", ""]
    lines += [f"{record['date']}, seeds {seeds}; `{record['command']}`,"]
    lines += ["with the splits that `setpoint reproduce uci --export` writes (hashes at the end).", ""]
    if setpoint:
        lines += [f"Setpoint: its defaults (`setpoint` in `uci.json`: version {setpoint['version']}, {setpoint['date']}).", ""]
    lines += [
        "Linear models on the same standardised splits, 50/25/25. Every peer chooses its settings, and the state to keep",
        "among those it was judged at, on validation by the goal's own value; what is shown is that choice's value on test,",
        "at the condition, in %, mean ± sd over the n seeds. *Ahead*: Setpoint minus the peer, turned so that",
        "positive is better for Setpoint, paired by seed, ± standard error. *Seconds*: one fit of the grid / the whole",
        "grid, CPU time on one thread, training steps only (no imports, graph building or evaluation); Setpoint's is the",
        "wall-clock of its whole run on one thread, warm start, own grid and selection included (a busy machine adds to",
        "it, but not to the peers'). *Times*: their ratio, as one fit / whole grid. A grid of LibAUC or scikit-learn serves",
        "all goals; its time is given in full for each.",
        "",
        *absent(rows),
        *verdict(rows),
    ]
    for goal in GOALS:
        lines += [f"## `{goal}`", "", "| set | peer | n | test | Setpoint | ahead | seconds | Setpoint's | times |"]
        lines += ["|---|---|---|---|---|---|---|---|---|"]
        lines += [row.markdown() for row in rows if row.goal == goal]
        lines += [""]
    lines += ["## Peers", ""]
    for peer, version in record["version"].items():
        packages = ", ".join(f"{package} {number}" for package, number in version.items())
        lines += [f"- {packages}: {NOTES[peer]}"]
    lines += ["", "Grids:", ""]
    for method, grid in record["grids"].items():
        lines += [f"- {TITLES[method]}, {len(grid)} settings: `{json.dumps(choices(grid))}`"]
    lines += ["", "Splits, SHA-256:", ""]
    lines += [f"- `{name}.safetensors` {digest}" for name, digest in record["splits"].items()]
    return "\n".join(lines) + "\n"


def choices(grid):
    """The values that each setting takes over a grid."""
    found = {}
    for config in grid:
        for name, value in config.items():
            found.setdefault(name, [])
            if value not in found[name]:
                found[name].append(value)
    return found
