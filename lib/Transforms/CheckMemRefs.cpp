// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKMEMREFS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

/// Integers of less than a byte have no place of their own in memory; 4 bits
/// are what upstream's lowering takes for packed all the same.
static bool hasPlace(MemRefType type) {
  auto element = dyn_cast<IntegerType>(type.getElementType());
  return !element || element.getWidth() >= 8 || element.getWidth() == 4;
}

static LogicalResult checkElement(Operation *op, MemRefType type) {
  if (hasPlace(type))
    return success();
  InFlightDiagnostic diag = op->emitOpError("must access elements of a byte or "
                                            "more, or of 4 bits, got ")
                            << type.getElementType();
  diag.attachNote() << "keep them as i8, and truncate what is loaded";
  return diag;
}

/// Which dimensions a subview drops is told by strides. Those of dimensions of
/// one element are looked for without their step.
static LogicalResult checkSubView(memref::SubViewOp op) {
  MemRefType result = op.getType();
  if (result.getRank() == op.getSourceType().getRank() ||
      !llvm::is_contained(result.getShape(), 1))
    return success();
  for (auto [size, step] :
       llvm::zip_equal(op.getStaticSizes(), op.getStaticStrides()))
    if (size == 1 && step != 1) {
      InFlightDiagnostic diag =
          op.emitOpError("must step by 1 in dimensions of one element, where "
                         "it drops some and keeps others, got ");
      if (ShapedType::isDynamic(step))
        diag << "a step that is not known";
      else
        diag << step;
      diag.attachNote() << "write 1: the step leads nowhere";
      return diag;
    }
  return success();
}

namespace {
struct CheckMemRefs : tile::impl::TileCheckMemRefsBase<CheckMemRefs> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) -> WalkResult {
      if (auto load = dyn_cast<memref::LoadOp>(op))
        return checkElement(op, load.getMemRefType());
      if (auto store = dyn_cast<memref::StoreOp>(op))
        return checkElement(op, store.getMemRefType());
      if (auto subView = dyn_cast<memref::SubViewOp>(op))
        return checkSubView(subView);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
