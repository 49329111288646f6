// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/BarrierUses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tile;

static void classify(Operation *op, BarrierUses &uses) {
  TypeSwitch<Operation *>(op)
      .Case<nvgpu::MBarrierInitOp>([&](auto) { uses.inits.push_back(op); })
      .Case<nvgpu::MBarrierArriveExpectTxOp, ExpectOp>(
          [&](auto) { uses.arms.push_back(op); })
      .Case<nvgpu::MBarrierArriveOp>([&](auto) { uses.arrives.push_back(op); })
      .Case<ArriveOp>([&](auto) { uses.remoteArrives.push_back(op); })
      .Case<CopyAsyncOp>([&](auto) { uses.copies.push_back(op); })
      .Case<WaitOp, nvgpu::MBarrierTryWaitParityOp, nvgpu::MBarrierTestWaitOp>(
          [&](auto) { uses.waits.push_back(op); })
      .Default([&](auto) { uses.hasOthers = true; });
}

std::vector<BarrierUses> tile::collectBarrierUses(Operation *kernel) {
  llvm::SetVector<Value> groups;
  kernel->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<nvgpu::MBarrierGroupType>(operand.getType()))
        groups.insert(operand);
  });
  std::vector<BarrierUses> result;
  for (Value group : groups) {
    BarrierUses &uses = result.emplace_back();
    uses.barriers = group;
    // What comes from an op other than the creation, or from a loop or another
    // block, may be used by another name.
    auto argument = dyn_cast<BlockArgument>(group);
    uses.hasOthers = argument
                         ? argument.getOwner() != &kernel->getRegion(0).front()
                         : !group.getDefiningOp<nvgpu::MBarrierCreateOp>();
    SmallVector<Operation *> users(group.getUsers());
    for (Operation *user : llvm::reverse(users))
      classify(user, uses);
  }
  return result;
}

Value tile::barrierIndexOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<CopyAsyncOp, ArriveOp, ExpectOp, WaitOp>(
          [](auto op) { return op.getBarrierIndex(); })
      .Case<nvgpu::MBarrierInitOp, nvgpu::MBarrierArriveOp,
            nvgpu::MBarrierArriveExpectTxOp, nvgpu::MBarrierTryWaitParityOp,
            nvgpu::MBarrierTestWaitOp>([](auto op) { return op.getMbarId(); })
      .Default(Value());
}

bool tile::mayUseSameBarrier(Operation *a, Operation *b) {
  std::optional<int64_t> first = constantOf(barrierIndexOf(a));
  std::optional<int64_t> second = constantOf(barrierIndexOf(b));
  return !first || !second || *first == *second;
}

SmallVector<LoopLikeOpInterface> tile::loopsAround(Operation *op) {
  SmallVector<LoopLikeOpInterface> loops;
  for (op = op->getParentOp();
       op && !isa<FunctionOpInterface, gpu::LaunchOp>(op);
       op = op->getParentOp())
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      loops.push_back(loop);
  return loops;
}

/// What all launches of `func` agree on, along one dimension.
static std::optional<int64_t>
launchedSize(gpu::GPUFuncOp func,
             function_ref<Value(gpu::LaunchFuncOp)> sizeOf) {
  Operation *module =
      func->getParentOp() ? func->getParentOp()->getParentOp() : nullptr;
  if (!module)
    return std::nullopt;
  std::optional<int64_t> agreed;
  bool conflicting = false;
  module->walk([&](gpu::LaunchFuncOp launch) {
    if (SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr()) !=
        func)
      return;
    std::optional<int64_t> size = constantOf(sizeOf(launch));
    conflicting |= !size || (agreed && *agreed != *size);
    agreed = size;
  });
  return conflicting ? std::nullopt : agreed;
}

KernelSizes tile::knownSizes(Operation *kernel) {
  KernelSizes sizes;
  auto func = dyn_cast<gpu::GPUFuncOp>(kernel);
  if (!func)
    return sizes;
  sizes.block = knownExtents(func, "known_block_size");
  if (!sizes.block) {
    auto x = launchedSize(func, [](auto op) { return op.getBlockSizeX(); });
    auto y = launchedSize(func, [](auto op) { return op.getBlockSizeY(); });
    auto z = launchedSize(func, [](auto op) { return op.getBlockSizeZ(); });
    if (x && y && z)
      sizes.block = {*x, *y, *z};
  }
  if (auto cluster = knownExtents(func, "known_cluster_size")) {
    sizes.cluster = layout::product(*cluster);
    return sizes;
  }
  auto x = launchedSize(func, [](auto op) { return op.getClusterSizeX(); });
  auto y = launchedSize(func, [](auto op) { return op.getClusterSizeY(); });
  auto z = launchedSize(func, [](auto op) { return op.getClusterSizeZ(); });
  if (x && y && z)
    sizes.cluster = layout::product({*x, *y, *z});
  return sizes;
}

bool tile::isUniform(Value value, int depth) {
  if (depth == 0)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(owner);
        loop && argument == loop.getInductionVar())
      return isUniform(loop.getLowerBound(), depth - 1) &&
             isUniform(loop.getStep(), depth - 1);
    return isa<gpu::GPUFuncOp>(owner) && argument.getOwner()->isEntryBlock();
  }
  Operation *op = value.getDefiningOp();
  if (isa<gpu::ClusterBlockIdOp, gpu::BlockIdOp, gpu::BlockDimOp,
          gpu::GridDimOp, gpu::ClusterIdOp, gpu::ClusterDimOp,
          gpu::ClusterDimBlocksOp>(op))
    return true;
  StringRef name = op->getName().getStringRef();
  if (name.starts_with("nvvm.read.ptx.sreg.cluster"))
    return true;
  return (name.starts_with("arith.") ||
          op->hasTrait<OpTrait::ConstantLike>()) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isUniform(operand, depth - 1);
         });
}

/// `value` behind casts.
static Value uncast(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
             arith::ExtSIOp, arith::ExtUIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether at most one thread of a CTA sees `condition` true: `thread_id x ==
/// uniform` in a CTA that extends along x only.
static bool holdsForOneThread(Value condition, const KernelSizes &sizes) {
  if (auto conjunction = condition.getDefiningOp<arith::AndIOp>())
    return holdsForOneThread(conjunction.getLhs(), sizes) ||
           holdsForOneThread(conjunction.getRhs(), sizes);
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !sizes.block || (*sizes.block)[1] != 1 || (*sizes.block)[2] != 1)
    return false;
  for (auto [one, other] : {std::pair(compare.getLhs(), compare.getRhs()),
                            {compare.getRhs(), compare.getLhs()}}) {
    auto thread = uncast(one).getDefiningOp<gpu::ThreadIdOp>();
    if (thread && thread.getDimension() == gpu::Dimension::x &&
        isUniform(other))
      return true;
  }
  return false;
}

/// The condition on which `op` itself acts, where it has one.
static Value predicateOf(Operation *op) {
  if (auto arm = dyn_cast<nvgpu::MBarrierArriveExpectTxOp>(op))
    return arm.getPredicate();
  return {};
}

static std::optional<int64_t> allThreads(const KernelSizes &sizes) {
  if (!sizes.block)
    return std::nullopt;
  return layout::product(*sizes.block);
}

std::optional<int64_t> tile::threadsAtMost(Operation *op,
                                           const KernelSizes &sizes) {
  if (Value predicate = predicateOf(op);
      predicate && holdsForOneThread(predicate, sizes))
    return 1;
  for (Operation *inner = op, *around = op->getParentOp();
       around && !isa<FunctionOpInterface>(around);
       inner = around, around = around->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(around);
        branch && inner->getParentRegion() == &branch.getThenRegion() &&
        holdsForOneThread(branch.getCondition(), sizes))
      return 1;
  return allThreads(sizes);
}

int64_t tile::threadsAtLeast(Operation *op, const KernelSizes &sizes) {
  if (Value predicate = predicateOf(op); predicate && !isUniform(predicate))
    return 1;
  for (; op && !isa<FunctionOpInterface>(op); op = op->getParentOp()) {
    // In blocks, the branch that leads here is not looked for.
    if (!op->getBlock()->isEntryBlock())
      return 1;
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
        branch && !isUniform(branch.getCondition()))
      return 1;
    if (isa<LoopLikeOpInterface>(op->getParentOp())) {
      auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
      if (!loop || !isUniform(loop.getLowerBound()) ||
          !isUniform(loop.getUpperBound()))
        return 1;
    }
  }
  return allThreads(sizes).value_or(1);
}
