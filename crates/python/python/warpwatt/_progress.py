# SPDX-License-Identifier: MIT OR Apache-2.0
"""Progress of long work: a line in a terminal, a bar in a notebook, a function of the caller's, or nothing."""

from __future__ import annotations

import html
import shutil
import sys
from collections.abc import Callable
from typing import Any, Protocol


class Display(Protocol):
    """What the simulator calls about ten times a second, and once at the end."""

    def update(self, done: int, total: int, text: str) -> None: ...

    def close(self) -> None: ...


class Nothing:
    def update(self, done: int, total: int, text: str) -> None:
        pass

    def close(self) -> None:
        pass


class Function:
    """Calls a function of the caller's; an exception that it raises ends the run."""

    def __init__(self, function: Callable[[int, int, str], Any]) -> None:
        self.function = function

    def update(self, done: int, total: int, text: str) -> None:
        self.function(done, total, text)

    def close(self) -> None:
        pass


class Terminal:
    """One line on standard error, which is gone in the end."""

    def __init__(self) -> None:
        self.width = 0

    def update(self, done: int, total: int, text: str) -> None:
        share = f"{100 * done // total:3d}% " if total else ""
        line = (share + text)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self) -> None:
        sys.stderr.write("\r" + " " * self.width + "\r")
        sys.stderr.flush()


class Notebook:
    """A bar below the cell, which is gone in the end."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self.make = HTML
        self.handle: Any = display(HTML(""), display_id=True)

    def update(self, done: int, total: int, text: str) -> None:
        bar = f'<progress value="{done}" max="{max(total, 1)}"></progress> <small>{html.escape(text)}</small>'
        self.handle.update(self.make(bar))

    def close(self) -> None:
        self.handle.update(self.make(""))


def in_notebook() -> bool:
    """Whether output goes to a kernel of Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def display(wanted: bool | Callable[[int, int, str], Any] | None) -> Display:
    """The display for the option `progress`: a function, nothing for False, and otherwise what suits the place."""
    if callable(wanted):
        return Function(wanted)
    if wanted is False:
        return Nothing()
    if in_notebook():
        return Notebook()
    stderr = sys.stderr
    if wanted or (stderr is not None and stderr.isatty()):
        return Terminal()
    return Nothing()
