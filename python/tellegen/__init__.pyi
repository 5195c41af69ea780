from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from numpy import ndarray

__version__: str
__all__: list[str]

Quantity = float | str  # SI, or a text with a unit: "30.47 mK/W"
Path = str | PathLike[str]
Data = Any  # a path, several in sequence, or a pandas frame
Names = str | Sequence[str]
Progress = Callable[[float], Any]

class ModelError(Exception):
    faults: list[dict[str, Any]]
    def __init__(self, faults: list[dict[str, Any]]) -> None: ...

class _Columns:
    t: ndarray
    values: ndarray
    names: list[str]
    units: list[str]
    def __getitem__(self, name: str) -> ndarray: ...
    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...
    def frame(self) -> Any: ...

class Run(_Columns):
    failure: str
    warnings: list[str]
    ended: str
    summary: str
    def __init__(self, raw: Any) -> None: ...

class Estimate(_Columns):
    deviations: ndarray
    estimator: str
    log_likelihood: float
    failure: str
    warnings: list[str]
    def __init__(self, raw: Any) -> None: ...
    def deviation(self, name: str) -> ndarray: ...

class Calibration:
    parameters: list[dict[str, Any]]
    values: dict[str, float]
    deviations: dict[str, float]
    good: bool
    warnings: list[str]
    failures: list[str]
    def __init__(self, raw: Any) -> None: ...
    def __getitem__(self, name: str) -> float: ...

class Gradient:
    objectives: list[str]
    parameters: list[str]
    values: ndarray
    gradient: ndarray
    warnings: list[str]
    failure: str
    method: str
    def __init__(self, raw: Any, objectives: list[str], parameters: list[str]) -> None: ...
    def __getitem__(self, names: tuple[str, str]) -> float: ...

class Function:
    objectives: list[str]
    parameters: list[str]
    nominal: ndarray
    def __init__(self, study: Any, objectives: list[str], parameters: list[str]) -> None: ...
    def __call__(self, numbers: Iterable[float]) -> Any: ...
    def value_and_gradient(self, numbers: Iterable[float]) -> tuple[Any, ndarray]: ...
    def gradient(self, numbers: Iterable[float]) -> ndarray: ...

class Sweep:
    parameters: list[str]
    samples: ndarray
    names: list[str]
    values: ndarray
    status: list[str]
    def __init__(self, parameters: list[str], samples: ndarray, names: list[str], values: ndarray, status: list[str]) -> None: ...
    def __getitem__(self, name: str) -> ndarray: ...
    def __len__(self) -> int: ...
    def frame(self) -> Any: ...

class Optimum:
    values: dict[str, float]
    before: dict[str, float]
    goal: float
    goal_before: float
    objectives: list[float]
    feasible: bool
    converged: bool
    stopped: str
    evaluations: int
    def __init__(self, raw: Any) -> None: ...
    def __getitem__(self, name: str) -> float: ...

class Model:
    name: str
    components: list[str]
    objectives: list[str]
    notes: list[str]
    def __init__(self, path: Path | None = None, text: str | None = None, set: Mapping[str, Quantity] | None = None) -> None: ...
    @property
    def parameters(self) -> dict[str, float]: ...
    @property
    def all_parameters(self) -> list[str]: ...
    def check(self) -> Model: ...
    def simulate(
        self,
        stop: Quantity | None = None,
        step: Quantity | None = None,
        sample: Quantity | None = None,
        method: str = "",
        tolerance: float | None = None,
        set: Mapping[str, Quantity] | None = None,
        outputs: Names | None = None,
        all: bool = False,
        interpret: bool = False,
        balance: bool | None = None,
        progress: Progress | None = None,
    ) -> Run: ...
    def sensitivity(self, of: Names | None = None, to: Names | None = None, method: str = "") -> Gradient: ...
    def rank(self, of: Names | None = None, to: Names | None = None) -> list[tuple[str, float]]: ...
    def function(self, objectives: Names, parameters: Names, method: str = "") -> Function: ...
    def optimize(self, algorithm: str = "slsqp", starts: int = 1, seed: int = 1, evaluations: int = 300) -> Optimum: ...
    def sweep(
        self,
        axes: Mapping[str, Sequence[Quantity]],
        samples: int | None = None,
        seed: int = 1,
        outputs: Names | None = None,
        objectives: Names | None = None,
        jobs: int = 1,
        stop: Quantity | None = None,
        step: Quantity | None = None,
        method: str = "",
    ) -> Sweep: ...
    def calibrate(self, data: Data, columns: Mapping[str, str] | None = None, starts: int = 1) -> Calibration: ...
    def identify(self, data: Data, columns: Mapping[str, str] | None = None) -> Calibration: ...
    def estimate(
        self,
        data: Data,
        columns: Mapping[str, str] | None = None,
        estimator: str = "",
        smooth: bool = False,
        progress: Progress | None = None,
    ) -> Estimate: ...
    def export(
        self, folder: Path, name: str = "", step: Quantity | None = None, method: str = "", outputs: Names | None = None
    ) -> list[str]: ...

class Twin:
    sensors: list[str]
    inputs: list[str]
    names: list[str]
    units: list[str]
    def __init__(self, model: Model, step: Quantity | None = None, estimator: str = "") -> None: ...
    def push(
        self,
        t: float,
        readings: Mapping[str, Quantity] | Sequence[Quantity],
        inputs: Mapping[str, Quantity] | Sequence[Quantity] | None = None,
    ) -> str: ...
    def __getitem__(self, name: str) -> float: ...
    def deviation(self, name: str) -> float: ...
    def quantities(self) -> tuple[float, ndarray, ndarray]: ...
    def forecast(self, horizon: Quantity, inputs: Any = None) -> list[tuple[float, ndarray, ndarray]]: ...
    def checkpoint(self) -> bytes: ...
    def restore(self, data: bytes) -> Twin: ...
