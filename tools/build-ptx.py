#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile crates/workloads/cuda/*.cu to crates/workloads/ptx/*.ptx with NVRTC 12.9 for compute_50, with line info.

NVRTC comes from PyPI and needs neither a GPU nor a driver:

    python3 -m venv venv && venv/bin/pip install 'nvidia-cuda-nvrtc-cu12==12.9.*'
    venv/bin/python tools/build-ptx.py [NAME ...]

The PTX is committed, so this is only run when a source changes; crates/workloads/tests check that each PTX
was made from the source beside it.
"""

import ctypes
import hashlib
import importlib.util
import re
import sys
from pathlib import Path

CRATE = Path(__file__).resolve().parent.parent / "crates" / "workloads"
OPTIONS = [b"--gpu-architecture=compute_50", b"-lineinfo", b"--std=c++17"]


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


def compile_source(nvrtc, name, source):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None)
    options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
    status = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
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
    """Keep the file's bare name in the line table and note which source the text came from."""
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*?([^"/]+)"', r'\1"\2"', ptx)
    digest = hashlib.sha256(source).hexdigest()
    return f"// {name}.cu sha256 {digest}\n" + ptx.strip() + "\n"


def main():
    nvrtc = load_nvrtc()
    names = sys.argv[1:] or sorted(path.stem for path in (CRATE / "cuda").glob("*.cu"))
    for name in names:
        source = (CRATE / "cuda" / f"{name}.cu").read_bytes()
        ptx = tidy(compile_source(nvrtc, name, source), name, source)
        (CRATE / "ptx" / f"{name}.ptx").write_text(ptx)
        print(f"{name}.ptx: {len(ptx.splitlines())} lines")


main()
