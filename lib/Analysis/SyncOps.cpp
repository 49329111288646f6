// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/SyncOps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tile;

/// The text of `op`, where it is assembly.
static StringRef assemblyOf(Operation *op) {
  StringAttr code;
  if (isa<NVVM::InlinePtxOp>(op))
    code = op->getAttrOfType<StringAttr>("ptxCode");
  else if (isa<LLVM::InlineAsmOp>(op))
    code = op->getAttrOfType<StringAttr>("asm_string");
  return code ? code.getValue() : StringRef();
}

/// Whether `op` is assembly that holds `text`.
static bool assemblySays(Operation *op, StringRef text) {
  return assemblyOf(op).contains(text);
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

Value tile::initialisedBy(Operation *op) {
  if (auto init = dyn_cast<nvgpu::MBarrierInitOp>(op))
    return init.getBarriers();
  if (auto init = dyn_cast<NVVM::MBarrierInitOp>(op))
    return init.getAddr();
  return {};
}

bool tile::initialisesBarrier(Operation *op) {
  return initialisedBy(op) || assemblySays(op, "mbarrier.init.");
}

bool tile::waitsForBarrier(Operation *op) {
  return isa<WaitOp, nvgpu::MBarrierTryWaitParityOp, nvgpu::MBarrierTestWaitOp,
             NVVM::MBarrierTryWaitParityOp, NVVM::MBarrierTryWaitOp,
             NVVM::MBarrierTestWaitOp>(op) ||
         assemblySays(op, "mbarrier.try_wait") ||
         assemblySays(op, "mbarrier.test_wait");
}

/// Ops on shared memory that neither load nor store in the way of a thread, or
/// store only what the protocol itself knows of.
static bool isOfProtocol(Operation *op) {
  static constexpr StringLiteral kPrefixes[] = {"tile.",
                                                "nvgpu.mbarrier.",
                                                "nvvm.mbarrier.",
                                                "nvvm.cp.async.bulk",
                                                "nvvm.cp.async.commit",
                                                "nvvm.cp.async.wait",
                                                "nvvm.cp.async.mbarrier",
                                                "nvvm.fence.",
                                                "nvvm.barrier",
                                                "nvvm.cluster.",
                                                "nvvm.ldmatrix",
                                                "nvvm.prefetch",
                                                "nvvm.wgmma.",
                                                "nvgpu.ldmatrix",
                                                "nvgpu.warpgroup.",
                                                "nvgpu.tma.prefetch"};
  StringRef name = op->getName().getStringRef();
  return llvm::any_of(
      kPrefixes, [&](StringRef prefix) { return name.starts_with(prefix); });
}

static bool isAddress(Value value) {
  return isa<BaseMemRefType, LLVM::LLVMPointerType>(value.getType());
}

/// The addresses on which `op` declares effects of the kind `Effect`.
template <typename Effect>
static SmallVector<Value> addressesOf(MemoryEffectOpInterface op) {
  SmallVector<Value> addresses;
  SmallVector<MemoryEffects::EffectInstance> instances;
  op.getEffects(instances);
  for (const MemoryEffects::EffectInstance &instance : instances)
    if (isa<Effect>(instance.getEffect()) && instance.getValue() &&
        isAddress(instance.getValue()))
      addresses.push_back(instance.getValue());
  return addresses;
}

SmallVector<Value> tile::storeAddresses(Operation *op) {
  if (isOfProtocol(op) || isMemoryEffectFree(op) ||
      op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
      !assemblyOf(op).empty())
    return {};
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op);
      effects && !isa<CallOpInterface>(op))
    return addressesOf<MemoryEffects::Write>(effects);
  return llvm::filter_to_vector(op->getOperands(), isAddress);
}

SmallVector<Value> tile::loadAddresses(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects || isOfProtocol(op))
    return {};
  return addressesOf<MemoryEffects::Read>(effects);
}

/// Whether an instruction of `text` may store to shared memory in the way of a
/// thread.
static bool storesToShared(StringRef text) {
  while (!text.empty()) {
    auto [instruction, rest] = text.split(';');
    text = rest;
    if (instruction.contains(".global") || instruction.contains(".local") ||
        instruction.contains(".async"))
      continue;
    SmallVector<StringRef> words;
    llvm::SplitString(instruction, words, " \t\n{");
    for (StringRef word : words)
      if (word.starts_with("st.") || word.starts_with("stmatrix.") ||
          word.starts_with("red.") || word.starts_with("atom."))
        return true;
  }
  return false;
}

Origins tile::storedBy(Operation *op) {
  Origins origins;
  origins.hasUnknown = storesToShared(assemblyOf(op));
  for (Value address : storeAddresses(op))
    origins.add(originsOf(address));
  return origins;
}
