# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage run: the run-time library, the devices it runs on, and its errors."""

from mlir_tile.runtime.devices import Device, DeviceInfo, device_info
from mlir_tile.runtime.errors import (
    CompileError,
    DeviceUnavailable,
    EmulatorError,
    Error,
    KernelTimeout,
    Launch,
    LaunchError,
)
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import Signature, signatures_of

__all__ = [
    "CompileError",
    "Device",
    "DeviceInfo",
    "DeviceUnavailable",
    "EmulatorError",
    "Error",
    "Executable",
    "KernelTimeout",
    "Launch",
    "LaunchError",
    "Signature",
    "device_info",
    "signatures_of",
]
