# SPDX-License-Identifier: MIT OR Apache-2.0
"""Signals that ask a program to end while a kernel runs: it ends soon, as by the signal, and leaves a partial record."""

import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from building import PROGRAMS

BUILDS = ["endless"]
# A second is what it may take; a busy machine gets more.
MOST_SECONDS = 5


def check(warpwatt, environment):
    """Yields (name, complaint, seconds)."""
    for mode in ("functional", "timed"):
        for sent in (signal.SIGTERM, signal.SIGHUP):
            start = time.monotonic()
            wrong = one(warpwatt, environment, ["--functional"] if mode == "functional" else [], sent)
            yield f"signals {sent.name} {mode}", wrong, time.monotonic() - start


def one(warpwatt, environment, flags, sent):
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        target = Path(folder) / "record.json"
        command = [warpwatt, "exec", "-q", "--json", target, *flags, "--", PROGRAMS / "endless"]
        # Where tests run in the background these may be ignored, which programs inherit.
        child = subprocess.Popen(
            [str(c) for c in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGTERM, signal.SIGHUP)],
        )
        try:
            said = child.stdout.readline()
            if b"launched" not in said:
                return f"the program says {said}: {child.communicate(timeout=60)}"
            start = time.monotonic()
            child.send_signal(sent)
            _, err = child.communicate(timeout=60)
            took = time.monotonic() - start
        except subprocess.TimeoutExpired:
            child.kill()
            return "no end a minute after the signal"
        if child.returncode not in (128 + sent, -sent):
            return f"exit code {child.returncode}, not {128 + sent}: {err.decode()[-500:]}"
        if took > MOST_SECONDS:
            return f"it took {took:.1f} seconds to end"
        if not target.exists():
            return "no record was written"
        record = json.loads(target.read_text())
        # The signal may come before the kernel's first instruction.
        if record["status"] != "partial" or len(record["kernels"]) != 1:
            return f"the record is {record['status']} and has {len(record['kernels'])} kernels"
        return None
