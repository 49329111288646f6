# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage legalize: the pass `tile-legalize-to-nvvm`, over the patterns of `mlir_tile.legalize`."""

from mlir import ir

from ..scripted import register_pass


@register_pass("tile-legalize-to-nvvm", "Rewrite tile ops, as planned, into NVVM")
def legalize_to_nvvm(module: ir.Operation) -> None:
    """Rewrite each `tile` op by its pattern in `mlir_tile.legalize`.

    A `tile.copy_async` becomes what its plan says, which `tile-analyze-layout` left on it; one
    without a plan is an error. No stride is computed here. Takes the outermost module only.
    """
    # The patterns import half of upstream's dialects, so only where they are run.
    from ..legalize import legalize_to_nvvm as legalize

    legalize(module)
