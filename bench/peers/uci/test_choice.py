"""Selection looks at validation only, within one split and a complete grid."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import choice
from method import GOALS, GRIDS

DIGESTS = {("letter", 0): "right"}


def fits(digest="right"):
    """A complete grid whose second setting is best on validation, and its last on test."""
    validation = [0.5, 0.9, 0.6, 0.5, 0.5, 0.5]
    test = [0.5, 0.6, 0.5, 0.5, 0.5, 0.9]
    for config, seen, unseen in zip(GRIDS["sklearn-plain"], validation, test, strict=True):
        value = {"validation": seen, "test": unseen, "steps": 1}
        yield {
            "method": "sklearn-plain", "set": "letter", "seed": 0, "config": config, "goal": None, "sha256": digest,
            "seconds": 2.0, "cpu_seconds": 1.0, "diverged": False, "goals": dict.fromkeys(GOALS, value),
        }


def test_the_best_on_validation_is_kept_whatever_its_test_value():
    chosen = {cell["goal"]: cell for cell in choice.choose(fits(), DIGESTS)}
    assert chosen["pr-auc @ recall in 0.95..1"]["test"] == 0.6
    assert chosen["fnr @ fpr<=1%"]["validation"] == 0.5, "for fnr lower is better"
    assert chosen["fnr @ fpr<=1%"]["cpu_seconds"] == len(GRIDS["sklearn-plain"])


def test_an_incomplete_grid_and_another_split_are_left_out():
    assert choice.choose(list(fits())[:-1], DIGESTS) == []
    assert choice.choose(fits("wrong"), DIGESTS) == []


def test_a_fit_that_diverged_before_any_value_counts_as_a_fit_but_is_never_kept():
    grid = list(fits())
    grid[1]["goals"], grid[1]["diverged"] = {}, True
    for cell in choice.choose(grid, DIGESTS):
        assert (cell["fits"], cell["diverged"]) == (len(grid), 1)
        assert cell["setting"] != grid[1]["config"]
