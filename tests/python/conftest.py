# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all tests use: the command that the package is compared with, and files of the examples."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def without_host(document):
    """A document without what differs from run to run, and without the commit, which differs where command and package were built at two of them."""
    kept = {key: value for key, value in document.items() if key != "host"}
    if "tool" in kept:
        kept["tool"] = {key: value for key, value in kept["tool"].items() if key != "commit"}
    return kept


@pytest.fixture(scope="session")
def command():
    """Runs the `warpwatt` command, and gives what it wrote to stdout."""
    program = os.environ["WARPWATT_COMMAND"]

    def run(*words, code=0):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, cwd=ROOT, timeout=600)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def recorded(command):
    """The record of `warpwatt run`, without its host part."""
    return lambda *words, code=0: without_host(json.loads(command("run", *words, "-q", "--json", "-", code=code)))


@pytest.fixture
def saxpy():
    return ROOT / "examples/saxpy/saxpy.ptx"
