// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKMEMREFS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

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

/// Of several unknown extents, upstream computes none from the others.
static LogicalResult checkExpandShape(memref::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    int64_t unknown = llvm::count_if(
        group, [&](int64_t dim) { return ShapedType::isDynamic(shape[dim]); });
    if (unknown <= 1)
      continue;
    InFlightDiagnostic diag =
        op.emitOpError("must leave one extent of a group unknown at most, got ")
        << unknown << " of " << op.getResultType();
    diag.attachNote() << "write the others as numbers, or take "
                         "memref.reinterpret_cast";
    return diag;
  }
  return success();
}

/// Upstream lowers the types of `nvgpu` where they are made and used, and not
/// in between.
static LogicalResult checkArguments(gpu::GPUFuncOp op) {
  for (Type type : op.getArgumentTypes()) {
    if (!isa<nvgpu::NVGPUDialect>(type.getDialect()))
      continue;
    InFlightDiagnostic diag = op.emitOpError("cannot be handed ") << type;
    if (isa<nvgpu::TensorMapDescriptorType>(type))
      diag.attachNote() << "hand it over as !llvm.ptr, with a "
                           "builtin.unrealized_conversion_cast on either side";
    else
      diag.attachNote() << "create it in the function";
    return diag;
  }
  return success();
}

/// Upstream looks for the gpu.module around it.
static LogicalResult checkPlace(Operation *op) {
  if (!isa<ModuleOp>(op->getParentOp()))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("must be in a function, got one in the module itself");
  diag.attachNote() << "move it into a kernel";
  return diag;
}

namespace {
struct CheckMemRefs : tile::impl::TileCheckMemRefsBase<CheckMemRefs> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) -> WalkResult {
      if (auto subView = dyn_cast<memref::SubViewOp>(op))
        return checkSubView(subView);
      if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
        return checkExpandShape(expand);
      if (auto function = dyn_cast<gpu::GPUFuncOp>(op))
        return checkArguments(function);
      if (isa_and_nonnull<nvgpu::NVGPUDialect>(op->getDialect()))
        return checkPlace(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
