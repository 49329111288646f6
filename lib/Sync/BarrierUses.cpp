// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/BarrierUses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tile;

void BarrierUses::add(Operation *op) {
  auto count = [&](unsigned LoopUses::*uses) {
    for (LoopLikeOpInterface loop : loopsAround(op))
      ++(byLoop[loop].*uses);
  };
  TypeSwitch<Operation *>(op)
      .Case<nvgpu::MBarrierInitOp>([&](auto) {
        inits.push_back(op);
        count(&LoopUses::inits);
      })
      .Case<nvgpu::MBarrierArriveExpectTxOp, ExpectOp>([&](auto) {
        arms.push_back(op);
        count(&LoopUses::arrivals);
      })
      .Case<nvgpu::MBarrierArriveOp>([&](auto) {
        arrives.push_back(op);
        count(&LoopUses::arrivals);
      })
      .Case<ArriveOp>([&](auto) {
        remoteArrives.push_back(op);
        count(&LoopUses::arrivals);
      })
      .Case<CopyAsyncOp, StoreAsyncOp>([&](auto) { copies.push_back(op); })
      .Case<WaitOp, nvgpu::MBarrierTryWaitParityOp, nvgpu::MBarrierTestWaitOp>(
          [&](auto) {
            waits.push_back(op);
            count(&LoopUses::waits);
          })
      .Default([&](auto) { hasOthers = true; });
}

/// The number by which `op` names a barrier of a group.
static std::optional<int64_t> numberOf(Operation *op) {
  Value index = barrierIndexOf(op);
  return index ? constantOf(index) : std::nullopt;
}

bool BarrierUses::owns(Operation *op) const { return numberOf(op) == index; }

LoopUses BarrierUses::in(LoopLikeOpInterface loop) const {
  return byLoop.lookup(loop);
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
    // What comes from an op other than the creation, or from a loop or another
    // block, may be used by another name.
    auto argument = dyn_cast<BlockArgument>(group);
    bool hasOthers = argument
                         ? argument.getOwner() != &kernel->getRegion(0).front()
                         : !group.getDefiningOp<nvgpu::MBarrierCreateOp>();
    SmallVector<Operation *> users(group.getUsers());
    std::reverse(users.begin(), users.end());
    llvm::MapVector<std::optional<int64_t>, BarrierUses> barriers;
    for (Operation *user : users)
      barriers[numberOf(user)];
    for (auto &[index, uses] : barriers) {
      uses.barriers = group;
      uses.index = index;
      uses.hasOthers = hasOthers;
    }
    for (Operation *user : users) {
      std::optional<int64_t> index = numberOf(user);
      if (!index)
        for (auto &[other, uses] : barriers)
          uses.add(user);
      else
        barriers[index].add(user);
      if (index && barriers.contains(std::nullopt))
        barriers[std::nullopt].add(user);
    }
    for (auto &[index, uses] : barriers)
      result.push_back(std::move(uses));
  }
  return result;
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

KernelSizes tile::knownSizes(Operation *kernel) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  return agreedSizes(kernel, module ? module->getParentOp() : nullptr);
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

std::optional<int64_t> tile::valueInThread(Value value,
                                           const std::array<int64_t, 3> &thread,
                                           int depth) {
  if (std::optional<int64_t> constant = constantOf(value))
    return value.getType().isInteger(1) ? *constant & 1 : *constant;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return thread[static_cast<size_t>(id.getDimension())];
  StringRef name = op->getName().getStringRef();
  if (name.consume_front("nvvm.read.ptx.sreg.tid."))
    return name == "x" ? thread[0] : name == "y" ? thread[1] : thread[2];
  SmallVector<int64_t> in;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> number = valueInThread(operand, thread, depth - 1);
    // Small numbers only: they are the same in every width.
    if (!number || *number < 0 || *number > (1 << 20))
      return std::nullopt;
    in.push_back(*number);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp,
          arith::ExtSIOp>(op) &&
      !op->getOperand(0).getType().isInteger(1))
    return in[0];
  if (isa<arith::AddIOp>(op))
    return in[0] + in[1];
  if (isa<arith::MulIOp>(op))
    return in[0] * in[1];
  if (isa<arith::DivUIOp, arith::DivSIOp>(op) && in[1] != 0)
    return in[0] / in[1];
  if (isa<arith::RemUIOp, arith::RemSIOp>(op) && in[1] != 0)
    return in[0] % in[1];
  if (isa<arith::AndIOp>(op))
    return in[0] & in[1];
  if (isa<arith::OrIOp>(op))
    return in[0] | in[1];
  if (isa<arith::XOrIOp>(op))
    return in[0] ^ in[1];
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op) && in[1] < 21)
    return in[0] >> in[1];
  if (isa<arith::SelectOp>(op))
    return in[0] ? in[1] : in[2];
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return std::nullopt;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return in[0] == in[1];
  case arith::CmpIPredicate::ne:
    return in[0] != in[1];
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return in[0] < in[1];
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return in[0] <= in[1];
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return in[0] > in[1];
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return in[0] >= in[1];
  }
  return std::nullopt;
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
    if (auto branch = dyn_cast<scf::IndexSwitchOp>(op->getParentOp());
        branch && !isUniform(branch.getArg()))
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
