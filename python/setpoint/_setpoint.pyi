"""The compiled half; everything public is in the modules beside it."""

from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

__version__: str

Labels = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]
Groups = tuple[str, list[str], npt.NDArray[np.uint32]]

# Thresholds, their groups, certificate and approximate limits as JSON, and why there is no certificate.
Chosen = tuple[list[float], list[str], Optional[str], Optional[str], Optional[str]]
# Where a report goes, and its title.
Page = Optional[tuple[str, str]]

MISSING_TEXTS: list[str]
SETTINGS: str

class Model:
    @staticmethod
    def load(path: Any, label: Optional[str]) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def save(self, path: Any) -> None: ...
    def to_bytes(self) -> bytes: ...
    def to_onnx(self, path: Any, scores: Optional[npt.NDArray[np.float32]], groups: Optional[Groups]) -> None: ...
    def document(self) -> str: ...
    def inputs(self) -> Optional[list[tuple[str, bool]]]: ...
    def columns(self) -> int: ...
    def thresholds(self) -> npt.NDArray[np.float32]: ...
    def scores(self, features: Any, names: Sequence[str]) -> tuple[npt.NDArray[np.float32], list[str]]: ...
    def places(
        self, scores: npt.NDArray[np.float32], queries: Groups
    ) -> tuple[npt.NDArray[np.uint32], Optional[Labels]]: ...
    def band(self) -> Optional[list[float]]: ...
    def margins(self, scores: npt.NDArray[np.float32], groups: Optional[Groups]) -> npt.NDArray[np.float32]: ...
    def unknown_groups(self, groups: Groups) -> Optional[str]: ...
    def probabilities(self, scores: npt.NDArray[np.float32]) -> Optional[Scores]: ...
    def evaluate(
        self,
        features: Any,
        names: Sequence[str],
        labels: Labels,
        grades: Optional[npt.NDArray[np.float32]],
        weights: Optional[Scores],
        groups: Optional[Groups],
        entities: Optional[Groups],
        pays: Optional[Scores],
        importance: int,
        confidence: float,
        volume: Optional[float],
        page: Page,
    ) -> str: ...

def command(typed: Sequence[str]) -> int: ...
def fit(
    features: Any,
    names: Sequence[str],
    label: tuple[str, str, str] | tuple[str, list[str]] | tuple[str, str],
    labels: Labels,
    grades: Optional[npt.NDArray[np.float32]],
    weights: Optional[npt.NDArray[np.float32]],
    groups: Optional[Groups],
    entities: Optional[Groups],
    pays: Optional[Scores],
    options: str,
    report: Optional[Callable[..., None]],
) -> tuple[Model, str, list[str]]: ...
def save_labels(models: Sequence[tuple[str, Model]], path: Any) -> None: ...
def together_of(models: Sequence[tuple[str, Model]]) -> Optional[str]: ...
def confidence_of_each(together: float, goals: Sequence[str]) -> float: ...
def monitor_begin(model: Model, alpha: float) -> str: ...
def monitor_check(model: Model, state: str) -> None: ...
def monitor_add(
    model: Model,
    state: str,
    features: Any,
    names: Sequence[str],
    labels: Labels,
    weights: Optional[Scores],
    groups: Optional[Groups],
    entities: Optional[Groups],
) -> tuple[str, list[str]]: ...
def monitor_add_unlabelled(
    model: Model, state: str, features: Any, names: Sequence[str], groups: Optional[Groups]
) -> tuple[str, list[str]]: ...
def monitor_status(model: Model, state: str, page: Page) -> tuple[str, str]: ...
def recertify(
    model: Model,
    features: Any,
    names: Sequence[str],
    labels: Labels,
    groups: Optional[Groups],
    entities: Optional[Groups],
    inclusion: Optional[list[float]],
    prevalence: Optional[float],
    unlabelled: Optional[tuple[Any, Sequence[str]]],
    confidence: float,
) -> tuple[Model, str, str]: ...
def sample(
    model: Model, features: Any, names: Sequence[str], groups: Optional[Groups], labels: int, seed: int
) -> tuple[tuple[npt.NDArray[np.uint64], Scores], list[str]]: ...
def onnx_scores(file: bytes, output: Optional[str]) -> tuple[bytes, str]: ...
def onnx_decided(
    file: bytes,
    output: Optional[str],
    columns: int,
    thresholds: Sequence[float],
    groups: Optional[tuple[Optional[str], list[str]]],
    goal: str,
    certificate: str,
) -> bytes: ...
def check_goal(text: str) -> tuple[str, Optional[str], bool]: ...
def kinds_of_goal(text: str) -> tuple[bool, bool, bool]: ...
def value_of_classes(
    text: str, classes: Groups, scores: npt.NDArray[np.float32], weights: Optional[Scores]
) -> float: ...
def value_at(
    text: str,
    labels: Labels,
    scores: Scores,
    weights: Optional[Scores],
    groups: Optional[Groups],
    shared_threshold: bool,
    pays: Optional[Scores],
) -> tuple[float, list[float], Optional[list[float]]]: ...
def amount_columns(text: str) -> Optional[list[str]]: ...
def pays(text: str, labels: Labels, columns: Sequence[Scores]) -> Scores: ...
def curve(labels: Labels, scores: Scores, weights: Optional[Scores]) -> tuple[Scores, Scores, Scores]: ...
def rates_at(
    labels: Labels, scores: Scores, weights: Optional[Scores], threshold: float
) -> list[tuple[str, Optional[float]]]: ...
def interval(
    text: str,
    labels: Labels,
    scores: Scores,
    weights: Optional[Scores],
    threshold: Optional[float],
    confidence: float,
    replicates: int,
    seed: int,
) -> tuple[float, float, float, str]: ...
def certify(
    asked: str,
    scores: Scores,
    labels: Labels,
    groups: Optional[Groups],
    entities: Optional[Groups],
    approximate: bool,
    confidence: float,
) -> tuple[str, str]: ...
def choose(
    text: str,
    labels: Labels,
    scores: Scores,
    weights: Optional[Scores],
    groups: Optional[Groups],
    entities: Optional[Groups],
    pays: Optional[Scores],
    confidence: Optional[float],
) -> Chosen: ...
def evaluate_scores(
    text: str,
    labels: Labels,
    scores: Scores,
    weights: Optional[Scores],
    groups: Optional[Groups],
    entities: Optional[Groups],
    pays: Optional[Scores],
    positive: Optional[str],
    chosen: Optional[Chosen],
    here: bool,
    shared_threshold: bool,
    confidence: float,
    page: Page,
) -> tuple[str, Optional[str]]: ...
def uncertified(classes: bool, reason: str) -> str: ...
def write_file(path: str, content: bytes) -> None: ...
def step(
    text: str,
    scores: npt.NDArray[np.float32],
    labels: Labels,
    weights: Optional[Scores],
    groups: Optional[Groups],
    thresholds: Optional[Sequence[float]],
    surrogate: str,
    sharpness: float,
    solve: str,
    pays: Optional[Scores],
) -> tuple[list[float], float, list[float], npt.NDArray[np.float32]]: ...
def sharpness(
    text: str,
    scores: npt.NDArray[np.float32],
    labels: Labels,
    weights: Optional[Scores],
    bandwidth: str,
) -> float: ...
def check_loss(text: str) -> None: ...
def check_query_goal(text: str) -> str: ...
def relevant(positive: str, grades: npt.NDArray[np.float32]) -> Labels: ...
def query_values(
    text: str,
    rows: tuple[Groups, npt.NDArray[np.float32], Labels],
    scores: Scores,
    empty: str,
    ordered: bool,
) -> tuple[Scores, Optional[float]]: ...
def certify_queries(
    text: str,
    rows: tuple[Groups, npt.NDArray[np.float32], Labels],
    scores: Scores,
    empty: str,
    confidence: float,
    at_least: Optional[float],
) -> tuple[str, str]: ...
def query_step(
    text: str,
    rows: tuple[Groups, npt.NDArray[np.float32], Labels],
    scores: npt.NDArray[np.float32],
    sharpness: float,
    least_spread: float,
) -> tuple[float, npt.NDArray[np.float32]]: ...
def check_class_goal(text: str, classes: Sequence[str]) -> str: ...
def class_step(
    text: str,
    classes: Sequence[str],
    scores: npt.NDArray[np.float32],
    codes: npt.NDArray[np.uint32],
    weights: Optional[Scores],
    shifts: Optional[Sequence[float]],
    sharpness: Optional[float],
) -> tuple[list[float], float, list[float], npt.NDArray[np.float32]]: ...

class ClassBatchLoss:
    def __init__(
        self, text: str, classes: Sequence[str], pool: int, mix: float, warm_up: int, bandwidth: str
    ) -> None: ...
    def step(
        self,
        scores: npt.NDArray[np.float32],
        codes: npt.NDArray[np.uint32],
        weights: Optional[Scores],
        keep: bool,
    ) -> tuple[float, npt.NDArray[np.float32]]: ...
    def metrics(self) -> Optional[tuple[float, list[float], int]]: ...
    shifts: Optional[list[float]]
    def state(self) -> str: ...
    def restore(self, state: str) -> None: ...

class ShardRows:
    def __init__(
        self,
        features: Any,
        names: list[str],
        labels: Labels,
        weights: Optional[npt.NDArray[np.float32]],
        pays: Optional[Scores],
        groups: Optional[Groups],
        entities: Optional[Groups],
        times: Optional[Scores],
        number: int,
        setup: str,
    ) -> None: ...
    def answer(self, message: bytes) -> bytes: ...
    def training(
        self,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], Optional[npt.NDArray[np.float32]]]: ...

def places(split: str, seed: int, times: Optional[Scores]) -> str: ...
def shard_statistics(
    features: Any,
    names: list[str],
    texts: list[str],
    places: str,
    number: int,
    entities: Optional[Groups],
    times: Optional[Scores],
) -> str: ...
def fit_shards(
    statistics: list[str],
    sizes: list[int],
    names: list[str],
    label: Any,
    labels: Labels,
    weights: Optional[npt.NDArray[np.float32]],
    pays: Optional[Scores],
    groups: Optional[Groups],
    entities: Optional[Groups],
    times: Optional[tuple[str, Scores]],
    places: str,
    options: str,
    ask: Callable[[str, bytes], list[bytes]],
    grow: Callable[[str, str, int, int, list[int]], str],
    report: Optional[Callable[..., None]],
) -> tuple[Model, str, list[str]]: ...

class BatchLoss:
    def __init__(self, text: str, pool: int, mix: float, warm_up: int, bandwidth: str, surrogate: str) -> None: ...
    def step(
        self,
        scores: npt.NDArray[np.float32],
        labels: Labels,
        weights: Optional[Scores],
        keep: bool,
        pays: Optional[Scores],
        ranks: Any,
    ) -> tuple[float, npt.NDArray[np.float32]]: ...
    def pool(
        self,
    ) -> Optional[tuple[Labels, npt.NDArray[np.float32], Optional[npt.NDArray[np.float32]], Optional[Scores]]]: ...
    thresholds: Optional[list[float]]
    def state(self) -> str: ...
    def restore(self, state: str) -> None: ...
