"""Adult and COMPAS as tables, and splits that every method shares row by row.

Groups with fewer than 1,000 rows are pooled into "Other", for every method alike.
"""

import csv
import hashlib
import os
import pathlib

import numpy as np

DATA = pathlib.Path(os.environ.get("SETPOINT_DATA", ""))
SMALL = 1000
FILES = ["adult.data", "adult.test", "compas-scores-two-years.csv"]
ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,label"
).split(",")
# What was known of the person at screening; the score and all that came later stay out.
COMPAS = ["age", "sex", "race", "c_charge_degree", "juv_fel_count", "juv_misd_count", "juv_other_count"]
COMPAS += ["priors_count", "two_year_recid"]


def adult():
    """Both parts joined: header and rows, the label `>50K` as 1."""
    rows = []
    for name in ["adult.data", "adult.test"]:
        for line in (DATA / name).read_text().splitlines():
            if line.strip() and not line.startswith("|"):
                cells = [cell.strip() for cell in line.split(",")]
                rows.append(cells[:-1] + [str(int(cells[-1].startswith(">50K")))])
    return ADULT, rows


def compas():
    """ProPublica's usual filter (6,172 rows); of columns named twice, the first."""
    with open(DATA / "compas-scores-two-years.csv", newline="") as file:
        header, *rows = csv.reader(file)
    place = {name: header.index(name) for name in header}

    def usual(row):
        days = row[place["days_b_screening_arrest"]]
        known = days != "" and -30 <= int(days) <= 30 and row[place["is_recid"]] != "-1"
        return known and row[place["c_charge_degree"]] != "O" and row[place["score_text"]] != "N/A"

    kept = [[row[place[name]] for name in COMPAS] for row in rows if usual(row)]
    return COMPAS[:-1] + ["label"], kept


TABLES = {"Adult": adult, "COMPAS": compas}


def pooled(header, rows, column):
    """The rows with the small groups of a column pooled."""
    place = header.index(column)
    names, counts = np.unique([row[place] for row in rows], return_counts=True)
    small = {name for name, count in zip(names, counts) if count < SMALL}
    return [row[:place] + ["Other" if row[place] in small else row[place]] + row[place + 1 :] for row in rows]


def split(rows, seed):
    """Places of train (50%), validation (25%) and test (25%) rows, stratified by label."""
    generator = np.random.default_rng(seed)
    labels = np.array([row[-1] for row in rows])
    parts = [[], [], []]
    for label in ["0", "1"]:
        places = generator.permutation(np.flatnonzero(labels == label))
        cuts = [len(places) // 2, 3 * len(places) // 4]
        for part, some in zip(parts, np.split(places, cuts)):
            part.extend(some.tolist())
    return parts


def hashes():
    """SHA-256 of the files."""
    return {name: hashlib.sha256((DATA / name).read_bytes()).hexdigest() for name in FILES}
