// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a GPU cannot launch, PTX cannot name, and no function has: LLVM ends the
// process on some of it.
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/StringExtras.h"

#include <array>

namespace tile {
#define GEN_PASS_DEF_TILECHECKKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

namespace {
/// An attribute of kernels that is a size, and what it can be.
struct Size {
  StringLiteral name;
  /// Attributes that cannot be beside it: upstream makes the first of it, and
  /// has both then; PTX has one of .maxntid and .reqntid.
  std::array<StringLiteral, 2> twins;
  StringLiteral unit;
  int64_t most;         // of the product; 0: no limit
  int64_t mostAlong[3]; // 0: no limit
};
} // namespace

static constexpr int64_t kMostAlongGrid = 65535;
/// 16 CTAs of a cluster are for GPUs that allow more than the portable 8.
static constexpr Size kSizes[] = {
    {"known_block_size",
     {"nvvm.maxntid", "nvvm.reqntid"},
     "threads",
     1024,
     {0, 0, 64}},
    {"nvvm.maxntid", {"nvvm.reqntid", ""}, "threads", 1024, {0, 0, 64}},
    {"nvvm.reqntid", {"", ""}, "threads", 1024, {0, 0, 64}},
    {"known_cluster_size", {"nvvm.cluster_dim", ""}, "CTAs", 16, {0, 0, 0}},
    {"nvvm.cluster_dim", {"", ""}, "CTAs", 16, {0, 0, 0}},
    {"known_grid_size",
     {"", ""},
     "CTAs",
     0,
     {INT32_MAX, kMostAlongGrid, kMostAlongGrid}},
};

static std::string joined(ArrayRef<int32_t> sizes) {
  return llvm::join(
      llvm::map_range(sizes, [](int32_t size) { return std::to_string(size); }),
      "x");
}

static LogicalResult checkSize(Operation *kernel, const Size &size) {
  Attribute given = kernel->getAttr(size.name);
  if (!given)
    return success();
  for (StringRef twin : size.twins) {
    if (twin.empty() || !kernel->hasAttr(twin))
      continue;
    InFlightDiagnostic error = kernel->emitOpError("must have one of ")
                               << size.name << " and " << twin;
    error.attachNote() << "drop " << twin;
    return error;
  }
  auto array = dyn_cast<DenseI32ArrayAttr>(given);
  if (!array || array.size() != 3) {
    InFlightDiagnostic error =
        kernel->emitOpError()
        << size.name << " must be an array of three i32, got " << given;
    error.attachNote() << "write " << size.name << " = array<i32: 32, 1, 1>";
    return error;
  }
  int64_t product = 1;
  bool isPositive = true;
  for (int32_t extent : array.asArrayRef()) {
    isPositive &= extent > 0;
    product = isPositive && product <= INT32_MAX ? product * extent : product;
  }
  if (!isPositive || (size.most && product > size.most)) {
    InFlightDiagnostic error = kernel->emitOpError()
                               << size.name << " must be positive";
    if (size.most)
      error << " and " << size.most << " " << size.unit << " at most";
    error << ", got " << joined(array);
    error.attachNote() << "choose a size that a GPU can launch, such as "
                       << (size.most ? size.most / 4 : 4) << " along x";
    return error;
  }
  for (auto [axis, extent] : llvm::enumerate(array.asArrayRef()))
    if (size.mostAlong[axis] && extent > size.mostAlong[axis]) {
      InFlightDiagnostic error = kernel->emitOpError()
                                 << size.name << " must have "
                                 << size.mostAlong[axis] << " " << size.unit
                                 << " along " << "xyz"[axis] << " at most, got "
                                 << extent;
      error.attachNote() << (size.most ? "use x or y" : "use x");
      return error;
    }
  return success();
}

static bool isWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }

static bool isNameOfPtx(StringRef name, bool isFunction) {
  if (name.empty())
    return false;
  // LLVM renames what no other module sees.
  if (!isFunction)
    return llvm::all_of(
        name, [](char c) { return isWord(c) || c == '.' || c == '@'; });
  bool isShortest = name.size() == 1;
  return (llvm::isAlpha(name[0]) ||
          (StringRef("_$%").contains(name[0]) && !isShortest)) &&
         llvm::all_of(name.drop_front(), isWord);
}

static LogicalResult checkName(SymbolOpInterface op) {
  auto function = dyn_cast<FunctionOpInterface>(op.getOperation());
  // LLVM's intrinsics are declared by names with dots.
  if ((function && function.isExternal()) ||
      isNameOfPtx(op.getName(), static_cast<bool>(function)))
    return success();
  InFlightDiagnostic error = op->emitOpError("'")
                             << op.getName()
                             << "' must have a name that PTX can write";
  error.attachNote() << "take letters, digits, _ and $, and no digit first";
  return error;
}

/// Whether LLVM's modules have it beside functions and variables.
static bool isOfModules(Operation *op) {
  return isa<LLVM::ModuleFlagsOp, LLVM::LinkerOptionsOp, LLVM::GlobalCtorsOp,
             LLVM::GlobalDtorsOp>(op);
}

static LogicalResult checkDevice(gpu::GPUModuleOp module) {
  for (Operation &op : *module.getBody()) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol) {
      if (isOfModules(&op))
        continue;
      InFlightDiagnostic error =
          op.emitOpError("must be in a function, got one in gpu.module '")
          << module.getName() << "' itself";
      error.attachNote() << "move it into the gpu.func that needs it";
      return error;
    }
    if (failed(checkName(symbol)))
      return failure();
    for (const Size &size : kSizes)
      if (failed(checkSize(&op, size)))
        return failure();
  }
  return success();
}

/// NVVM's ops are PTX: on the host LLVM ends the process on them, or hands them
/// to an assembler that does not know them.
static LogicalResult checkHost(Operation *op) {
  if (!isa_and_nonnull<NVVM::NVVMDialect>(op->getDialect()))
    return success();
  InFlightDiagnostic error =
      op->emitOpError("must be in a gpu.module: it is an instruction of GPUs, "
                      "got one in the host's program");
  error.attachNote() << "move it into a kernel";
  return error;
}

namespace {
struct CheckKernels : tile::impl::TileCheckKernelsBase<CheckKernels> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>(
        [](Operation *op) -> WalkResult {
          if (auto module = dyn_cast<gpu::GPUModuleOp>(op)) {
            if (failed(checkDevice(module)))
              return WalkResult::interrupt();
            return WalkResult::skip();
          }
          return checkHost(op);
        });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
