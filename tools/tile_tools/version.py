# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `--version` says; the version itself stands in pyproject.toml only."""

from importlib.metadata import version


def version_line(tool: str) -> str:
    """Return the versions of the project and of the MLIR below it."""
    return f"{tool} {version('mlir-tile')} (MLIR {version('xtc-mlir-python-bindings')})"
