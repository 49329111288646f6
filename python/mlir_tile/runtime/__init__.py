# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage run: the run-time library, the devices it runs on, and its errors."""

from typing import TYPE_CHECKING

from mlir_tile.errors import (
    CompileError,
    DeviceUnavailable,
    EmulatorError,
    EmulatorWarning,
    Error,
    KernelTimeout,
    Launch,
    LaunchError,
)
from mlir_tile.late import late_names

if TYPE_CHECKING:
    from mlir_tile.runtime.devices import Device, DeviceInfo, device_info
    from mlir_tile.runtime.executable import Executable
    from mlir_tile.runtime.signature import Signature, signatures_of

__all__ = [
    "CompileError",
    "Device",
    "DeviceInfo",
    "DeviceUnavailable",
    "EmulatorError",
    "EmulatorWarning",
    "Error",
    "Executable",
    "KernelTimeout",
    "Launch",
    "LaunchError",
    "Signature",
    "device_info",
    "signatures_of",
]


_LATE = {
    "Device": "devices",
    "DeviceInfo": "devices",
    "Executable": "executable",
    "Signature": "signature",
    "device_info": "devices",
    "signatures_of": "signature",
}


# What calls functions is imported on first use, and NumPy with it.
if not TYPE_CHECKING:  # to which a misspelt name is an error
    __getattr__ = late_names(__name__, _LATE)


def __dir__() -> list[str]:
    """Return all names, including those that are imported on first use."""
    return sorted({*globals(), *_LATE})
