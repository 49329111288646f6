// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tile {
#define GEN_PASS_DEF_TILEATTACHTARGET
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

namespace {
struct AttachTarget : tile::impl::TileAttachTargetBase<AttachTarget> {
  using Base::Base;

  void runOnOperation() override {
    // The attribute ends the process over some of what is no target.
    if (std::optional<tile::TargetFault> fault =
            tile::faultOfTarget(chip, features)) {
      InFlightDiagnostic error = getOperation().emitError("the pass ")
                                 << fault->what;
      error.attachNote() << fault->fix;
      return signalPassFailure();
    }
    int level = optLevel;
    Attribute target = NVVM::NVVMTargetAttr::getChecked(
        [&] { return getOperation().emitError(); }, &getContext(), level,
        StringRef("nvptx64-nvidia-cuda"), StringRef(chip), StringRef(features));
    if (!target)
      return signalPassFailure();
    getOperation().walk([&](gpu::GPUModuleOp module) {
      if (!module.getTargetsAttr() || module.getTargetsAttr().empty())
        module.setTargetsAttr(ArrayAttr::get(&getContext(), target));
    });
  }
};
} // namespace
