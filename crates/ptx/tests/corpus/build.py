# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compile the CUDA sources here with one NVRTC: `python build.py LIBNVRTC INCLUDE[:INCLUDE…] LABEL JOB…`.

A job is `source:arch[:option…]`; its PTX goes to `source.LABEL.arch.ptx`. See README.md for the jobs.
"""
import ctypes
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def fetch(size_call, get_call, program):
    size = ctypes.c_size_t()
    size_call(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    get_call(program, buffer)
    return buffer.value.decode()


def main():
    nvrtc = ctypes.CDLL(sys.argv[1])
    includes = [f"-I{path}" for path in sys.argv[2].split(":")]
    label = sys.argv[3]
    for job in sys.argv[4:]:
        name, arch, *extra = job.split(":")
        program = ctypes.c_void_p()
        source = (HERE / f"{name}.cu").read_bytes()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None)
        options = [f"--gpu-architecture={arch}", "--std=c++17", *includes, *extra]
        array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        status = nvrtc.nvrtcCompileProgram(program, len(options), array)
        if status != 0:
            print(job, fetch(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)[:3000])
            continue
        ptx = fetch(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        # Bare names only: the line table shall not tell where somebody's headers lie.
        ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*?([^"/]+)"', r'\1"\2"', ptx)
        (HERE / f"{name}.{label}.{arch.replace('compute_', 'sm_')}.ptx").write_text(ptx)
        print(job, len(ptx))


main()
