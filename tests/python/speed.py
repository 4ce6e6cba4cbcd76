#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures what the package costs beside the simulation, and how soon Ctrl-C ends a run. Prints figures, and tests nothing.

    tests/python/run.py --script tests/python/speed.py
"""

import os
import signal
import statistics
import time

import numpy as np
import warpwatt as ww
from conftest import ROOT

RUNS = 200


def overhead(count, functional):
    """Time of a call less that of the simulation of the kernel, in milliseconds: the least, which nothing else on the machine disturbed, and the median."""
    kernel = ww.kernel(ROOT / "examples/saxpy/saxpy.ptx")
    x, y = np.arange(count, dtype=np.float32), np.ones(count, dtype=np.float32)
    costs = []
    for _ in range(RUNS):
        start = time.perf_counter()
        record = kernel[(count + 255) // 256, 256](count, 2.0, x, y, functional=functional, threads=1)
        costs.append(time.perf_counter() - start - record.simulation_seconds)
    return 1e3 * min(costs), 1e3 * statistics.median(costs)


def interrupt(**options):
    """Time from the signal to the exception, in milliseconds."""
    sent = []

    def press(*_):
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    try:
        ww.run("sgemm@large", progress=press, **options)
    except ww.Interrupted:
        return (time.perf_counter() - sent[0]) * 1e3
    raise SystemExit("the run was not interrupted")


for count in (1000, 100_000):
    for functional in (True, False):
        least, median = overhead(count, functional)
        mode = "functional" if functional else "timed"
        print(f"saxpy on {count} elements, {mode}: {least:.2f} ms beside the simulation at least, {median:.2f} ms in the median")
for mode, options in (("timed", {}), ("functional", {"functional": True})):
    print(f"Ctrl-C in a {mode} run: {interrupt(**options):.0f} ms to the exception with the record")
