# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types of the extension module. What each thing is stands beside its code and in docs/python.md; `help()` shows it."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, final

from typing_extensions import Unpack

__version__: str

_Path: TypeAlias = str | os.PathLike[str]
_Scalar: TypeAlias = str | int | float | bool
_Techniques: TypeAlias = str | Sequence[str] | Mapping[str, Mapping[str, _Scalar] | None]
_Size: TypeAlias = Literal["tiny", "small", "medium", "large"]
_Progress: TypeAlias = bool | Callable[[int, int, str], Any] | None
_Extent: TypeAlias = int | tuple[int, ...]

class Options(TypedDict, total=False):
    """Options of runs and of kernels; each means what the option of the same name of `warpwatt run` means."""

    gpu: Gpu | _Path | None
    technology: Technology | _Path | None
    techniques: _Techniques | None
    functional: bool
    check: str | Sequence[str] | None
    interval: int | None
    kernels: str | None
    skip: int | None
    limit_cycles: int | None
    limit_instructions: int | None
    limit_loop: int | None
    watchdog: int | None
    timeout: float | None
    per_launch: int | None
    threads: int | None
    max_registers: int | None
    predication: bool
    verify_techniques: bool
    step_every_cycle: bool
    trace: bool
    progress: _Progress

@final
class Table:
    name: str
    column_names: list[str]
    num_rows: int
    num_columns: int
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    def __getitem__(self, column: str, /) -> list[Any]: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def to_rows(self) -> list[dict[str, Any]]: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_pyarrow(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Record:
    kernels: Table
    launches: Table
    lines: Table
    counters: Table
    histograms: Table
    energy: Table
    series: Table
    power: Table
    status: Literal["complete", "partial", "failed"]
    mode: Literal["timed", "functional"]
    name: str
    workload: str | None
    size: str | None
    seed: int | None
    gpu: str | None
    techniques: list[str]
    technology: str | None
    cycles: int | None
    seconds: float | None
    ipc: float | None
    warp_instructions: int
    thread_instructions: int
    energy_j: float | None
    average_w: float | None
    edp_js: float | None
    simulation_seconds: float | None
    check: dict[str, Any] | None
    diagnostics: list[dict[str, Any]]
    stalls: dict[str, int]
    def __getitem__(self, counter: str, /) -> int | float | list[int]: ...
    def json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def save(self, path: _Path) -> None: ...
    def trace(self) -> bytes: ...
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class Gpu:
    name: str
    description: str
    sha256: str
    parameters: dict[str, Any]
    def __new__(cls, source: _Path | None = None, /) -> Gpu: ...
    @staticmethod
    def from_toml(text: str, /, name: str = "gpu") -> Gpu: ...
    def set(self, key: str | Mapping[str, _Scalar], value: _Scalar | None = None, /) -> Gpu: ...
    def __getitem__(self, key: str, /) -> Any: ...
    def to_toml(self, *, annotated: bool = False) -> str: ...
    def save(self, path: _Path) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Technology:
    name: str
    structures: list[str]
    def __new__(cls, source: _Path | None = None, /) -> Technology: ...
    @staticmethod
    def from_toml(text: str, /, name: str = "technology") -> Technology: ...
    def set(self, key: str, value: Any) -> Technology: ...
    def to_toml(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def save(self, path: _Path) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Kernel:
    name: str
    ptx: str
    parameters: list[str | None]
    def __getitem__(self, extents: tuple[_Extent, _Extent] | tuple[_Extent, _Extent, int], /) -> Launch: ...

@final
class Launch:
    def __call__(self, *arguments: Any, **options: Unpack[Options]) -> Record: ...

@final
class Comparison:
    warnings: list[str]
    cycles_ratio: float | None
    energy_ratio: float | None
    counters: Table
    def json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class Results:
    folder: Path
    points: Table
    kernels: Table
    energy: Table
    histograms: Table
    series: Table
    claims: Table
    document: Any
    def status(self) -> dict[str, Any]: ...
    def cancel(self) -> None: ...
    def html(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class Sweep:
    name: str
    def __new__(cls, file: _Path | None = None, /, **keys: Any) -> Sweep: ...
    @staticmethod
    def from_toml(text: str, /) -> Sweep: ...
    def set(self, key: str, value: Any) -> Sweep: ...
    def to_toml(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def save(self, path: _Path) -> None: ...
    def run(
        self,
        out: _Path | None = None,
        *,
        jobs: int | None = None,
        csv: bool = False,
        progress: _Progress = None,
    ) -> Results: ...
    def slurm(
        self,
        out: _Path | None = None,
        *,
        detach: bool = False,
        settings: Mapping[str, Any] | _Path | None = None,
        csv: bool = False,
        progress: _Progress = None,
    ) -> Results: ...
    def status(self, out: _Path | None = None) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...

def run(
    workload: _Path | None = None,
    /,
    *,
    size: _Size | None = None,
    seed: int = 1,
    launch: _Path | None = None,
    ptx: _Path | None = None,
    **options: Unpack[Options],
) -> Record: ...
def kernel(source: _Path, name: str | None = None, /, **options: Unpack[Options]) -> Kernel: ...
def load(path: _Path, /) -> Record: ...
def compare(a: Record | _Path, b: Record | _Path, /, *, top: int = 15) -> Comparison: ...
def report(*results: Record | Results | _Path, out: _Path | None = None, svg: _Path | None = None) -> Path: ...
def results(folder: _Path, /) -> Results: ...
def paper(
    name: str,
    /,
    *,
    size: _Size = "small",
    seeds: Iterable[int] | None = None,
    workloads: Sequence[str] | None = None,
    quick: bool = False,
    large_where_needed: bool = False,
    out: _Path | None = None,
    jobs: int | None = None,
    csv: bool = False,
    engine: Literal["local", "slurm"] = "local",
    detach: bool = False,
    slurm: Mapping[str, Any] | _Path | None = None,
    progress: _Progress = None,
) -> Results: ...
def main(words: Sequence[_Path], /) -> int: ...
def workloads() -> Table: ...
def gpus() -> Table: ...
def techniques() -> Table: ...
def technologies() -> Table: ...
