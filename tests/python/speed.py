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
    """What a call takes, in milliseconds: its time less that of the simulation of the kernel, the least, which nothing else on the machine disturbed, and the median; and
    its processor time with that of the simulation, which hardly depends on what else runs."""
    kernel = ww.kernel(ROOT / "examples/saxpy/saxpy.ptx")
    x, y = np.arange(count, dtype=np.float32), np.ones(count, dtype=np.float32)
    costs, processor = [], []
    for _ in range(RUNS):
        start, used = time.perf_counter(), time.process_time()
        record = kernel[(count + 255) // 256, 256](count, 2.0, x, y, functional=functional, threads=1)
        costs.append(time.perf_counter() - start - record.simulation_seconds)
        processor.append(time.process_time() - used)
    return 1e3 * min(costs), 1e3 * statistics.median(costs), 1e3 * statistics.median(processor)


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
        least, median, processor = overhead(count, functional)
        mode = "functional" if functional else "timed"
        print(f"saxpy on {count} elements, {mode}: {least:.2f} ms beside the simulation at least, {median:.2f} ms in the median; "
              f"{processor:.2f} ms of processor time with the simulation")
for mode, options in (("timed", {}), ("functional", {"functional": True})):
    print(f"Ctrl-C in a {mode} run: {interrupt(**options):.0f} ms to the exception with the record")
