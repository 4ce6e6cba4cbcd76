#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measure what NVIDIA's own assembler makes of our workloads' PTX, into crates/workloads/reference/ptxas.toml.

The tools come from PyPI and need neither a GPU nor a driver. The two generations go into environments of their own:

    python3 -m venv old && old/bin/pip install 'nvidia-cuda-nvcc-cu12==12.9.*'
    python3 -m venv new && new/bin/pip install 'nvidia-cuda-nvcc==13.*' 'nvidia-cuda-nvdisasm==13.*'
    python3 tools/ptxas-reference.py old new

The header of the file that this writes says what each figure is.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CRATE = Path(__file__).resolve().parent.parent / "crates" / "workloads"

HEADER = """\
# What NVIDIA's assembler makes of the PTX in ../ptx, as a yardstick for our compiler.
# Written by tools/ptxas-reference.py; do not edit.
#
# sm_50: {old} -arch=sm_50 -v
# sm_75: {new} -arch=sm_75 -v, disassembled by {nvdisasm} -c
#
# registers_sm50, registers_sm75   registers a thread, as `ptxas -v` prints them
# spill_stores_*, spill_loads_*    bytes spilled, likewise
# shared_bytes                     static shared memory of a block (the same for both targets)
# local_bytes_*                    stack frame of a thread, local arrays included
# sass_sm75                        static machine instructions of the kernel for sm_75: every instruction in its code
#                                  section, subroutines included, but neither the branch to itself that follows the
#                                  last of them nor the NOPs that pad the section after it
# sass_sm75_subroutines            how many of these belong to subroutines that the assembler adds, such as the slow
#                                  path of a division
"""


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


def find_tool(environment, name):
    found = sorted(Path(environment).glob(f"lib/python*/site-packages/nvidia/*/bin/{name}"))
    if not found:
        sys.exit(f"{environment} holds no {name}: see the top of this file")
    return found[0]


def version(tool):
    release = re.search(r"V(\d+\.\d+\.\d+)", run(tool, "--version").stdout)
    return f"{tool.name} {release.group(1)}"


def assemble(ptxas, arch, source, output):
    """Registers, spills and memory of each kernel, as the assembler reports them."""
    report = run(ptxas, f"-arch={arch}", "-v", source, "-o", output).stderr
    kernels = {}
    for block in re.split(r"Compiling entry function ", report)[1:]:
        name = re.match(r"'([^']+)'", block).group(1)

        def figure(pattern):
            found = re.search(pattern, block)
            return int(found.group(1)) if found else 0

        kernels[name] = {
            "registers": figure(r"Used (\d+) registers"),
            "spill_stores": figure(r"(\d+) bytes spill stores"),
            "spill_loads": figure(r"(\d+) bytes spill loads"),
            "shared": figure(r"(\d+) bytes smem"),
            "local": figure(r"(\d+) bytes stack frame"),
        }
    return kernels


def instruction_counts(nvdisasm, cubin):
    """Static instructions of each kernel, in all and in subroutines."""
    counts, kernel, code, labels, subroutine = {}, None, [], [], None

    def close():
        if kernel is None:
            return
        while code and code[-1][0] == "NOP":
            code.pop()
        opcode, target, here, _ = code[-1]
        if opcode != "BRA" or target not in here:
            sys.exit(f"{kernel} does not end in a branch to itself")
        code.pop()
        counts[kernel] = (len(code), sum(1 for *_, inside in code if inside))

    for line in run(nvdisasm, "-c", cubin).stdout.splitlines():
        if section := re.match(r"\s*\.section\s+(\S+?),", line):
            close()
            name = section.group(1)
            kernel = name.removeprefix(".text.") if name.startswith(".text.") else None
            code, labels, subroutine = [], [], None
        elif kernel is None:
            continue
        elif label := re.match(r"(\S+):$", line.strip()):
            labels.append(label.group(1))
            if label.group(1).startswith("$"):
                subroutine = label.group(1)
        elif found := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\S+\s+)?([A-Z][A-Z0-9_.]*)(.*)", line):
            target = re.search(r"`\(([^)]+)\)", found.group(2))
            code.append((found.group(1), target and target.group(1), tuple(labels), subroutine))
            labels = []
    close()
    return counts


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    old, new = find_tool(sys.argv[1], "ptxas"), find_tool(sys.argv[2], "ptxas")
    nvdisasm = find_tool(sys.argv[2], "nvdisasm")
    out = [HEADER.format(old=version(old), new=version(new), nvdisasm=version(nvdisasm))]
    with tempfile.TemporaryDirectory() as scratch:
        for source in sorted((CRATE / "ptx").glob("*.ptx")):
            cubin = Path(scratch) / "kernels.cubin"
            sm50 = assemble(old, "sm_50", source, cubin)
            sm75 = assemble(new, "sm_75", source, cubin)
            counts = instruction_counts(nvdisasm, cubin)
            for kernel in re.findall(r"\.entry\s+(\w+)", source.read_text()):
                a, b = sm50[kernel], sm75[kernel]
                assert a["shared"] == b["shared"]
                out.append(
                    f"""
[[kernel]]
workload = "{source.stem}"
name = "{kernel}"
registers_sm50 = {a["registers"]}
registers_sm75 = {b["registers"]}
spill_stores_sm50 = {a["spill_stores"]}
spill_loads_sm50 = {a["spill_loads"]}
spill_stores_sm75 = {b["spill_stores"]}
spill_loads_sm75 = {b["spill_loads"]}
shared_bytes = {a["shared"]}
local_bytes_sm50 = {a["local"]}
local_bytes_sm75 = {b["local"]}
sass_sm75 = {counts[kernel][0]}
sass_sm75_subroutines = {counts[kernel][1]}
"""
                )
    (CRATE / "reference" / "ptxas.toml").write_text("".join(out))


main()
