#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Host instructions of whole timed runs on one thread, by callgrind, as a table in Markdown.

    tools/host-instructions.py target/release/warpwatt sgemm@small bfs@small
    tools/host-instructions.py --before old/warpwatt target/release/warpwatt all@tiny -- --with corf

With --before, each run is made with both programs, their records are compared (all but the commit and what depends on the host), and the
ratio is shown. What follows `--` is given to every run. `all@SIZE` stands for every workload.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile


def run(program, workload, options, folder):
    """Host instructions of a run, and its record without what depends on the host."""
    record = pathlib.Path(folder) / "record.json"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/profile", program]
    command += ["run", workload, "--threads", "1", "-q", "--json", str(record), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    values = json.loads(record.read_text())
    values.pop("host", None)
    values.get("tool", {}).pop("commit", None)
    for kernel in values.get("kernels", []):
        kernel.pop("host", None)
    return int(found[1]), values


def warp_instructions(values):
    return sum(kernel["warp_instructions"] for kernel in values["kernels"])


def named(program, workloads):
    """The workloads, with `all` spelt out."""
    for workload in workloads:
        name, at, size = workload.partition("@")
        if name == "all":
            listed = subprocess.run([program, "list", "workloads", "--json", "-"], capture_output=True, text=True, check=True)
            yield from (f"{entry['name']}{at}{size}" for entry in json.loads(listed.stdout)["workloads"])
        else:
            yield workload


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="program to compare with")
    parser.add_argument("program")
    parser.add_argument("workloads", nargs="+")
    given = parser.parse_args(arguments[:cut])
    options = arguments[cut + 1 :]

    ratios, differing = [], []
    if given.before:
        print("| | before, M | after, M | per warp instruction | ratio |\n|---|---:|---:|---:|---:|")
    else:
        print("| | M | per warp instruction |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for workload in named(given.program, given.workloads):
            count, values = run(given.program, workload, options, folder)
            each = count / max(1, warp_instructions(values))
            if given.before:
                before, old = run(given.before, workload, options, folder)
                ratios.append(count / before)
                differing += [workload] if old != values else []
                print(f"| {workload} | {before / 1e6:.1f} | {count / 1e6:.1f} | {each:.0f} | {ratios[-1]:.3f} |", flush=True)
            else:
                print(f"| {workload} | {count / 1e6:.1f} | {each:.0f} |", flush=True)
    if ratios:
        print(f"\ngeometric mean of the ratios {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
        print(f"records that differ: {', '.join(differing) or 'none'}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
