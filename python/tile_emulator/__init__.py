# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run PTX on the CPU, with the semantics of clusters, mbarriers and the async proxy.

Needs Python and NumPy only. `parse` reads PTX, `Device` has memory and launches kernels, and a
kernel that breaks a rule of the machine raises an `EmulationError` that explains it.
"""

from __future__ import annotations

from tile_emulator.device import Device
from tile_emulator.emulate import emulate
from tile_emulator.errors import (
    KINDS,
    EmulationError,
    Error,
    LaunchError,
    PTXError,
)
from tile_emulator.instructions.table import is_known
from tile_emulator.machine.launch import Report
from tile_emulator.ptx.module import Function, Kernel, Module, Param, Variable
from tile_emulator.ptx.parser import parse as _parse

__all__ = [
    "KINDS",
    "Device",
    "EmulationError",
    "Error",
    "Function",
    "Kernel",
    "LaunchError",
    "Module",
    "PTXError",
    "Param",
    "Report",
    "Variable",
    "emulate",
    "parse",
]


def parse(ptx: str) -> Module:
    """Parse the text `ptx`; raises PTXError with the line of what cannot be read or is unknown."""
    return _parse(ptx, is_known)
