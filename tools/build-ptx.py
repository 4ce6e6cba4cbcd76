#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile our CUDA sources to the PTX beside them with NVRTC 12.9, with line info.

    crates/workloads/cuda/*.cu     -> crates/workloads/ptx/*.ptx        for compute_50
    crates/runtime/tests/cuda/*.cu -> crates/runtime/tests/cuda/*.ptx   for compute_75
    examples/*/*.cu                -> examples/*/*.ptx                  for compute_50

NVRTC comes from PyPI and needs neither a GPU nor a driver:

    python3 -m venv venv && venv/bin/pip install 'nvidia-cuda-nvrtc-cu12==12.9.*'
    venv/bin/python tools/build-ptx.py [NAME ...]

NAME is a source with or without its folder and `.cu`; all sources are compiled when none is named. The PTX is committed, so this is
only run when a source changes; tests check that the PTX of workloads and tests was made from the source beside it.
"""

import ctypes
import hashlib
import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ROOT / "crates"
# (sources, results, architecture)
SETS = [
    (CRATES / "workloads" / "cuda", CRATES / "workloads" / "ptx", "compute_50"),
    (CRATES / "runtime" / "tests" / "cuda", CRATES / "runtime" / "tests" / "cuda", "compute_75"),
    *((folder, folder, "compute_50") for folder in sorted((ROOT / "examples").iterdir()) if any(folder.glob("*.cu"))),
]


def load_nvrtc():
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    if spec is None:
        sys.exit("NVRTC is not installed: pip install 'nvidia-cuda-nvrtc-cu12==12.9.*'")
    library = ctypes.CDLL(str(Path(list(spec.submodule_search_locations)[0]) / "lib" / "libnvrtc.so.12"))
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != (12, 9):
        sys.exit(f"NVRTC 12.9 is needed for reproducible PTX, found {major.value}.{minor.value}")
    return library


def text_of(size_call, get_call, program):
    size = ctypes.c_size_t()
    size_call(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    get_call(program, buffer)
    return buffer.value.decode()


def compile_source(nvrtc, name, source, architecture):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None)
    words = [f"--gpu-architecture={architecture}".encode(), b"-lineinfo", b"--std=c++17"]
    options = (ctypes.c_char_p * len(words))(*words)
    status = nvrtc.nvrtcCompileProgram(program, len(words), options)
    log = text_of(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).strip()
    log = [line for line in log.splitlines() if "are deprecated" not in line]
    if log:
        print("\n".join(log))
    if status != 0:
        sys.exit(f"{name}.cu does not compile")
    ptx = text_of(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx


def tidy(ptx, name, source):
    """Keep the file's bare name in the line table and note which source the text came from.

    Lines of NVRTC's own header, which declares texture functions, become those of the calls in our source.
    """
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*?([^"/]+)"', r'\1"\2"', ptx)
    if "__nv_nvrtc_builtin_header.h" in ptx:
        ptx = re.sub(r'(?m)^\t\.file\t2 "__nv_nvrtc_builtin_header\.h"\n', "", ptx)
        ptx = re.sub(r"(?m)^\t\.loc\t2 .*, inlined_at 1 (\d+) (\d+)$", r"\t.loc\t1 \1 \2", ptx)
        ptx = re.sub(r"(?m)^\t\.loc\t2 .*\n", "", ptx)
    digest = hashlib.sha256(source).hexdigest()
    return f"// {name}.cu sha256 {digest}\n" + ptx.strip() + "\n"


def without_note(ptx):
    """Examples are shown to readers, as NVRTC makes them."""
    return ptx.split("\n", 1)[1]


def main():
    sources = [(path, results, architecture) for folder, results, architecture in SETS for path in sorted(folder.glob("*.cu"))]
    named = {Path(name).stem for name in sys.argv[1:]}
    unknown = named - {path.stem for path, _, _ in sources}
    if unknown:
        sys.exit(f"no such source: {' '.join(sorted(unknown))}; nothing was compiled")
    nvrtc = load_nvrtc()
    for path, results, architecture in sources:
        name = path.stem
        if named and name not in named:
            continue
        source = path.read_bytes()
        ptx = tidy(compile_source(nvrtc, name, source, architecture), name, source)
        if results.is_relative_to(ROOT / "examples"):
            ptx = without_note(ptx)
        (results / f"{name}.ptx").write_text(ptx)
        print(f"{(results / name).relative_to(ROOT)}.ptx: {len(ptx.splitlines())} lines")


main()
