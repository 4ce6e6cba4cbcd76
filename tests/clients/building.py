# SPDX-License-Identifier: MIT OR Apache-2.0
"""How each program is compiled, into target/clients/programs. A program is compiled again when a file it is made from, or the
command, has changed; what is needed first is in `Recipe.after`."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CLIENTS = Path(os.environ.get("WARPWATT_CLIENTS", ROOT / "target" / "clients")).resolve()
PROGRAMS = CLIENTS / "programs"
PYTHON = CLIENTS / "venv" / "bin" / "python"
NVCC = CLIENTS / "cuda-13" / "bin" / "nvcc"
CUDA13 = CLIENTS / "cuda-13"
SOURCES = HERE / "cuda"


class BuildError(Exception):
    pass


@dataclass
class Recipe:
    """The files that a program is made from (beside check.h), and how."""

    sources: list
    command: list  # with {out} for the result
    after: list = field(default_factory=list)
    timeout: int = 300


def nvcc(*sources, flags=(), arch="-arch=compute_75", runtime="shared"):
    files = [str(SOURCES / s) for s in sources]
    command = [NVCC, "-cudart", runtime, arch, "-O2", "-std=c++17", f"-L{CUDA13 / 'lib'}", *flags, "-o", "{out}", *files]
    return Recipe(files, command)


def clang(*sources, cuda="11.8", arch="sm_60"):
    """With the headers and the runtime of an older CUDA. Machine code is in there too, as it is by default."""
    files, folder = [str(SOURCES / s) for s in sources], CLIENTS / f"cuda-{cuda}"
    command = ["clang++-19", "-w", "-O2", "-std=c++17", f"--cuda-path={folder}", f"--cuda-gpu-arch={arch}"]
    command += [f"--cuda-include-ptx={arch}", "-o", "{out}", *files, f"-L{folder / 'lib64'}", "-lcudart"]
    return Recipe(files, command)


PLAIN = """vector_add streams textures surfaces managed pinned shared_memory symbols device_printf device_assert cooperative
    occupancy host_loops graphs copies pools errors illegal_address ignored_fault double_free endless threads forks launches launch_ex overhead""".split()
# What CUDA 11.8 had already. (Managed memory uses calls whose signature has changed since, and clang has no functions for surfaces.)
CLASSIC = """vector_add streams textures pinned shared_memory symbols device_printf device_assert cooperative
    host_loops copies errors illegal_address threads""".split()
# The runtime of CUDA 12 has structures and symbols of its own.
MIDDLE = "vector_add streams textures symbols occupancy graphs pools launch_ex copies pinned errors".split()

DRIVER_API = """mkdir -p $3
gcc -O1 -I$4 -c $1 -o $2.o
nm -u $2.o | awk '$2 ~ /^cu/ { print "void " $2 "(void) {}" }' >$3/libcuda.c
gcc -shared -Wl,-soname,libcuda.so.1 $3/libcuda.c -o $3/libcuda.so
gcc $2.o -o $2 -L$3 -lcuda"""

RECIPES = {name: nvcc(f"{name}.cu") for name in PLAIN}
RECIPES |= {f"{name}-11": clang(f"{name}.cu") for name in CLASSIC}
RECIPES |= {f"{name}-12": clang(f"{name}.cu", cuda="12.6", arch="sm_75") for name in MIDDLE}
RECIPES |= {
    "texture_references-11": clang("texture_references.cu"),
    "two_units": nvcc("two_units.cu", "two_units_other.cu"),
    "two_units-11": clang("two_units.cu", "two_units_other.cu"),
    "rdc": nvcc("rdc.cu", "rdc_other.cu", flags=["-rdc=true"]),
    "cub": nvcc("cub.cu", flags=["--extended-lambda", f"-I{CUDA13 / 'include' / 'cccl'}"]),
    "streams-ptds": nvcc("streams.cu", flags=["--default-stream", "per-thread"]),
    "vector_add-lz4": nvcc("vector_add.cu", flags=["-Xfatbin", "--compress-mode=speed"]),
    "vector_add-plain": nvcc("vector_add.cu", flags=["-no-compress"]),
    # What cannot work.
    "no_ptx": nvcc("vector_add.cu", arch="-gencode=arch=compute_75,code=sm_75"),
    "static": nvcc("vector_add.cu", runtime="static"),
    # PTX for programs that load it themselves.
    "driver_kernels.ptx": nvcc("driver_kernels.cu", flags=["-ptx"]),
    "overhead.ptx": nvcc("overhead.cu", flags=["-ptx"]),
    "newer.ptx": Recipe(
        [str(SOURCES / "driver_kernels.cu")],
        ["sh", "-c", f"sed 's/^.version .*/.version 99.0/' {PROGRAMS}/driver_kernels.ptx > {{out}}"],
        after=["driver_kernels.ptx"],
    ),
    # NVIDIA's wheels have no libcuda to link with: one of that name whose functions do nothing is made from what the program calls.
    "driver_api": Recipe(
        [str(SOURCES / "driver_api.c")],
        ["sh", "-ec", DRIVER_API, "sh", str(SOURCES / "driver_api.c"), "{out}", str(PROGRAMS / "stubs"), str(CUDA13 / "include")],
    ),
    "cudarc": Recipe(
        [str(HERE / "cudarc" / f) for f in ("Cargo.toml", "Cargo.lock", "src/main.rs")],
        ["sh", "-c", f"cd {HERE / 'cudarc'} && cargo build --quiet --release --locked --target-dir {CLIENTS / 'cudarc'}"]
    ),
}
RECIPES["cudarc"].command[2] += f" && cp {CLIENTS / 'cudarc' / 'release' / 'cudarc-client'} {{out}}"
# A large package, of which little runs: it is not optimised.
CUBECL = f"cd {HERE / 'cubecl'} && CARGO_PROFILE_DEV_DEBUG=0 cargo build --quiet --locked --target-dir {CLIENTS / 'cubecl'}"
RECIPES["cubecl"] = Recipe(
    [str(HERE / "cubecl" / f) for f in ("Cargo.toml", "Cargo.lock", "src/main.rs")],
    ["sh", "-c", f"{CUBECL} && cp {CLIENTS / 'cubecl' / 'debug' / 'cubecl-client'} {{out}}"],
    timeout=1800,
)


def build(name):
    """Compile `name` if that is needed. Everything in its `after` has to be there."""
    recipe = RECIPES[name]
    out = PROGRAMS / name
    command = [str(part).replace("{out}", str(out)) for part in recipe.command]
    made_by = PROGRAMS / f".{name}.command"
    inputs = [Path(s) for s in recipe.sources] + [SOURCES / "check.h"] + [PROGRAMS / a for a in recipe.after]
    line = "\n".join(command)
    if out.exists() and made_by.exists() and made_by.read_text() == line:
        if all(i.stat().st_mtime <= out.stat().st_mtime for i in inputs):
            return
    out.unlink(missing_ok=True)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=recipe.timeout)
    except FileNotFoundError as e:
        raise BuildError(f"{e.filename} is not there; tools/setup-clients installs what is needed") from e
    except subprocess.TimeoutExpired as e:
        raise BuildError(f"compiling {name} took more than {recipe.timeout} seconds") from e
    if done.returncode != 0 or not out.exists():
        raise BuildError(f"compiling {name} failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
    made_by.write_text(line)
