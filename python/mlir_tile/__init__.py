# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous tile copies between the CTAs of a cluster, as an MLIR dialect.

Importing this package makes the tile dialect known to every `mlir.ir.Context` made afterwards, and
its passes and pipelines known to `mlir.passmanager.PassManager.parse`.
"""

from importlib.metadata import version as _version

from . import registration as _registration

__version__ = _version("mlir-tile")

_registration.register()

from .compiler import compile, context, lower, parse, parse_file  # noqa: E402
from .pipelining import PipelineState  # noqa: E402
from .runtime.devices import device_info  # noqa: E402
from .runtime.errors import (  # noqa: E402
    CompileError,
    DeviceUnavailable,
    EmulatorError,
    Error,
    KernelTimeout,
    LaunchError,
    LoadError,
)
from .saved import load  # noqa: E402
from .variants import (  # noqa: E402
    Cost,
    load_entry_points,
    register_variant,
    replace_variant,
)

load_entry_points()

__all__ = [
    "CompileError",
    "Cost",
    "DeviceUnavailable",
    "EmulatorError",
    "Error",
    "KernelTimeout",
    "LaunchError",
    "LoadError",
    "PipelineState",
    "__version__",
    "compile",
    "context",
    "device_info",
    "load",
    "lower",
    "parse",
    "parse_file",
    "register_variant",
    "replace_variant",
]
