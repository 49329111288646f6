# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes written in Python, in MLIR's registry under a name of their own.

An exception must not cross MLIR's C++ frames. It is kept while the pass fails, and raised again, as
itself, by the `PassManager.run` or the tool that ran the pass.
"""

import functools
import re
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir, passmanager

from . import _tile, validation


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


_passes: dict[str, Callable[[ir.Operation], None]] = {}
_pipelines: dict[str, tuple[list[tuple[str, str, str]], Callable[..., str]]] = {}


def register_pass(argument: str, description: str) -> Callable[[Any], Any]:
    """Register the decorated function, which takes the outermost module, as pass `argument`.

    `description` is what `--help` of the tools says of it. The function fails the pass by raising:
    `PassFailure` becomes a diagnostic, and anything else arrives at the caller of the pass manager
    with its traceback. Registering a name again from Python replaces the function.

    Raises `TypeError` and `ValueError` for what is no name, or that of a pass of MLIR's.
    """
    _check_texts(argument, description)

    def register(function: Callable[[ir.Operation], None]) -> Callable[[ir.Operation], None]:
        def run(op: ir.Operation) -> bool:
            try:
                with op.context:
                    _passes[argument](op)
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

        if _is_new(argument, function, _passes.get(argument)):
            _tile.register_pass(argument, description, run)
        _passes[argument] = function
        return function

    return register


def register_pipeline(
    argument: str, description: str, options: list[tuple[str, str, str]]
) -> Callable[[Any], Any]:
    """Register the decorated function as pipeline `argument`, with a `description` for `--help`.

    `options` are triples of a name, a description and the default's text. The function takes their
    values as text, by position, and returns the text of a pipeline; a `ValueError` becomes the
    error of whoever parses the pipeline. Registering a name again from Python, with the same
    options, replaces the function.

    Raises `TypeError` and `ValueError` for what is no name, or that of a pass of MLIR's.
    """
    _check_texts(argument, description)
    options = [_checked_option(option) for option in options]
    if len({name for name, _, _ in options}) < len(options):
        raise ValueError(f"options must have different names, got {options!r}")

    def register(function: Callable[..., str]) -> Callable[..., str]:
        def build(values: Sequence[str]) -> tuple[bool, str]:
            try:
                text = _pipelines[argument][1](*values)
            except ValueError as error:
                return False, str(error)
            if not isinstance(text, str):
                return False, f"'{argument}' must return the text of a pipeline, got {text!r}"
            return True, text

        before, known = _pipelines.get(argument, (options, None))
        if _is_new(argument, function, known):
            _tile.register_pipeline(argument, description, options, build)
        elif before != options:
            raise ValueError(
                f"options must be those that '{argument}' was registered with, {before!r}, got "
                f"{options!r}"
            )
        _pipelines[argument] = (options, function)
        return function

    return register


_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*", re.ASCII)
"""What the text of a pass pipeline can name."""


def _check_texts(argument: object, description: object) -> None:
    validation.text("argument", argument)
    validation.text("description", description)
    if not _NAME.fullmatch(str(argument)):
        raise ValueError(f"argument must be letters, digits, '-', '_' and '.', got {argument!r}")


def _checked_option(option: Any) -> tuple[str, str, str]:
    if not isinstance(option, tuple) or [*map(type, option)] != [str, str, str]:
        raise validation.wrong_type("options", "triples of text", option)
    name, description, default = option
    if not _NAME.fullmatch(name):
        raise ValueError(f"options must have names like those of passes, got {name!r}")
    return name, description, default


def _is_new(argument: str, function: Any, known: Any) -> bool:
    """Return whether a name is new, and not that of `known` from the same module.

    Raises `ValueError` for one that is taken: MLIR would end the process over it.
    """
    module = getattr(function, "__module__", "")
    taken = argument in _passes or argument in _pipelines
    if known is not None and getattr(known, "__module__", "") == module:
        return False
    if not taken and module.partition(".")[0] == __name__.partition(".")[0]:
        return True  # names of this package are new, and asking takes longer than all else here
    if taken or _is_mlirs(argument):
        raise ValueError(f"argument must be a new name, got '{argument}', which is registered")
    return True


def _is_mlirs(argument: str) -> bool:
    with ir.Context():
        try:
            passmanager.PassManager.parse(f"any({argument})")
        except ValueError as error:
            return "does not refer to a registered pass" not in str(error)
    return True


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
