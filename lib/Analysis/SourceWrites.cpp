// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/SourceWrites.h"
#include "lib/Analysis/BarrierUses.h"
#include "lib/Analysis/SyncOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tile;

/// Whether `first` stands before `later` in one execution of a block that holds
/// both: values from outside of that block are the same for them.
static bool standsBefore(Operation *first, Operation *later) {
  for (Block *block = later->getBlock(); block;) {
    Operation *anchor = block->findAncestorOpInBlock(*first);
    if (anchor)
      return anchor->isBeforeInBlock(block->findAncestorOpInBlock(*later));
    Operation *around = block->getParentOp();
    block = around ? around->getBlock() : nullptr;
  }
  return false;
}

/// The conditions that decide which buffer `value` is; fails where something
/// else decides, too.
static bool addDeciders(Value value, SmallVectorImpl<Value> &conditions) {
  value = bufferBehind(value);
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    conditions.push_back(select.getCondition());
    return addDeciders(select.getTrueValue(), conditions) &&
           addDeciders(select.getFalseValue(), conditions);
  }
  if (auto branches = value.getDefiningOp<scf::IfOp>()) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    conditions.push_back(branches.getCondition());
    return addDeciders(branches.thenYield().getOperand(result), conditions) &&
           addDeciders(branches.elseYield().getOperand(result), conditions);
  }
  return originsOf(value).known.size() == 1;
}

/// The conditions under which `op` runs; fails where it is not known that these
/// are all.
static bool addGuards(Operation *op, SmallVectorImpl<Value> &conditions) {
  for (; !isa<FunctionOpInterface, gpu::LaunchOp>(op); op = op->getParentOp()) {
    if (!op->getBlock()->isEntryBlock())
      return false;
    if (auto branches = dyn_cast<scf::IfOp>(op->getParentOp()))
      conditions.push_back(branches.getCondition());
  }
  return true;
}

/// What `values` are computed from.
static llvm::DenseSet<Value> inputsOf(ArrayRef<Value> values) {
  SmallVector<Value> open(values);
  llvm::DenseSet<Value> seen, inputs;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      continue;
    if (op && op->getNumOperands() > 0 && op->getNumRegions() == 0)
      llvm::append_range(open, op->getOperands());
    else
      inputs.insert(value);
  }
  return inputs;
}

/// Whether nothing ties what decides between the buffers of `value` to what
/// decides whether the ops run.
static bool isFreelyChosen(Value value, Operation *write, Operation *copy) {
  SmallVector<Value> deciders, guards;
  if (!addDeciders(value, deciders) || !addGuards(write, guards) ||
      !addGuards(copy, guards))
    return false;
  llvm::DenseSet<Value> behindGuards = inputsOf(guards);
  return llvm::none_of(inputsOf(deciders), [&](Value input) {
    return behindGuards.contains(input);
  });
}

/// The variant of `copy`, once it is planned or where the kernel names it.
static StringRef variantOf(CopyAsyncOp copy) {
  if (copy.getPlan())
    return copy.getPlan()->getVariant();
  return copy.getVariant().value_or("");
}

/// Whether both surely name the same memory, and all of it that counts.
static bool surelyNameTheSame(Value a, Value b) {
  Origins one = originsOf(a), other = originsOf(b);
  return !one.hasUnknown && !other.hasUnknown && one.known.size() == 1 &&
         other.known.size() == 1 &&
         declareSameMemory(one.known.front(), other.known.front());
}

bool tile::surelyReceivesSource(Operation *wait, CopyAsyncOp copy,
                                ArrayRef<CopyAsyncOp> copies) {
  Value index = barrierIndexOf(wait);
  if (!index || variantOf(copy) != "bulk")
    return false;
  std::optional<int64_t> place = constantOf(index);
  return llvm::any_of(copies, [&](CopyAsyncOp incoming) {
    return place && constantOf(incoming.getBarrierIndex()) == place &&
           variantOf(incoming) == "st_async" &&
           surelyNameTheSame(wait->getOperand(0), incoming.getBarriers()) &&
           bufferBehind(incoming.getDst()) == bufferBehind(copy.getSrc()) &&
           surelyNameTheSame(incoming.getDst(), copy.getSrc());
  });
}

bool tile::surelyWritesSource(Operation *write, CopyAsyncOp copy) {
  Origins read = originsOf(copy.getSrc());
  for (Value address : storeAddresses(write)) {
    if (bufferBehind(address) == bufferBehind(copy.getSrc()) &&
        standsBefore(write, copy))
      return true;
    Origins stored = originsOf(address);
    if (read.hasUnknown || stored.hasUnknown ||
        llvm::none_of(read.known, [&](Value one) {
          return llvm::any_of(stored.known, [&](Value other) {
            return declareSameMemory(one, other);
          });
        }))
      continue;
    bool oneSource = read.known.size() == 1,
         oneTarget = stored.known.size() == 1;
    if (oneSource && oneTarget)
      return true;
    if ((oneSource || oneTarget) && standsBefore(write, copy) &&
        isFreelyChosen(oneSource ? address : copy.getSrc(), write, copy))
      return true;
  }
  return false;
}
