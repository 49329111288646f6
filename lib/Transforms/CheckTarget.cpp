// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Target.h"

#include "dialect/TileDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKTARGET
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

static constexpr int kStAsyncPtx = 81;

/// What an op is called, and the PTX version that it needs, where it becomes
/// inline PTX, of which LLVM knows nothing.
static std::optional<std::pair<std::string, int>> needsPtx(Operation *op) {
  if (auto copy = dyn_cast<tile::CopyAsyncOp>(op)) {
    std::optional<tile::VariantTraits> variant =
        copy.getPlan() ? tile::findVariant(copy.getPlan()->getVariant())
                       : std::nullopt;
    return variant ? std::optional(std::pair(variant->name, variant->minPtx))
                   : std::nullopt;
  }
  if (isa<tile::StoreAsyncOp, tile::AllReduceOp>(op))
    return std::pair(op->getName().getStringRef().str(), kStAsyncPtx);
  // That of users.
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    for (StringRef name : {"st.async", "red.async"})
      if (assembly.getAsmString().starts_with(name))
        return std::pair(name.str(), kStAsyncPtx);
  return std::nullopt;
}

static LogicalResult checkPtx(gpu::GPUModuleOp module, int version) {
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    auto needed = needsPtx(op);
    if (!needed || version >= needed->second)
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitError("gpu.module '")
                               << module.getName() << "' targets PTX "
                               << tile::dotted(version) << "; " << needed->first
                               << " needs " << tile::dotted(needed->second);
    error.attachNote() << "set features to +ptx" << needed->second
                       << (isa<tile::CopyAsyncOp>(op)
                               ? ", or name another variant on the copy"
                               : "");
    return error;
  });
  return failure(result.wasInterrupted());
}

/// PTX compiles a multicast for every such chip, and warns that it is slow but
/// on those with features of their own.
static void remarkOnMulticasts(gpu::GPUModuleOp module, StringRef chip) {
  if (chip != "sm_90")
    return;
  module.walk([&](tile::CopyAsyncOp copy) {
    if (!copy.getMask() || copy.getDirection() != tile::Direction::Load)
      return;
    InFlightDiagnostic remark = emitRemark(copy.getLoc());
    remark << "'" << copy->getName() << "' op may be slow on " << chip
           << ": it is sent to several CTAs by the hardware";
    remark.attachNote() << "set chip to sm_90a";
  });
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
    tile::PtxTarget ptx = tile::getPtxTarget(nvvm);
    if (failed(checkPtx(module, ptx.version)))
      return failure();
    remarkOnMulticasts(module, ptx.chip);
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
