#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compare our compiler with NVIDIA's assembler on any PTX: registers, and contracted multiply-adds.

    python3 tools/ptxas-compare.py --warpwatt PATH --ptxas PATH [--nvdisasm PATH] FILE.ptx ...

Every kernel is assembled for the target that its PTX names. Float operations are counted in the machine code for sm_75 or later, if
`nvdisasm` is given: FMUL, FADD and FFMA with their double and half forms, whatever their modifiers. The last lines give medians. ptxas and nvdisasm come
from PyPI (nvidia-cuda-nvcc-cu12, nvidia-cuda-nvdisasm) and need neither a GPU nor a driver.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

FLOAT = re.compile(r"\b([FDH])(MUL|ADD|FMA)(?:2|32I)?\b")


def floats(text):
    """Products, sums and fused ones, over all float types."""
    return Counter(kind for _, kind in FLOAT.findall(text))


def assembled(tools, path):
    """Registers and float operations of each kernel, by ptxas."""
    text = path.read_text()
    target = re.search(r"\.target\s+(sm_\d+)", text).group(1)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "out.cubin"
        done = subprocess.run([tools.ptxas, f"-arch={target}", "-v", path, "-o", cubin], capture_output=True, text=True)
        if done.returncode != 0:
            return None
        kernels, name = {}, None
        for line in done.stderr.splitlines():
            if found := re.search(r"Compiling entry function '(\S+)'", line):
                name = found.group(1)
            elif (found := re.search(r"Used (\d+) registers", line)) and name:
                kernels[name] = [int(found.group(1)), Counter()]
                name = None
        if tools.nvdisasm:
            later = f"sm_{max(75, int(target[3:]))}"
            subprocess.run([tools.ptxas, f"-arch={later}", path, "-o", cubin], check=True, capture_output=True)
            code = subprocess.run([tools.nvdisasm, "-c", cubin], capture_output=True, text=True).stdout
            for part in re.split(r"^\s*\.section\s+", code, flags=re.M):
                if (found := re.match(r"\.text\.(\S+?),", part)) and found.group(1) in kernels:
                    kernels[found.group(1)][1] = floats(part)
    return kernels


def compiled(tools, path):
    """The same by our compiler."""
    kernels = {}
    done = subprocess.run([tools.warpwatt, "compile", path, "--json", "-"], capture_output=True, text=True)
    for kernel in json.loads(done.stdout or "{}").get("kernels", []):
        if "registers" not in kernel:
            continue
        command = [tools.warpwatt, "compile", path, "--emit", "asm", "--kernel", kernel["name"]]
        code = subprocess.run(command, capture_output=True, text=True).stdout if tools.nvdisasm else ""
        kernels[kernel["name"]] = (kernel["registers"], floats(code))
    return kernels


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--warpwatt", required=True)
    options.add_argument("--ptxas", required=True)
    options.add_argument("--nvdisasm")
    options.add_argument("files", nargs="+", type=Path)
    tools = options.parse_args()
    off, same, fused, unequal = [], 0, 0, 0
    for path in tools.files:
        theirs, ours = assembled(tools, path), compiled(tools, path)
        if theirs is None:
            print(f"{path.name}: refused by ptxas", file=sys.stderr)
            continue
        for name, (registers, operations) in theirs.items():
            if name not in ours:
                continue
            mine, counted = ours[name]
            off.append(mine / registers - 1)
            equal = operations == counted
            same, fused, unequal = same + equal, fused + operations["FMA"], unequal + (not equal)
            mark = "" if equal or not tools.nvdisasm else f"  ptxas {dict(operations)}, ours {dict(counted)}"
            print(f"{path.name:<40} {name[:40]:<40} {registers:>4} {mine:>4} {100 * off[-1]:>+5.0f} %{mark}")
    print(f"{len(off)} kernels; registers: median difference {100 * statistics.median(map(abs, off)):.1f} %, "
          f"median with sign {100 * statistics.median(off):+.1f} %")
    if tools.nvdisasm:
        print(f"float operations: {same} kernels with equal counts, {unequal} others; {fused} fused by ptxas")


main()
