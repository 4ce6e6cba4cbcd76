# SPDX-License-Identifier: MIT OR Apache-2.0
"""A pytest plugin that writes each test's outcome to the file named in OUTCOMES as soon as it is known, so that a crash loses
nothing: `start ID`, then `passed ID`, `failed ID` or `skipped ID`. It also has the fixture that numba-cuda's tests ask for, which
their wheel lacks."""

import os

import pytest

_file = open(os.environ["OUTCOMES"], "a", buffering=1)


def _write(word, node):
    _file.write(f"{word} {node}\n")


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False


def pytest_runtest_logstart(nodeid, location):
    _write("start", nodeid)


_worst = {}


def pytest_runtest_logreport(report):
    """Set-up, the call and tear-down each report; a test has passed if all three have."""
    rank = {"passed": 0, "skipped": 1, "failed": 2}
    _worst[report.nodeid] = max(_worst.get(report.nodeid, "passed"), report.outcome, key=rank.get)
    if report.when == "teardown":
        _write(_worst.pop(report.nodeid), report.nodeid)
