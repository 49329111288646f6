// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/SyncOps.h"
#include "lib/Facts/ValueFacts.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

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

bool tile::fencesReads(Operation *kernel) {
  auto words = kernel->getAttrOfType<DictionaryAttr>(kInsertSyncName);
  auto word = words ? words.getAs<BoolAttr>(kWarFencesName) : BoolAttr();
  return !word || word.getValue();
}

/// Whether `op` loads, stores or hands on the memory of a `tile.peer`.
static bool accessesPeer(Operation *op) {
  return llvm::any_of(op->getOperandTypes(),
                      [](Type type) {
                        auto memref = dyn_cast<BaseMemRefType>(type);
                        return memref &&
                               isClusterMemory(memref.getMemorySpace());
                      }) &&
         !isMemoryEffectFree(op);
}

bool tile::reachesIntoPeer(Operation *op) {
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return copy.hasReceivers();
  return isa<StoreAsyncOp, ArriveOp>(op) || accessesPeer(op);
}

Value tile::remoteBarriersOf(Operation *op) {
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return copy.hasReceivers() ? Value(copy.getBarriers()) : Value();
  return TypeSwitch<Operation *, Value>(op)
      .Case<StoreAsyncOp, ArriveOp>([](auto op) { return op.getBarriers(); })
      .Default(Value());
}

Value tile::completedBy(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<CopyAsyncOp, StoreAsyncOp>(
          [](auto op) { return Value(op.getBarriers()); })
      .Default(Value());
}

Value tile::sharedSource(CopyAsyncOp copy) {
  return copy.getDirection() == Direction::Load ? Value() : copy.getSrc();
}

Value tile::sharedDestination(CopyAsyncOp copy) {
  return copy.getDirection() == Direction::Store ? Value() : copy.getDst();
}

bool tile::commitsGroup(Operation *op) {
  return isa<NVVM::CpAsyncBulkCommitGroupOp>(op) ||
         assemblySays(op, "cp.async.bulk.commit_group");
}

bool tile::waitsForGroup(Operation *op) {
  return isa<NVVM::CpAsyncBulkWaitGroupOp>(op) ||
         assemblySays(op, "cp.async.bulk.wait_group");
}

bool tile::waitsForAllGroups(Operation *op) {
  auto wait = dyn_cast<NVVM::CpAsyncBulkWaitGroupOp>(op);
  return wait ? wait.getGroup() == 0 : waitsForGroup(op);
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

bool tile::isPeerProxyFence(Operation *op) {
  if (auto fence = dyn_cast<NVVM::FenceProxyOp>(op))
    return isAsyncProxyFence(op) &&
           fence.getSpace() != NVVM::SharedSpace::shared_cta;
  return isAsyncProxyFence(op) && !assemblySays(op, "shared::cta");
}

/// What is known of the variant of `copy`: once it is planned, or where the
/// kernel names it.
static std::optional<VariantTraits> variantOf(CopyAsyncOp copy) {
  return findVariant(copy.getPlan() ? copy.getPlan()->getVariant()
                                    : copy.getVariant().value_or(""));
}

/// Whether `copy` may be one of a variant that is so: its own, or until that is
/// known any one that copies in its direction.
static bool mayBe(CopyAsyncOp copy, bool VariantTraits::*is) {
  if (std::optional<VariantTraits> variant = variantOf(copy))
    return (*variant).*is;
  return llvm::any_of(getVariantNames(), [&](StringRef name) {
    std::optional<VariantTraits> variant = findVariant(name);
    return variant && (*variant).*is &&
           llvm::is_contained(variant->directions, copy.getDirection());
  });
}

bool tile::mayUseAsyncProxy(CopyAsyncOp copy) {
  return mayBe(copy, &VariantTraits::usesAsyncProxy);
}

bool tile::mayUseGenericProxy(CopyAsyncOp copy) {
  return mayBe(copy, &VariantTraits::threadsLoad);
}

Value tile::barrierIndexOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<CopyAsyncOp, StoreAsyncOp, ArriveOp, ExpectOp, WaitOp>(
          [](auto op) { return Value(op.getBarrierIndex()); })
      .Case<nvgpu::MBarrierInitOp, nvgpu::MBarrierArriveOp,
            nvgpu::MBarrierArriveNoCompleteOp, nvgpu::MBarrierArriveExpectTxOp,
            nvgpu::MBarrierTryWaitParityOp, nvgpu::MBarrierTestWaitOp>(
          [](auto op) { return op.getMbarId(); })
      .Default(Value());
}

/// What an op on the mbarrier `barriers` does.
static Meeting atMBarrier(Operation *op, bool tells, Value barriers) {
  Meeting meeting;
  auto pointer = dyn_cast_or_null<LLVM::LLVMPointerType>(
      barriers ? barriers.getType() : Type());
  bool isPeers =
      remoteBarriersOf(op) || (pointer && pointer.getAddressSpace() == 7);
  meeting.channel = isPeers ? Channel::PeerMBarrier : Channel::MBarrier;
  meeting.tells = tells;
  meeting.hears = !tells;
  meeting.barriers = barriers;
  meeting.index = barrierIndexOf(op);
  return meeting;
}

static Meeting atCtaBarrier(bool hears, std::optional<int64_t> number,
                            bool countsAll) {
  Meeting meeting;
  meeting.channel = Channel::CtaBarrier;
  meeting.tells = true;
  meeting.hears = hears;
  meeting.number = number;
  meeting.countsAll = countsAll;
  return meeting;
}

static Meeting meetingOfAssembly(Operation *op) {
  StringRef text = assemblyOf(op);
  Meeting meeting;
  if (text.empty())
    return meeting;
  bool isBarrier = text.contains("bar.sync") || text.contains("barrier.sync") ||
                   text.contains("barrier.cta.sync") ||
                   text.contains("bar.red") || text.contains("barrier.red");
  if (isBarrier || text.contains("bar.arrive") ||
      text.contains("barrier.arrive") || text.contains("barrier.cta.arrive"))
    return atCtaBarrier(isBarrier, std::nullopt, false);
  if (text.contains("bar.warp.sync"))
    meeting.channel = Channel::WarpBarrier;
  else if (text.contains("mbarrier.arrive"))
    meeting.channel = text.contains("shared::cluster") ? Channel::PeerMBarrier
                                                       : Channel::MBarrier;
  else if (isClusterArrive(op) || isClusterWait(op))
    meeting.channel = Channel::ClusterBarrier;
  else if (waitsForBarrier(op))
    meeting.channel = Channel::MBarrier;
  meeting.tells =
      meeting.channel == Channel::WarpBarrier || text.contains(".arrive");
  meeting.hears = meeting.channel == Channel::WarpBarrier ||
                  isClusterWait(op) || waitsForBarrier(op);
  return meeting;
}

Meeting tile::meetingOf(Operation *op) {
  // A reduction has one of the CTA's barriers in it.
  if (isa<gpu::BarrierOp, NVVM::Barrier0Op, AllReduceOp>(op))
    return atCtaBarrier(true, 0, true);
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op))
    return atCtaBarrier(true,
                        barrier.getBarrierId()
                            ? constantOf(barrier.getBarrierId())
                            : std::optional<int64_t>(0),
                        !barrier.getNumberOfThreads());
  if (auto barrier = dyn_cast<NVVM::BarrierArriveOp>(op))
    return atCtaBarrier(false,
                        barrier.getBarrierId()
                            ? constantOf(barrier.getBarrierId())
                            : std::optional<int64_t>(0),
                        false);
  Meeting meeting;
  if (isa<NVVM::SyncWarpOp>(op)) {
    meeting.channel = Channel::WarpBarrier;
    meeting.tells = meeting.hears = true;
    return meeting;
  }
  if (isa<NVVM::ClusterArriveOp, NVVM::ClusterArriveRelaxedOp,
          NVVM::ClusterWaitOp>(op)) {
    meeting.channel = Channel::ClusterBarrier;
    meeting.hears = isa<NVVM::ClusterWaitOp>(op);
    meeting.tells = !meeting.hears;
    return meeting;
  }
  if (isa<WaitOp, nvgpu::MBarrierTryWaitParityOp, nvgpu::MBarrierTestWaitOp,
          NVVM::MBarrierTryWaitParityOp, NVVM::MBarrierTryWaitOp,
          NVVM::MBarrierTestWaitOp>(op))
    return atMBarrier(op, false, op->getOperand(0));
  if (isa<ExpectOp, nvgpu::MBarrierArriveOp, nvgpu::MBarrierArriveNoCompleteOp,
          nvgpu::MBarrierArriveExpectTxOp>(op))
    return atMBarrier(op, true, op->getOperand(0));
  // Whoever waits for bytes that a thread stored knows what the thread knew.
  auto copy = dyn_cast<CopyAsyncOp>(op);
  if (isa<ArriveOp, StoreAsyncOp>(op) || (copy && !mayUseAsyncProxy(copy)))
    return atMBarrier(op, true, remoteBarriersOf(op));
  StringRef name = op->getName().getStringRef();
  if (name.starts_with("nvvm.mbarrier.arrive") ||
      name.starts_with("nvvm.cp.async.mbarrier.arrive"))
    return atMBarrier(op, true, op->getOperand(0));
  return meetingOfAssembly(op);
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
  if (isa<NVVM::LdMatrixOp, nvgpu::LdMatrixOp>(op))
    return {op->getOperand(0)};
  if (isOfProtocol(op) || isMemoryEffectFree(op) ||
      op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
      !assemblyOf(op).empty())
    return {};
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op);
      effects && !isa<CallOpInterface>(op))
    return addressesOf<MemoryEffects::Read>(effects);
  return llvm::filter_to_vector(op->getOperands(), isAddress);
}

/// Whether an instruction of the assembly `op` whose name begins with one of
/// `prefixes` may reach shared memory.
static bool assemblyTouchesShared(Operation *op,
                                  ArrayRef<StringLiteral> prefixes) {
  StringRef text = assemblyOf(op);
  while (!text.empty()) {
    auto [instruction, rest] = text.split(';');
    text = rest;
    if (instruction.contains(".global") || instruction.contains(".local") ||
        instruction.contains(".param") || instruction.contains(".const") ||
        instruction.contains(".async"))
      continue;
    SmallVector<StringRef> words;
    llvm::SplitString(instruction, words, " \t\n{");
    for (StringRef word : words)
      if (llvm::any_of(prefixes, [&](StringRef prefix) {
            return word.starts_with(prefix);
          }))
        return true;
  }
  return false;
}

bool tile::mayStoreInAssembly(Operation *op) {
  return assemblyTouchesShared(op, {"st.", "stmatrix.", "red.", "atom."});
}

bool tile::mayLoadInAssembly(Operation *op) {
  return assemblyTouchesShared(op, {"ld.", "ldmatrix.", "atom."});
}
