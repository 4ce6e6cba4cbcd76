# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exceptions of the package. Each has the message, and advice in `help` where there is any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._warpwatt import Record, Results


class Error(Exception):
    """Whatever went wrong in a run, a sweep or a paper."""

    #: What to do about it.
    help: str | None
    #: The record of the run as far as it went, if there is one.
    record: Record | None
    #: What a sweep or a paper has in spite of it, if that is what failed.
    results: Results | None

    def __init__(
        self,
        message: str,
        *,
        help: str | None = None,
        record: Record | None = None,
        results: Results | None = None,
    ) -> None:
        super().__init__(message)
        self.help, self.record, self.results = help, record, results

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message}\nhelp: {self.help}" if self.help else message


class UsageError(Error, ValueError):
    """An argument, a parameter or a name that cannot be used; the message names the nearest one that can."""


class InputError(Error, ValueError):
    """A PTX text, a CUDA source, a launch file or a profile that cannot be used."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class CheckFailed(Error):
    """Values differ from the reference, or points of a sweep failed."""


class LimitReached(Error):
    """A limit ended something that leaves no record. Runs that reach a limit give their record, whose status is `partial`."""


class InternalError(Error):
    """A bug in warpwatt: please report it."""


class Fault(Error):
    """The simulated program did something that the machine answers with a fault."""

    #: Short name of the kind of fault, such as `out-of-bounds`.
    code: str | None
    #: The kernel, as in its source.
    kernel: str | None
    #: Number of its launch, from 0.
    launch: int | None
    #: Where it happened: in the source, or else in the PTX text.
    file: str | None
    line: int | None
    #: The line itself, where it is known.
    text: str | None
    #: Block and thread that did it.
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    #: Address and bytes of the access.
    address: int | None
    bytes: int | None
    #: The allocation that was hit, or the nearest one.
    allocation: str | None

    def __init__(self, message: str, **fields: Any) -> None:
        own = ("code", "kernel", "launch", "file", "line", "text", "block", "thread", "address", "bytes", "allocation")
        for name in own:
            setattr(self, name, fields.pop(name, None))
        super().__init__(message, **fields)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run, a sweep or a paper."""

    #: What to do about it.
    help: str | None
    #: The record of the run as far as it went, if there is one.
    record: Record | None
    #: What a sweep or a paper has so far.
    results: Results | None

    def __init__(
        self,
        message: str = "interrupted",
        *,
        help: str | None = None,
        record: Record | None = None,
        results: Results | None = None,
    ) -> None:
        super().__init__(message)
        self.help, self.record, self.results = help, record, results
