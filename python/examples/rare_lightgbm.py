"""A rare class, a small budget of false alarms, a small ensemble: LightGBM as for fraud.

Stands in for a fraud table with real data that anybody may have: UCI Letter, the letter U (4% of the
rows) against the rest, at most 0.5% false alarms. The ensemble is small, as where a score has to be
explained or computed in a microsecond. The threshold is certified on rows of their own.

    python python/examples/rare_lightgbm.py
"""

import pathlib

import lightgbm as lgb
import numpy as np
import polars as pl

import setpoint
from setpoint.lightgbm import metric, objective

GOAL = "recall @ fpr<=0.5%"
DATA = pathlib.Path(__file__).parents[2] / "crates" / "setpoint-cli" / "data" / "letter.csv.zst"


def main() -> None:
    letters = pl.read_csv(DATA)
    y = (letters["letter"] == "U").to_numpy()
    X = letters.drop("letter").to_numpy().astype(np.float64)
    order = np.random.default_rng(0).permutation(len(y))
    train, validation, calibration, test = np.split(order, [8000, 11000, 16000])
    print(f"{'':16}{'at the condition':>18}{'certified: recall':>20}{'fpr':>8}   (test rows)")
    for name, wanted in {"log loss": "binary", "goal": objective(GOAL)}.items():
        booster = lgb.train(
            {"objective": wanted, "metric": "None", "num_leaves": 4, "verbose": -1, "seed": 0, "num_threads": 2},
            lgb.Dataset(X[train], y[train]),
            100,
            valid_sets=[lgb.Dataset(X[validation], y[validation])],
            feval=metric(GOAL),
            callbacks=[lgb.early_stopping(30, verbose=False)],
        )
        scores = booster.predict(X, raw_score=True)
        proved = setpoint.certify(y[calibration], scores[calibration], GOAL, confidence=0.9)
        at_condition = setpoint.metrics.value_at(y[test], scores[test], GOAL)
        rates = setpoint.metrics.rates_at(y[test], scores[test], proved.threshold)
        print(f"{name:16}{at_condition:18.1%}{rates['recall']:20.1%}{rates['fpr']:8.2%}")


if __name__ == "__main__":
    main()
