# SPDX-License-Identifier: MIT OR Apache-2.0
"""warpwatt: a GPU simulator that runs real CUDA code without a GPU, cycle by cycle, with energy.

    import warpwatt as ww

    record = ww.run("sgemm", size="tiny", gpu=ww.Gpu("gtx480").set("l2.sets", 128))
    print(record.cycles, record.energy_j)
    frame = record.lines.to_pandas()

Numbers are those of the `warpwatt` command, to the bit. docs/python.md describes the package.
"""

from ._errors import (
    CheckFailed,
    Error,
    Fault,
    FileError,
    InputError,
    InternalError,
    Interrupted,
    LimitReached,
    UsageError,
)
from ._warpwatt import (
    Comparison,
    Gpu,
    Kernel,
    Launch,
    Record,
    Results,
    Sweep,
    Table,
    Technology,
    __version__,
    compare,
    gpus,
    kernel,
    load,
    paper,
    report,
    results,
    run,
    techniques,
    technologies,
    workloads,
)

__all__ = [
    "CheckFailed",
    "Comparison",
    "Error",
    "Fault",
    "FileError",
    "Gpu",
    "InputError",
    "InternalError",
    "Interrupted",
    "Kernel",
    "Launch",
    "LimitReached",
    "Record",
    "Results",
    "Sweep",
    "Table",
    "Technology",
    "UsageError",
    "__version__",
    "compare",
    "gpus",
    "kernel",
    "load",
    "paper",
    "report",
    "results",
    "run",
    "techniques",
    "technologies",
    "workloads",
]
