#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fit the constants of crates/energy/src/sram.rs to the series in crates/energy/data/cacti-series.toml, and print them.

    pip install numpy scipy
    python3 tools/fit-sram.py

It takes about a minute; seeds are fixed, so that it prints the same constants each time. Fitted are the points at 40 nm and 350 K: caches and plain arrays apart for access energy and area, all of them together for leakage. What is made
small is the largest error of a point and the largest spread of errors within a series, so that ratios between the points of a series are right,
too. The tables of node and temperature in sram.rs are the series themselves. What wires between banks take follows from one array of
crates/energy/data/cacti.toml: 48 KB in 32 banks.
"""

import tomllib
from pathlib import Path

import numpy as np
from scipy.optimize import differential_evolution, minimize

DATA = Path(__file__).resolve().parent.parent / "crates" / "energy" / "data" / "cacti-series.toml"
TAG_BITS = 30.0


def load():
    points, names = [], []
    for series in tomllib.loads(DATA.read_text())["series"]:
        for point in series["points"]:
            bytes_, ways, line, port, nm, kelvin, *figures = point
            if (nm, kelvin) == (40, 350):
                tags = bool(series.get("tags"))
                sequential = bytes_ >= series.get("sequential", float("inf"))
                points.append([bytes_, ways, line, port, tags, sequential, series.get("write_ports", 0), *figures])
                names.append(series["name"])
    return np.array(points, float), np.array(names)


POINTS, NAMES = load()
BYTES, WAYS, LINE, PORT, TAGS, SEQUENTIAL, EXTRA, READ, WRITE, LEAKAGE, AREA = POINTS.T
CELLS = BYTES * 8 + np.where(TAGS == 1, BYTES / LINE * TAG_BITS, 0)
COLUMNS = PORT * np.where(SEQUENTIAL == 1, 1, WAYS) + WAYS * TAG_BITS
SIDE = np.sqrt(CELLS)


def cache_access(x):
    columns, columns_exponent, address, data, data_exponent, side_exponent = x
    return columns * COLUMNS**columns_exponent + SIDE**side_exponent * (address + data * PORT**data_exponent)


def plain_access(x):
    plain, plain_exponent, side, side_width, side_exponent = x
    return plain * (PORT / 128) ** plain_exponent + side * (PORT / 128) ** side_width * SIDE**side_exponent


def plain_write(x):
    """By the side alone: with a part by the width alone, as a read has, the fit makes that part zero."""
    side, side_width, side_exponent = x
    return side * (PORT / 128) ** side_width * SIDE**side_exponent


def leakage(x):
    cell, port, side = x
    return CELLS * (cell + port * EXTRA) + side * SIDE


def cache_area(x):
    cells, exponent, columns, columns_exponent = x
    return cells * CELLS**exponent + columns * (COLUMNS / 1024) ** columns_exponent


def plain_area(x):
    cell, port, width, exponent = x
    return CELLS * (cell + port * EXTRA) + width * (PORT / 128) ** exponent


def fit(name, model, bounds, figures, chosen):
    series = [np.flatnonzero((NAMES == one) & chosen) for one in dict.fromkeys(NAMES[chosen])]

    def loss(x):
        with np.errstate(all="ignore"):
            errors = np.log(model(10**x) / figures)
        if not np.all(np.isfinite(errors[chosen])):
            return 1e9
        spread = max(np.ptp(errors[places]) for places in series)
        return max(spread, 1.3 * np.abs(errors[chosen]).max()) + 0.1 * np.abs(errors[chosen]).mean()

    best = None
    for seed in (1, 2):
        found = differential_evolution(loss, bounds, seed=seed, maxiter=1200, popsize=20, tol=1e-9, polish=False)
        options = {"maxiter": 30000, "maxfev": 30000, "xatol": 1e-9, "fatol": 1e-11}
        found = minimize(loss, found.x, method="Nelder-Mead", options=options)
        if best is None or found.fun < best.fun:
            best = found
    constants = 10**best.x
    worst = np.abs(model(constants)[chosen] / figures[chosen] - 1).max()
    print(f"{name}: worst {worst:.1%}:", " ".join(f"{constant:.4e}" for constant in constants))


def main():
    caches, plain = TAGS == 1, TAGS == 0
    bounds = [(-9, 0), (-0.3, 0.5), (-6, 0), (-8, -1), (-0.1, 0.4), (-0.15, 0.2)]
    for name, figures in (("read", READ), ("write", WRITE)):
        fit(f"{name} of caches", cache_access, bounds, figures, caches)
    bounds = [(-3, 1), (-0.6, 0.5), (-7, 0), (-0.6, 0.4), (-0.5, 0.5)]
    fit("read of plain arrays", plain_access, bounds, READ, plain)
    fit("write of plain arrays", plain_write, [(-7, 0), (-0.4, 0.3), (-0.5, 0.5)], WRITE, plain)
    fit("leakage", leakage, [(-6, -3), (-8, -3), (-5, 0)], LEAKAGE, caches | plain)
    fit("area of caches", cache_area, [(-8, -5), (-0.05, 0.06), (-6, 0), (0, 0.7)], AREA, caches)
    fit("area of plain arrays", plain_area, [(-8, -5), (-8, -5), (-6, -1), (-1, 0.7)], AREA, plain)


main()
