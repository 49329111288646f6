// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/SyncFlow.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace tile;

bool SyncState::join(const SyncState &other) {
  if (other.unreached)
    return false;
  if (unreached) {
    *this = other;
    return true;
  }
  SyncState old = *this;
  start = std::max(start, other.start);
  startedOnSomePath |= other.startedOnSomePath;
  finish = std::max(finish, other.finish);
  for (auto [mine, theirs] : llvm::zip_equal(groups, other.groups))
    mine = std::max(mine, theirs);
  unfenced |= other.unfenced;
  written |= other.written;
  return std::tie(start, startedOnSomePath, finish, groups) !=
             std::tie(old.start, old.startedOnSomePath, old.finish,
                      old.groups) ||
         unfenced != old.unfenced || written != old.written;
}

/// Whether `op` is assembly that holds `text`.
static bool assemblySays(Operation *op, StringRef text) {
  StringAttr code;
  if (isa<NVVM::InlinePtxOp>(op))
    code = op->getAttrOfType<StringAttr>("ptxCode");
  else if (isa<LLVM::InlineAsmOp>(op))
    code = op->getAttrOfType<StringAttr>("asm_string");
  return code && code.getValue().contains(text);
}

bool tile::reachesIntoPeer(Operation *op) {
  return isa<CopyAsyncOp, ArriveOp>(op);
}

bool tile::isClusterArrive(Operation *op) {
  return isa<NVVM::ClusterArriveOp, NVVM::ClusterArriveRelaxedOp>(op) ||
         assemblySays(op, "barrier.cluster.arrive");
}

bool tile::isClusterWait(Operation *op) {
  return isa<NVVM::ClusterWaitOp>(op) ||
         assemblySays(op, "barrier.cluster.wait");
}

bool tile::isInitFence(Operation *op) {
  return isa<NVVM::FenceMbarrierInitOp>(op) ||
         assemblySays(op, "fence.mbarrier_init");
}

bool tile::isAsyncProxyFence(Operation *op) {
  if (auto fence = dyn_cast<NVVM::FenceProxyOp>(op))
    return fence.getKind() == NVVM::ProxyKind::async ||
           fence.getKind() == NVVM::ProxyKind::async_shared;
  return assemblySays(op, "fence.proxy.async");
}

bool tile::signalsThreads(Operation *op) {
  return isa<gpu::BarrierOp, NVVM::Barrier0Op, NVVM::BarrierOp,
             NVVM::BarrierArriveOp, nvgpu::MBarrierArriveOp,
             nvgpu::MBarrierArriveExpectTxOp, ExpectOp, ArriveOp>(op) ||
         isClusterArrive(op);
}

Value tile::bufferBehind(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      memref = view.getViewSource();
    else if (op->getNumOperands() > 0 && isMemoryEffectFree(op) &&
             isa<BaseMemRefType>(op->getOperand(0).getType()))
      memref = op->getOperand(0);
    else
      break;
  }
  return memref;
}

/// Whether a path of at least one edge leads from `from` to `to`.
static bool reachesBlock(Block *from, Block *to) {
  SmallVector<Block *> open(from->getSuccessors());
  llvm::SmallPtrSet<Block *, 8> seen;
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    if (block == to)
      return true;
    if (seen.insert(block).second)
      llvm::append_range(open, block->getSuccessors());
  }
  return false;
}

bool tile::mayFollow(Operation *first, Operation *later, Region &body) {
  Region *region = first->getParentRegion();
  while (region != &body && !region->findAncestorOpInRegion(*later))
    region = region->getParentRegion();
  Operation *from = region->findAncestorOpInRegion(*first);
  Operation *to = region->findAncestorOpInRegion(*later);
  if (!from || !to)
    return true;
  if (from != to && from->getBlock() == to->getBlock() &&
      from->isBeforeInBlock(to))
    return true;
  if (from == to && isa<LoopLikeOpInterface>(from))
    return true;
  if (reachesBlock(from->getBlock(), to->getBlock()))
    return true;
  for (; region != &body; region = region->getParentRegion()) {
    Operation *around = region->getParentOp();
    if (isa<LoopLikeOpInterface>(around) ||
        reachesBlock(around->getBlock(), around->getBlock()))
      return true;
  }
  return false;
}

/// The same value for all ops that name one buffer by symbol, or the dynamic
/// shared memory.
static Value oneOf(Value buffer, llvm::MapVector<Value, unsigned> &known) {
  Operation *op = buffer.getDefiningOp();
  for (auto [other, index] : known) {
    Operation *otherOp = other.getDefiningOp();
    if (!op || !otherOp || op->getName() != otherOp->getName())
      continue;
    if (isa<gpu::DynamicSharedMemoryOp>(op))
      return other;
    if (auto get = dyn_cast<memref::GetGlobalOp>(op);
        get &&
        get.getNameAttr() == cast<memref::GetGlobalOp>(otherOp).getNameAttr())
      return other;
  }
  return buffer;
}

SyncFlow::SyncFlow(Region &body, bool copiesFence)
    : body(body), copiesFence(copiesFence) {
  body.walk([&](Operation *op) {
    if (reachesIntoPeer(op))
      remotes.push_back(op);
    if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
      copies.push_back(copy);
      groups.insert({copy.getBarriers(), groups.size()});
      Value source = oneOf(bufferBehind(copy.getSrc()), sources);
      sources.insert({source, sources.size()});
    } else if (auto arrive = dyn_cast<ArriveOp>(op)) {
      groups.insert({arrive.getBarriers(), groups.size()});
    }
  });
  body.walk([&](nvgpu::MBarrierInitOp op) {
    if (groups.contains(op.getBarriers()))
      inits.push_back(op);
  });
  for (Block &block : body)
    if (!block.empty() && block.back().getNumSuccessors() == 0 &&
        isa<gpu::ReturnOp, gpu::TerminatorOp>(block.back()))
      exits.push_back(&block.back());
  if (remotes.empty())
    return;

  SyncState entry;
  entry.unreached = false;
  entry.start = entry.finish = Pending::Open;
  entry.groups.assign(groups.size(), Pending::Done);
  entry.unfenced.resize(groups.size());
  entry.written.resize(sources.size());
  run(body, entry);
}

const SyncState &SyncFlow::before(Operation *op) const {
  static const SyncState unreached;
  auto found = states.find(op);
  return found == states.end() ? unreached : found->second;
}

std::optional<unsigned> SyncFlow::groupOf(Operation *op) const {
  Value barriers;
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    barriers = copy.getBarriers();
  else if (auto arrive = dyn_cast<ArriveOp>(op))
    barriers = arrive.getBarriers();
  else if (auto init = dyn_cast<nvgpu::MBarrierInitOp>(op))
    barriers = init.getBarriers();
  auto found = groups.find(barriers);
  if (found == groups.end())
    return std::nullopt;
  return found->second;
}

unsigned SyncFlow::sourceOf(CopyAsyncOp copy) const {
  auto known = sources;
  return sources.find(oneOf(bufferBehind(copy.getSrc()), known))->second;
}

bool SyncFlow::comesTooEarly(Operation *remote) const {
  const SyncState &state = before(remote);
  return !state.unreached && (state.start != Pending::Done ||
                              state.groups[*groupOf(remote)] != Pending::Done);
}

SmallVector<unsigned> SyncFlow::sourcesWrittenBy(Operation *op) const {
  SmallVector<Value> targets;
  if (isa<CallOpInterface>(op)) {
    llvm::append_range(targets, op->getOperands());
  } else if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances)
      if (isa<MemoryEffects::Write>(instance.getEffect()) &&
          instance.getValue())
        targets.push_back(instance.getValue());
  }
  SmallVector<unsigned> written;
  auto known = sources;
  for (Value target : targets) {
    if (!isa<BaseMemRefType>(target.getType()))
      continue;
    auto found = sources.find(oneOf(bufferBehind(target), known));
    if (found != sources.end())
      written.push_back(found->second);
  }
  return written;
}

SyncState SyncFlow::run(Region &region, const SyncState &in) {
  if (region.empty())
    return in;
  llvm::MapVector<Block *, SyncState> entries;
  SmallVector<Block *> open{&region.front()};
  entries[&region.front()] = in;
  SyncState out;
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    SyncState state = entries[block];
    for (Operation &op : *block)
      visit(&op, state);
    if (block->hasNoSuccessors())
      out.join(state);
    for (Block *successor : block->getSuccessors())
      if (entries[successor].join(state))
        open.push_back(successor);
  }
  return out;
}

void SyncFlow::visit(Operation *op, SyncState &state) {
  states[op].join(state);
  if (op->getNumRegions() > 0)
    visitRegions(op, state);
  else
    transfer(op, state);
}

void SyncFlow::visitRegions(Operation *op, SyncState &state) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  if (!loop) {
    SyncState out;
    for (Region &region : op->getRegions())
      out.join(run(region, state));
    state = out;
    return;
  }
  SyncState in = state, once;
  do {
    once = in;
    for (Region &region : op->getRegions())
      once = run(region, once);
  } while (in.join(once));
  if (auto whileLoop = dyn_cast<scf::WhileOp>(op))
    state = run(whileLoop.getBefore(), in);
  else if (std::optional<APInt> trips = loop.getStaticTripCount();
           trips && !trips->isZero())
    state = once;
  else
    state = in;
}

/// Whether the body of what `call` calls synchronises, as far as it is known.
static bool calleeSynchronizes(CallOpInterface call) {
  Operation *callee = call.resolveCallable();
  return callee && callee
                       ->walk([](Operation *op) {
                         return isClusterArrive(op) || isClusterWait(op) ||
                                        isInitFence(op) || isAsyncProxyFence(op)
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
}

void SyncFlow::transfer(Operation *op, SyncState &state) {
  auto move = [](Pending &pending, Pending from, Pending to) {
    if (pending == from)
      pending = to;
  };
  if (auto call = dyn_cast<CallOpInterface>(op);
      call && calleeSynchronizes(call)) {
    // What it does is not followed: take it to do everything.
    state.start = state.finish = Pending::Done;
    state.startedOnSomePath = true;
    state.groups.assign(groups.size(), Pending::Done);
    state.unfenced.reset();
    state.written.reset();
    return;
  }
  for (unsigned source : sourcesWrittenBy(op))
    state.written.set(source);
  if (isa<nvgpu::MBarrierInitOp>(op)) {
    if (std::optional<unsigned> group = groupOf(op)) {
      state.groups[*group] = Pending::Open;
      state.unfenced.set(*group);
    }
  }
  if (isInitFence(op))
    state.unfenced.reset();
  if (isAsyncProxyFence(op))
    state.written.reset();
  if (isClusterArrive(op)) {
    move(state.start, Pending::Open, Pending::Arrived);
    for (Pending &group : state.groups)
      move(group, Pending::Open, Pending::Arrived);
    if (llvm::none_of(remotes, [&](Operation *remote) {
          return mayFollow(op, remote, body);
        }))
      move(state.finish, Pending::Open, Pending::Arrived);
  }
  if (isClusterWait(op)) {
    move(state.start, Pending::Arrived, Pending::Done);
    state.startedOnSomePath |= state.start == Pending::Done;
    for (Pending &group : state.groups)
      move(group, Pending::Arrived, Pending::Done);
    move(state.finish, Pending::Arrived, Pending::Done);
  }
  if (reachesIntoPeer(op))
    state.finish = Pending::Open;
  if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && copiesFence)
    state.written.reset(sourceOf(copy));
}
