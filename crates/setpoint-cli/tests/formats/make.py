"""Writes the model files of one version of Setpoint, with what they predict, beside those of others.

    python3 make.py SETPOINT NAME

SETPOINT is the program of that version; files go to the folder NAME. Files are never made again: what a version wrote
must be read by all later ones, with the same predictions.
"""

import csv
import math
import random
import subprocess
import sys
from pathlib import Path

random.seed(25)
program, folder = sys.argv[1], Path(__file__).parent / sys.argv[2]
folder.mkdir()


def table(rows):
    for row in range(rows):
        age, amount, sex, town = random.gauss(0, 1), random.gauss(0, 1), random.choice("fm"), random.choice(["York", "Bath", "Leeds"])
        score = age + 0.5 * amount + (town == "York") + random.gauss(0, 0.7)
        kind = "abc"[(score > 0.5) + (score > 1.5)]
        when = f"20{random.randint(20, 23)}-0{random.randint(1, 9)}-11"
        words = " ".join(random.choice(["good", "bad", "late", "paid"]) for _ in range(4))
        yield {
            "age": "" if random.random() < 0.05 else f"{40 + 10 * age:.1f}", "amount": f"{100 * math.exp(amount):.2f}",
            "sex": sex, "town": town, "when": when, "words": words, "query": row // 10, "grade": max(0, min(3, round(score))),
            "late": int(score > 1), "lost": int(age > 0.8), "kind": kind,
        }


def write(name, rows):
    with open(folder / name, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def run(*arguments):
    subprocess.run([program, *map(str, arguments), "--quiet"], check=True, cwd=folder)


write("train.csv", list(table(1500)))
write("rows.csv", list(table(40)))
others = ["query", "grade", "late", "lost", "kind"]


def kind(name, label, goal, *more):
    drop = [column for column in others if column not in label.split(",") and column not in more]
    model = [] if "--model" in more else ["--model", "linear"]
    run("train", "train.csv", "--label", label, "--drop", ",".join(drop), "--goal", goal, "--seed", 1, "-o",
        f"{name}.safetensors", *model, *more)
    query = ["--query", "query"] if "--query" in more else []
    run("predict", f"{name}.safetensors", "rows.csv", "-o", f"{name}.csv", *query)


kind("linear", "late", "recall @ fpr<=10%")
kind("groups", "late", "recall @ fpr(sex)<=20%")
kind("band", "late", "coverage @ precision>=0.6, npv>=0.9")
kind("profit", "late", "profit(tp=5, fp=-1)")
kind("mlp", "late", "recall @ fpr<=10%", "--model", "mlp", "--hidden", "4", "--epochs", "3")
kind("trees", "late", "recall @ fpr<=10%", "--model", "trees", "--rounds", "5", "--search", "1")
kind("classes", "kind", "macro-f1")
kind("queries", "grade", "ndcg @ k=5 per query", "--query", "query")
kind("labels", "late,lost", "recall @ fpr<=10%")

(folder / "train.csv").unlink()
