# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run PTX on the CPU, with the semantics of clusters, mbarriers and the async proxy.

Needs Python and NumPy only. `parse` reads PTX, `Device` has memory and launches kernels, and a
kernel that breaks a rule of the machine raises an `EmulationError` that explains it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tile_emulator.errors import KINDS, EmulationError, Error, LaunchError, PTXError

if TYPE_CHECKING:
    from tile_emulator.arrays import emulate
    from tile_emulator.device import Device
    from tile_emulator.machine.launch import Report
    from tile_emulator.names import SharedName
    from tile_emulator.ptx.module import Function, Kernel, Module, Param, Variable
    from tile_emulator.tensor_maps import encode_tiled

    __version__: str

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
    "SharedName",
    "Variable",
    "emulate",
    "encode_tiled",
    "parse",
]

_LATE = {
    "Device": "device",
    "Report": "machine.launch",
    "SharedName": "names",
    "emulate": "arrays",
    "encode_tiled": "tensor_maps",
    **dict.fromkeys(["Function", "Kernel", "Module", "Param", "Variable"], "ptx.module"),
}


if not TYPE_CHECKING:  # to which a misspelt name is an error

    def __getattr__(name: str) -> Any:
        """Import only where it is asked for what takes long to import; read the version."""
        if name in _LATE:
            return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
        if name == "__version__":
            from importlib.metadata import version

            return version("mlir-tile")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def parse(ptx: str) -> Module:
    """Parse the text `ptx`; raises PTXError with the line of what cannot be read.

    Raises TypeError for what is no text.
    """
    if not isinstance(ptx, str):
        raise TypeError(f"ptx must be a str, got {ptx!r}"[:100])
    from tile_emulator.ptx import parser

    return parser.parse(ptx)


def __dir__() -> list[str]:
    """Return all names, also of what is imported only where it is asked for."""
    return sorted({*globals(), *_LATE})
