// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Instructions.h"
#include "lib/Transforms/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace mlir;

// "a" are the features of one chip, "f" those of its family; what has no letter
// is in later chips too.
static constexpr llvm::StringLiteral kAll = "";
static constexpr llvm::StringLiteral kSince100 =
    "sm_100 sm_100a sm_100f sm_101 sm_101a sm_101f sm_103 sm_103a sm_103f "
    "sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f";
static constexpr llvm::StringLiteral kAccelerated =
    "sm_90a sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f "
    "sm_120a sm_120f sm_121a sm_121f";
static constexpr llvm::StringLiteral kAcceleratedSince100 =
    "sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f sm_120a "
    "sm_120f sm_121a sm_121f";
static constexpr llvm::StringLiteral kFamily100And110 =
    "sm_100a sm_100f sm_101a sm_101f sm_103a sm_103f sm_110a sm_110f";
static constexpr llvm::StringLiteral kFamily100 =
    "sm_100a sm_100f sm_103a sm_103f";
static constexpr llvm::StringLiteral kOnly100And103 = "sm_100a sm_103a";
static constexpr llvm::StringLiteral kOnly100And110 =
    "sm_100a sm_101a sm_103a sm_110a";
static constexpr llvm::StringLiteral kOnly120 =
    "sm_120a sm_120f sm_121a sm_121f";
static constexpr llvm::StringLiteral kOnly90 = "sm_90a";

namespace {
struct Requirement {
  llvm::StringLiteral prefix; // of the intrinsic's name
  bool isOfGroups;            // only where the last argument is not 0
  int ptx;
  llvm::StringLiteral chips; // names between blanks; empty: all
};
} // namespace

static constexpr Requirement kRequirements[] = {
#define TILE_INSTRUCTION(PREFIX, PTX, CHIPS) {PREFIX, false, PTX, CHIPS},
#define TILE_INSTRUCTION_OF_GROUPS(PREFIX, PTX, CHIPS)                         \
  {PREFIX, true, PTX, CHIPS},
#include "lib/Transforms/Instructions.def"
};

bool tile::mayNeedTarget(Operation *op) {
  return isa<LLVM::InlineAsmOp, LLVM::CallIntrinsicOp>(op) ||
         isa_and_nonnull<NVVM::NVVMDialect>(op->getDialect());
}

/// The requirement of the longest prefix; null if there is none.
static const Requirement *find(const llvm::IntrinsicInst &call) {
  StringRef name = call.getCalledFunction()->getName();
  const Requirement *found = nullptr;
  for (const Requirement &each : kRequirements)
    if (name.starts_with(each.prefix) &&
        (!found || each.prefix.size() > found->prefix.size()))
      found = &each;
  if (!found || !found->isOfGroups)
    return found;
  auto *group =
      dyn_cast<llvm::ConstantInt>(call.getArgOperand(call.arg_size() - 1));
  return group && group->isZero() ? nullptr : found;
}

static LogicalResult check(Operation *op, const Requirement &rule,
                           tile::PtxTarget target) {
  SmallVector<StringRef> chips;
  rule.chips.split(chips, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (!chips.empty() && !llvm::is_contained(chips, target.chip)) {
    InFlightDiagnostic error =
        op->emitOpError("must have a chip with this instruction, got ")
        << target.chip;
    error.attachNote() << "set chip to one of " << llvm::join(chips, ", ");
    return error;
  }
  // PTX 9.0 has the features of sm_101 by its new name only, sm_110.
  constexpr int renamed = 90;
  if (!chips.empty() && target.chip.starts_with("sm_101") &&
      target.version >= renamed) {
    InFlightDiagnostic error = op->emitOpError("must have PTX 8.8 or older on ")
                               << target.chip << ", got "
                               << tile::dotted(target.version);
    error.attachNote() << "set features to +ptx88, or chip to sm_110"
                       << target.chip.drop_front(6);
    return error;
  }
  if (target.version >= rule.ptx)
    return success();
  InFlightDiagnostic error = op->emitOpError("must have PTX ")
                             << tile::dotted(rule.ptx) << " or newer, got "
                             << tile::dotted(target.version);
  error.attachNote() << "set features to +ptx" << rule.ptx;
  return error;
}

LogicalResult tile::checkInstruction(Operation *op,
                                     const llvm::Instruction &instruction) {
  auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!call || !module || !module.getTargetsAttr())
    return success();
  const Requirement *rule = find(*call);
  if (!rule)
    return success();
  for (Attribute each : module.getTargetsAttr())
    if (auto target = dyn_cast<NVVM::NVVMTargetAttr>(each);
        target && failed(check(op, *rule, getPtxTarget(target))))
      return failure();
  return success();
}
