#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the data set with DuckDB, pandas and polars, and runs the examples of docs/data.md.

tools/setup-clients installs the packages into target/clients/data; this program runs itself with that Python.
A program for `exec` is swept as well, through the driver interface of our library.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = Path(os.environ.get("WARPWATT_CLIENTS", ROOT / "target/clients"))


def own_python():
    """Starts again with the Python that has the packages."""
    python = CLIENTS / "data/bin/python"
    if not python.exists():
        sys.exit(f"{python} is not there: run tools/setup-clients")
    if Path(sys.prefix).resolve() != (CLIENTS / "data").resolve():
        os.execv(python, [str(python), *sys.argv])


def run(warpwatt, *args, cwd):
    done = subprocess.run([warpwatt, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"warpwatt {' '.join(map(str, args))} ended with {done.returncode}:\n{done.stderr}")
    return done


def check(what, condition, shown=""):
    if not condition:
        sys.exit(f"FAILED: {what} {shown}")
    print(f"ok: {what}")


def examples(folder):
    """Every block of Python on the page, each as a program of its own."""
    page = (ROOT / "docs/data.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    check("the page has examples of all three", all(any(name in block for block in blocks) for name in ("duckdb", "pandas", "polars")))
    for number, block in enumerate(blocks):
        done = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True, timeout=600)
        check(f"example {number + 1} of docs/data.md", done.returncode == 0 and done.stdout.strip(), done.stderr)


def same_everywhere(folder):
    """All three read the same tables, and these have what the points' files have."""
    import duckdb
    import pandas
    import polars

    data = folder / "l1/data"
    documents = {path.stem: json.loads(path.read_text()) for path in (folder / "l1/points").glob("*.json")}
    for name in ("points", "kernels", "energy", "histograms", "series"):
        file = data / f"{name}.parquet"
        frame, other = pandas.read_parquet(file), polars.read_parquet(file)
        rows = duckdb.sql(f"SELECT * FROM '{file}'").fetchall()
        check(f"{name}: as many rows and columns", (len(frame), len(frame.columns)) == other.shape == (len(rows), len(rows[0])))
        check(f"{name}: the same in pandas and polars",
              all(frame[column].dropna().tolist() == other[column].drop_nulls().to_list() for column in frame.columns))
        check(f"{name}: the same in DuckDB", [tuple(row) for row in other.rows()] == rows)
        text = pandas.read_csv(data / f"{name}.csv", keep_default_na=False)
        check(f"{name}: as CSV", list(text.columns) == list(frame.columns) and len(text) == len(frame))

    points = polars.read_parquet(data / "points.parquet").to_dicts()
    check("a row for each point", len(points) == len(documents) == 24, str(len(points)))
    for row in points:
        document = documents[row["key"]]
        check(f"{row['subject']}, {row['configuration']}", row["cycles"] == document["cycles"] and row["energy_j"] == document["energy"]["total_j"]
              and all(row[name] == value for name, value in document["counters"].items() if not isinstance(value, list)))
    kernels = polars.read_parquet(data / "kernels.parquet")
    for key, document in documents.items():
        own = kernels.filter(polars.col("key") == key)
        names = [kernel["demangled"] for kernel in document["kernels"]]
        check(f"kernels of {key[:8]}", own["kernel"].to_list() == names and own["launches"].sum() > 0)
        # Kernels of these programs do not overlap, so their energy is that of the run but for what ends between them.
        share = own["energy_j"].sum() / document["energy"]["total_j"]
        check(f"energy of kernels of {key[:8]} is that of the run", 0.99 < share < 1.01, str(share))


def program(warpwatt, folder):
    """A program of `exec` is swept; what is there is not run again."""
    sweep = folder / "program.toml"
    driver = ROOT / "tests/data/driver.py"
    ptx = ROOT / "examples/saxpy/saxpy.ptx"
    sweep.write_text(f"""command = ["python3", "{driver}", "{ptx}"]
techniques = ["none", "drowsy"]
[parameters]
sm.scheduler = ["gto", "lrr"]
""")
    first = run(warpwatt, "sweep", sweep, "--out", "program", cwd=folder)
    check("four points of a program", "0 of 4 points reused, 4 simulated" in first.stderr, first.stderr)
    again = run(warpwatt, "sweep", sweep, "--out", "program", cwd=folder)
    check("none of them is run again", "4 of 4 points reused, 0 simulated" in again.stderr and again.stdout == first.stdout, again.stderr)
    result = json.loads((folder / "program/sweep.json").read_text())
    check("a configuration each", [one["name"] for one in result["configurations"]] ==
          ["none sm.scheduler=gto", "none sm.scheduler=lrr", "drowsy sm.scheduler=gto", "drowsy sm.scheduler=lrr"])
    import polars
    kernels = polars.read_parquet(folder / "program/data/kernels.parquet")
    check("kernels of a program", all("saxpy" in name for name in kernels["kernel"]) and kernels["energy_j"].min() > 0, str(kernels))


def main():
    own_python()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warpwatt", default=str(ROOT / "target/release/warpwatt"))
    warpwatt = str(Path(parser.parse_args().warpwatt).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run(warpwatt, "sweep", ROOT / "examples/sweep/l1.toml", "--out", "l1", "--csv", cwd=folder)
        same_everywhere(folder)
        examples(folder)
        program(warpwatt, folder)
    print("all of the data set is as it should be")


if __name__ == "__main__":
    main()
