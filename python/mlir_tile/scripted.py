# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes written in Python, in MLIR's registry under a name of their own.

An exception must not cross MLIR's C++ frames. The pass fails with a diagnostic that says what was
raised and where; `run_passes` then raises the exception itself, and a tool shows it.
"""

import contextlib
import re
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mlir import ir
from mlir.passmanager import PassManager

from . import _tile, validation
from .contexts import one_thread


class PassFailure(Exception):
    """Ends a pass with a diagnostic at `op`: wrong input, not a bug.

    `message` is the diagnostic without the name of the op, and `note` the fix.
    """

    def __init__(self, op: ir.Operation | ir.OpView, message: str, note: str = "") -> None:
        super().__init__(message)
        self.op = op.operation
        self.message = message
        self.note = note


class _Taker(threading.local):
    """Receives the exceptions of the passes that this thread runs."""

    take: Callable[[BaseException], object] | None = None


_taker = _Taker()


@contextlib.contextmanager
def exceptions_to(take: Callable[[BaseException], object]) -> Iterator[None]:
    """Call `take` with each exception that a Python pass of this thread raises in the block."""
    before, _taker.take = _taker.take, take
    try:
        yield
    finally:
        _taker.take = before


def run_passes(op: ir.Operation | ir.OpView, passes: str) -> None:
    """Run `passes`, a pipeline as in `"builtin.module(cse)"`, on `op` in place and in one thread.

    What a Python pass raises arrives as itself, where `PassManager.run` would raise that the pass
    failed. Handles of ops inside `op` are invalid afterwards: a pass may have erased them, which
    upstream's bindings do not notice. Raises `ValueError` for a text that is no pipeline, and
    `MLIRError` where a pass fails.
    """
    op = op.operation
    raised: list[BaseException] = []
    with one_thread(op.context), exceptions_to(raised.append):
        try:
            PassManager.parse(passes, op.context).run(op)
        except ir.MLIRError:
            if not raised:
                raise
    if raised:
        raise raised[-1]


_passes: dict[str, Callable[[ir.Operation], None]] = {}
_pipelines: dict[str, tuple[list[tuple[str, str, str]], Callable[..., str]]] = {}


def register_pass(
    argument: str, description: str, *, changes_nothing: bool = False
) -> Callable[[Any], Any]:
    """Register the decorated function, which takes the outermost module, as pass `argument`.

    `description` is shown by `--help` of the tools. The function fails the pass by raising:
    `PassFailure` becomes a diagnostic. Anything else arrives as itself where `run_passes` or
    `mlir_tile.lower` runs the pass; `PassManager.run` raises an `MLIRError` that says what was
    raised and where. The module is verified afterwards, unless the pass `changes_nothing`.
    Registering a name again from Python replaces the function.

    Raises `TypeError` and `ValueError` for what is not a name, or the name of a pass of MLIR.
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
                if _taker.take is not None:
                    _taker.take(exception)
                text = f"'{argument}' raised {type(exception).__name__}: {exception}"
                at = traceback.extract_tb(exception.__traceback__)[-1]
                _tile.emit_error(op, text, f"in {at.name}, {at.filename}:{at.lineno}")
                return False
            return True

        if _is_new(argument, function, _passes.get(argument)):
            _tile.register_pass(argument, description, run, changes_nothing)
        _passes[argument] = function
        return function

    return register


def register_pipeline(
    argument: str, description: str, options: list[tuple[str, str, str]]
) -> Callable[[Any], Any]:
    """Register the decorated function as pipeline `argument`, with a `description` for `--help`.

    `options` are triples of a name, a description and the default's text. The function takes their
    values as text, by position, and returns the text of a pipeline; a `ValueError` becomes the
    error of the parser of pipelines. Registering a name again from Python, with the same
    options, replaces the function.

    Raises `TypeError` and `ValueError` for what is not a name, or the name of a pass of MLIR.
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
    if known is not None and getattr(known, "__module__", "") == module:
        return False
    if _tile.is_registered(argument):
        raise ValueError(f"argument must be a new name, got '{argument}', which is registered")
    return True
