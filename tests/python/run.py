#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the Python package, on the oldest and the newest Python from 3.10 on that this machine has.

The package is put together in target/python from the library that cargo built and the Python files of the tree, so that nothing is compiled here; with
--installed, the package is the one that `pip install .` builds. Environments with what the tests need are made in target/clients/python-VERSION, once.

    tests/python/run.py --library target/debug/deps/libwarpwatt_python.so --warpwatt target/debug/warpwatt [ARGUMENTS OF PYTEST]
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = Path(os.environ.get("WARPWATT_CLIENTS", ROOT / "target/clients"))
OLDEST = (3, 10)
# The oldest Python is for the package itself, the newest one for what it works together with.
FEW = ["numpy==2.2.6", "pytest==8.4.2"]
ALL = ["numpy==2.4.6", "pytest==8.4.2", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1", "nbclient==0.10.2", "ipykernel==6.30.1",
       "mypy==1.18.2", "nvidia-cuda-nvrtc-cu12==12.6.77"]


def version_of(python):
    """The version of a Python that can be run, or nothing."""
    script = "import sys, venv; print(*sys.version_info[:3])"
    try:
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def pythons():
    """Every Python from the oldest on, by version: those on the path, and those of pyenv."""
    names = ["python3", *(f"python3.{minor}" for minor in range(OLDEST[1], 20))]
    paths = [path for name in names if (path := shutil.which(name))]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    paths += sorted(map(str, root.glob("versions/3.*/bin/python3")))
    found = {}
    for path in paths:
        version = version_of(path)
        if version and version[:2] >= OLDEST:
            found.setdefault(version[:2], path)
    return found


def environment(version, python, packages):
    """A virtual environment with these packages; made anew when they change."""
    folder = CLIENTS / f"python-{version[0]}.{version[1]}"
    mark, wanted = folder / ".finished", "\n".join(packages)
    if not (mark.is_file() and mark.read_text() == wanted):
        print(f"installing {' '.join(packages)} into {folder}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, *packages]).returncode != 0:
            sys.exit(f"pip could not install {' '.join(packages)}")
        mark.write_text(wanted)
    return folder / "bin/python"


def assembled(library):
    """The package as a folder: Python files of the tree, and the library beside them."""
    package = ROOT / "target/python/warpwatt"
    shutil.rmtree(package.parent, ignore_errors=True)
    shutil.copytree(ROOT / "crates/python/python/warpwatt", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(library, package / "_warpwatt.abi3.so")
    return package.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=str(ROOT / "target/release/libwarpwatt_python.so"))
    parser.add_argument("--warpwatt", default=str(ROOT / "target/release/warpwatt"))
    parser.add_argument("--installed", action="store_true", help="build the package with `pip install .` and test that")
    parser.add_argument("--script", help="run this program with the newest Python and the package instead of the tests")
    args, rest = parser.parse_known_args()

    there = pythons()
    if not there:
        sys.exit("there is no Python 3.10 or later with its venv module; on Debian it is in python3-venv")
    newest, oldest = max(there), min(there)
    chosen = [(newest, ALL)] if newest == oldest or args.script else [(newest, ALL), (oldest, FEW)]
    if len(chosen) == 1 and not args.script:
        print(f"this machine has one Python from 3.10 on, {newest[0]}.{newest[1]}: the package is tested with that alone")
    settings = dict(os.environ, WARPWATT_COMMAND=str(Path(args.warpwatt).resolve()), PYTHONDONTWRITEBYTECODE="1")
    if not args.installed:
        settings["PYTHONPATH"] = str(assembled(args.library))
    for version, packages in chosen:
        python = environment(version, there[version], packages)
        print(f"Python {version[0]}.{version[1]}", flush=True)
        if args.installed:
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", str(ROOT)]
            subprocess.run(pip, check=True)
        words = [str(Path(args.script).resolve())] if args.script else ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests/python")]
        done = subprocess.run([str(python), *words, *rest], cwd=ROOT / "tests/python", env=settings)
        if done.returncode != 0:
            sys.exit(f"tests of the Python package failed with Python {version[0]}.{version[1]}")


if __name__ == "__main__":
    main()
