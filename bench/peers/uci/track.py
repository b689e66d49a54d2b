"""What every peer shares while it trains: the best state on validation per goal, and the time spent.

The clock runs only inside `training()`, so that imports, graph building and our own evaluation are not
held against a peer.
"""

import contextlib
import time

import method
import metric


class Track:
    """Best validation value of each goal over the states seen, with the test value of that same state."""

    def __init__(self, data, goals):
        self.data, self.goals = data, goals
        self.best = {}
        self.steps = 0
        self.seconds = self.cpu_seconds = 0.0
        self.diverged = False

    @contextlib.contextmanager
    def training(self):
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.seconds += time.perf_counter() - wall
        self.cpu_seconds += time.process_time() - cpu

    def value(self, part, weights, goals):
        """The goals' values of the linear model `x @ weights` (a bias changes none)."""
        x, labels = self.data[part]
        return metric.values(x @ weights, labels, goals)

    def see(self, weights):
        """Keeps these weights for the goals whose best validation value they are."""
        value = self.value("validation", weights, self.goals)
        held = {goal: best["validation"] for goal, best in self.best.items()}
        won = [goal for goal in self.goals if method.better(goal, value[goal], held.get(goal))]
        if won:
            test = self.value("test", weights, won)
            for goal in won:
                self.best[goal] = {"validation": value[goal], "test": test[goal], "steps": self.steps}

    def train(self, step, weights, steps, every):
        """Takes `steps` steps and sees `weights()` after each `every` of them."""
        while self.steps < steps:
            with self.training():
                for _ in range(every):
                    step()
            self.steps += every
            self.see(weights())

    def record(self):
        """What is kept of this fit."""
        return {
            "seconds": round(self.seconds, 4),
            "cpu_seconds": round(self.cpu_seconds, 4),
            "steps": self.steps,
            "diverged": self.diverged,
            "goals": self.best,
        }
