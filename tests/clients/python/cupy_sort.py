# SPDX-License-Identifier: MIT OR Apache-2.0
"""CuPy's sort and argsort, which are Thrust and CUB inside of its wheel, and a kernel of its own. They compare with NumPy."""

import numpy as np

import cupy

random = np.random.default_rng(1)
for dtype in (np.int32, np.float32, np.uint8, np.int64, np.float64):
    for size in (1, 37, 1000, 5000):
        host = (random.random(size) * 200).astype(dtype)
        device = cupy.asarray(host)
        assert (cupy.sort(device).get() == np.sort(host)).all(), (dtype, size)
        order = cupy.argsort(device).get()
        assert (host[order] == np.sort(host)).all() and len(set(order.tolist())) == size, (dtype, size)
print("sort and argsort are right")

rows = (random.random((7, 300)) * 1000).astype(np.int32)
assert (cupy.sort(cupy.asarray(rows), axis=1).get() == np.sort(rows, axis=1)).all()
print("sort of rows is right")

twice = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x", "twice")
values = np.arange(1000, dtype=np.float32)
assert (twice(cupy.asarray(values)).get() == 2 * values).all()
assert np.isclose(float(cupy.asarray(values).sum()), values.sum())
print("kernels are right")
