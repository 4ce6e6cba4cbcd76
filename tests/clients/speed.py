# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the libraries cost: start-up, launches a second, and their share of a functional run. The best of several runs counts,
since a busy machine only ever makes them slower."""

import resource
import subprocess
import tempfile
import time
from pathlib import Path

from building import PROGRAMS

BUILDS = ["launches", "overhead", "overhead.ptx"]
LAUNCHES = 20  # of overhead.cu's kernel

LAUNCH_FILE = """
ptx = "{ptx}"

[[buffer]]
name = "p"
type = "u32"
count = 62464
""" + """
[[step]]
launch = "spin"
grid = 240
block = 256
args = ["buf:p", {{ i32 = 200 }}]
""" * LAUNCHES


def seconds(command, environment, processor=False):
    """Wall time of a command, or the processor's; it has to succeed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=120)
    took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime if processor else took), done.stdout.decode()


def start_up(warpwatt, environment):
    """From nothing to a program that has its device, against a program that does nothing at all."""
    for mode in (["--functional"], []):
        run = [warpwatt, "exec", "-q", *mode, "--", PROGRAMS / "launches"]
        cost = min(seconds(run, environment)[0] for _ in range(10)) - min(seconds(["true"], environment)[0] for _ in range(10))
        yield f"start-up {'functional' if mode else 'timed'}: {cost * 1000:.0f} ms", cost < 0.050, "50 ms are allowed"


def rates(warpwatt, environment):
    for mode in (["--functional"], []):
        run = [warpwatt, "exec", "-q", *mode, "--", PROGRAMS / "launches", 1000]
        best = {}
        for _ in range(3):
            for line in seconds(run, environment)[1].splitlines():
                kind, rate = line.split()
                best[kind] = max(best.get(kind, 0), float(rate))
        for kind, rate in best.items():
            name = f"launches a second, {kind}, {'functional' if mode else 'timed'}: {rate:.0f}"
            yield name, rate >= 1000, "1000 are needed"


def overhead(warpwatt, environment):
    """Processor time of the same launches by `run` and by `exec`, in turns."""
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        launch = Path(folder) / "overhead.toml"
        launch.write_text(LAUNCH_FILE.format(ptx=PROGRAMS / "overhead.ptx"))
        plain = [warpwatt, "run", "--functional", "--launch", launch, "--json", Path(folder) / "run.json", "-q"]
        through = [warpwatt, "exec", "-q", "--functional", "--", PROGRAMS / "overhead", LAUNCHES]
        pairs = [(seconds(plain, environment, True)[0], seconds(through, environment, True)[0]) for _ in range(5)]
    a, b = (min(times) for times in zip(*pairs))
    share = (b - a) / a * 100
    yield f"share of the libraries in a functional run: {share:.1f} % of {a:.2f} s", share < 5, "5 % are allowed"


def measure(warpwatt, environment):
    for part in (start_up, rates, overhead):
        start = time.monotonic()
        try:
            for name, good, limit in part(warpwatt, environment):
                yield name, None if good else limit, time.monotonic() - start
                start = time.monotonic()
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            yield f"speed: {part.__name__}", str(e), time.monotonic() - start
