// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

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
    Attribute target = NVVM::NVVMTargetAttr::get(
        &getContext(), optLevel, "nvptx64-nvidia-cuda", chip, features);
    getOperation().walk([&](gpu::GPUModuleOp module) {
      if (!module.getTargetsAttr() || module.getTargetsAttr().empty())
        module.setTargetsAttr(ArrayAttr::get(&getContext(), target));
    });
  }
};
} // namespace
