# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPUs and PTX versions that can copy between CTAs; LLVM aborts on the others."""

from mlir import ir

from .. import _tile

DEFAULT_CHIP = "sm_90"
DEFAULT_FEATURES = "+ptx81"


def check_target(chip: str, features: str) -> None:
    """Raise `ValueError`, with the fix, unless `chip` and `features` can copy between CTAs."""
    fault = _tile.fault_of_target(chip, features)
    if fault:
        what, fix = fault
        raise ValueError(f"the compilation {what}: {fix}")


def ptx_versions(module: ir.Operation, features: str) -> set[int]:
    """Return the PTX versions that the `gpu.module`s of `module` name, and that of `features`."""
    return {int(features.removeprefix("+ptx")), *_tile.ptx_versions_of(module)}
