"""Find 95% of a letter with as few false alarms as possible: a small network in PyTorch.

UCI Letter, the letter U (4% of the rows) against the rest. The same network is trained with cross-entropy,
and with the loss for the operating point, from the same start on the same batches. Where the network is
this small, it pays to spend it on the operating point; give it 64 hidden units and both do the same.

    python python/examples/recall_mlp.py
"""

import pathlib

import numpy as np
import polars as pl
import torch
from torch import nn

import setpoint
from setpoint.torch import OperatingPointLoss

GOAL = "precision @ recall>=0.95"
DATA = pathlib.Path(__file__).parents[2] / "crates" / "setpoint-cli" / "data" / "letter.csv.zst"
STEPS, BATCH, HIDDEN = 600, 512, 6


def train(loss: nn.Module, X: torch.Tensor, y: torch.Tensor, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(X.shape[1], HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(y), (BATCH,))
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
        decay.step()
    return model


def main() -> None:
    letters = pl.read_csv(DATA)
    y = (letters["letter"] == "U").to_numpy()
    X = letters.drop("letter").to_numpy().astype(np.float32)
    X = (X - X[:12000].mean(0)) / X[:12000].std(0)
    inputs, targets = torch.tensor(X[:12000].tolist()), torch.tensor(y[:12000].tolist())
    new = torch.tensor(X[12000:].tolist())
    print(f"{GOAL} on {len(new)} test rows, in %, by initialisation")
    for name, options in {"cross-entropy": {"mix": 1.0}, "operating point": {"warmup": STEPS // 3}}.items():
        values = []
        for seed in range(5):
            loss = OperatingPointLoss(GOAL, **options)
            model = train(loss, inputs, targets, seed)
            with torch.no_grad():
                scores = model(new)[:, 0].tolist()
            values.append(100 * setpoint.metrics.value_at(y[12000:], scores, GOAL))
        shown = "  ".join(f"{value:5.1f}" for value in values)
        print(f"{name:16}{shown}   mean {np.mean(values):.1f}")
    print("on the last pool of training scores:", {k: round(v, 3) for k, v in loss.metrics().items()})


if __name__ == "__main__":
    main()
