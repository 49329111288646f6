# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous tile copies between the CTAs of a cluster, as an MLIR dialect.

Importing this package registers the tile dialect with every `mlir.ir.Context` that is created
later, and its passes and pipelines with MLIR.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .interpreters import refuse_sub_interpreters as _refuse_sub_interpreters

_refuse_sub_interpreters()

from .registration import register as _register  # noqa: E402

_register()

from .compiler.lowering import lower  # noqa: E402
from .compiler.parsing import parse, parse_file  # noqa: E402
from .contexts import context, load_dialect  # noqa: E402
from .entry_points import load_entry_points  # noqa: E402
from .errors import (  # noqa: E402
    CompileError,
    CompilerCrash,
    CompileWarning,
    DeviceUnavailable,
    EmulatorError,
    EmulatorWarning,
    Error,
    KernelTimeout,
    LaunchError,
    LoadError,
)
from .program import compile  # noqa: E402

if TYPE_CHECKING:
    from .benchmarking import benchmark
    from .pipelining import PipelineState
    from .runtime.devices import device_info
    from .runtime.saved import load
    from .variants import Cost, register_variant, replace_variant

    __version__: str

__all__ = [
    "CompileError",
    "CompileWarning",
    "CompilerCrash",
    "Cost",
    "DeviceUnavailable",
    "EmulatorError",
    "EmulatorWarning",
    "Error",
    "KernelTimeout",
    "LaunchError",
    "LoadError",
    "PipelineState",
    "benchmark",
    "compile",
    "context",
    "device_info",
    "load",
    "load_dialect",
    "lower",
    "parse",
    "parse_file",
    "register_variant",
    "replace_variant",
]


_LATE = {
    "Cost": "variants",
    "PipelineState": "pipelining",
    "benchmark": "benchmarking",
    "device_info": "runtime.devices",
    "load": "runtime.saved",
    "register_variant": "variants",
    "replace_variant": "variants",
}


if not TYPE_CHECKING:  # to which a misspelt name is an error

    def __getattr__(name: str) -> Any:
        """Import what builds or runs programs, and read the version, on first use."""
        if name in _LATE:
            return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
        if name == "__version__":
            from importlib.metadata import version

            return version("mlir-tile")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names, including those that are imported on first use."""
    return sorted({*globals(), *_LATE, "__version__"})


# They may use all of the above.
load_entry_points()
