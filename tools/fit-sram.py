#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fit the constants of crates/energy/src/sram.rs to the table in crates/energy/data/cacti.toml, and print them.

    python3 tools/fit-sram.py

The model is linear in its constants once the exponents of the node are chosen. They are fitted by least absolute relative
error (reweighted least squares) over every subset of terms that leaves all constants positive; the exponents by trying.
"""

import itertools
import math
import tomllib
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "crates" / "energy" / "data" / "cacti.toml"


def solve(matrix, right):
    """Gauss-Jordan with pivots; None if singular."""
    n = len(right)
    rows = [line[:] + [value] for line, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        if abs(rows[pivot][i]) < 1e-18:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(n):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def reweighted(features):
    """Constants x with features . x near 1 in the sense of absolute error."""
    scale = [max(abs(line[j]) for line in features) or 1.0 for j in range(len(features[0]))]
    lines = [[value / scale[j] for j, value in enumerate(line)] for line in features]
    weights = [1.0] * len(lines)
    x = None
    for _ in range(40):
        n = len(scale)
        matrix = [[sum(w * l[i] * l[j] for l, w in zip(lines, weights)) for j in range(n)] for i in range(n)]
        x = solve(matrix, [sum(w * l[i] for l, w in zip(lines, weights)) for i in range(n)])
        if x is None:
            return None
        errors = [sum(a * b for a, b in zip(line, x)) - 1 for line in lines]
        weights = [1 / max(abs(error), 0.02) for error in errors]
    return [value / scale[j] for j, value in enumerate(x)], errors


def best(features):
    found = None
    count = len(features[0])
    for size in range(1, count + 1):
        for subset in itertools.combinations(range(count), size):
            fitted = reweighted([[line[j] for j in subset] for line in features])
            if fitted is None or min(fitted[0]) < 0:
                continue
            mean = sum(map(abs, fitted[1])) / len(features)
            if found is None or mean < found[0] - 0.004:
                constants = [0.0] * count
                for j, value in zip(subset, fitted[0]):
                    constants[j] = value
                found = (mean, constants, sorted(map(abs, fitted[1]))[len(features) // 2])
    return found


def dynamic(row):
    bits = row["bytes"] * 8
    columns = row["width"] * row.get("ways", 1)
    rows = bits / columns
    side = math.sqrt(bits * row.get("banks", 1))
    return [math.log2(max(rows, 2)), columns, columns * rows, side, side * row["width"]]


def static(row):
    bits = row["bytes"] * 8
    extra = max(0, row.get("read_ports", 0) + row.get("write_ports", 0) - 1)
    return [bits, bits * extra, math.sqrt(bits)]


def main():
    data = tomllib.loads(DATA.read_text())
    nodes = list(zip(data["nodes"]["nm"], data["nodes"]["volts"]))
    fits = [
        ("read", 0, dynamic, ["DECODER", "SENSE", "BITLINE", "ADDRESS_TREE", "DATA_TREE"], 2, 1.0),
        ("write", 1, dynamic, ["DECODER", "SENSE", "BITLINE", "ADDRESS_TREE", "DATA_TREE"], 2, 1.0),
        ("leakage", 2, static, ["CELL", "EXTRA_PORT", "PERIPHERY"], 1, 2.5),
    ]
    for name, column, features, labels, volts_power, start in fits:
        tried = []
        for step in range(10):
            exponent = start + step * 0.1
            lines = []
            for row in data["row"]:
                for (nm, volts), values in zip(nodes, row["nodes"]):
                    scale = (nm / 40) ** exponent * (volts / 0.96) ** volts_power
                    lines.append([feature * scale / values[column] for feature in features(row)])
            fitted = best(lines)
            tried.append((fitted[0], exponent, fitted))
        mean, exponent, (_, constants, median) = min(tried)
        print(f"{name}: node exponent {exponent:.2f}, mean error {mean:.1%}, median {median:.1%}")
        for label, value in zip(labels, constants):
            print(f"    {label:12} {value:.4e}")


main()
