# SPDX-License-Identifier: MIT OR Apache-2.0
"""Eleven programs in the manner of Taichi's examples: each computes on the simulated GPU and compares with NumPy."""

import sys

import numpy as np

import taichi as ti

ti.init(arch=ti.cuda, offline_cache=False, log_level=ti.ERROR)
if ti.lang.impl.current_cfg().arch != ti.cuda:
    sys.exit("Taichi did not take the GPU")


def laplace():
    n = 16
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def go():
        for i, j in x:
            if 0 < i < n - 1 and 0 < j < n - 1:
                y[i, j] = 4.0 * x[i, j] - x[i - 1, j] - x[i + 1, j] - x[i, j - 1] - x[i, j + 1]

    values = np.random.default_rng(1).random((n, n), dtype=np.float32)
    x.from_numpy(values)
    go()
    v = values
    want = 4 * v[1:-1, 1:-1] - v[:-2, 1:-1] - v[2:, 1:-1] - v[1:-1, :-2] - v[1:-1, 2:]
    assert np.allclose(y.to_numpy()[1:-1, 1:-1], want, atol=1e-5)


def reduction():
    x, total = ti.field(ti.i32, 1000), ti.field(ti.i32, ())

    @ti.kernel
    def go():
        for i in x:
            x[i] = i
            total[None] += i

    go()
    assert total[None] == 999 * 500


def minimum():
    n = 500
    x = ti.field(ti.f32, n)
    x.from_numpy(np.linspace(3, -7, n, dtype=np.float32))

    @ti.kernel
    def go() -> ti.f32:
        least = 1e9
        for i in x:
            ti.atomic_min(least, x[i])
        return least

    assert np.isclose(go(), -7)


def fractal():
    n = 32
    pixels = ti.field(ti.i32, (2 * n, n))

    @ti.kernel
    def go():
        for i, j in pixels:
            c = ti.Vector([-0.8, 0.2])
            z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
            steps = 0
            while z.norm() < 20 and steps < 50:
                z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
                steps += 1
            pixels[i, j] = steps

    go()
    steps = pixels.to_numpy()
    assert steps.min() >= 1 and steps.max() == 50


def nbody():
    n = 32
    place, force = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)

    @ti.kernel
    def go():
        for i in range(n):
            sum = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = place[j] - place[i]
                sum += d / (d.norm_sqr() + 0.01) ** 1.5
            force[i] = sum

    p = np.random.default_rng(2).random((n, 3), dtype=np.float32)
    place.from_numpy(p)
    go()
    d = p[None] - p[:, None]
    want = (d / ((d**2).sum(-1, keepdims=True) + 0.01) ** 1.5).sum(1)
    assert np.allclose(force.to_numpy(), want, rtol=1e-3, atol=1e-3)


def shared():
    n, block = 256, 64
    a, b = ti.field(ti.f32, n), ti.field(ti.f32, n)
    a.from_numpy(np.arange(n, dtype=np.float32))

    @ti.kernel
    def go():
        ti.loop_config(block_dim=block)
        for i in range(n):
            pad = ti.simt.block.SharedArray((block + 1,), ti.f32)
            lane = i % block
            pad[lane] = a[i]
            ti.simt.block.sync()
            b[i] = pad[block - 1 - lane]

    go()
    assert (b.to_numpy() == np.arange(n, dtype=np.float32).reshape(-1, block)[:, ::-1].ravel()).all()


def game_of_life():
    n = 16
    alive, count = ti.field(ti.i32, (n, n)), ti.field(ti.i32, (n, n))

    @ti.kernel
    def go():
        for i, j in alive:
            near = 0
            for k in ti.static(range(9)):
                if ti.static(k != 4):
                    near += alive[(i + k // 3 - 1 + n) % n, (j + k % 3 - 1 + n) % n]
            count[i, j] = near
        for i, j in alive:
            alive[i, j] = ti.cast(count[i, j] == 3 or (alive[i, j] == 1 and count[i, j] == 2), ti.i32)

    v = np.random.default_rng(3).integers(0, 2, (n, n)).astype(np.int32)
    alive.from_numpy(v)
    go()
    near = sum(np.roll(v, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - v
    assert (alive.to_numpy() == ((near == 3) | ((v == 1) & (near == 2)))).all()


def matrices():
    n = 24
    a, b, c = (ti.field(ti.f32, (n, n)) for _ in range(3))

    @ti.kernel
    def go():
        for i, j in c:
            sum = 0.0
            for k in range(n):
                sum += a[i, k] * b[k, j]
            c[i, j] = sum

    random = np.random.default_rng(4)
    x, y = random.random((n, n), dtype=np.float32), random.random((n, n), dtype=np.float32)
    a.from_numpy(x)
    b.from_numpy(y)
    go()
    assert np.allclose(c.to_numpy(), x @ y, rtol=1e-4)


def large():
    # More than a megabyte: Taichi's pool starts at a page.
    n = 400_000
    x = ti.field(ti.i32, n)

    @ti.kernel
    def go():
        for i in x:
            x[i] = i * 3

    go()
    assert (x.to_numpy() == np.arange(n) * 3).all()


def arrays():
    @ti.kernel
    def go(values: ti.types.ndarray(dtype=ti.f32, ndim=1), scale: ti.f32):
        for i in values:
            values[i] = values[i] * scale + ti.sqrt(values[i])

    values = np.linspace(0, 9, 300, dtype=np.float32)
    want = values * 2.5 + np.sqrt(values)
    go(values, 2.5)
    assert np.allclose(values, want, rtol=1e-5)


def gradient():
    n = 16
    x, loss = ti.field(ti.f32, n, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def go():
        for i in x:
            loss[None] += x[i] ** 2

    values = np.arange(n, dtype=np.float32)
    x.from_numpy(values)
    with ti.ad.Tape(loss):
        go()
    assert np.allclose(x.grad.to_numpy(), 2 * values)


PROGRAMS = [laplace, reduction, minimum, fractal, nbody, shared, game_of_life, matrices, large, arrays, gradient]
for program in PROGRAMS:
    program()
    print(program.__name__, "is right", flush=True)
print(f"{len(PROGRAMS)} programs")
