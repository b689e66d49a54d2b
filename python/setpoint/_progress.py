"""A line that shows how a fit is doing, in the manner of tqdm."""

import math
import sys
import time
from typing import Optional


class Line:
    """Redraws one line on stderr; `close` leaves the last state standing."""

    def __init__(self, name: str) -> None:
        self.name, self.start, self.width = name, time.monotonic(), 0

    def __call__(
        self,
        stage: str,
        stage_index: int,
        stages: int,
        step: int,
        steps: int,
        loss: float,
        validation: Optional[float],
    ) -> None:
        share = (stage_index + min(step, steps) / max(steps, 1)) / max(stages, 1)
        shown = "" if validation is None else f", validation {100 * validation:.2f}%"
        told = "" if math.isnan(loss) else f": loss {loss:.4f}"
        self.draw(share, f"{stage_index + 1}/{stages} {stage}{told}{shown}")

    def draw(self, share: float, text: str) -> None:
        done = round(20 * share)
        seconds = time.monotonic() - self.start
        line = f"{self.name}: {100 * share:3.0f}%|{'#' * done}{' ' * (20 - done)}| {text} [{seconds:.1f}s]"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self, text: str) -> None:
        self.draw(1.0, text)
        sys.stderr.write("\n")
        sys.stderr.flush()
