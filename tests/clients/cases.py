# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is run, and what has to come out of it. A program that ends with 0 has compared its results with the CPU's itself; here is
what can only be seen from outside: messages, exit codes, the record of the run."""

import re
from dataclasses import dataclass, field

from building import CLASSIC, CLIENTS, CUDA13, HERE, MIDDLE, PROGRAMS, PYTHON

BOTH = ("functional", "timed")


@dataclass
class Case:
    name: str
    command: list
    builds: list = field(default_factory=list)
    modes: tuple = BOTH
    code: int = 0
    out: list = field(default_factory=list)  # regular expressions, in this order, on standard output
    out_exact: str = None
    err: list = field(default_factory=list)  # regular expressions, anywhere on standard error
    kernels: int = None  # how many the record has at least
    record: object = None  # a function of record and mode that returns a complaint or None
    twice: bool = False  # timed: the record of a second run is the same to the byte, but for `host`
    quiet: bool = True  # the libraries say nothing on standard error
    flags: tuple = ()  # of `exec`
    loud: bool = False  # `exec` says what it has to say
    finding: str = None  # with every check on: what is found, and rightly so; nothing otherwise
    long: bool = False  # not in ./test
    spins: str = None  # kernels that poll, or try again what others were faster with: the number of instructions depends on time; a regular expression
    timeout: int = 120


def program(name, *arguments, **more):
    return Case(name, [PROGRAMS / name, *arguments], builds=[name], **{"out": [rf"^{re.sub('-.*', '', name)}: "], **more})


def python(name, script, *arguments, **more):
    return Case(name, [PYTHON, HERE / "python" / script, *arguments], timeout=200, **more)


def other(name, script, environment=(), **more):
    """A script in an environment of its own, which tools/setup-clients --long makes. Only in the long tests."""
    folder = CLIENTS / name
    # Behind the folder that `exec` puts there, for libraries that packages bring and do not find by themselves.
    found = ":".join(str(f) for f in sorted(folder.glob("lib/python3*/site-packages/nvidia/*/lib")))
    start = f'export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:{found}"; exec "$@"'
    command = ["sh", "-c", start, "sh", "env", *environment, folder / "bin" / "python", HERE / "python" / script]
    return Case(name, command, long=True, timeout=900, **{"quiet": False, "modes": ("functional",), **more})


def two_processes(record, mode):
    processes = {k.get("process") for k in record["kernels"]}
    if len(processes) != 2 or None in processes:
        return f"kernels of two processes were expected, `process` is {processes}"


def overlapped(record, mode):
    spans = [(k["start_cycle"], k["start_cycle"] + k["cycles"]) for k in record["kernels"]] if mode == "timed" else []
    if mode == "timed" and not any(a < d and c < b for i, (a, b) in enumerate(spans) for c, d in spans[:i]):
        return f"no two kernels ran at the same time: {spans}"


# The library of this name that stands beside ours is ours; CuPy's dependencies need NVIDIA's.
NVJITLINK = list((CLIENTS / "cupy").glob("lib/python3*/site-packages/nvidia/nvjitlink/lib/libnvJitLink.so.12"))
PRINTED = "".join(
    f"host before {r}\n"
    + "".join(f"device {r} thread {t}: {t * 0.5:5.2f} word {'ab'[t]} 123456789abc %\n" for t in range(2))
    + f"host after {r}\n"
    for r in range(2)
)

# What a program does is the same whichever compiler and runtime it was built with.
SPECIAL = {
    "vector_add": dict(kernels=1, twice=True),
    "streams": dict(kernels=11, record=overlapped, twice=True),
    "device_printf": dict(out=[], out_exact=PRINTED),
    "device_assert": dict(err=["(?i)assert.*threadIdx.x < limit"], quiet=False),
    "errors": dict(err=["^warpwatt: `store.* not launched: .*4096", "^warpwatt: .*memory"], quiet=False),
    "illegal_address": dict(err=["^warpwatt: ", "store", "(?i)400|past the end|beyond|outside"], quiet=False),
    "threads": dict(kernels=180),
    # Blocks read how deep a node is while others may write it: whatever they see, the search ends with the same depths.
    "host_loops": dict(finding="race on global memory"),
    "shared_memory": dict(err=["^warpwatt: `reverse.* not launched: .*dynamic shared memory"], quiet=False),
    "cooperative": dict(err=["^warpwatt: `rotate.* not launched: .*cooperative grid"], quiet=False, spins="."),
}

CASES = [program(n, **SPECIAL.get(n, {})) for n in CLASSIC]
OFTEN = {"-11": ("vector_add", "symbols", "textures", "device_printf"), "-12": ("vector_add", "graphs", "occupancy")}
for tail, names in (("-11", CLASSIC), ("-12", MIDDLE)):
    CASES += [program(n + tail, long=n not in OFTEN[tail], **SPECIAL.get(n, {})) for n in names]
CASES += [
    program("texture_references-11", kernels=3),
    program("two_units", kernels=2),
    program("two_units-11", long=True),
    program("surfaces"),
    program("managed", twice=True),
    program("occupancy"),
    program("graphs"),
    program("pools"),
    program("launch_ex"),
    program("rdc"),
    program("streams-ptds", kernels=11),
    program("vector_add-lz4", modes=("functional",)),
    program("vector_add-plain", modes=("functional",)),
    program("cub", out=["reductions", "scan", "radix sort", "thrust"], twice=True, timeout=200, spins="DeviceScanKernel"),
    Case("forks-before", [PROGRAMS / "forks", "before"], ["forks"], out=["devices of their own"], record=two_processes, kernels=2),
    Case(
        "forks-after", [PROGRAMS / "forks", "after"], ["forks"], out=["the parent went on"], err=["^warpwatt: .*fork"], kernels=2, quiet=False
    ),
    Case(
        "two-processes",
        ["sh", "-c", f"{PROGRAMS}/vector_add && {PROGRAMS}/vector_add"],
        ["vector_add"],
        out=["vector_add", "vector_add"],
        record=two_processes,
        kernels=2,
        twice=True,
    ),
    Case("driver_api", [PROGRAMS / "driver_api", PROGRAMS / "driver_kernels.ptx"], ["driver_api", "driver_kernels.ptx"], out=["all values"], err=["globule", "rat"], quiet=False),
    Case("cudarc", [PROGRAMS / "cudarc", PROGRAMS / "driver_kernels.ptx"], ["cudarc", "driver_kernels.ptx"], out=["sums are right"], kernels=1),
    python("bindings", "bindings.py", out=["the sum is right"], kernels=1, twice=True),
    python("core", "core.py", out=["values are right"], kernels=2),
    python(
        "numba",
        "numba_kernels.py",
        *"add matmul atomics histogram print".split(),
        out=["add", "matmul", "atomics", "histogram", "thread 0 2.0", "thread 1 2.0", "print"],
        kernels=5,
        spins="extremes",  # maxima of doubles, by compare and swap
        twice=True,
    ),
    # numba puts what it links into another order every time, so the text that it loads differs from run to run.
    python("numba-linked", "numba_kernels.py", "reduce", "grid", out=["reduce", "grid"], kernels=2),
    program("double_free", err=["^warpwatt: cudaFree returns 1 .*double free: the block at 0x"]),
    # A kernel that fails is not lost if the program looks away.
    program(
        "ignored_fault",
        err=["^warpwatt: .*store", "^warning: a kernel of the program failed .* and the program ended with 0 all the same.*--fail-on-fault"],
        quiet=False,
        loud=True,
    ),
    Case(
        "fail-on-fault",
        [PROGRAMS / "ignored_fault"],
        ["ignored_fault"],
        code=4,
        flags=("--fail-on-fault",),
        err=["^error: a kernel of the program failed"],
        quiet=False,
    ),
    Case(
        "endless",
        [PROGRAMS / "endless"],
        ["endless"],
        code=5,
        flags=("--limit-loop", "1000000"),
        err=[r"^error: .*endless.* was stopped at the limit of 1000000 .* \(`--limit-loop`\)"],
        quiet=False,
    ),
    # Tensor cores: the instruction and its line, and what to try.
    python(
        "refused",
        "refused.py",
        out=[r"a PTX JIT compilation failed: module-1\.ptx:14: .*`mma\.sync.*try `exec --capability 7\.5`"],
        err=[r"module-1\.ptx:14:5"],
        flags=("--capability", "8.0"),
        quiet=False,
    ),
    other("taichi", "taichi_examples.py", out=["examples of Taichi's"], kernels=60),
    # It finds NVRTC's headers by this variable.
    Case(
        "cubecl",
        ["sh", "-c", f'LD_LIBRARY_PATH="$LD_LIBRARY_PATH:{CUDA13}/lib" CUDA_PATH={CUDA13} exec {PROGRAMS}/cubecl'],
        ["cubecl"],
        out=["gelu of 1000 values is right"],
        kernels=1,
        long=True,
        timeout=300,
    ),
    other(
        "cupy",
        "cupy_sort.py",
        ["CUPY_COMPILE_WITH_PTX=1", "CUPY_ACCELERATORS=", "LD_PRELOAD=" + ":".join(map(str, NVJITLINK))],
        out=["sort and argsort are right", "sort of rows is right", "kernels are right"],
        kernels=40,
    ),
    # Two lanes store what both take for the sum of all, which differs in its last bit: products and sums are contracted.
    other(
        "triton", "triton_kernels.py", out=[f"0{n} " for n in range(1, 6)], kernels=6, modes=BOTH, finding="race on shared memory.*\n.*both lanes are of warp"
    ),
    # What cannot work says why, and what to do.
    Case("no_ptx", [PROGRAMS / "no_ptx"], ["no_ptx"], code=1, err=["^warpwatt: .*sm_75.*code=compute_75", r"\(209\)"], modes=("functional",), quiet=False),
    Case("static", [PROGRAMS / "static"], ["static"], code=125, err=["-cudart shared"], modes=("functional",), quiet=False),
    Case(
        "newer-ptx",
        [PROGRAMS / "driver_api", PROGRAMS / "newer.ptx"],
        ["driver_api", "newer.ptx"],
        out=["all values are right"],  # it uses nothing new, so a warning is enough
        err=[r"^warpwatt: .*newer\.ptx.* 99\.0 is newer"],
        modes=("functional",),
        quiet=False,
    ),
]
