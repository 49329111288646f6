// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKTARGET
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

static constexpr int kStAsyncPtx = 81;

/// The legalization writes `st.async` as inline PTX, of which LLVM knows
/// nothing.
static LogicalResult checkStAsync(gpu::GPUModuleOp module, int version) {
  if (version >= kStAsyncPtx)
    return success();
  WalkResult result = module.walk([&](LLVM::InlineAsmOp op) -> WalkResult {
    StringRef name =
        op.getAsmString().substr(0, 2) == "st" ? "st.async" : "red.async";
    if (!op.getAsmString().starts_with(name))
      return WalkResult::advance();
    InFlightDiagnostic error = op.emitError("gpu.module '")
                               << module.getName() << "' targets PTX "
                               << tile::dotted(version) << "; " << name
                               << " needs " << tile::dotted(kStAsyncPtx);
    error.attachNote() << "set features to +ptx" << kStAsyncPtx
                       << ", or variant = \"bulk\" on the copy";
    return error;
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkTargets(gpu::GPUModuleOp module) {
  for (Attribute target : module.getTargetsAttr()
                              ? module.getTargetsAttr()
                              : ArrayAttr::get(module.getContext(), {})) {
    if (std::optional<tile::TargetFault> fault = tile::faultOfTarget(target)) {
      InFlightDiagnostic error = module.emitError("gpu.module '")
                                 << module.getName() << "' " << fault->what;
      error.attachNote() << fault->fix;
      return error;
    }
    auto nvvm = cast<NVVM::NVVMTargetAttr>(target);
    if (failed(checkStAsync(module, tile::getPtxTarget(nvvm).version)))
      return failure();
  }
  return success();
}

namespace {
struct CheckTarget : tile::impl::TileCheckTargetBase<CheckTarget> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>(
        [](gpu::GPUModuleOp module) -> WalkResult {
          if (failed(checkTargets(module)))
            return WalkResult::interrupt();
          return WalkResult::skip();
        });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
