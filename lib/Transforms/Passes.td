// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_PASSES_TD
#define TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileAnalyzeLayout : Pass<"tile-analyze-layout"> {
  let summary = "Find and prove how each tile.copy_async is cut into hardware copies";
  let description = [{
    Gives every `tile.copy_async` a `#tile.copy_plan`, or fails with an error on the op that says what
    could not be proved and how to mend it. Raises the alignment of buffers that the kernel itself
    declares. Warns about a constant `nvgpu.mbarrier.arrive.expect_tx` that the planned copies into
    its barrier cannot add up to.
  }];
}

#endif // TILE_PASSES_TD
