#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Run real CUDA programs under `warpwatt exec`, functional and timed, and look at what comes out.

    tools/setup-clients            installs compilers and packages, once
    cargo build --release          makes warpwatt and the libraries
    tests/clients/run.py           builds what is out of date and runs everything that ./test runs
    tests/clients/run.py --long    the long list: every program with both compilers, all of numba-cuda's tests in the list, speed
    tests/clients/run.py --technique NAME
                                   timed runs alone, with a technique whose values are verified
    tests/clients/run.py --checked
                                   with every check on: nothing is found, or what is known to be there
    tests/clients/run.py REGEX...  only the cases whose names match, their output shown if they fail

The last line is `N passed, M failed`; the exit code is 0 if none failed. A missing tool is a failure.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba_suite
import signals
import speed
from building import CLIENTS, PROGRAMS, PYTHON, RECIPES, ROOT, BuildError, build
from cases import CASES


def environment():
    """The user's, without what would change a run: numba names things by hashes. Its warnings about small grids are of no interest."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("WARPWATT_", "NUMBA_", "CUDA_"))}
    return keep | {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def execute(warpwatt, flags, case, mode, folder):
    """Run a case; returns exit code, standard output, standard error, and the record as text or None."""
    target = Path(folder) / "record.json"
    target.unlink(missing_ok=True)
    # A technique is for timed runs, checks are for both.
    more = ["--functional", *(f for f in flags if f.startswith("--check="))] if mode == "functional" else flags
    told = [] if case.loud else ["-q"]
    command = [warpwatt, "exec", *told, "--json", target, *more, *case.flags, "--", *case.command]
    done = subprocess.run(
        [str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, timeout=case.timeout, env=environment(), cwd=folder
    )
    record = target.read_text() if target.exists() else None
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), record


def complaint(case, mode, code, out, err, text, checked=False):
    """What is wrong with a run, or None. With every check on, a known finding is all that has to come."""
    if checked and case.finding:
        return None if re.search(case.finding, err) else f"/{case.finding}/ is not found"
    if code != case.code:
        return f"exit code {code}, not {case.code}"
    if case.out_exact is not None and out != case.out_exact:
        return f"standard output is not what it should be:\n{case.out_exact}"
    at = 0
    for pattern in case.out:
        found = re.compile(pattern, re.M).search(out, at)
        if not found:
            return f"/{pattern}/ is not on standard output (or not in this order)"
        at = found.end()
    for pattern in case.err:
        if not re.search(pattern, err, re.M):
            return f"/{pattern}/ is not on standard error"
    # Programs provoke errors on purpose, and each is named once; anything else that the libraries say is a mistake of theirs.
    said = [line for line in err.splitlines() if line.startswith("warpwatt:") and " returns " not in line]
    if case.quiet and said:
        return f"the libraries had something to say: {said[0]}"
    if case.code == 125:
        return None
    if text is None:
        return "no record was written"
    record = json.loads(text)
    launches, kernels = record["totals"]["launches"], record["kernels"]
    if case.kernels is not None and launches < case.kernels:
        return f"the record has {launches} launches, not {case.kernels}"
    if sum(group["launches"] for group in record["by_kernel"]) != launches:
        return "the launches by kernel do not add up"
    if record["mode"] != mode:
        return f"the record's mode is {record['mode']}"
    if mode == "timed" and not all(k["cycles"] > 0 for k in kernels + record["by_kernel"]):
        return "a timed kernel took no cycles"
    return case.record(record, mode) if case.record else None


def issued(text):
    """Warp instructions by kernel."""
    counts = Counter()
    for kernel in json.loads(text)["by_kernel"]:
        counts[kernel["name"]] += kernel["warp_instructions"]
    return counts


def same_instructions(case, records):
    """What is wrong if a functional and a timed run of a case issue different instructions, or None."""
    if len(records) != 2 or any(json.loads(text)["status"] != "complete" for text in records.values()):
        return None
    functional, timed = (issued(records[mode]) for mode in ("functional", "timed"))
    differing = [k for k in functional | timed if functional[k] != timed[k] and not (case.spins and re.search(case.spins, k))]
    return "; ".join(f"{k}: {functional[k]} warp instructions functional, {timed[k]} timed" for k in differing) or None


def without_host(text):
    record = json.loads(text)
    del record["host"]
    return json.dumps(record, indent=1)


def run_case(warpwatt, flags, case, mode, records):
    """Returns (name, complaint or None, seconds), and puts the record in `records` by its mode."""
    name, start = f"{case.name} {mode}", time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        try:
            code, out, err, text = execute(warpwatt, flags, case, mode, folder)
            checked = "--check=all" in flags
            if text is not None and not checked:
                records[mode] = text
            wrong = complaint(case, mode, code, out, err, text, checked)
            if not wrong and case.twice and mode == "timed" and not checked:
                again = execute(warpwatt, flags, case, mode, folder)[3]
                if again is None or without_host(text) != without_host(again):
                    wrong = "a second run gave another record: " + first_difference(without_host(text), without_host(again or "{\"host\":0}"))
            if wrong:
                wrong += f"\n--- standard output\n{out[-3000:]}\n--- standard error\n{err[-3000:]}"
        except subprocess.TimeoutExpired as e:
            said = ((e.stdout or b"") + (e.stderr or b"")).decode(errors="replace")
            wrong = f"no end after {case.timeout} seconds\n{said[-3000:]}"
    return name, wrong, time.monotonic() - start


def first_difference(a, b):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if x != y:
            return f"{x.strip()} / {y.strip()}"
    return "one is longer"


def build_all(names, pool):
    """Builds in two rounds, since some need others; returns what could not be built."""
    failed = {}
    for wave in ([n for n in names if not RECIPES[n].after], [n for n in names if RECIPES[n].after]):

        def one(name):
            try:
                build(name)
            except BuildError as e:
                failed[name] = str(e)

        list(pool.map(one, wave))
    return failed


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("only", nargs="*", metavar="REGEX")
    arguments.add_argument("--long", action="store_true")
    arguments.add_argument("--list", action="store_true", help="name the cases and stop")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--warpwatt", type=Path, default=ROOT / "target" / "release" / "warpwatt")
    arguments.add_argument("--numba-grow", action="store_true", help="run numba-cuda's tests, or the files that match, and add what passes to the list")
    arguments.add_argument("--technique", metavar="NAME[:KEY=VALUE,...]", help="timed runs alone, with a technique whose values are verified")
    arguments.add_argument("--checked", action="store_true", help="with every check on")
    options = arguments.parse_args()
    # Techniques of the register file want banks of eight arrays.
    flags = ["--set", "sm.rf.sub_banks=8", "--with", options.technique, "--verify-techniques"] if options.technique else []
    flags += ["--check=all"] if options.checked else []
    options.warpwatt = options.warpwatt.resolve()  # programs are run in folders of their own

    def wanted(name):
        return any(re.search(r, name) for r in options.only) if options.only else True

    cases = [(c, m) for c in CASES for m in c.modes if wanted(f"{c.name} {m}") and (options.long or options.only or not c.long)]
    if options.technique:
        cases = [(c, m) for c, m in cases if m == "timed"]
    # The longest first, so that two at a time end together.
    cases.sort(key=lambda c: -c[0].timeout)
    # Time on a busy machine proves nothing: it is measured when asked for.
    extra = [n for n in ("signals", "speed", "numba-suite") if wanted(n) and (n != "speed" or options.long or options.only)]
    if options.checked:
        extra = []
    if options.list:
        print("\n".join([f"{c.name} {m}" for c, m in cases] + extra))
        return 0
    for needed, how in ((options.warpwatt, "cargo build --release"), (PYTHON, "tools/setup-clients"), (CLIENTS / "cuda-11.8/.finished", "tools/setup-clients")):
        if not needed.exists():
            print(f"{needed} is not there: run {how}\n0 passed, 1 failed")
            return 1
    if options.numba_grow:
        return numba_suite.grow(options.warpwatt, environment(), options.jobs, wanted)

    passed = failed = 0

    def tell(name, wrong, seconds):
        nonlocal passed, failed
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"{'FAILED' if wrong else 'passed'}  {name}  ({seconds:.1f} s)" + (f": {wrong}" if wrong else ""), flush=True)

    PROGRAMS.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        names = {b for c, _ in cases for b in c.builds} | (set(speed.BUILDS) if "speed" in extra else set())
        names |= set(signals.BUILDS) if "signals" in extra else set()
        names |= {a for n in names for a in RECIPES[n].after}
        broken = build_all(sorted(names, key=lambda n: n != "cub"), pool)
        for name, why in broken.items():
            tell(f"build of {name}", why, 0)
        able = [(c, m) for c, m in cases if not set(c.builds) & set(broken)]
        records = {c.name: {} for c, _ in able}
        for result in pool.map(lambda cm: run_case(options.warpwatt, flags, *cm, records[cm[0].name]), able):
            tell(*result)
        for case in {c.name: c for c, _ in able if len(records[c.name]) == 2}.values():
            tell(f"{case.name} instructions", same_instructions(case, records[case.name]), 0)
    if "signals" in extra and not set(signals.BUILDS) & set(broken):
        for result in signals.check(options.warpwatt, environment()):
            tell(*result)
    if "numba-suite" in extra:
        for result in numba_suite.check(options.warpwatt, flags, environment(), options.jobs, everything=options.long):
            tell(*result)
    if "speed" in extra and not set(speed.BUILDS) & set(broken):
        for result in speed.measure(options.warpwatt, environment()):
            tell(*result)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
