# SPDX-License-Identifier: MIT OR Apache-2.0
"""Documentation: the examples of docs/python.md and the notebook run, stubs and docstrings fit what is there."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warpwatt as ww
from conftest import ROOT

PAGE = (ROOT / "docs/python.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def test_the_examples_run_one_after_the_other(tmp_path):
    for package in ("numpy", "pandas", "polars"):
        pytest.importorskip(package)
    assert len(EXAMPLES) > 5
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = "\n".join(EXAMPLES)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr


def test_the_notebook_runs(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    notebook = nbformat.read(ROOT / "examples/notebook/tour.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "the notebook is kept without results"
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    assert kinds.count("text/html") >= 4, kinds
    # For looking at it: WARPWATT_NOTEBOOK names a file for the notebook with its results.
    if target := os.environ.get("WARPWATT_NOTEBOOK"):
        nbformat.write(notebook, target)


def stubs():
    tree = ast.parse((Path(ww.__file__).parent / "_warpwatt.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return functions, classes


def test_stubs_have_what_is_there():
    from warpwatt import _warpwatt

    functions, classes = stubs()
    del classes["Options"]
    public = {name: value for name, value in vars(_warpwatt).items() if not name.startswith("_")}
    assert set(functions) == {name for name, value in public.items() if not inspect.isclass(value)}
    assert set(classes) == {name for name, value in public.items() if inspect.isclass(value)}
    # Methods that every object has need no line.
    usual = {"__repr__", "__str__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__doc__", "__module__"}
    for name, node in classes.items():
        named = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        named |= {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
        there = {key for key in vars(public[name]) if key not in usual}
        assert named - {"__new__", "__eq__", "__hash__"} == there - {"__new__", "__eq__", "__hash__"}, name


def test_signatures_are_those_of_the_stubs():
    from warpwatt import _warpwatt

    functions, classes = stubs()
    pairs = [(getattr(_warpwatt, name), node) for name, node in functions.items()]
    for name, node in classes.items():
        if name != "Options":
            kind = getattr(_warpwatt, name)
            pairs += [(getattr(kind, part.name), part) for part in node.body
                      if isinstance(part, ast.FunctionDef) and not part.name.startswith("__")]
    for value, node in pairs:
        parameters = [name for name in inspect.signature(value).parameters if name != "self"]
        arguments = node.args
        told = [argument.arg for argument in arguments.posonlyargs + arguments.args if argument.arg != "self"]
        told += [arguments.vararg.arg] if arguments.vararg else []
        told += [argument.arg for argument in arguments.kwonlyargs]
        told += [arguments.kwarg.arg] if arguments.kwarg else []
        assert parameters == told, value


def test_everything_has_a_docstring():
    for name in ww.__all__:
        value = getattr(ww, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and value.__module__ == "warpwatt":
            for part, member in vars(value).items():
                obvious = {"name", "workload", "size", "seed", "technology", "folder", "column_names", "num_rows", "num_columns",
                           "warp_instructions", "thread_instructions"}
                if not part.startswith("_") and part not in obvious:
                    assert inspect.getdoc(member), f"{name}.{part}"


def test_the_options_of_the_stub_are_those_of_the_package():
    _, classes = stubs()
    told = [part.target.id for part in classes["Options"].body if isinstance(part, ast.AnnAssign)]
    with pytest.raises(TypeError) as raised:
        ww.run("vecadd@tiny", zzzzzzzzzzzzzzzz=1)
    assert str(raised.value).split("the options are ")[1].split(", ") == told
    for name in told:
        assert f"`{name}`" in PAGE, name


@pytest.mark.skipif(not os.environ.get("WARPWATT_LONG"), reason="it takes a while: in the long tests")
def test_types_are_right(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "examples.py").write_text("\n".join(EXAMPLES))
    package = Path(ww.__file__).parent
    words = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--allow-untyped-calls", str(tmp_path / "examples.py"), str(package)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
