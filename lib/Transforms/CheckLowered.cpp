// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKLOWERED
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

namespace {
/// Whether the translation to LLVM IR knows the op.
bool isTranslated(Operation *op) {
  // Of these two dialects no other op is.
  if (isa<ModuleOp, gpu::GPUModuleOp, gpu::BinaryOp, gpu::LaunchFuncOp>(op))
    return true;
  static const llvm::StringSet<> dialects = {
      "acc", "amx", "arm_neon", "arm_sme", "arm_sve",   "llvm", "nvvm",
      "omp", "ptr", "rocdl",    "vcix",    "x86vector", "xevm"};
  return dialects.contains(op->getName().getDialectNamespace());
}

/// Whether LLVM's modules have the op beside their functions.
bool isOfModules(Operation *op) {
  return isa<SymbolOpInterface, ModuleOp, LLVM::ModuleFlagsOp,
             LLVM::LinkerOptionsOp, LLVM::GlobalCtorsOp, LLVM::GlobalDtorsOp>(
      op);
}

/// LLVM's backend for GPUs ends the process on these.
bool isUnknownToGPUs(Type type) {
  return isa<Float80Type, Float128Type>(type) ||
         type.getAbstractType().getName() == "llvm.ppc_fp128";
}

Type unknownToGPUs(Operation *op) {
  for (Type type : op->getResultTypes())
    if (isUnknownToGPUs(type))
      return type;
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    for (Type type : function.getArgumentTypes())
      if (isUnknownToGPUs(type))
        return type;
  return nullptr;
}

/// The first parameter of a kernel that PTX has no type for: LLVM writes the
/// bits of an integer as they are, such as .u24.
Type unknownParameter(Operation *op) {
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  if (!function ||
      !function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
    return nullptr;
  for (Type type : function.getArgumentTypes())
    if (auto integer = dyn_cast<IntegerType>(type))
      if (unsigned bits = integer.getWidth();
          bits != 1 && (bits < 8 || !llvm::isPowerOf2_32(bits)))
        return type;
  return nullptr;
}

struct CheckLowered : tile::impl::TileCheckLoweredBase<CheckLowered> {
  void runOnOperation() override {
    bool isDevice = isa<gpu::GPUModuleOp>(getOperation());
    StringRef where = isDevice ? "the GPU" : "the host";
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (isa<UnrealizedConversionCastOp>(op)) {
            // Whoever uses the value says more.
            if (!llvm::all_of(op->getUsers(), isTranslated))
              return WalkResult::advance();
            InFlightDiagnostic error = op->emitError("cannot be compiled for ")
                                       << where << ": no pass turns "
                                       << op->getOperandTypes() << " into "
                                       << op->getResultTypes();
            error.attachNote()
                << "lower what uses it before tile-to-binary, or "
                   "take another type";
            return error;
          }
          if (!isTranslated(op)) {
            InFlightDiagnostic error =
                op->emitOpError("cannot be compiled for ")
                << where << ": no pass lowers it to LLVM";
            error.attachNote() << "lower it before tile-to-binary, or take "
                                  "another op or type";
            return error;
          }
          if (isa_and_nonnull<ModuleOp>(op->getParentOp()) &&
              !isOfModules(op)) {
            InFlightDiagnostic error = op->emitOpError(
                "must be in a function, got one in the module itself");
            error.attachNote() << "move it into a function";
            return error;
          }
          if (Type type = isDevice ? unknownToGPUs(op) : nullptr) {
            InFlightDiagnostic error = op->emitOpError("has the type ")
                                       << type
                                       << ", which no GPU computes with";
            error.attachNote() << "take f64";
            return error;
          }
          if (Type type = unknownParameter(op)) {
            InFlightDiagnostic error =
                op->emitOpError("parameters must be i1 or have a power of two "
                                "of bits, 8 or more, got ")
                << type;
            error.attachNote() << "pass a wider integer, and truncate it";
            return error;
          }
          return WalkResult::advance();
        });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
