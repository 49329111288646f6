# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run calls of the run-time library on the emulator, and raise the emulator's errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlir_tile.errors import EmulatorError, EmulatorWarning, KernelTimeout
from mlir_tile.runtime.driver_emulator import Session, emulator_driver
from mlir_tile.runtime.kernel_signature import SharedNames
from mlir_tile.runtime.library import Failure

if TYPE_CHECKING:
    import tile_emulator as te

__all__ = ["run_emulated"]


def run_emulated(
    run: Callable[[int, Session], Failure],
    schedule: str | None,
    checks: str | None,
    timeout: float | None,
    keep_going: bool,
    names: SharedNames | None = None,
) -> None:
    """Call `run` with the emulator's driver table and a device; raise how it failed.

    Raises `EmulatorError` where a kernel broke a rule, `KernelTimeout` after `timeout` seconds, and
    `LaunchError` for what the run-time library refuses. With `keep_going` what a kernel went on
    after is an `EmulatorWarning`. Reports call shared memory by `names`.
    """
    with Session(schedule, checks, timeout, keep_going, names) as session:
        failure = run(emulator_driver(), session)
    exception = session.take_exception()
    for report in (*session.reports, *getattr(exception, "earlier", ())):
        warnings.warn(EmulatorWarning(str(report), kind=report.kind), stacklevel=3)
    if exception is None:
        if failure.kind:
            failure.throw()
        return
    import tile_emulator as te

    if not isinstance(exception, te.Error):
        raise exception
    kind = _kind(exception)
    launch = failure.launch()
    if kind == "time-limit" and timeout is not None:
        raise KernelTimeout(str(exception), call="emulator", launch=launch)
    # Its frames are the emulator's, and hold the memory of the launch.
    report = exception.with_traceback(None)
    raise EmulatorError(str(exception), kind=kind, launch=launch, report=report)


def _kind(error: te.Error) -> str:
    """Return the `kind` of an `EmulatorError` for what the emulator raised."""
    import tile_emulator as te

    if isinstance(error, te.EmulationError):
        return error.kind
    if isinstance(error, te.LaunchError):
        return "launch"
    return "ptx" if isinstance(error, te.PTXError) else "memory"
