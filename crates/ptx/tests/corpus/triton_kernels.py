# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels in Triton, and their PTX: `python triton_kernels.py OUTPUT_DIRECTORY` (needs triton, no GPU)."""
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, mask=columns < n, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * n + columns, values / tl.sum(values, axis=0), mask=columns < n)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + depth)[None, :])
        right = tl.load(b + (start + depth)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def counts(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + (tl.load(x + at, mask=at < n, other=0) & 63), 1, mask=at < n, sem="relaxed")


KERNELS = [
    (softmax, {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 1024}),
    (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32",
              "M": "constexpr", "N": "constexpr", "K": "constexpr"}, {"M": 64, "N": 64, "K": 32}),
    (counts, {"x": "*i32", "out": "*i32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 256}),
]

if __name__ == "__main__":
    target = Path(sys.argv[1])
    for kernel, signature, constants in KERNELS:
        for sm in (75, 80, 90):
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": 4})
            (target / f"{kernel.__name__}.triton.sm_{sm}.ptx").write_text(compiled.asm["ptx"])
