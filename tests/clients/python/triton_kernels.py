# SPDX-License-Identifier: MIT OR Apache-2.0
"""What Triton's tutorials 01 to 05 are about (addition, softmax, matrix product, dropout, layer normalisation), compiled by Triton
for capability 7.5 and launched by the driver API, without torch. Each compares with NumPy."""

import ctypes
import os
import re
import stat
import tempfile

import numpy as np

# Triton makes machine code with ptxas, which nobody needs here: its text is passed on.
PASS = """#!/bin/sh
for a; do
    case $a in --version) echo "Cuda compilation tools, release 12.9, V12.9.86"; exit ;; *.ptx) from=$a ;; esac
    [ "$last" = -o ] && to=$a
    last=$a
done
cp "$from" "$to"
"""
folder = tempfile.TemporaryDirectory(prefix="triton-")
script = os.path.join(folder.name, "ptxas")
with open(script, "w") as file:
    file.write(PASS)
os.chmod(script, stat.S_IRWXU)
os.environ |= {
    "TRITON_PTXAS_PATH": script,
    "TRITON_PTXAS_BLACKWELL_PATH": script,
    "TRITON_DEFAULT_FP_FUSION": "1",
    "TRITON_CACHE_DIR": os.path.join(folder.name, "cache"),
}

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

cuda = ctypes.CDLL("libcuda.so.1")


def check(code):
    assert code == 0, f"the driver answers {code}"


class Array:
    """A NumPy array on the device."""

    def __init__(self, values):
        self.host = np.ascontiguousarray(values)
        self.at = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.at), ctypes.c_size_t(max(self.host.nbytes, 1))))
        check(cuda.cuMemcpyHtoD_v2(self.at, self.host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.host.nbytes)))

    def get(self):
        out = np.empty_like(self.host)
        check(cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), self.at, ctypes.c_size_t(out.nbytes)))
        return out


TYPES = {"*fp32": "pointer", "*fp16": "pointer", "*i32": "pointer", "i32": ctypes.c_int32, "fp32": ctypes.c_float}


def launch(kernel, grid, signature, arguments, constants, warps=4):
    names = list(signature)
    whole = signature | {name: "constexpr" for name in constants}
    source = ASTSource(fn=kernel, signature=whole, constexprs={(kernel.arg_names.index(n),): v for n, v in constants.items()})
    made = triton.compile(source, target=GPUTarget("cuda", 75, 32), options={"num_warps": warps})
    ptx, name = made.asm["ptx"], made.metadata.name
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), ptx.encode() + b"\0"))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    values = []
    for key, argument in zip(names, arguments):
        kind = TYPES[signature[key]]
        values.append(argument.at if kind == "pointer" else kind(argument))
    # Behind the kernel's own there are pointers to scratch memory, which these kernels do not use.
    entry = re.search(r"\.entry\s+\w+\(([^)]*)\)", ptx).group(1)
    values += [ctypes.c_uint64(0)] * (entry.count(".param") - len(values))
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))
    x, y, z = (*grid, 1, 1)[:3]
    check(cuda.cuLaunchKernel(function, x, y, z, 32 * warps, 1, 1, made.metadata.shared, None, pointers, None))
    check(cuda.cuCtxSynchronize())


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(b + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        sum += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], sum, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, values / (1 - p), 0.0), mask=at < n)


@triton.jit
def layer_norm(x, weight, bias, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    away = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(away * away, axis=0) / columns + 1e-5)
    result = away * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row * columns + at, result, mask=inside)


@triton.jit
def softmax_of_many(x, out, rows, columns, BLOCK: tl.constexpr):
    """A program takes every n-th row."""
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul_half(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    """Half precision, tiles of the result in groups of rows, and an activation function at the end."""
    tile, down, across = tl.program_id(0), tl.cdiv(m, M), tl.cdiv(n, N)
    first = tile // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    rows = (first + tile % (GROUP * across) % height) * M + tl.arange(0, M)
    columns = tile % (GROUP * across) // height * N + tl.arange(0, N)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(b + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        sum = tl.dot(left, right, sum)
    result = tl.where(sum >= 0, sum, 0.01 * sum).to(tl.float16)
    tl.store(c + rows[:, None] * n + columns[None, :], result, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def weight_gradient(dy, x, dw, lock, columns, BLOCK: tl.constexpr):
    """Each row adds its part to one sum, under a lock."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < columns
    part = tl.load(dy + row * columns + at, mask=inside, other=0.0) * tl.load(x + row * columns + at, mask=inside, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(dw + at, tl.load(dw + at, mask=inside) + part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


check(cuda.cuInit(0))
context = ctypes.c_void_p()
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
random = np.random.default_rng(1)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


x, y = floats(1000), floats(1000)
out = Array(np.zeros_like(x))
launch(add, (4,), dict(x="*fp32", y="*fp32", out="*fp32", n="i32"), (Array(x), Array(y), out, 1000), dict(BLOCK=256))
assert (out.get() == x + y).all()
print("01 addition is right", flush=True)

x = floats(6, 100)
out = Array(np.zeros_like(x))
launch(softmax, (6,), dict(x="*fp32", out="*fp32", columns="i32"), (Array(x), out, 100), dict(BLOCK=128))
powers = np.exp(x - x.max(1, keepdims=True))
assert np.allclose(out.get(), powers / powers.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)
many = Array(np.zeros_like(x))
launch(softmax_of_many, (2,), dict(x="*fp32", out="*fp32", rows="i32", columns="i32"), (Array(x), many, 6, 100), dict(BLOCK=128))
assert np.allclose(many.get(), out.get(), rtol=1e-5, atol=1e-7)
print("02 softmax is right", flush=True)

a, b = floats(40, 50), floats(50, 36)
out = Array(np.zeros((40, 36), np.float32))
signature = dict(a="*fp32", b="*fp32", c="*fp32", m="i32", n="i32", k="i32")
launch(matmul, (3, 3), signature, (Array(a), Array(b), out, 40, 36, 50), dict(M=16, N=16, K=16), warps=2)
assert np.allclose(out.get(), a @ b, rtol=1e-3, atol=1e-4)
half, other = floats(40, 48).astype(np.float16), floats(48, 36).astype(np.float16)
out = Array(np.zeros((40, 36), np.float16))
signature = dict(a="*fp16", b="*fp16", c="*fp16", m="i32", n="i32", k="i32")
launch(matmul_half, (9,), signature, (Array(half), Array(other), out, 40, 36, 48), dict(M=16, N=16, K=16, GROUP=2), warps=2)
want = half.astype(np.float32) @ other.astype(np.float32)
assert np.allclose(out.get(), np.where(want >= 0, want, 0.01 * want), rtol=1e-2, atol=1e-2)
print("03 matrix product is right", flush=True)

x = floats(500)
first, second = Array(np.zeros_like(x)), Array(np.zeros_like(x))
signature = dict(x="*fp32", out="*fp32", n="i32", p="fp32", seed="i32")
for result in (first, second):
    launch(dropout, (2,), signature, (Array(x), result, 500, 0.5, 123), dict(BLOCK=256))
kept = first.get() != 0
assert (first.get() == second.get()).all() and 150 < kept.sum() < 350
assert np.allclose(first.get()[kept], 2 * x[kept])
print("04 dropout is right", flush=True)

x, weight, bias = floats(5, 90), floats(90), floats(90)
out = Array(np.zeros_like(x))
signature = dict(x="*fp32", weight="*fp32", bias="*fp32", out="*fp32", columns="i32")
launch(layer_norm, (5,), signature, (Array(x), Array(weight), Array(bias), out, 90), dict(BLOCK=128))
want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
assert np.allclose(out.get(), want, rtol=1e-3, atol=1e-4)
dy, sums, lock = floats(5, 90), Array(np.zeros(90, np.float32)), Array(np.zeros(1, np.int32))
signature = dict(dy="*fp32", x="*fp32", dw="*fp32", lock="*i32", columns="i32")
launch(weight_gradient, (5,), signature, (Array(dy), Array(x), sums, lock, 90), dict(BLOCK=128))
assert np.allclose(sums.get(), (dy * x).sum(0), rtol=1e-4, atol=1e-4)
print("05 layer normalisation is right", flush=True)
