// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives every workgroup buffer of a kernel its bytes and its place: static
// shared memory as far as that can be launched, else the front of dynamic
// shared memory, with the program's own dynamic memory behind it. Upstream's
// lowering of gpu.dynamic_shared_memory makes a static array of no length,
// which lies over the buffers, and that of strided attributions allocates
// elements instead of the span.
#include "lib/Transforms/PlaceSharedMemory.h"

#include "lib/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tile {
#define GEN_PASS_DEF_TILEPLACESHAREDMEMORY
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;
using namespace tile::placement;

Operation *placement::functionAround(Operation *op) {
  return op->getParentOfType<FunctionOpInterface>();
}

gpu::GPUFuncOp placement::kernelAround(Operation *op) {
  auto func = dyn_cast_or_null<gpu::GPUFuncOp>(functionAround(op));
  return func && func.isKernel() ? func : gpu::GPUFuncOp();
}

LogicalResult ModulePlacement::collectGlobals() {
  SymbolTable symbols(module);
  module.walk([&](memref::GetGlobalOp get) {
    if (Operation *global = symbols.lookup(get.getName()))
      gets[global].push_back(get);
  });
  for (auto global : module.getOps<memref::GlobalOp>()) {
    if (!isWorkgroupMemory(global.getType().getMemorySpace()))
      continue;
    if (global.isExternal() &&
        llvm::is_contained(global.getType().getShape(), 0)) {
      handWritten = global;
      continue;
    }
    FailureOr<Buffer> buffer = spanGlobal(global, gets[global]);
    if (failed(buffer))
      return failure();
    globals.insert({global, *buffer});
  }
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (global.getAddrSpace() != 3)
      continue;
    auto array = dyn_cast<LLVM::LLVMArrayType>(global.getType());
    if (array && array.getNumElements() == 0) {
      handWritten = global;
      continue;
    }
    pinned.push_back(spanGlobal(global));
  }
  return success();
}

LogicalResult ModulePlacement::collectFunctions() {
  for (auto func : module.getOps<gpu::GPUFuncOp>()) {
    SmallVector<Buffer> own;
    for (unsigned index = 0; index < func.getNumWorkgroupAttributions();
         ++index) {
      FailureOr<Buffer> buffer = spanAttribution(func, index);
      if (failed(buffer))
        return failure();
      own.push_back(*buffer);
    }
    if (func.isKernel()) {
      kernels.emplace_back();
      kernels.back().func = func;
      kernels.back().buffers = std::move(own);
      continue;
    }
    for (Buffer &buffer : own)
      buffer.attribution = {};
    pinned.append(own);
  }
  for (auto &[global, buffer] : globals) {
    llvm::SmallPtrSet<Operation *, 4> users;
    for (memref::GetGlobalOp get : gets[global])
      users.insert(kernelAround(get));
    if (users.contains(nullptr)) {
      pinned.push_back(buffer);
      pinned.back().global = {};
      continue;
    }
    for (Kernel &kernel : kernels)
      if (users.contains(kernel.func))
        kernel.buffers.push_back(buffer);
  }
  for (Kernel &kernel : kernels) {
    kernel.buffers.append(pinned);
    auto found = launches.find(kernel.func);
    if (found == launches.end())
      continue;
    kernel.launches = found->second;
    for (gpu::LaunchFuncOp launch : kernel.launches) {
      APInt bytes;
      if (Value size = launch.getDynamicSharedMemorySize();
          size && matchPattern(size, m_ConstantInt(&bytes)))
        kernel.dynamicBytes =
            std::max(kernel.dynamicBytes, bytes.getSExtValue());
    }
  }
  return success();
}

LogicalResult ModulePlacement::collectDynamic() {
  module.walk([&](gpu::DynamicSharedMemoryOp op) { dynamicOps.push_back(op); });
  for (gpu::DynamicSharedMemoryOp op : dynamicOps) {
    FailureOr<int64_t> alignment = alignmentOf(op);
    if (failed(alignment))
      return failure();
    dynamicAlignment = std::max(dynamicAlignment, *alignment);
    deviceFunctionUsesDynamic |= !kernelAround(op);
    for (Kernel &kernel : kernels)
      kernel.usesDynamic |= kernel.func == functionAround(op);
  }
  for (Kernel &kernel : kernels)
    kernel.usesDynamic |= deviceFunctionUsesDynamic;
  return success();
}

LogicalResult ModulePlacement::run() {
  if (failed(collectGlobals()) || failed(collectFunctions()) ||
      failed(collectDynamic()) || failed(plan()))
    return failure();
  rewrite();
  return success();
}

namespace {
struct PlaceSharedMemory
    : tile::impl::TilePlaceSharedMemoryBase<PlaceSharedMemory> {
  void runOnOperation() override {
    ModuleOp root = getOperation();
    DenseMap<Operation *, SmallVector<gpu::LaunchFuncOp>> launches;
    WalkResult walked = root.walk([&](Operation *op) {
      if (isa<gpu::LaunchOp>(op)) {
        InFlightDiagnostic diag = op->emitOpError(
            "must be outlined before its shared memory is placed");
        diag.attachNote() << "run gpu-kernel-outlining first";
        return WalkResult::interrupt();
      }
      if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
        if (Operation *kernel = SymbolTable::lookupNearestSymbolFrom(
                launch, launch.getKernelAttr()))
          launches[kernel].push_back(launch);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    SmallVector<gpu::GPUModuleOp> modules;
    root.walk([&](gpu::GPUModuleOp module) { modules.push_back(module); });
    for (gpu::GPUModuleOp module : modules)
      if (failed(ModulePlacement(module, launches).run()))
        return signalPassFailure();
  }
};
} // namespace
