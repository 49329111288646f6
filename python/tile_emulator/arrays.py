# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run one kernel on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tile_emulator.device import Device, check_module
from tile_emulator.errors import LaunchError
from tile_emulator.limits import DEFAULT_MAX_SECONDS, DEFAULT_MAX_STEPS
from tile_emulator.machine.launch import Report
from tile_emulator.ptx.module import Function, Module

_FLOATS: dict[int, Any] = {2: np.float16, 4: np.float32, 8: np.float64}


def emulate(
    module: Module,
    kernel: str,
    args: Sequence[Any] = (),
    *,
    grid: Any = (1, 1, 1),
    block: Any = (1, 1, 1),
    cluster: Any = None,
    smem: int = 0,
    schedule: str = "eager",
    checks: str = "default",
    max_steps: int = DEFAULT_MAX_STEPS,
    max_seconds: float = DEFAULT_MAX_SECONDS,
    keep_going: bool = False,
) -> Report:
    """Launch `kernel` of `module` with `args` on a device of its own, and return what it did.

    NumPy arrays are passed as pointers and written back afterwards, `bytes` as they are, NumPy
    scalars in their own size, and numbers in the parameter's. A read-only array is for kernels that
    only read it: `ValueError` where one has changed it, and then no array is written back. `grid`,
    `block`, `cluster` and `smem` are those of `Device.launch`; `schedule`, `checks`, `max_steps`,
    `max_seconds` and `keep_going` those of `Device`. Raises as they do.
    """
    device = Device(schedule, checks, max_steps, max_seconds, keep_going)
    check_module(module)
    arrays: list[tuple[int, int, Any]] = []
    values = []
    function = module.kernels.get(kernel)
    for number, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            address = device.alloc(max(arg.nbytes, 1))
            if arg.nbytes:
                device.write(address, np.ascontiguousarray(arg).tobytes())
            arrays.append((number, address, arg))
            values.append(address.to_bytes(8, "little"))
        else:
            values.append(scalar_bytes(arg, function, number))
    report = device.launch(module, kernel, grid, block, cluster, smem, values)
    results = [(*given, device.read(given[1], given[2].nbytes)) for given in arrays]
    for number, _, array, content in results:
        if not array.flags.writeable and content != array.tobytes():
            raise ValueError(
                f"argument {number} must be writeable, got a read-only array: kernel '{kernel}' "
                "changed it; pass a copy"
            )
    for _, _, array, content in results:
        if array.flags.writeable and array.nbytes:
            array[...] = np.frombuffer(content, dtype=array.dtype).reshape(array.shape)
    return report


def scalar_bytes(value: Any, function: Function | None, number: int) -> bytes:
    """Encode a scalar argument; raises LaunchError where it does not fit the parameter."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, np.generic):
        return value.tobytes()
    size = 4
    if function is not None and number < len(function.params):
        size = function.params[number].size
    try:
        if isinstance(value, float):
            with np.errstate(over="ignore"):
                rounded = _FLOATS[size](value)
            if np.isinf(rounded) and not math.isinf(value):
                raise OverflowError
            return bytes(rounded.tobytes())
        return int(value).to_bytes(size, "little", signed=int(value) < 0)
    except (KeyError, OverflowError, TypeError, ValueError):
        raise LaunchError(
            f"argument {number} ({value!r}) does not fit a parameter of {size} bytes"
        ) from None
