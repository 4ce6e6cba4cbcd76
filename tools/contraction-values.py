#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check the values of a*b+c in all its forms: run kernels by NVRTC, clang and nvcc, with and without contraction, and compare with exact arithmetic.

    python3 tools/contraction-values.py --warpwatt PATH [--nvrtc libnvrtc.so.12] [--clang clang++-19 --cuda CUDA-PATH] [--nvcc PATH]

Compilers that are not given are left out. Each makes the kernels with contraction (one rounding is expected), without (two roundings), and the latter is run again
with `.rn` removed from products and sums, which allows the assembler to contract them (one rounding). Exit code 1 if any value is wrong.
"""

import argparse
import ctypes
import random
import re
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

COUNT = 256
SOURCE = """
template <class T> __device__ void forms(const T *a, const T *b, const T *c, T *o, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    T x = a[i], y = b[i], z = c[i];
    o[i] = x * y + z; o[n + i] = z + x * y; o[2 * n + i] = x * y - z; o[3 * n + i] = z - x * y; o[4 * n + i] = -(x * y) + z;
}
extern "C" __global__ void forms32(const float *a, const float *b, const float *c, float *o, int n) { forms(a, b, c, o, n); }
extern "C" __global__ void forms64(const double *a, const double *b, const double *c, double *o, int n) { forms(a, b, c, o, n); }
"""
# Signs of the product and of the third operand in each form.
FORMS = [(1, 1), (1, 1), (1, -1), (-1, 1), (-1, 1)]
# Type, bits of the significand, least exponent, letter of `struct`.
TYPES = [("f32", 24, -126, "f"), ("f64", 53, -1022, "d")]


def rounded(x, bits, least):
    """The nearest number of the format, ties to even."""
    if x == 0:
        return Fraction(0)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, least) - bits + 1)
    return round(x / unit) * unit


def inputs(bits, least):
    """Operands; most third ones nearly cancel the product, where one rounding and two differ."""
    def some():
        return rounded(Fraction(random.getrandbits(60) - 2**59, 2**56), bits, least)

    rows = []
    for _ in range(COUNT):
        a, b = some(), some()
        near = -a * b * (1 + Fraction(random.randint(-8, 8), 2 ** (bits - 2)))
        rows.append((a, b, rounded(near, bits, least) if random.random() < 0.6 else some()))
    return rows


def expected(rows, bits, least, fused):
    product = (lambda x: x) if fused else (lambda x: rounded(x, bits, least))
    return [float(rounded(p * product(a * b) + z * c, bits, least)) for p, z in FORMS for a, b, c in rows]


def by_nvrtc(path, fused):
    library = ctypes.CDLL(path)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"forms.cu", 0, None, None)
    words = [b"--gpu-architecture=compute_75", b"--fmad=true" if fused else b"--fmad=false"]
    if library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words)) != 0:
        sys.exit("NVRTC refuses the source")
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, text)
    return text.value.decode()


def by_command(command):
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "forms.cu", Path(folder) / "forms.ptx"
        source.write_text(SOURCE)
        subprocess.run([*command, source, "-o", result], check=True, stderr=subprocess.DEVNULL)
        return result.read_text()


def compilers(options):
    if options.nvrtc:
        yield "NVRTC", lambda fused: by_nvrtc(options.nvrtc, fused)
    if options.clang:
        common = [options.clang, "-w", "-xcuda", "--cuda-device-only", f"--cuda-path={options.cuda}", "--cuda-gpu-arch=sm_75", "-O2", "-S"]
        yield "clang", lambda fused: by_command([*common, f"-ffp-contract={'fast' if fused else 'off'}"])
    if options.nvcc:
        yield "nvcc", lambda fused: by_command([options.nvcc, "-arch=compute_75", "-ptx", f"--fmad={'true' if fused else 'false'}"])


def launched(warpwatt, ptx, rows, kind, letter):
    """What the simulated GPU computes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "forms.ptx").write_text(ptx)
        text = 'ptx = "forms.ptx"\n'
        for buffer, column in zip("abc", zip(*rows)):
            (folder / f"{buffer}.bin").write_bytes(struct.pack(f"<{COUNT}{letter}", *map(float, column)))
            text += f'[[buffer]]\nname = "{buffer}"\ntype = "{kind}"\nfile = "{buffer}.bin"\n'
        text += f'[[buffer]]\nname = "o"\ntype = "{kind}"\ncount = {len(FORMS) * COUNT}\n'
        text += f'[[step]]\nlaunch = "forms{kind[1:]}"\ngrid = {COUNT // 128}\nblock = 128\n'
        text += f'args = ["buf:a", "buf:b", "buf:c", "buf:o", {{ i32 = {COUNT} }}]\n[[step]]\ndump = "o"\nfile = "o.bin"\n'
        (folder / "forms.toml").write_text(text)
        subprocess.run([warpwatt, "run", "--launch", folder / "forms.toml"], check=True, stdout=subprocess.DEVNULL)
        return struct.unpack(f"<{len(FORMS) * COUNT}{letter}", (folder / "o.bin").read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpwatt", required=True)
    for name in ("nvrtc", "clang", "cuda", "nvcc"):
        parser.add_argument(f"--{name}")
    options = parser.parse_args()
    random.seed(7)
    wrong = 0
    for name, compiler in compilers(options):
        apart = compiler(False)
        bare = re.sub(r"\b(mul|add|sub)\.rn\.f", r"\1.f", apart)
        for way, ptx, fused in [("contracted", compiler(True), True), ("not contracted", apart, False), ("without .rn", bare, True)]:
            for kind, bits, least, letter in TYPES:
                rows = inputs(bits, least)
                right, other = (expected(rows, bits, least, f) for f in (fused, not fused))
                got = launched(options.warpwatt, ptx, rows, kind, letter)
                off = sum(g != r for g, r in zip(got, right))
                tell = sum(r != o for r, o in zip(right, other))
                print(f"{name:<6} {way:<15} {kind}: {off} of {len(right)} wrong; {tell} depend on contraction")
                wrong += off
    sys.exit(wrong > 0)


main()
