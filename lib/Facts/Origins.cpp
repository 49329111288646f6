// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Facts/Origins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tile;

void Origins::add(const Origins &other) {
  for (Value value : other.known)
    if (!llvm::is_contained(known, value))
      known.push_back(value);
  hasUnknown |= other.hasUnknown;
}

/// What the view or cast `op` sees, where it is one of memrefs.
static Value viewedBy(Operation *op) {
  if (auto view = dyn_cast<ViewLikeOpInterface>(op))
    return view.getViewSource();
  if (op->getNumOperands() > 0 && isMemoryEffectFree(op) &&
      isa<BaseMemRefType>(op->getOperand(0).getType()))
    return op->getOperand(0);
  return {};
}

Value tile::bufferBehind(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    Value source = viewedBy(op);
    if (!source)
      break;
    memref = source;
  }
  return memref;
}

bool tile::declareSameMemory(Value a, Value b) {
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (a == b || !first || !second)
    return a == b;
  if (isa<gpu::DynamicSharedMemoryOp>(first))
    return isa<gpu::DynamicSharedMemoryOp>(second);
  auto one = dyn_cast<memref::GetGlobalOp>(first);
  auto other = dyn_cast<memref::GetGlobalOp>(second);
  return one && other && one.getNameAttr() == other.getNameAttr();
}

/// What branches, loops and the like hand to `value`, which is an argument of
/// `region` or else a result.
static std::optional<SmallVector<Value>>
forwardedTo(Value value, RegionBranchOpInterface branch, Region *region) {
  for (RegionBranchPoint point : branch.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    branch.getSuccessorRegions(point, successors);
    for (const RegionSuccessor &successor : successors) {
      ValueRange inputs = successor.getSuccessorInputs();
      auto found = llvm::find(inputs, value);
      if (successor.getSuccessor() != region || found == inputs.end())
        continue;
      SmallVector<Value> values;
      branch.getPredecessorValues(successor,
                                  std::distance(inputs.begin(), found), values);
      return values;
    }
  }
  return std::nullopt;
}

std::optional<SmallVector<Value>> tile::incomingOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    Operation *op = value.getDefiningOp();
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
      return forwardedTo(value, branch, nullptr);
    if (isa<arith::SelectOp, LLVM::SelectOp>(op))
      return SmallVector<Value>(op->getOperands().drop_front());
    return std::nullopt;
  }
  Block *block = argument.getOwner();
  if (block->isEntryBlock()) {
    auto branch = dyn_cast<RegionBranchOpInterface>(block->getParentOp());
    if (!branch)
      return std::nullopt;
    return forwardedTo(value, branch, block->getParent());
  }
  SmallVector<Value> values;
  for (auto before = block->pred_begin(); before != block->pred_end();
       ++before) {
    auto branch = dyn_cast<BranchOpInterface>((*before)->getTerminator());
    if (!branch)
      return std::nullopt;
    values.push_back(branch.getSuccessorOperands(
        before.getSuccessorIndex())[argument.getArgNumber()]);
    if (!values.back())
      return std::nullopt;
  }
  return values;
}

namespace {

enum class Memory { Shared, Generic, Elsewhere };

/// Goes from a value to what it was made of, through numbers as well: an
/// address may be computed.
class OriginWalk {
public:
  Origins run(Value value) {
    push(value);
    while (!open.empty())
      step(open.pop_back_val());
    // A number beside an address is an offset.
    if (sawNumber && !sawAddress)
      result.hasUnknown = true;
    return result;
  }

private:
  void push(Value value) {
    if (value && seen.insert(value).second)
      open.push_back(value);
  }

  void push(ValueRange values) {
    for (Value value : values)
      push(value);
  }

  void step(Value value) {
    if (std::optional<SmallVector<Value>> incoming = incomingOf(value)) {
      push(*incoming);
      return;
    }
    Operation *op = value.getDefiningOp();
    if (!op || isa<RegionBranchOpInterface>(op) ||
        !passOperands(op, value.getType()))
      end(value);
  }

  /// Goes on with the operands of `op` that its result is made of.
  bool passOperands(Operation *op, Type type) {
    if (isa<LLVM::GEPOp, NVVM::MapaOp>(op)) {
      push(op->getOperand(0));
      return true;
    }
    if (op->getNumOperands() == 0 || !isMemoryEffectFree(op))
      return false;
    if (isa<UnrealizedConversionCastOp, LLVM::IntToPtrOp, LLVM::PtrToIntOp,
            LLVM::AddrSpaceCastOp, LLVM::BitcastOp, LLVM::ExtractValueOp,
            LLVM::InsertValueOp, memref::ExtractAlignedPointerAsIndexOp>(op)) {
      push(op->getOperands());
      return true;
    }
    if (Value source = viewedBy(op); source && isa<BaseMemRefType>(type)) {
      push(source);
      return true;
    }
    if (type.isIntOrIndex() && llvm::all_of(op->getOperandTypes(), [](Type t) {
          return t.isIntOrIndex();
        })) {
      push(op->getOperands());
      return true;
    }
    return false;
  }

  static Memory memoryOf(Type type) {
    if (isa<nvgpu::MBarrierGroupType>(type))
      return Memory::Shared;
    if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type)) {
      unsigned space = pointer.getAddressSpace();
      return space == 3 || space == 7 ? Memory::Shared
             : space == 0             ? Memory::Generic
                                      : Memory::Elsewhere;
    }
    auto memref = dyn_cast<BaseMemRefType>(type);
    if (!memref)
      return Memory::Generic;
    if (!memref.getMemorySpace())
      return Memory::Generic;
    auto ranked = dyn_cast<MemRefType>(type);
    if (!ranked)
      return Memory::Generic;
    return nvgpu::NVGPUDialect::hasSharedMemoryAddressSpace(ranked)
               ? Memory::Shared
               : Memory::Elsewhere;
  }

  /// Whether `value` is known not to name shared memory, although its type does
  /// not say so: what comes from outside of the kernel, and what is private.
  static bool isElsewhere(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner()->isEntryBlock() &&
             isa<FunctionOpInterface, gpu::LaunchOp>(
                 argument.getOwner()->getParentOp());
    Operation *op = value.getDefiningOp();
    return isa<memref::AllocOp, memref::AllocaOp, memref::GetGlobalOp,
               LLVM::AllocaOp, LLVM::AddressOfOp>(op) ||
           (!op->getParentOfType<gpu::GPUFuncOp>() &&
            !op->getParentOfType<gpu::LaunchOp>());
  }

  static bool isDeclaration(Value value) {
    if (Operation *op = value.getDefiningOp())
      return isa<memref::AllocOp, memref::AllocaOp, memref::GetGlobalOp,
                 gpu::DynamicSharedMemoryOp, nvgpu::MBarrierCreateOp>(op);
    Operation *owner = cast<BlockArgument>(value).getOwner()->getParentOp();
    auto isOneOf = [&](ArrayRef<BlockArgument> attributions) {
      return llvm::is_contained(attributions, value);
    };
    if (auto func = dyn_cast<gpu::GPUFuncOp>(owner))
      return isOneOf(func.getWorkgroupAttributions());
    if (auto launch = dyn_cast<gpu::LaunchOp>(owner))
      return isOneOf(launch.getWorkgroupAttributions());
    return false;
  }

  /// Nothing is known of how `value` was made.
  void end(Value value) {
    if (value.getType().isIntOrIndex()) {
      sawNumber = true;
      return;
    }
    if (value.getDefiningOp() &&
        isa<LLVM::UndefOp, LLVM::PoisonOp, LLVM::ZeroOp>(value.getDefiningOp()))
      return;
    sawAddress = true;
    Memory memory = memoryOf(value.getType());
    if (memory == Memory::Elsewhere ||
        (memory == Memory::Generic && isElsewhere(value)))
      return;
    if (memory == Memory::Shared && isDeclaration(value))
      result.known.push_back(value);
    else
      result.hasUnknown = true;
  }

  SmallVector<Value> open;
  llvm::DenseSet<Value> seen;
  Origins result;
  bool sawNumber = false, sawAddress = false;
};

} // namespace

Origins tile::originsOf(Value value) { return OriginWalk().run(value); }
