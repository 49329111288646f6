# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what calls the run-time library on the emulator, and raises what the emulator says."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from mlir_tile.errors import EmulatorError, EmulatorWarning, KernelTimeout
from mlir_tile.runtime.driver_emulator import Session, emulator_driver
from mlir_tile.runtime.library import Failure

__all__ = ["run_emulated"]

_LONGER = "use a smaller problem, or a longer timeout (timeout, or --timeout)"
_SMALLER = "look for an endless loop, or use a smaller problem"


def run_emulated(
    run: Callable[[int, Session], Failure],
    schedule: str | None,
    checks: str | None,
    timeout: float | None,
    keep_going: bool,
) -> None:
    """Call `run` with the emulator's driver table and a device; raise how it failed.

    Raises `EmulatorError` where a kernel broke a rule, `KernelTimeout` after `timeout` seconds, and
    `LaunchError` for what the run-time library refuses. With `keep_going` what a kernel went on
    after is an `EmulatorWarning`.
    """
    with Session(schedule, checks, timeout, keep_going) as session:
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
    kind = getattr(exception, "kind", "memory")
    if isinstance(exception, te.LaunchError):
        kind = "launch"
    elif isinstance(exception, te.PTXError):
        kind = "ptx"
    launch = failure.launch()
    text = str(exception)
    if kind == "limit":
        # The emulator names its own options, which are not those of a host call.
        from tile_emulator.limits import MORE_SECONDS, MORE_STEPS

        is_timeout = text.endswith(MORE_SECONDS)
        text = text.replace(MORE_SECONDS, _LONGER).replace(MORE_STEPS, _SMALLER)
        if is_timeout and timeout is not None:
            raise KernelTimeout(text, call="emulator", launch=launch)
    # Its frames are the emulator's, and hold the memory of the launch.
    report = exception.with_traceback(None)
    raise EmulatorError(text, kind=kind, launch=launch, report=report)
