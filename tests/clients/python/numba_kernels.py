# SPDX-License-Identifier: MIT OR Apache-2.0
"""numba-cuda: vector add, matrix product in shared memory, reduction, atomics and histogram, against numpy."""

import math
import sys

import numpy as np
from numba import cuda, float32, int32

wanted = sys.argv[1:] or ["add", "matmul", "reduce", "atomics", "histogram", "grid", "print"]
rng = np.random.default_rng(1)
SIDE = 8


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def product(a, b, c):
    left = cuda.shared.array((SIDE, SIDE), float32)
    right = cuda.shared.array((SIDE, SIDE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range((a.shape[1] + SIDE - 1) // SIDE):
        left[ty, tx] = a[y, tx + k * SIDE] if y < a.shape[0] and tx + k * SIDE < a.shape[1] else 0
        right[ty, tx] = b[ty + k * SIDE, x] if x < b.shape[1] and ty + k * SIDE < b.shape[0] else 0
        cuda.syncthreads()
        for j in range(SIDE):
            total += left[ty, j] * right[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@cuda.reduce
def total(a, b):
    return a + b


@cuda.jit
def extremes(values, out):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(out, 0, values[i])
        cuda.atomic.max(out, 1, values[i])
        cuda.atomic.min(out, 2, values[i])
        cuda.atomic.add(out, 3, 1.0)


@cuda.jit
def histogram(values, bins):
    local = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if t < 32:
        local[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(local, int32(values[i] * 32), 1)
    cuda.syncthreads()
    if t < 32:
        cuda.atomic.add(bins, t, local[t])


@cuda.jit
def rotate(a, b):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(3):
        b[(i + 1) % a.size] = a[i] + 1
        grid.sync()
        a[i] = b[i]
        grid.sync()


@cuda.jit
def speak():
    print("thread", cuda.threadIdx.x, math.sqrt(4.0))


def check_add():
    a, b = rng.random(1000), rng.random(1000)
    c = cuda.device_array_like(a)
    add[4, 256](cuda.to_device(a), cuda.to_device(b), c)
    assert np.array_equal(c.copy_to_host(), a + b)


def check_matmul():
    a, b = rng.random((20, 30), dtype=np.float32), rng.random((30, 25), dtype=np.float32)
    c = np.zeros((20, 25), dtype=np.float32)
    product[(4, 3), (SIDE, SIDE)](a, b, c)
    assert np.allclose(c, a @ b, rtol=1e-5), np.abs(c - a @ b).max()


def check_reduce():
    values = rng.integers(-100, 100, 2000)
    assert total(values) == values.sum()


def check_atomics():
    values = rng.integers(-1000, 1000, 700).astype(np.float64)
    out = np.array([0.0, -np.inf, np.inf, 0.0])
    stream = cuda.stream()
    with stream.auto_synchronize():
        device = cuda.to_device(out, stream=stream)
        extremes[3, 256, stream](cuda.to_device(values, stream=stream), device)
        device.copy_to_host(out, stream=stream)
    assert list(out) == [values.sum(), values.max(), values.min(), values.size], out


def check_histogram():
    values = rng.random(3000)
    bins = np.zeros(32, dtype=np.int32)
    histogram[4, 128](values, bins)
    assert np.array_equal(bins, np.histogram(values, 32, (0, 1))[0])


def check_grid():
    a = np.arange(128) * 10
    expected = np.roll(a, 3) + 3
    da = cuda.to_device(a)
    rotate[2, 64](da, cuda.device_array_like(a))
    assert np.array_equal(da.copy_to_host(), expected)


def check_print():
    speak[1, 2]()
    cuda.synchronize()


for name in wanted:
    globals()[f"check_{name}"]()
    print(f"numba: {name} is right", flush=True)
