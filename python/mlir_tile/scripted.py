# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes written in Python, in MLIR's registry under a name of their own.

An exception must not cross MLIR's C++ frames. It is kept while the pass fails, and raised again, as
itself, by the `PassManager.run` or the tool that ran the pass.
"""

import functools
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir, passmanager

from . import _tile


class PassFailure(Exception):
    """Ends a pass after a diagnostic at `op`: wrong input, not a bug.

    `message` is a whole diagnostic without the op's name in front; `note` says how to mend it.
    """

    def __init__(self, op: ir.Operation | ir.OpView, message: str, note: str = "") -> None:
        super().__init__(message)
        self.op = op.operation
        self.message = message
        self.note = note


_pending = threading.local()


def take_exception() -> BaseException | None:
    """Return what a Python pass of this thread raised last, once; None if nothing did."""
    exception: BaseException | None = getattr(_pending, "exception", None)
    _pending.exception = None
    return exception


def take_traceback() -> str:
    """Return that exception with its traceback as text, which needs no context; empty if none."""
    return _pending.traceback if take_exception() else ""


def register_pass(argument: str, description: str) -> Callable[[Any], Any]:
    """Register the decorated function, which takes the outermost module, as pass `argument`.

    `description` is what `--help` of the tools says of it. The function fails the pass by raising:
    `PassFailure` becomes a diagnostic, and anything else arrives at the caller of the pass manager
    with its traceback.
    """

    def register(function: Callable[[ir.Operation], None]) -> Callable[[ir.Operation], None]:
        def run(op: ir.Operation) -> bool:
            try:
                with op.context:
                    function(op)
            except PassFailure as failure:
                _tile.emit_error(failure.op, failure.message, failure.note)
                return False
            except BaseException as exception:
                _pending.exception = exception
                _pending.traceback = traceback.format_exc()
                text = f"'{argument}' raised {type(exception).__name__}: {exception}"
                _tile.emit_error(op, text, "")
                return False
            return True

        _tile.register_pass(argument, description, run)
        return function

    return register


def register_pipeline(
    argument: str, description: str, options: list[tuple[str, str, str]]
) -> Callable[[Any], Any]:
    """Register the decorated function as pipeline `argument`, with a `description` for `--help`.

    `options` are triples of a name, a description and the default's text. The function takes their
    values as text, by position, and returns the text of a pipeline; a `ValueError` becomes the
    error of whoever parses the pipeline.
    """

    def register(function: Callable[..., str]) -> Callable[..., str]:
        def build(values: Sequence[str]) -> tuple[bool, str]:
            try:
                return True, function(*values)
            except ValueError as error:
                return False, str(error)

        _tile.register_pipeline(argument, description, options, build)
        return function

    return register


def raise_from_passes() -> None:
    """Let `PassManager.run` raise what a Python pass raised, instead of only that a pass failed."""
    run = passmanager.PassManager.run

    @functools.wraps(run)
    def run_and_raise(self: passmanager.PassManager, operation: Any) -> None:
        take_exception()
        try:
            run(self, operation)
        except ir.MLIRError:
            if exception := take_exception():
                raise exception  # noqa: B904  (the pass's failure stays as its context)
            raise

    passmanager.PassManager.run = run_and_raise
