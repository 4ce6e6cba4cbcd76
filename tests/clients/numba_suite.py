# SPDX-License-Identifier: MIT OR Apache-2.0
"""numba-cuda's own tests, which its wheel has in numba/cuda/tests, under `warpwatt exec --functional`, or timed with a technique.

numba-passing.txt lists those that pass. The list may only grow: `run.py` fails if a test in it does not pass any more, and
`run.py --numba-grow` adds those that pass now. The list is run in two processes, in samples (./test) or whole (./test-long)."""

import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from building import CLIENTS, HERE, PYTHON

LIST = HERE / "numba-passing.txt"
SAMPLE = 80  # tests, about a minute on two cores
SAMPLE_TIMED = 200
HEADER = """\
# Tests of numba-cuda that pass under `warpwatt exec --functional`. This list may only grow;
# `tests/clients/run.py --numba-grow` adds to it. Versions are in tools/setup-clients. Some need a GPU of a higher capability,
# which `exec --capability` reports: "at 9.0".
"""


def tests_folder():
    found = list((CLIENTS / "venv").glob("lib/python3*/site-packages/numba_cuda/numba/cuda/tests"))
    if not found:
        raise FileNotFoundError("numba-cuda's tests are not there: run tools/setup-clients")
    return found[0]


def listed():
    """Tests of the list, each with the capability that it needs: {id: "9.0" or ""}."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    entries = (line.partition(" at ") for line in lines if line and not line.startswith("#"))
    return {name: capability for name, _, capability in entries}


def with_capability(flags, capability):
    return [*(flags or ["--functional"]), "--capability", capability] if capability else flags


def pytest(warpwatt, flags, *arguments):
    # The tests are in a package without a name of its own, which pytest would otherwise take for the package `cuda`.
    importing = ["--rootdir", tests_folder(), "-o", "consider_namespace_packages=true", "--import-mode=importlib", "-p", "no:cacheprovider"]
    command = [warpwatt, "exec", "-q", *(flags or ["--functional"]), "--", PYTHON, "-m", "pytest", "-q", *importing, *arguments]
    return [str(c) for c in command]


def run_some(warpwatt, flags, environment, ids, timeout):
    """Outcomes of these tests (or files), as far as they got: {id: passed | failed | skipped | died}."""
    with tempfile.TemporaryDirectory(prefix="numba-") as folder:
        outcomes = Path(folder) / "outcomes"
        command = pytest(warpwatt, flags, "--no-header", "--tb=no", "-p", "outcomes", "-W", "ignore", *(tests_folder() / i for i in ids))
        more = {"OUTCOMES": str(outcomes), "PYTHONPATH": str(HERE / "python")}
        log = open(Path(folder) / "log", "w+b")
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment | more, cwd=folder, start_new_session=True
        )
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
        result = {}
        for line in outcomes.read_text().splitlines() if outcomes.exists() else []:
            word, _, name = line.partition(" ")
            result[name] = "died" if word == "start" else word
        log.seek(0)
        return result, log.read()[-1500:].decode(errors="replace")


def check(warpwatt, flags, environment, jobs, everything):
    """Run the list or a sample of it; yields (name, complaint, seconds)."""
    start, entries = time.monotonic(), listed()
    ids = list(entries)
    if not ids:
        yield "numba-suite", f"{LIST} has no tests", 0
        return
    if everything:
        groups = {}
        for i in ids:
            groups.setdefault((i.partition("::")[0], entries[i]), []).append(i)
        parts, timeout = list(groups.values()), 1200
    else:
        # Neighbours in a file share what was compiled, so runs of two are taken, spread over the list.
        step = max(1, len(ids) // (SAMPLE_TIMED if flags else SAMPLE))
        sample = [i for k, i in enumerate(ids) if k // 2 % step == 0]
        usual = [i for i in sample if not entries[i]]
        half = (len(usual) + 1) // 2
        parts, timeout = [usual[:half], usual[half:], [i for i in sample if entries[i]]], 1200 if flags else 240
    results, logs = {}, []
    with ThreadPoolExecutor(jobs) as pool:

        def run(part):
            return run_some(warpwatt, with_capability(flags, entries[part[0]]), environment, part, timeout)

        for some, log in pool.map(run, [p for p in parts if p]):
            results |= some
            logs.append(log)
    wanted = [i for p in parts for i in p]
    lost = [i for i in wanted if results.get(i) != "passed"]
    wrong = None
    if lost:
        shown = "\n".join(f"  {i}: {results.get(i, 'not run')}" for i in lost[:30])
        wrong = f"{len(lost)} of {len(wanted)} tests that are in the list did not pass:\n{shown}\n{logs[0] if len(results) == 0 else ''}"
    yield f"numba-suite, {len(wanted)} of {len(ids)} tests of the list", wrong, time.monotonic() - start


def run_file(warpwatt, environment, file, timeout=900):
    """All tests of a file. One that ends the process, or leaves the device with an error, spoils those after it: they are tried again
    without it, for as long as that helps."""
    outcomes, remaining = {}, [file]
    while remaining:
        some, log = run_some(warpwatt, [], environment, remaining, timeout)
        before, outcomes = outcomes, outcomes | some
        if "died" in some.values():
            # What comes after the one that died is found by collecting without running.
            command = pytest(warpwatt, [], "--collect-only", tests_folder() / file)
            found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, cwd="/")
            names = [line for line in found.stdout.splitlines() if "::" in line]
            remaining = [n for n in names if n not in outcomes]
        else:
            failed = [i for i in some if some[i] == "failed"]
            helped = not before or "passed" in some.values()
            remaining = failed[1:] if helped else []
    counts = {w: list(outcomes.values()).count(w) for w in ("passed", "failed", "skipped", "died")}
    print(f"{file}: {counts}" + (f"\n{log}" if not outcomes else ""), flush=True)
    return outcomes


def line(name, capability):
    return f"{name} at {capability}\n" if capability else f"{name}\n"


def grow(warpwatt, environment, jobs, wanted=lambda file: True):
    """Run everything, or the files that are wanted, and add what passes to the list as it comes. Fails if a listed test did not pass."""
    files = sorted(str(f.relative_to(tests_folder())) for f in tests_folder().rglob("test_*.py"))
    files = [f for f in files if not f.startswith(("cudasim/", "benchmarks/", "nocuda/")) and wanted(f)]
    results, before = {}, listed()
    with ThreadPoolExecutor(jobs) as pool:
        for some in pool.map(lambda f: run_file(warpwatt, environment, f), files):
            results |= some
            passing = {i for i, word in results.items() if word == "passed"}
            draft = LIST.with_suffix(".draft")
            draft.write_text(HEADER + "".join(line(i, before.get(i)) for i in sorted(passing | set(before))))
            draft.replace(LIST)
            for i, word in sorted(some.items()):
                if word in ("failed", "died"):
                    print(f"  {word}  {i}", flush=True)
    lost = sorted(i for i in before if not before[i] and i.partition("::")[0] in files and results.get(i) != "passed")
    if lost:
        print("in the list, but did not pass:\n" + "\n".join(lost))
    print(f"{len(passing)} passed, {len(results) - len(passing)} did not; {len(passing - set(before))} added, {len(lost)} failed")
    return 1 if lost else 0
